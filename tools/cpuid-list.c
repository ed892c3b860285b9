/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpuid-list: prints docs/cpuid.md from the CPUID policy's own tables, so that
 * the list of differences stands in one place. Build-host tool:
 * gcc -Iinclude -I. tools/cpuid-list.c tools/cpuid-differences.c vmm/cpuid/cpuid_table*.c
 */
#include <stdio.h>
#include <string.h>

#include "vmm/cpuid/cpuid_table.h"

static const char intro[] =
	"# CPUID: what a guest sees\n"
	"\n"
	"Printed by `tools/cpuid-list.c` from `vmm/cpuid/cpuid_table.c`, `vmm/cpuid/cpuid_table_ext.c` and\n"
	"`tools/cpuid-differences.c`; do not edit.\n"
	"\n"
	"A guest's CPUID is the host's, but for the lines below and for bits that the tables do not name: a bit that a\n"
	"future CPU brings is hidden until somebody has thought about it. Physical address bits are at most what stage 2\n"
	"maps, linear address bits at most 48. Packages, cores, threads and caches are the host's, and so are the APIC\n"
	"IDs; with `topology = flat` they are one package of cores with one thread each. What differs from core to core is\n"
	"that of the vCPU's own: the kind of core (0x1A), caches (2, 4, 0x80000005, 0x80000006, 0x8000001D), TLBs (0x18,\n"
	"0x80000019), frequencies (0x16) and topology (0xB, 0x1F, 0x8000001E). `tools/recorded-cpus` compares all of it\n"
	"with the dumps of real CPUs (tests/machines/README.md).\n"
	"\n"
	"Leaves of the hypervisor: 0x40000000 `MargayMargay`; 0x40000010 EAX the TSC's, EBX the APIC timer's rate in kHz;\n"
	"0x40000100 KVM's signature, with the features CLOCKSOURCE2 (EAX bit 3), CLOCKSOURCE_STABLE (bit 24, where the\n"
	"host's TSCs agree) and hints (EDX) in 0x40000101.\n"
	"\n"
	"What depends on whose the local APIC is (`interrupts`, configuration.md):\n"
	"\n"
	"| | `emulated` | `direct` |\n"
	"|---|---|---|\n"
	"| 0x15, on Intel | the calibrated TSC rate by the virtual APIC timer's 1 MHz crystal | none: the timer is the CPU's |\n"
	"| 0x40000010 EBX | 1000 | 0: nothing tells the rate of the CPU's timer; Linux measures it against the TSC |\n"
	"| hint REALTIME (0x40000101 EDX bit 0) | set | 0 |\n"
	"\n"
	"By that hint Linux' cpuidle driver haltpoll polls for up to 200 us before it halts, which spares an exit by HLT and\n"
	"the way back where work comes soon. With `direct` HLT is no exit: polling would only take power and time from the\n"
	"other thread of its core, and the bare machine does none. KVM's other uses of the hint are of features that Margay\n"
	"does not show.\n"
	"\n"
	"A leaf stands with its subleaf (0x7.1), register and bit. `conditional`: shown where the host has it and the\n"
	"condition holds. `dynamic`: follows the vCPU's state.\n";

static void section(const char *change)
{
	struct cpuid_difference d;

	printf("\n## %c%s\n\n| leaf | flag | why |\n|---|---|---|\n", change[0] - 'a' + 'A',
	       change + 1);
	for (unsigned i = 0; cpuid_policy_documented_hidden(i, &d); i++) {
		if (strcmp(d.change, change))
			continue;
		printf("| %#x", d.leaf);
		if (d.subleaf)
			printf(".%u", d.subleaf);
		if (d.reg)
			printf(" %s %u", d.reg, d.bit);
		printf(" | %s | %s |\n", d.name, d.reason);
	}
}

int main(void)
{
	fputs(intro, stdout);
	section("forced on");
	section("conditional");
	section("dynamic");
	section("hidden");
	return 0;
}
