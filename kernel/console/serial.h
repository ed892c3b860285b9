/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The serial line under kernel/console/console.c: its UART and mode, the output ring,
 * the lock. Nobody outside this room includes it, but kernel/work/console_interrupt.c and main.c.
 */
#ifndef KERNEL_SERIAL_H
#define KERNEL_SERIAL_H

#include <margay/types.h>
#include "kernel/boot/cmdline.h"

/* Polled until interrupts are on, and for the last words of a panic. */
enum serial_mode { SERIAL_NONE, SERIAL_POLLED, SERIAL_INTERRUPT, SERIAL_PANIC };

/* What its registers take in memory. */
#define SERIAL_MMIO_SIZE(cmdline) ((cmdline)->console_wide ? 32u : 8u)

/*
 * Finds and sets up the UART of the command line, again where another is in use, or another speed.
 * 0; or -ENODEV: none there (not logged), or one that is odd and not the operator's choice. *odd:
 * it does not look like one.
 */
int serial_init(const struct cmdline *cmdline, bool *odd);

/* The interrupt by which it asks, as serial_interrupts_on() was told. */
int serial_irq(void);

/*
 * Polled, at boot: has the UART interrupt at once, as nothing is left to send; off: that has been
 * seen. With the lock.
 */
void serial_ask(bool on);

/*
 * Guards all that follows, and the console's own state. False, and no lock,
 * in a panic or when its holder seems dead; serial_unlock() is told.
 */
bool serial_lock(void);
void serial_unlock(bool locked);

enum serial_mode serial_mode(void);

#define SERIAL_RING 16384u

/*
 * The ring itself: of all bytes that were ever put in, the last SERIAL_RING;
 * *head: how many there were, modulo 2^32. With the lock.
 */
const u8 *serial_ring(u32 *head);

/* The ring: bytes in it, bytes that still fit; the caller has looked whether what it puts does. */
u32 serial_queued(void);
u32 serial_room(void);
void serial_put(u8 byte);
void serial_text(const char *text, size_t n);

/*
 * Moves the output on in the way of the mode. want_room: an interrupt shall come even when the ring
 * is empty.
 */
void serial_pump(bool want_room);

/* From now on the transmit interrupt does that, which is this one. */
void serial_interrupts_on(int irq);
/* Until the next serial_pump(): lets a line that stays high fall. */
void serial_interrupts_off(void);
/* Does the UART ask for service by interrupt? */
bool serial_pending(void);
/* A BREAK on the line, among the bytes that arrive. */
#define SERIAL_BREAK 0x100u

/*
 * Takes what has arrived; bytes with errors are dropped, as a terminal would. Returns how many are
 * in buf.
 */
unsigned serial_receive(u16 *buf, unsigned max, bool *overrun);

/* Polled from now on, without lock; sends what is queued. */
void serial_panic(void);
/* Sends what is queued and waits for the last bit (bounded). */
void serial_drain(void);

#endif
