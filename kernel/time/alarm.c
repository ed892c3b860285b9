/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers of CPUs whose local APIC is a guest's: a comparator of the HPET, led as NMI to the boot
 * CPU through an I/O APIC, which kicks those that are due. While none is armed there the comparator
 * is off.
 */
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/insn.h"
#include "drivers/hpet.h"
#include "kernel/percpu.h"
#include "kernel/time/timer.h"

#define FS_PER_MS 1000000000000ull

static struct spinlock lock; /* guards the comparator and `due` */
static bool works;           /* constant after boot */
static PERCPU u64 due;       /* when to kick the CPU, by the boot CPU's TSC; 0: not */

/* The boot CPU's TSC, on which all CPUs agree. */
static u64 now(void)
{
	return rdtsc() - (u64)this_cpu()->tsc_ahead;
}

static void program(void)
{
	u64 first = 0, t = now(), ms;

	for (unsigned i = 0; i < host_cpu_count(); i++) {
		u64 alarm = cpu_own(cpu_get(i), due);

		if (alarm && (!first || alarm < first))
			first = alarm;
	}
	/*
	 * One more, so that two clocks that disagree by little do not make two NMIs. A wait that is
	 * too long is one of several.
	 */
	ms = first > t ? (first - t) / host_tsc_khz() + 1 : 0;
	if (first)
		hpet_alarm_arm((u32)MIN(ms * (FS_PER_MS / hpet_period_fs()), 0x7fffffffull));
	else
		hpet_alarm_stop();
}

bool alarm_look(void)
{
	bool asked;

	spin_lock(&lock);
	asked = hpet_alarm_asked();
	if (asked) {
		for (unsigned i = 0; i < host_cpu_count(); i++) {
			u64 *alarm = &cpu_own(cpu_get(i), due);

			if (!*alarm || *alarm > now())
				continue;
			*alarm = 0;
			host_cpu_kick(i);
		}
	}
	/*
	 * Not while an input is looked for: an NMI of the last shot, seen late, would stop the next
	 * one.
	 */
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
	if (cpu_own(cpu, due) != alarm) {
		cpu_own(cpu, due) = alarm;
		program();
	}
	spin_unlock(&lock);
}

bool host_alarm(void)
{
	return works;
}

void alarm_begin(void)
{
	works = true;
}
