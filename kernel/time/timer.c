/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU one-shot timers in a sorted list, over the local APIC's timer. */
#include <margay/host.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/percpu.h"
#include "kernel/time/timer.h"

/* Makes the hardware's deadline the first timer's, with as few register writes as possible. */
static void program(struct cpu *cpu)
{
	u64 want = cpu->timers ? cpu->timers->deadline : 0;

	if (cpu_closed(cpu))
		alarm_set(want);
	if (want == cpu->timer_programmed || cpu_closed(cpu))
		return;
	cpu->timer_programmed = want;
	if (want)
		apic_timer_arm(want);
	else
		apic_timer_stop();
}

static void insert(struct cpu *cpu, struct host_timer *timer)
{
	struct host_timer **p = &cpu->timers;

	/* After those of the same deadline: first armed, first fired. */
	while (*p && (*p)->deadline <= timer->deadline)
		p = &(*p)->next;
	timer->next = *p;
	*p = timer;
	timer->cpu = cpu->id;
	timer->armed = true;
}

static void unlink(struct cpu *cpu, struct host_timer *timer)
{
	struct host_timer **p = &cpu->timers;

	while (*p && *p != timer)
		p = &(*p)->next;
	if (*p)
		*p = timer->next;
	timer->next = NULL;
	timer->armed = false;
}

void host_timer_arm(struct host_timer *timer, u64 tsc_deadline)
{
	struct cpu *cpu = this_cpu();

	if (timer->armed)
		unlink(cpu, timer);
	/* 0 means "none" in program() */
	timer->deadline = MAX(tsc_deadline, (u64)1);
	insert(cpu, timer);
	program(cpu);
}

void host_timer_cancel(struct host_timer *timer)
{
	struct cpu *cpu = this_cpu();

	if (!timer->armed)
		return;
	unlink(cpu, timer);
	program(cpu);
}

void timer_run_due(void)
{
	struct cpu *cpu = this_cpu();
	u64 now;
	unsigned due = 0;

	if (!cpu->timers)
		return;
	now = rdtsc();
	/*
	 * As many as are due now and no more: a timer that arms itself again in
	 * the past, which a guest may bring about, waits for the next window.
	 */
	for (struct host_timer *t = cpu->timers; t && t->deadline <= now; t = t->next)
		due++;
	for (; due && cpu->timers && cpu->timers->deadline <= now; due--) {
		struct host_timer *t = cpu->timers;

		unlink(cpu, t);
		t->fn(t);
	}
	program(cpu);
}

/*
 * The interrupt has used the programmed deadline up; early ones, of a counter that is too narrow,
 * are armed again.
 */
static void timer_interrupt(void *)
{
	this_cpu()->timer_programmed = 0;
	timer_run_due();
}

void timer_init(void)
{
	trap_set_handler(VECTOR_TIMER, timer_interrupt, NULL);
	apic_timer_init_cpu();
}
