/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only in images with GDB: the serial line of gdb=, apart from the console's.
 * Its interrupt comes as NMI to the boot CPU, as the console's does.
 */
#include "kernel/console/gdb_port.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/ioapic.h"
#include "drivers/uart8250.h"
#include "kernel/console/serial.h"
#include "kernel/cpu/irq.h"
#include "kernel/cpu/nmi.h"
#include "kernel/log/printk.h"

#define RING 8192u
#define RX_BATCH 64
#define PENDING_LOOPS 64

static struct spinlock lock; /* guards the UART and the ring */
static struct uart8250 uart;
static const char *name;     /* of the VM; NULL: there is no line */
static unsigned irq;
static bool (*comes)(void (*ask)(bool on));
static void (*received)(u8 byte);
static u8 ring[RING];
static u32 head, tail;       /* bytes ever put in and taken out, modulo 2^32 */

void gdb_port_init(const struct cmdline *cmdline, bool (*nmi_comes)(void (*ask)(bool on)))
{
	enum uart8250_found found;

	comes = nmi_comes;
	if (!cmdline->gdb_port)
		return;
	uart.port = cmdline->gdb_port;
	found = uart8250_probe(&uart);
	if (found == UART8250_ABSENT) {
		printk_error("command line: gdb=: nothing answers at %#x", cmdline->gdb_port);
		return;
	}
	if (found == UART8250_ODD)
		printk_error(
			"command line: gdb=: what is at %#x fails the test of a serial port: used all the same",
			cmdline->gdb_port);
	uart8250_init(&uart, cmdline->gdb_baud);
	irq = cmdline->gdb_irq;
	name = cmdline->gdb_vm;
}

static void pump(void)
{
	if (head != tail && uart8250_can_send(&uart))
		for (unsigned i = 0; i < uart.fifo && head != tail; i++)
			uart8250_send(&uart, ring[tail++ % RING]);
	uart8250_interrupts(&uart, true, head != tail);
	nmi_expected(0);
}

/*
 * One round; false when the UART wants nothing. A byte with an error is passed on: the checksum
 * tells.
 */
static bool service(void)
{
	u8 buf[RX_BATCH], status;
	unsigned n = 0;

	spin_lock(&lock);
	if (!uart8250_pending(&uart)) {
		spin_unlock(&lock);
		return false;
	}
	while (n < RX_BATCH && uart8250_receive(&uart, &buf[n], &status))
		n++;
	pump();
	spin_unlock(&lock);
	for (unsigned i = 0; i < n; i++)
		received(buf[i]);
	return true;
}

/*
 * Until the line was low once, for the next edge; one that never is gets it by the interrupt
 * enables.
 */
static bool interrupt(void)
{
	unsigned rounds = 0;

	while (rounds < PENDING_LOOPS && service())
		rounds++;
	if (rounds == PENDING_LOOPS) {
		spin_lock(&lock);
		uart8250_interrupts(&uart, false, false);
		pump();
		spin_unlock(&lock);
	}
	return rounds > 0;
}

const char *host_debug_name(void)
{
	return name;
}

static void ask(bool on)
{
	spin_lock(&lock);
	uart8250_interrupts(&uart, false, on);
	if (!on)
		uart8250_pending(&uart);
	spin_unlock(&lock);
}

/* Nobody could stop the VM, nor would more than a FIFO of an answer be sent. */
static int refuse(int err)
{
	printk_error(
		"command line: gdb=: interrupt %u, of the port at %#x, does not come: %s cannot be debugged",
		irq, uart.port, name);
	name = NULL;
	return err;
}

int host_debug_listen(void (*rx)(u8 byte))
{
	received = rx;
	if (nmi_request(irq, interrupt))
		return refuse(-ENODEV);
	if (!comes(ask)) {
		/* The console's may be the same input. */
		if ((int)irq != serial_irq())
			ioapic_mask(irq_gsi(irq), true);
		return refuse(-EIO);
	}
	spin_lock(&lock);
	pump();
	spin_unlock(&lock);
	return 0;
}

void host_debug_send(const u8 *bytes, unsigned n)
{
	spin_lock(&lock);
	for (unsigned i = 0; i < n && head - tail < RING; i++)
		ring[head++ % RING] = bytes[i];
	pump();
	spin_unlock(&lock);
}
