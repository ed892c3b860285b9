/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When CPUs look for errors that the machine has corrected, by corrected=minute on the command
 * line: every minute, all at once, and at an interrupt of the banks, where they have one (SDM vol.
 * 3, 16.5; AMD's PPRs, "MCA Registers"). Where a CPU's local APIC is a guest's its interrupts are
 * masked, and the timer is the alarm's NMI; without an alarm such a CPU looks when its guest leaves
 * it. Without the word none of this is set up: an NMI a minute is an exit a minute of a guest that
 * has none otherwise.
 */
#include <margay/host.h>

#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/boot/cmdline.h"
#include "kernel/errors/mce.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"

#define APIC_LVT_CMCI 0x2f0u
#define APIC_LVT_EXTENDED(n) (0x500u + 0x10u * (n)) /* APM vol. 2, 16.4.6 */

#define PERIOD_SECONDS 60
#define STORM 16 /* interrupts in a period: then the timer is enough */

static PERCPU struct host_timer minute;
static PERCPU unsigned storm; /* interrupts since it was due */

static const char *const ways[] = {
	[MCE_BY_TIME] = "",
	[MCE_BY_CMCI] = " and at CMCI",
	[MCE_BY_THRESHOLD] = " and at the threshold interrupt",
};

static enum mce_way own_way(u64 *cap, struct mce_kind *kind)
{
	if (host_rdmsr(MSR_MCG_CAP, cap))
		return MCE_BY_TIME;
	*kind = mce_kind_of(*cap);
	return mce_way(kind, *cap);
}

/* Has the banks interrupt at the next error, unless they do so too often. */
static void arm(void)
{
	const struct cpu *cpu = this_cpu();
	u8 vector = cpu_own(cpu, storm) < STORM ? VECTOR_CORRECTED : 0;
	struct mce_kind kind;
	u64 cap;
	enum mce_way way = own_way(&cap, &kind);

	if (cpu_closed(cpu))
		return;
	if (way == MCE_BY_CMCI)
		apic_lead(APIC_LVT_CMCI, vector);
	if (way == MCE_BY_TIME)
		return;
	for (unsigned bank = 0; bank < MCG_CAP_COUNT(cap); bank++) {
		u32 msr = way == MCE_BY_CMCI ? MSR_MC0_CTL2 + bank
					     : mce_bank_msr(&kind, bank, MCE_MISC);
		unsigned lvt = 0;
		u64 value;

		if (host_rdmsr(msr, &value))
			continue;
		value = way == MCE_BY_CMCI ? mce_ctl2(value) : mce_threshold(value, &lvt);
		if (value && !host_wrmsr(msr, value) && way == MCE_BY_THRESHOLD)
			apic_lead(APIC_LVT_EXTENDED(lvt), vector);
	}
}

static void interrupt(void *)
{
	mce_look_now();
	/* A counter of AMD's begins anew; and who interrupts too often is masked. */
	cpu_own(this_cpu(), storm)++;
	arm();
}

/* All CPUs at once: those that wait for each other are held up together. */
static void set_timer(struct host_timer *timer)
{
	u64 period = PERIOD_SECONDS * 1000 * host_tsc_khz();

	host_timer_arm(timer, (rdtsc() / period + 1) * period);
}

static void look(struct host_timer *timer)
{
	mce_look_now();
	cpu_own(this_cpu(), storm) = 0;
	arm();
	set_timer(timer);
}

void corrected_begin(void)
{
	struct cpu *cpu = this_cpu();

	if (!cmdline_of_boot()->corrected_in_time)
		return;
	cpu_own(cpu, minute).fn = look;
	trap_set_handler(VECTOR_CORRECTED, interrupt, NULL);
	arm();
	set_timer(&cpu_own(cpu, minute));
}

void corrected_tell(void)
{
	struct mce_kind kind;
	u64 cap;
	enum mce_way way = own_way(&cap, &kind);

	printk("machine checks: corrected errors are looked for every %u s%s; where a guest has the local APIC, %s",
	       PERIOD_SECONDS, ways[way],
	       host_alarm() ? "every 60 s by NMI" : "when it leaves its CPU");
}
