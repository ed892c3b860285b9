/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The per-CPU work loop: a CPU runs one work item at a time, to its end, and
 * sleeps as deeply as it can when it has none.
 */
#ifndef KERNEL_WORK_H
#define KERNEL_WORK_H

#include <margay/types.h>

/* Same structure as the monitor's struct host_work (asserted by kernel/host.c). */
struct work {
	const char *name;
	void (*run)(struct work *work); /* interrupts off on entry and return */
};

/*
 * Hands a CPU its next work item. 0; -EBUSY when it has one; -ENODEV when it
 * is not online. Any CPU. A running item may name its own CPU's next one,
 * once: that runs right after it.
 */
int work_assign(unsigned cpu, struct work *work);

/* Makes a CPU leave guest mode or its sleep. What it shall find has been stored with release order. Any CPU. */
void cpu_kick(unsigned cpu);

/* Takes pending interrupts and runs due timers. Interrupts off. */
void cpu_interrupt_window(void);

/*
 * Sleeps until an interrupt or a kick has been taken since the last return
 * (a remembered kick returns at once), then as cpu_interrupt_window().
 * Interrupts off. `deep`: the deepest C-state, for a CPU that nobody owns.
 */
void cpu_wait(bool deep);

/* Never returns. */
void work_loop(void) __attribute__((noreturn));

#endif
