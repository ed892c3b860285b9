/* SPDX-License-Identifier: GPL-2.0-only */
/* The per-CPU work loop and sleep. */
#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/idle.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/boot/cmdline.h"
#include "kernel/console/screen.h"
#include "kernel/cpu/nmi.h"
#include "kernel/errors/mce.h"
#include "kernel/percpu.h"
#include "kernel/time/timer.h"
#include "kernel/work/console_interrupt.h"
#include "kernel/work/idle_work.h"
#include "kernel/work/screen_idle.h"
#include "kernel/work/work.h"

/*
 * Of sleep, from which on it is worth the deepest state: Intel's C6 pays off after 0.6 to 1 ms
 * (Linux, intel_idle).
 */
#define DEEP_MS 1

/* what follows its item; atomic, set by any where it is NULL, cleared by its CPU */
static PERCPU struct host_work *next_work;

static bool set_next(struct cpu *cpu, struct host_work *work)
{
	struct host_work *none = NULL;

	return __atomic_compare_exchange_n(&cpu_own(cpu, next_work), &none, work, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

int host_cpu_assign(unsigned id, struct host_work *work)
{
	struct cpu *cpu = cpu_get(id);
	struct host_work *none = NULL;

	if (!cpu || !__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE))
		return -ENODEV;
	/*
	 * The running item names its successor: nobody else can take the CPU in
	 * between. The boot code is none: what it assigns to its own CPU waits there.
	 */
	if (cpu == this_cpu() && cpu->working && set_next(cpu, work))
		return 0;
	if (!__atomic_compare_exchange_n(&cpu->work, &none, work, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return -EBUSY;
	host_cpu_kick(id);
	return 0;
}

int host_cpu_assign_behind(unsigned id, struct host_work *work)
{
	int err = host_cpu_assign(id, work);

	if (err != -EBUSY || !set_next(cpu_get(id), work))
		return err;
	host_cpu_kick(id);
	return 0;
}

unsigned host_cpu_this(void)
{
	return this_cpu()->id;
}

void host_interrupt_window(void)
{
	if (!cpu_closed(this_cpu()))
		trap_window();
	nmi_look();
	mce_look();
	timer_run_due();
	console_look();
}

/* QEMU's TCG takes MWAIT for PAUSE as soon as there are two CPUs. */
bool host_mwait(void)
{
	return cpu_features.mwait && cpu_features.arat && !cpu_features.tcg;
}

/*
 * Is the deepest C-state worth the way back, of some 100 us? For a CPU that nobody owns it is, else
 * where no timer is due soon. Who else may wake it, nobody knows. A closed one has interrupts off.
 */
static bool sleeps_deep(const struct cpu *cpu)
{
	if (!host_mwait() || cpu_closed(cpu))
		return false;
	if (!cpu->working)
		return true;
	return !cmdline_of_boot()->idle_halt &&
	       (!cpu->timers || cpu->timers->deadline > rdtsc() + host_tsc_khz() * DEEP_MS);
}

void host_cpu_wait(void)
{
	struct cpu *cpu = this_cpu();

	if (sleeps_deep(cpu))
		idle_mwait(&cpu->kick, cpu_features.mwait_hint);
	else
		(cpu_closed(cpu) ? idle_nmi : idle_hlt)(&cpu->kick);
	/* Cleared before the caller looks again: a kick from here on makes the next wait return. */
	__atomic_exchange_n(&cpu->kick, 0, __ATOMIC_SEQ_CST);
	/* A CPU that is kicked all the time did not open interrupts above. */
	host_interrupt_window();
}

/*
 * What is behind the item that has ended, NULL: none, becomes the CPU's. False: it has nothing to
 * do now.
 */
static bool move_on(struct cpu *cpu, struct host_work *ended)
{
	struct host_work *next = __atomic_load_n(&cpu_own(cpu, next_work), __ATOMIC_ACQUIRE);

	if (!__atomic_compare_exchange_n(&cpu->work, &ended, next, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return true;
	if (next)
		__atomic_store_n(&cpu_own(cpu, next_work), NULL, __ATOMIC_RELEASE);
	return next;
}

/* What a CPU without work does; none keeps it from the other. False: nothing. */
static bool do_idle(void)
{
	bool worked = idle_work();

	return screen_idle_draw() || worked;
}

void work_loop(void)
{
	struct cpu *cpu = this_cpu();

	__atomic_store_n(&cpu->looping, true, __ATOMIC_RELEASE);
	for (;;) {
		struct host_work *work = __atomic_load_n(&cpu->work, __ATOMIC_ACQUIRE);

		if (!work) {
			if (!move_on(cpu, NULL) && !do_idle()) {
				console_idle();
				host_cpu_wait();
			}
			continue;
		}
		screen_idle_ends();
		idle_work_pass_on();
		cpu->working = true;
		work->run(work);
		cpu->working = false;
		move_on(cpu, work);
	}
}
