/* SPDX-License-Identifier: GPL-2.0-only */
/* See idle_work.h. While no CPU is idle nothing is done: it disturbs nobody. */
#include "kernel/work/idle_work.h"

#include <margay/host.h>
#include <margay/spinlock.h>
#include "kernel/percpu.h"

static struct spinlock lock; /* guards changes of list */
static struct host_idle_work *list; /* also read without the lock; atomic */
static bool taken; /* a CPU does it; atomic */

static void put(struct host_idle_work *w)
{
	spin_lock(&lock);
	w->next = list;
	__atomic_store_n(&list, w, __ATOMIC_RELEASE);
	spin_unlock(&lock);
}

static struct host_idle_work *take_all(void)
{
	struct host_idle_work *all;

	spin_lock(&lock);
	all = list;
	__atomic_store_n(&list, NULL, __ATOMIC_RELAXED);
	spin_unlock(&lock);
	return all;
}

void idle_work_pass_on(void)
{
	if (!__atomic_load_n(&list, __ATOMIC_SEQ_CST))
		return;
	for (unsigned i = 0; i < host_cpu_count(); i++) {
		struct cpu *cpu = cpu_get(i);

		/*
		 * One that gets work at this moment passes it on. One that was given up may be
		 * back, but is not kicked.
		 */
		if (cpu != this_cpu() && cpu->online &&
		    __atomic_load_n(&cpu->looping, __ATOMIC_ACQUIRE) &&
		    !__atomic_load_n(&cpu->work, __ATOMIC_SEQ_CST)) {
			host_cpu_kick(i);
			return;
		}
	}
}

void host_idle_work(struct host_idle_work *work)
{
	put(work);
	idle_work_pass_on();
}

bool idle_work(void)
{
	struct host_idle_work *w, *next;

	if (!__atomic_load_n(&list, __ATOMIC_SEQ_CST) ||
	    __atomic_exchange_n(&taken, true, __ATOMIC_ACQ_REL))
		return false;
	for (w = take_all(); w; w = next) {
		next = w->next;
		if (w->step(w))
			put(w);
	}
	__atomic_store_n(&taken, false, __ATOMIC_RELEASE);
	/* As host_cpu_wait(): the console, alarms, and what the IOMMUs have to tell. */
	host_interrupt_window();
	return true;
}
