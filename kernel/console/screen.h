/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The screen beside the serial line: it shows the last of what stands in the
 * console's output ring (kernel/console/serial.h). Whoever prints never waits
 * for it: what the ring no longer has when a CPU gets to draw is left out. Idle
 * CPUs draw; whoever prints does so itself while the node boots, where the
 * output must be seen before the node goes on or ends, and in a panic.
 */
#ifndef KERNEL_SCREEN_H
#define KERNEL_SCREEN_H

#include "kernel/boot/bootinfo.h"
#include "kernel/boot/cmdline.h"

#if IS_ENABLED(CONFIG_SCREEN)
/*
 * Maps what the boot loader gives, unless the command line has none of it, and
 * shows what the log has. One line says what there is. After paging_init() and console_init().
 */
void screen_init(const struct bootinfo *bi, const struct cmdline *cmdline);

/*
 * At boot: the ring begins anew, as the serial line has moved, with what the log has. So does what
 * is shown.
 */
void screen_anew(void);

/* There may be something new in the ring. With its lock, any CPU. */
void screen_output(void);

/*
 * Draws all that the ring has, on this CPU; while the hardware check runs, a
 * screen that is full then stays as long as the command line says.
 */
void screen_show(void);

/* As screen_show(), for the last time in a check: its last page stays as long as the others. */
void screen_last_page(void);

/*
 * The boot is over, and with it the hardware check: draws, and from now on idle CPUs do. wake() is
 * called, by whoever prints, when there is something to draw and nobody draws.
 */
void screen_by_idle_cpus(void (*wake)(void));

/*
 * A CPU without work draws, some ms at most or until wanted() at the end of a
 * row. False: there was nothing to do for it, it may sleep.
 */
bool screen_idle(bool (*wanted)(void));

/* An idle CPU gets work: whatever is not drawn yet is another's. */
void screen_idle_ends(void);

/*
 * A PCI function's memory, of which a VM is the owner now: where it has the framebuffer in it,
 * nothing is drawn any more.
 */
void screen_yield(u64 base, u64 size);

/* Locks are ignored from now on: no other CPU runs. */
void screen_panic(void);

#else
static inline void screen_init(const struct bootinfo *, const struct cmdline *) { }

static inline void screen_anew(void) { }

static inline void screen_output(void) { }

static inline void screen_show(void) { }

static inline void screen_last_page(void) { }

static inline void screen_yield(u64, u64) { }

static inline void screen_idle_ends(void) { }

static inline void screen_panic(void) { }
#endif

#endif
