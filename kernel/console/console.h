/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's serial console: log lines and the output of its users (guests,
 * the monitor) share one output ring, drained by the UART's transmit
 * interrupt. One user has the foreground: its output goes out raw and it gets
 * what is typed. Of the others whole lines are shown, with their names. Polled
 * until console_interrupts_on() and again after console_panic(). Without a
 * UART the ring is for the screen only (kernel/console/screen.h); without
 * CONFIG_CONSOLE everything here is a no-op. What users call
 * is in <margay/host_console.h>.
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include <margay/host_console.h>
#include "kernel/boot/cmdline.h"

#if IS_ENABLED(CONFIG_CONSOLE)
/*
 * Finds the UART that the command line names and shows what the log holds so far; again, where
 * another is named, or another speed. An MMIO console needs mmio_map(). 0, or -ENODEV (logged: no
 * serial port there). console=none: 0.
 */
int console_init(const struct cmdline *cmdline);
/* The same without that line. */
int console_start(const struct cmdline *cmdline);

/* The key that calls the monitor console; 0: none. */
void console_set_escape(u8 key);

/* Is there a serial line? */
bool console_works(void);

/*
 * From now on output is drained by this interrupt: call when the handler is in place, interrupts
 * still off.
 */
void console_interrupts_on(int irq);

/*
 * Without interrupts: takes what has been typed, and runs the users' callbacks. In an interrupt
 * window, on any CPU.
 */
void console_poll(void);

/*
 * The interrupt handler's part, on one CPU at a time, interrupts off: runs the users' callbacks.
 * True when the UART had asked.
 */
bool console_interrupt(void);

/* One log line (without newline): on its own line even when a user's output stands in mid-line. */
void console_log(const char *text, size_t n);

/* Polled from now on, locks ignored: the CPU that calls is the last one that prints. */
void console_panic(void);

#else
#include "kernel/console/console_none.h"
#endif

#if IS_ENABLED(CONFIG_CONSOLE_FOLLOWS)
/*
 * console_follow.c. The calling CPU, whose VM prints, gets the UART's interrupts; so does any CPU
 * where the one that had them is lost. None of the console's locks is held.
 * console_follow_interrupt() is console_interrupt() for CPUs that may meet.
 */
void console_follow(bool vm);
bool console_follow_interrupt(void);
/*
 * The CPU that gets the interrupt whose handler that is: the boot CPU, if it is not the one above.
 */
unsigned console_follow_cpu(bool (*fn)(void));

/* Is it that one, which has the devices' NMIs? */
static inline bool console_comes_to(bool (*fn)(void), unsigned cpu)
{
	return console_follow_cpu(fn) == cpu;
}
#else
/* The boot CPU gets all of them. */
static inline void console_follow(bool) { }

#define console_follow_interrupt console_interrupt

static inline unsigned console_follow_cpu(bool (*)(void))
{
	return 0;
}

static inline bool console_comes_to(bool (*)(void), unsigned)
{
	return true;
}
#endif

#endif
