/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers of CPUs whose local APIC is a guest's: a comparator of the HPET, led as NMI to the boot CPU through an I/O APIC, which
 * kicks those that are due. While none is armed there the comparator is off.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/ioapic.h"
#include "drivers/hpet.h"
#include "kernel/log/printk.h"
#include "kernel/nmi.h"
#include "kernel/percpu.h"
#include "kernel/time/timer.h"

#define FS_PER_MS 1000000000000ull
#define TRY_MS 250    /* a busy emulator's NMI may be late */
#define SHOTS 3       /* the console and gdb have one NMI each before they are looked at */
#define COMPARATORS 32
/* 8 is the RTC's, which interrupts nobody here; chipsets offer 11, 12, and 16 to 23. Not 2: the PIT interrupts all the time. */
#define INPUTS 0xff1900u

static struct spinlock lock; /* guards the comparator and each CPU's `alarm` */
static bool works;           /* constant after boot */

/* The boot CPU's TSC, on which all CPUs agree. */
static u64 now(void)
{
	return rdtsc() - (u64)this_cpu()->tsc_ahead;
}

static void program(void)
{
	u64 first = 0, t = now(), ms;

	for (unsigned i = 0; i < host_cpu_count(); i++) {
		u64 alarm = cpu_get(i)->alarm;

		if (alarm && (!first || alarm < first))
			first = alarm;
	}
	/* One more, so that two clocks that disagree by little do not make two NMIs. A wait that is too long is one of several. */
	ms = first > t ? (first - t) / host_tsc_khz() + 1 : 0;
	if (first)
		hpet_alarm_arm((u32)MIN(ms * (FS_PER_MS / hpet_period_fs()), 0x7fffffffull));
	else
		hpet_alarm_stop();
}

/* After an NMI on the boot CPU. */
static bool look(void)
{
	bool asked;

	spin_lock(&lock);
	asked = hpet_alarm_asked();
	for (unsigned i = 0; asked && i < host_cpu_count(); i++) {
		u64 *alarm = &cpu_get(i)->alarm;

		if (!*alarm || *alarm > now())
			continue;
		*alarm = 0;
		host_cpu_kick(i);
	}
	/* Not while try() looks for an input: an NMI of its last shot, seen late, would stop the next one. */
	if (asked && works)
		program();
	spin_unlock(&lock);
	return asked;
}

void alarm_set(u64 deadline)
{
	struct cpu *cpu = this_cpu();
	u64 alarm = deadline ? (deadline - (u64)cpu->tsc_ahead) | 1 : 0;

	if (!works)
		return;
	spin_lock(&lock);
	if (cpu->alarm != alarm) {
		cpu->alarm = alarm;
		program();
	}
	spin_unlock(&lock);
}

bool host_alarm(void)
{
	return works;
}

static void over(struct host_timer *)
{
}

/* Does an NMI come by this input, each time? Asleep, so that an emulator's timers run that has one CPU for them and this one. */
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
		while (!(came = __atomic_load_n(&cpu->nmi_count, __ATOMIC_RELAXED) != before) && rdtsc() < patience)
			host_cpu_wait();
		host_timer_cancel(&timeout);
	}
	hpet_alarm_stop();
	/* None of them has told whose it is, and one may come late. */
	if (IS_ENABLED(CONFIG_MACHINE_CHECKS))
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
	u32 taken = 0;

	if (!hpet_present() || nmi_request(NMI_MESSAGE, look))
		return;
	/* Lines of PCI functions: a guest that gets one of these wants it. Those that are no function have input 0. */
	for (unsigned i = 0; IS_ENABLED(CONFIG_PASSTHROUGH) && i < HOST_PCI_FUNCTIONS; i++)
		if (!host_intx_route(i, &line) && line.gsi < 32)
			taken |= 1u << line.gsi;
	for (unsigned n = 0; n < COMPARATORS && !works; n++)
		for (u32 left; (left = hpet_alarm_inputs(n) & INPUTS & ~taken) && !works; taken |= left & -left)
			works = try(n, (unsigned)__builtin_ctz(left));
}
