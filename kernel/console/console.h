/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's serial console: log lines and the output of its users (guests,
 * the monitor) share one output ring, drained by the UART's transmit
 * interrupt. One user has the foreground: its output goes out raw and it gets
 * what is typed. Of the others whole lines are shown, with their names. Polled
 * until console_interrupts_on() and again after console_panic(). Without a
 * UART, or without CONFIG_CONSOLE, everything here is a no-op.
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include <margay/types.h>
#include "kernel/boot/cmdline.h"

#define CONSOLE_NAME 31
#define CONSOLE_LINE 240

/* A user: who gets input, and is told that there is room again after a short write. */
struct console_user {
	const char *name; /* shown in front of its lines; at most CONSOLE_NAME characters */
	void (*rx)(struct console_user *user, u8 byte);
	void (*tx_room)(struct console_user *user);
	/* The console's own, from console_add() to console_remove(): */
	struct console_user *next;
	bool waits;    /* tx_room is owed */
	bool full;     /* for a write that was short */
	bool cut;      /* in the foreground, another's line came after an unfinished one; reset by the user */
	u16 length;    /* of the line that it has begun in the background */
	u8 line[CONSOLE_LINE];
};

#if IS_ENABLED(CONFIG_CONSOLE)
/*
 * Finds the UART that the command line names and shows what the log holds so
 * far. An MMIO console needs mmio_map(). 0, or -ENODEV (logged: no serial port
 * there). console=none: 0.
 */
int console_init(const struct cmdline *cmdline);

/* The UART's ISA interrupt (edge, active high), or -1: none known, the console stays polled. */
int console_isa_irq(void);

/* From now on output is drained by interrupts: call when the handler is in place, interrupts still off. */
void console_interrupts_on(void);

/* The interrupt handler's part, on one CPU only, interrupts off: runs the users' callbacks. True when the UART had asked. */
bool console_interrupt(void);

/*
 * Adds a user, which gets the foreground when nobody has it; takes one away.
 * Callbacks run in console_interrupt(), without any lock held; once
 * console_remove() has returned the user gets none any more. Not to be called
 * by its callbacks, nor with a lock that they take.
 */
void console_add(struct console_user *user);
void console_remove(struct console_user *user);

/*
 * Gives the foreground to a user; NULL: input is dropped, all output comes with
 * names. 0, or -ENODEV when there is no such user.
 */
int console_set_foreground(struct console_user *user);
/* Who has it: to be compared with, it may go away. */
const struct console_user *console_get_foreground(void);

/*
 * The user whose rx() gets the escape key whoever has the foreground. Returns
 * the key, 0 when the command line said that there is none.
 */
u8 console_set_escape(struct console_user *user);

/* Queues output of a user; returns how many bytes were taken. Never waits once interrupts are on. */
size_t console_write(struct console_user *user, const u8 *buf, size_t n);

/* One log line (without newline): on its own line even when a user's output stands in mid-line. */
void console_log(const char *text, size_t n);

/* Polled from now on, locks ignored: the CPU that calls is the last one that prints. */
void console_panic(void);

/* Waits until all output has left the UART's shift register (bounded). Before poweroff or reset. */
void console_drain(void);

#else
#include "kernel/console/console_none.h"
#endif

#endif
