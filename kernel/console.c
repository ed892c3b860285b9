/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The serial console. Once interrupts are on nobody waits for the line: bytes
 * go into the ring, and the transmit interrupt moves them on, a FIFO at a
 * time. The guest may fill only a small part of the ring: it keeps the delay
 * of what it types short, and log lines find room when the guest floods.
 */
#include "kernel/console.h"

#include <margay/errno.h>
#include <margay/spinlock.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/paging.h"
#include "drivers/uart8250.h"
#include "kernel/printk.h"

#define RING 16384u
#define GUEST_SHARE 2048u /* the guest may write while the ring holds less */
#define GUEST_RESUME 512u /* and is told of room when it holds less than this */
#define RX_BATCH 64
#define PENDING_LOOPS 64
/* Polls before the transmitter counts as stuck: some 100 ms by port, when 16 bytes take 1.4 ms. */
#define SEND_POLLS 200000u
/* Until the holder counts as dead; one that polls holds the lock for as long as a line and what is before it takes. */
#define LOCK_TRIES 1000000u
#define LOCK_TRIES_POLLED (100 * LOCK_TRIES)

enum console_mode { MODE_NONE, MODE_POLLED, MODE_INTERRUPT, MODE_PANIC };

static struct spinlock console_lock; /* guards everything below */
static enum console_mode mode;
static struct uart8250 uart;
static int isa_irq = -1;
static u8 ring[RING];
static u32 ring_head, ring_tail; /* bytes ever put in and taken out, modulo 2^32 */
static bool guest_mid_line;      /* the last byte queued was the guest's and no newline */
static bool guest_waits;         /* a write was short: tx_room is owed */
static unsigned lines_lost;
static struct console_user *console_user;
static bool in_callback; /* the user that was taken under the lock is being called; atomic */

static u32 ring_used(void)
{
	return ring_head - ring_tail;
}

static void put(u8 byte)
{
	ring[ring_head++ % RING] = byte;
}

