/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The console's interrupt, which is tried before it is relied on; without it the line is polled
 * from what happens anyway.
 */
#ifndef KERNEL_CONSOLE_INTERRUPT_H
#define KERNEL_CONSOLE_INTERRUPT_H

#include <margay/types.h>
#include "kernel/boot/cmdline.h"

#if IS_ENABLED(CONFIG_CONSOLE)
/* At boot, on the boot CPU, with NMIs on: takes the interrupt into use if it comes. Logs if not. */
void console_interrupt_init(const struct cmdline *c);

extern bool console_polled; /* the line has no interrupt */

/*
 * In an interrupt window of any CPU: looks at the line, if that is polled and it was not looked at
 * just now.
 */
void console_poll_now(void);
static inline void console_look(void)
{
	if (unlikely(console_polled))
		console_poll_now();
}

/*
 * The calling CPU goes to sleep and has no work. One of them, the boot CPU, wakes up in time to
 * look.
 */
void console_idle(void);
#else
static inline void console_interrupt_init(const struct cmdline *) { }
static inline void console_look(void) { }
static inline void console_idle(void) { }
#endif

#endif
