/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * drivers/uart8250.h on the build host: a 16550 whose transmitter is as slow as the test wants, for
 * a file that is one test.
 */
#ifndef TESTS_FAKE_UART_H
#define TESTS_FAKE_UART_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "drivers/uart8250.h"

/* What was sent, whether the transmitter is empty, what arrives. */
static bool present = true;
static char sent[1 << 20];
static size_t nr_sent;
static unsigned in_fifo;
static bool always_ready;
static bool irq_rx, irq_tx;
static bool empty_irq; /* the transmitter has become empty, and nobody has looked */
static u8 input[256], input_status[256];
static unsigned input_head, input_tail;

static bool odd;
static u32 speed;

enum uart8250_found uart8250_probe(const struct uart8250 *)
{
	if (!present)
		return UART8250_ABSENT;
	return odd ? UART8250_ODD : UART8250_GOOD;
}

void uart8250_init(struct uart8250 *u, u32 baud)
{
	u->fifo = 16;
	speed = baud;
}

bool uart8250_can_send(struct uart8250 *)
{
	if (always_ready)
		in_fifo = 0;
	return in_fifo == 0;
}

void uart8250_send(const struct uart8250 *, u8 byte)
{
	assert_true(in_fifo < 16);
	in_fifo++;
	empty_irq = false;
	assert_true(nr_sent < sizeof(sent) - 1);
	sent[nr_sent++] = (char)byte;
	sent[nr_sent] = 0;
}

bool uart8250_idle(struct uart8250 *u)
{
	return uart8250_can_send(u);
}

bool uart8250_receive(struct uart8250 *, u8 *byte, u8 *status)
{
	if (input_tail == input_head)
		return false;
	*byte = input[input_tail];
	*status = input_status[input_tail++];
	return true;
}

void uart8250_interrupts(struct uart8250 *, bool receive, bool transmit)
{
	/* Enabling it is an interrupt where the transmitter is empty; enabling it again is none. */
	empty_irq = transmit && (empty_irq || (!irq_tx && in_fifo == 0));
	irq_rx = receive;
	irq_tx = transmit;
}

bool uart8250_pending(const struct uart8250 *)
{
	bool empty = empty_irq;

	if (irq_rx && input_tail != input_head)
		return true;
	/* To look is to acknowledge. */
	empty_irq = false;
	return empty;
}

/* The transmitter has sent all that it had. */
static void emptied(void)
{
	in_fifo = 0;
	empty_irq = irq_tx;
}

#endif
