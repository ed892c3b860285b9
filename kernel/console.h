/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's serial console: log lines and the guest's raw output share one
 * output ring, drained by the UART's transmit interrupt; received bytes go to
 * the attached user. Polled until console_interrupts_on() and again after
 * console_panic(). Without a UART, or without CONFIG_CONSOLE, everything here
 * is a no-op.
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include <margay/types.h>
#include "kernel/cmdline.h"

/* The guest side: who gets input, and who is told that there is room again after a short write. */
struct console_user {
	void (*rx)(struct console_user *user, u8 byte);
	void (*tx_room)(struct console_user *user);
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

/* The interrupt handler's part; interrupts off. True when the UART had asked for service. Runs the user's callbacks. */
bool console_interrupt(void);

/*
 * Replaces the user; NULL: input is dropped. Callbacks run in
 * console_interrupt(), without any lock held; once this has returned the old
 * user gets none any more. Not to be called by them, nor with a lock that they
 * take.
 */
void console_attach(struct console_user *user);

/* Queues raw output of the user; returns how many bytes fitted. Never waits once interrupts are on. */
size_t console_write(const u8 *buf, size_t n);

/* One log line (without newline): on its own line even when the user's output stands in mid-line. */
void console_log(const char *text, size_t n);

/* Polled from now on, locks ignored: the CPU that calls is the last one that prints. */
void console_panic(void);

/* Waits until all output has left the UART's shift register (bounded). Before poweroff or reset. */
void console_drain(void);

#else
#include "kernel/console_none.h"
#endif

#endif
