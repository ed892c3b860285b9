/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The per-CPU work loop: a CPU runs one work item at a time, to its end, and
 * sleeps as deeply as it can when it has none.
 */
#ifndef KERNEL_WORK_H
#define KERNEL_WORK_H

#include <margay/types.h>

/* Same structure as the monitor's struct host_work (asserted by kernel/host/host.c). */
struct work {
	const char *name;
	void (*run)(struct work *work); /* interrupts off on entry and return */
	void (*fault)(struct work *work); /* device registers that run() wanted are not there; NULL: panic */
};

/*
 * Hands a CPU its next work item. 0; -EBUSY when it has one; -ENODEV when it
 * is not online. Any CPU. A running item may name its own CPU's next one,
 * once: that runs right after it.
 */
int work_assign(unsigned cpu, struct work *work);

/*
 * Makes a CPU leave guest mode or its sleep. What it shall find has been
 * stored before. Sets the CPU's kick word, then sends it an NMI: a CPU that
 * tested the word too early meets the NMI. Any CPU.
 */
void cpu_kick(unsigned cpu);

/*
 * True when the calling CPU was kicked since this was asked or cpu_wait()
 * returned last; forgets it. To be asked before looking for what others stored.
 */
bool cpu_kicked(void);

/*
 * The calling CPU's kick word: not 0 while there is a kick that neither has
 * taken note of. For code that enters a guest: it tests the word in a region
 * of nmi_table.h (or with GIF = 0), so that no kick is lost between the test
 * and the entry.
 */
const u32 *cpu_kick_word(void);

/* Takes pending interrupts and runs due timers. Interrupts off. */
void cpu_interrupt_window(void);

/*
 * Sleeps until an interrupt or a kick has been taken since the last return
 * or cpu_kicked() (a remembered kick returns at once), then as
 * cpu_interrupt_window().
 * Interrupts off. `deep`: the deepest C-state, for a CPU that nobody owns.
 */
void cpu_wait(bool deep);

/* Never returns. */
void work_loop(void) __attribute__((noreturn));

#endif