/* In panic mode the holder may never run again. */
static bool lock_console(void)
{
	unsigned tries = mode == MODE_POLLED ? LOCK_TRIES_POLLED : LOCK_TRIES;

	for (unsigned i = 0; mode != MODE_PANIC && i < tries; i++) {
		if (spin_trylock(&console_lock))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

static void unlock_console(bool locked)
{
	if (locked)
		spin_unlock(&console_lock);
}

/* Fills the transmitter once; false when it has no room. */
static bool send_some(void)
{
	if (!uart8250_can_send(&uart))
		return false;
	for (unsigned i = 0; i < uart.fifo && ring_used(); i++)
		uart8250_send(&uart, ring[ring_tail++ % RING]);
	return true;
}

/* Polled: until the ring is empty. A transmitter that is stuck loses bytes, not the machine. */
static void send_all(void)
{
	unsigned polls = 0;

	while (ring_used()) {
		if (send_some())
			polls = 0;
		else if (++polls == SEND_POLLS)
			ring_tail = ring_head;
		else
			__builtin_ia32_pause();
	}
}

static void report_lost(void)
{
	char text[64];
	int n;

	if (!lines_lost || RING - ring_used() < 2 * sizeof(text))
		return;
	n = snprintf(text, sizeof(text), "margay: console: %u log lines not shown\r\n", lines_lost);
	lines_lost = 0;
	for (int i = 0; i < n; i++)
		put((u8)text[i]);
}

/* Moves the output on in the way of the current mode. */
static void pump(void)
{
	if (mode == MODE_POLLED || mode == MODE_PANIC) {
		send_all();
	} else if (mode == MODE_INTERRUPT) {
		send_some();
		if (!guest_mid_line)
			report_lost();
		/* Another CPU may send the last byte: whoever waits for room is told by the interrupt that follows it. */
		uart8250_interrupts(&uart, true, ring_used() > 0 || guest_waits);
	}
}

static int irq_of_port(u64 port)
{
	switch (port) {
	case 0x3f8: case 0x3e8: return 4;
	case 0x2f8: case 0x2e8: return 3;
	default: return -1;
	}
}

int console_init(const struct cmdline *cmdline)
{
	bool is_mmio = cmdline->console == CMDLINE_CONSOLE_MMIO;

	printk_set_level(cmdline->loglevel);
	if (cmdline->console == CMDLINE_CONSOLE_NONE)
		return 0;
	if (is_mmio) {
		uart.mmio = mmio_map(cmdline->console_address, 8);
		if (!uart.mmio)
			return -ENODEV;
	} else {
		uart.port = (u16)cmdline->console_address;
		isa_irq = irq_of_port(cmdline->console_address);
	}
	if (uart8250_init(&uart, cmdline->baud)) {
		isa_irq = -1;
		printk_error("console: no serial port at %s%#llx (its registers do not answer): going on without console, "
			     "set console= on the command line", is_mmio ? "mmio:" : "port ",
			     (unsigned long long)cmdline->console_address);
		return -ENODEV;
	}
	mode = MODE_POLLED;
	printk_replay();
	return 0;
}

int console_isa_irq(void)
{
	return isa_irq;
}

void console_interrupts_on(void)
{
	bool locked = lock_console();

	if (mode == MODE_POLLED && isa_irq >= 0) {
		mode = MODE_INTERRUPT;
		uart8250_interrupts(&uart, true, false);
	}
	unlock_console(locked);
}

/* Takes what has arrived; bytes with errors are dropped, as a terminal would. */
static unsigned receive(u8 *buf, unsigned max, bool *overrun)
{
	unsigned n = 0;
	u8 byte, status;

	for (unsigned i = 0; i < max && uart8250_receive(&uart, &byte, &status); i++) {
		if (status & UART_LSR_OE)
			*overrun = true;
		if (!(status & (UART_LSR_PE | UART_LSR_FE | UART_LSR_BI)))
			buf[n++] = byte;
	}
	return n;
}

/* One round: input, output. False when the UART wants nothing. */
static bool service(bool *overrun)
{
	struct console_user *user;
	bool locked = lock_console(), room = false;
	u8 buf[RX_BATCH];
	unsigned n = 0;

	if (mode != MODE_INTERRUPT || !uart8250_pending(&uart)) {
		unlock_console(locked);
		return false;
	}
	n = receive(buf, RX_BATCH, overrun);
	pump();
	user = console_user;
	__atomic_store_n(&in_callback, user != NULL, __ATOMIC_RELAXED);
	if (guest_waits && ring_used() < GUEST_RESUME) {
		guest_waits = false;
		room = true;
	}
	unlock_console(locked);

	for (unsigned i = 0; user && i < n; i++)
		user->rx(user, buf[i]);
	if (user && room)
		user->tx_room(user);
	__atomic_store_n(&in_callback, false, __ATOMIC_RELEASE);
	return true;
}

bool console_interrupt(void)
{
	static bool overrun_reported;
	bool any = false, overrun = false;

	/*
	 * The line is edge triggered: it must have been low once before this
	 * ends. Bounded, against a UART that never stops asking.
	 */
	for (unsigned i = 0; i < PENDING_LOOPS && service(&overrun); i++)
		any = true;
	if (overrun && !overrun_reported) {
		overrun_reported = true;
		printk_error("console: input arrived faster than it was taken; some is lost (said once)");
	}
	return any;
}

void console_attach(struct console_user *user)
{
	bool locked = lock_console();

	console_user = user;
	guest_waits = false;
	unlock_console(locked);
	/* The one before may be freed after this: another CPU's handler must have left it. */
	while (__atomic_load_n(&in_callback, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

size_t console_write(const u8 *buf, size_t n)
{
	bool locked;
	size_t done = 0;

	if (mode == MODE_NONE || mode == MODE_PANIC)
		return n;
	locked = lock_console();
	do {
		for (; done < n && ring_used() < GUEST_SHARE; done++) {
			put(buf[done]);
			guest_mid_line = buf[done] != '\n';
		}
		pump();
	} while (mode == MODE_POLLED && done < n);
	if (done < n)
		guest_waits = true;
	unlock_console(locked);
	return done;
}

void console_log(const char *text, size_t n)
{
	bool locked;

	if (mode == MODE_NONE)
		return;
	locked = lock_console();
	if (RING - ring_used() < n + 4) {
		lines_lost++;
	} else {
		if (guest_mid_line) {
			put('\r');
			put('\n');
			guest_mid_line = false;
		}
		report_lost();
		for (size_t i = 0; i < n; i++)
			put((u8)text[i]);
		put('\r');
		put('\n');
	}
	pump();
	unlock_console(locked);
}

void console_panic(void)
{
	if (mode == MODE_NONE)
		return;
	mode = MODE_PANIC;
	uart8250_interrupts(&uart, false, false);
	pump();
}

void console_drain(void)
{
	bool locked;

	if (mode == MODE_NONE)
		return;
	locked = lock_console();
	send_all();
	for (unsigned i = 0; i < SEND_POLLS && !uart8250_idle(&uart); i++)
		__builtin_ia32_pause();
	unlock_console(locked);
}
