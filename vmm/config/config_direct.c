/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: may a VM own the local APICs of its CPUs (interrupts =), send by them (ipi =), and
 * have the C-states of the node's firmware (cstates =)? One table for all who ask: the parser,
 * which knows the VM file, and direct.c, which knows the node as well.
 */
#include "vmm/config/config_parse.h"

const char *vm_config_not_direct(const struct vm_config *c, unsigned facts, unsigned *row)
{
	const bool asked = c->interrupts == VM_INTERRUPTS_DIRECT,
		   watchdog = HAS(CONFIG_VM_WATCHDOG) && !c->no_watchdog;
	const char *word = vm_config_linux(c, LINUX_NO_X2APIC);
	const struct {
		bool is;
		const char *why;
	} rows[] = {
		{ c->flat, "topology = flat has other APIC IDs than the CPUs" },
		{ c->clock == VM_CLOCK_FREEZE, "clock = freeze cannot stop the CPUs' own timers" },
		{ c->smt_sharing, "allow_smt_sharing lets others use its cores" },
		{ c->counters, "counters = yes would have no interrupt" },
		{ word, word },
		{ facts & DIRECT_NO_KVM_GUEST,
		  "the kernel is built without KVM_GUEST, and leaves x2APIC mode" },
		{ facts & DIRECT_LEAVES_X2APIC, "the kernel took no x2APIC mode when it had it" },
		{ facts & DIRECT_XAPIC_KERNEL, "the kernel is built without X86_X2APIC" },
		{ facts & DIRECT_NO_X2APIC, "the CPUs have no x2APIC mode" },
		{ facts & DIRECT_X2APIC_OFF,
		  "x2APIC mode is off, as the firmware wishes it, or by x2apic=off" },
		{ facts & DIRECT_WIDE_IDS && c->nr_pci,
		  "devices do not reach all of its CPUs, by their APIC IDs" },
		/* What a guest would miss, and who asks for direct does without. */
		{ facts & DIRECT_MULTIBOOT && !asked,
		  "a multiboot kernel gets its local APIC in xAPIC mode" },
		{ facts & DIRECT_GDB && !asked, "gdb cannot step its CPUs without interrupts" },
		{ facts & DIRECT_NO_ALARM && watchdog && !asked, VM_CONFIG_NO_ALARM },
	};

	while (*row < ARRAY_SIZE(rows))
		if (rows[(*row)++].is)
			return rows[*row - 1].why;
	return NULL;
}

/* interrupts = direct: all that keeps it from being had. */
static void resolve_interrupts(struct parser *p)
{
	unsigned row = 0;

	p->line = p->config->line_direct;
	while (!p->over) {
		const char *why = vm_config_not_direct(p->config, 0, &row);

		if (!why)
			return;
		config_fail(p, VM_CONFIG_NOT_DIRECT, why);
	}
}

void config_resolve_direct(struct parser *p)
{
	const struct vm_config *c = p->config;

	if (c->interrupts == VM_INTERRUPTS_DIRECT)
		resolve_interrupts(p);
	p->line = c->line_ipi;
	if (c->ipi_direct && c->interrupts != VM_INTERRUPTS_DIRECT && !p->over)
		config_fail(
			p,
			"ipi = direct: needs interrupts = direct, by which the guest has local APICs of its own");
	p->line = c->line_cstates;
	if (c->cstates_firmware && c->interrupts == VM_INTERRUPTS_EMULATED && !p->over)
		config_fail(
			p,
			"cstates = firmware: not with interrupts = emulated, where the hypervisor chooses C-states");
}
