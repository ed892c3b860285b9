/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel/console/console.h of an image without CONFIG_CONSOLE: the log stays in memory, guests'
 * output is dropped.
 */
#ifndef KERNEL_CONSOLE_NONE_H
#define KERNEL_CONSOLE_NONE_H

static inline int console_init(const struct cmdline *)
{
	return 0;
}
static inline int console_start(const struct cmdline *)
{
	return 0;
}
static inline bool console_works(void)
{
	return false;
}
static inline void console_interrupts_on(int) { }
static inline void console_poll(void) { }
static inline bool console_interrupt(void)
{
	return false;
}
static inline void console_log(const char *, size_t) { }
static inline void console_panic(void) { }

#endif
