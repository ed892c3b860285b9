/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 8250/16450/16550A serial port, by I/O port or memory, with a byte or 32 bits
 * for each register (National Semiconductor PC16550D data sheet). The caller locks.
 */
#ifndef DRIVERS_UART8250_H
#define DRIVERS_UART8250_H

#include <margay/types.h>

struct uart8250 {
	volatile u8 *mmio; /* NULL: by port */
	u16 port;
	bool wide;         /* in memory, registers of 32 bits */
	u8 ier;            /* what was last written there */
	u8 fifo;           /* bytes that the transmitter takes at once: 16, or 1 without FIFO */
	u8 errors; /* of the byte that is received next: to read the line status clears them */
};

/* Line status register, and what uart8250_receive() reports of a byte. */
#define UART_LSR_DR BIT(0)
#define UART_LSR_OE BIT(1)
#define UART_LSR_PE BIT(2)
#define UART_LSR_FE BIT(3)
#define UART_LSR_BI BIT(4)
#define UART_LSR_THRE BIT(5)
#define UART_LSR_TEMT BIT(6)

/*
 * Is there one? By the scratch register and modem loopback; what has neither, as some BMCs' has
 * not, is odd, and what reads as ones is absent. mmio, wide or port is set by the caller.
 */
enum uart8250_found { UART8250_ABSENT, UART8250_ODD, UART8250_GOOD };
enum uart8250_found uart8250_probe(const struct uart8250 *uart);

/* Sets up 8N1 with that speed (a divisor of 115200; 0: as it is), FIFOs on, interrupts off. */
void uart8250_init(struct uart8250 *uart, u32 baud);

/* Room for uart->fifo bytes? */
bool uart8250_can_send(struct uart8250 *uart);
void uart8250_send(const struct uart8250 *uart, u8 byte);
/* The last bit has left. */
bool uart8250_idle(struct uart8250 *uart);

/* Takes one received byte; false: none. *status: the UART_LSR_* error bits that came with it. */
bool uart8250_receive(struct uart8250 *uart, u8 *byte, u8 *status);

/* Which events raise the interrupt line. */
void uart8250_interrupts(struct uart8250 *uart, bool receive, bool transmit);
/* Is an interrupt pending? Reading clears a transmit interrupt. */
bool uart8250_pending(const struct uart8250 *uart);

#endif
