/* SPDX-License-Identifier: GPL-2.0-only */
/* What each CPU needs against speculation: decided and set up on it at its start, and told. */
#include "kernel/cpu/mitigations.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/microcode.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/boot/cmdline.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"

#define THUNK_SIZE 32
#define THUNK_PLAIN 24 /* where its plain jump is */

static PERCPU struct mitigations decided; /* constant once the CPU is online */
static PERCPU u32 not_done;           /* what mitigate= wants and the CPU cannot do */

/*
 * A register that has none of these bits, or faults, is one of an emulator or of a hypervisor
 * below, which sees to it.
 */
static void set_up(const struct mitigations *m)
{
	static const struct {
		u32 flag;
		u32 msr;
		u64 set;
		u64 clear;
	} registers[] = {
		{ MIT_AUTO_IBRS, MSR_EFER, EFER_AUTOIBRS, 0 },
		{ MIT_BP_SPEC_REDUCE, MSR_AMD_BP_CFG, BIT(4), 0 },
		{ MIT_LFENCE, MSR_AMD_DE_CFG, BIT(1), 0 },
		{ MIT_ZENBLEED, MSR_AMD_DE_CFG, BIT(9), 0 },
		/* RNGDS_MITG_DIS, GDS_MITG_DIS */
		{ MIT_MCU_OPT, MSR_MCU_OPT_CTRL, 0, BIT(0) | BIT(4) },
	};
	u64 value;

	for (unsigned i = 0; i < ARRAY_SIZE(registers); i++)
		if (m->flags & registers[i].flag && !host_rdmsr(registers[i].msr, &value))
			(void)host_wrmsr(registers[i].msr,
					 (value | registers[i].set) & ~registers[i].clear);
	/* VMRUN and #VMEXIT see to it from now on. */
	if (m->spec_ctrl && !(m->flags & MIT_SPEC_CTRL))
		(void)host_wrmsr(MSR_SPEC_CTRL, m->spec_ctrl);
}

/*
 * Retpolines or not is the whole image's matter (thunks.asm), and the boot CPU's word. It is alone
 * then, and what comes next serializes.
 */
static void choose_thunks(struct mitigations *m)
{
	extern u8 indirect_thunks[15][THUNK_SIZE];
	static bool plain;

	if (this_cpu()->id == 0) {
		u8 *thunk = phys_to_virt(virt_to_phys(indirect_thunks));
		struct cpuid_regs r;

		plain = !(m->flags & MIT_THUNKS);
		if (plain)
			for (unsigned i = 0; i < ARRAY_SIZE(indirect_thunks); i++)
				memcpy(thunk + i * THUNK_SIZE, thunk + i * THUNK_SIZE + THUNK_PLAIN,
				       THUNK_SIZE - THUNK_PLAIN);
		cpuid(0, 0, &r);
	}
	if (plain)
		m->done &= ~MIT_THUNKS;
}

void mitigations_init_cpu(void)
{
	struct mitigation_input in = { .read_cpuid = cpuid,
				       .microcode = microcode_revision(cpu_features.vendor) };
	struct mitigations *m = &cpu_own(this_cpu(), decided);
	struct cpuid_regs r = { 0 };

	if (cpu_features.max_basic >= 7)
		cpuid(7, 0, &r);
	if (r.edx & BIT(29))
		(void)host_rdmsr(MSR_ARCH_CAPABILITIES, &in.arch_capabilities);
	mitigations_decide(&in, m);
	cpu_own(this_cpu(), not_done) =
		mitigations_force(m, cmdline_of_boot()->mitigate, cmdline_of_boot()->mitigate_off);
	choose_thunks(m);
	set_up(m);
}

/* The CPU that is vulnerable, or else one that is affected. */
static bool worst_line(enum cpu_bug bug, char *line, size_t size, bool *affected)
{
	const struct cpu *cpu;
	bool vulnerable = false;

	*affected = false;
	for (unsigned i = host_cpu_count(); i-- && !vulnerable;) {
		cpu = cpu_get(i);
		if (*affected && !(cpu_own(cpu, decided).affected & BIT(bug)))
			continue;
		*affected = cpu_own(cpu, decided).affected & BIT(bug);
		vulnerable = mitigation_line(&cpu_own(cpu, decided), bug,
					     cmdline_of_boot()->mitigate_off, line, size);
	}
	return vulnerable;
}

void mitigations_tell(void)
{
	char line[96];
	bool affected;
	u32 not_forced = 0;

	for (unsigned i = 0; i < CPU_BUGS; i++) {
		if (worst_line(i, line, sizeof(line), &affected))
			printk_error("%s", line);
		else if (affected)
			printk("%s", line);
	}
	for (unsigned i = 0; i < host_cpu_count(); i++)
		not_forced |= cpu_own(cpu_get(i), not_done);
	if (not_forced)
		printk_error("command line: mitigate=: a CPU cannot do %s: left out there",
			     mitigation_name(not_forced));
}

void host_mitigations_report(void (*say)(const char *fmt, ...))
{
	char line[96];
	bool affected;

	for (unsigned i = 0; i < CPU_BUGS; i++) {
		worst_line(i, line, sizeof(line), &affected);
		say("%s", line);
	}
}

struct host_mitigations host_mitigations(unsigned cpu)
{
	const struct mitigations *m = &cpu_own(cpu_get(cpu), decided);

	return (struct host_mitigations){ m->flags, m->spec_ctrl };
}
