/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The line of the serial console. Once interrupts are on nobody waits for it:
 * bytes go into the ring, and the transmit interrupt moves them on, a FIFO at
 * a time.
 */
#include "kernel/console/serial.h"

#include <margay/errno.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/paging.h"
#include "drivers/uart8250.h"
#include "kernel/console/console.h"
#include "kernel/cpu/nmi.h"

/* Polls before the transmitter counts as stuck: some 100 ms by port, when 16 bytes take 1.4 ms. */
#define SEND_POLLS 200000u
/*
 * Until the holder counts as dead; one that polls holds the lock for as long as a line and what is
 * before it takes.
 */
#define LOCK_TRIES 1000000u
#define LOCK_TRIES_POLLED (100 * LOCK_TRIES)

static struct spinlock lock; /* guards everything below, and the console's own */
static enum serial_mode mode;
static struct uart8250 uart;
static int irq = -1; /* by which it interrupts */
static u8 ring[SERIAL_RING];
static u32 ring_head, ring_tail; /* bytes ever put in and taken out, modulo 2^32 */

bool serial_lock(void)
{
	unsigned tries = mode == SERIAL_POLLED ? LOCK_TRIES_POLLED : LOCK_TRIES;

	/* In panic mode the holder may never run again. */
	for (unsigned i = 0; mode != SERIAL_PANIC && i < tries; i++) {
		if (spin_trylock(&lock))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

void serial_unlock(bool locked)
{
	if (locked)
		spin_unlock(&lock);
}

enum serial_mode serial_mode(void)
{
	return mode;
}

const u8 *serial_ring(u32 *head)
{
	*head = ring_head;
	return ring;
}

u32 serial_queued(void)
{
	return ring_head - ring_tail;
}

u32 serial_room(void)
{
	return SERIAL_RING - serial_queued();
}

void serial_put(u8 byte)
{
	ring[ring_head++ % SERIAL_RING] = byte;
}

void serial_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		serial_put((u8)text[i]);
}

/* Fills the transmitter once; false when it has no room. */
static bool send_some(void)
{
	if (!uart8250_can_send(&uart))
		return false;
	for (unsigned i = 0; i < uart.fifo && serial_queued(); i++)
		uart8250_send(&uart, ring[ring_tail++ % SERIAL_RING]);
	return true;
}

/* Polled: until the ring is empty. A transmitter that is stuck loses bytes, not the machine. */
static void send_all(void)
{
	unsigned polls = 0;

	while (serial_queued()) {
		if (send_some())
			polls = 0;
		else if (++polls == SEND_POLLS)
			ring_tail = ring_head;
		else
			__builtin_ia32_pause();
	}
}

void serial_pump(bool want_room)
{
	if (mode == SERIAL_POLLED || mode == SERIAL_PANIC) {
		send_all();
	} else if (mode == SERIAL_INTERRUPT) {
		/*
		 * The transmitter asks, by NMI; the CPU that sends on may come before the one that
		 * would look.
		 */
		if (send_some())
			nmi_expected(console_follow_cpu(console_follow_interrupt));
		uart8250_interrupts(&uart, true, serial_queued() || want_room);
	} else {
		ring_tail = ring_head;
	}
}

int serial_init(const struct cmdline *cmdline, bool *odd)
{
	struct uart8250 found = { .wide = cmdline->console_wide };
	enum uart8250_found is;

	if (cmdline_console_mmio(cmdline)) {
		found.mmio = mmio_map(cmdline->console_address, SERIAL_MMIO_SIZE(cmdline));
		if (!found.mmio)
			return -ENODEV;
	} else {
		found.port = (u16)cmdline->console_address;
	}
	/* A probe loses what is still to be sent. */
	if (mode == SERIAL_POLLED)
		serial_drain();
	is = uart8250_probe(&found);
	*odd = is == UART8250_ODD;
	if (is == UART8250_ABSENT || (*odd && !cmdline->console_named))
		return -ENODEV;
	uart = found;
	uart8250_init(&uart, cmdline->baud);
	mode = SERIAL_POLLED;
	/* The log shows again what it has put in without a line, or on another. */
	ring_head = ring_tail = 0;
	return 0;
}

int serial_irq(void)
{
	return irq;
}

void serial_ask(bool on)
{
	send_all();
	for (unsigned i = 0; i < SEND_POLLS && !uart8250_idle(&uart); i++)
		__builtin_ia32_pause();
	uart8250_interrupts(&uart, false, on);
	if (!on)
		uart8250_pending(&uart);
}

void serial_interrupts_on(int by)
{
	if (mode != SERIAL_POLLED)
		return;
	irq = by;
	mode = SERIAL_INTERRUPT;
	uart8250_interrupts(&uart, true, false);
}

void serial_interrupts_off(void)
{
	uart8250_interrupts(&uart, false, false);
}

bool serial_pending(void)
{
	return mode == SERIAL_INTERRUPT && uart8250_pending(&uart);
}

unsigned serial_receive(u16 *buf, unsigned max, bool *overrun)
{
	unsigned n = 0;
	u8 byte, status;

	for (unsigned i = 0; i < max && uart8250_receive(&uart, &byte, &status); i++) {
		if (status & UART_LSR_OE)
			*overrun = true;
		/* It has no stop bit either, and may have the wrong parity. */
		if (status & UART_LSR_BI)
			buf[n++] = SERIAL_BREAK;
		else if (!(status & (UART_LSR_PE | UART_LSR_FE)))
			buf[n++] = byte;
	}
	return n;
}

void serial_panic(void)
{
	if (mode == SERIAL_NONE)
		return;
	mode = SERIAL_PANIC;
	serial_interrupts_off();
	send_all();
}

void serial_drain(void)
{
	if (mode == SERIAL_NONE)
		return;
	send_all();
	for (unsigned i = 0; i < SEND_POLLS && !uart8250_idle(&uart); i++)
		__builtin_ia32_pause();
}
