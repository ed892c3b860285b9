/* SPDX-License-Identifier: GPL-2.0-only */
/* See alarm_input.h. */
#include "kernel/work/alarm_input.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/ioapic.h"
#include "drivers/hpet.h"
#include "kernel/cpu/nmi.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"
#include "kernel/time/timer.h"

#define TRY_MS 250    /* a busy emulator's NMI may be late */
#define SHOTS 3       /* the console and gdb have one NMI each before they are looked at */
#define COMPARATORS 32
/*
 * 8 is the RTC's, which interrupts nobody here; chipsets offer 11, 12, and 16 to 23. Not 2: the PIT
 * interrupts all the time.
 */
#define INPUTS 0xff1900u

static void over(struct host_timer *) { }

/*
 * Does an NMI come by this input, each time? Asleep, so that an emulator's timers run that has one
 * CPU for them and this one.
 */
static bool try(unsigned n, unsigned input)
{
	const struct cpu *cpu = this_cpu();
	struct host_timer timeout = { .fn = over };
	bool came = true;

	if (ioapic_route_nmi(input, cpu->apic_id, false))
		return false;
	hpet_alarm_choose(n, input);
	for (unsigned shot = 0; shot < SHOTS && came; shot++) {
		u64 before = cpu->nmi_count, patience = rdtsc() + host_tsc_khz() * TRY_MS;

		host_timer_arm(&timeout, patience);
		hpet_alarm_arm(0);
		came = cpu_had_nmi(cpu, before);
		while (!came && rdtsc() < patience) {
			host_cpu_wait();
			came = cpu_had_nmi(cpu, before);
		}
		host_timer_cancel(&timeout);
	}
	hpet_alarm_stop();
	/* None of them has told whose it is, and one may come late. */
	nmi_expected(0);
	if (came)
		printk("HPET: timer %u, NMI by input %u", n, input);
	else
		ioapic_mask(input, true);
	return came;
}

void alarm_init(void)
{
	struct host_intx line;
	bool found = false;
	u32 taken = 0;

	if (!hpet_present() || nmi_request(NMI_MESSAGE, alarm_look))
		return;
	/*
	 * Lines of PCI functions: a guest that gets one of these wants it. Those that are no
	 * function have input 0.
	 */
	for (unsigned i = 0; i < HOST_PCI_FUNCTIONS; i++)
		if (!host_intx_route(i, &line) && line.gsi < 32)
			taken |= 1u << line.gsi;
	for (unsigned n = 0; n < COMPARATORS && !found; n++) {
		u32 left = hpet_alarm_inputs(n) & INPUTS & ~taken;

		for (; left && !found; left &= left - 1) {
			found = try(n, (unsigned)__builtin_ctz(left));
			taken |= left & -left;
		}
	}
	if (found)
		alarm_begin();
}
