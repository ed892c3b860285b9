/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has arrived at the guest's UART and was not read yet: bytes, and the BREAKs among them,
 * which belong to the byte at the FIFO's top (National Semiconductor PC16550D data sheet, 8.4). The
 * line is not slowed down: a queue stands behind the FIFO.
 */
#ifndef VMM_DEV_UART_RX_H
#define VMM_DEV_UART_RX_H

#include <margay/types.h>

#define RX_QUEUE 512 /* power of two */
#define RX_BREAK BIT(8) /* with a 0 byte: the line was held low, and LSR has not told of it */

struct uart_rx {
	u16 queue[RX_QUEUE];
	unsigned head;
	unsigned count;
	bool overrun;
};

static inline void rx_push(struct uart_rx *rx, u16 byte, unsigned limit)
{
	if (rx->count >= limit) {
		rx->overrun = true;
		return;
	}
	rx->queue[(rx->head + rx->count++) % RX_QUEUE] = byte;
}

static inline u8 rx_pop(struct uart_rx *rx)
{
	u8 byte;

	if (!rx->count)
		return 0;
	byte = (u8)rx->queue[rx->head];
	rx->head = (rx->head + 1) % RX_QUEUE;
	rx->count--;
	return byte;
}

/* Is the byte that is read next a BREAK of which LSR has not told? */
static inline bool rx_break_next(const struct uart_rx *rx)
{
	return rx->count && rx->queue[rx->head] & RX_BREAK;
}

/* Is one among the first `n`? */
static inline bool rx_break_in(const struct uart_rx *rx, unsigned n)
{
	for (unsigned i = 0; i < MIN(rx->count, n); i++)
		if (rx->queue[(rx->head + i) % RX_QUEUE] & RX_BREAK)
			return true;
	return false;
}

/* LSR has told of what there is to tell. */
static inline void rx_told(struct uart_rx *rx)
{
	rx->overrun = false;
	if (rx_break_next(rx))
		rx->queue[rx->head] &= (u16)~RX_BREAK;
}

#endif
