/* SPDX-License-Identifier: GPL-2.0-only */
/* 8250 family serial port (PC16550D data sheet, section 8). */
#include "drivers/uart8250.h"

#include "arch/x86_64/cpu/insn.h"

enum uart_reg {
	REG_DATA = 0, /* DLL with DLAB */
	REG_IER = 1,  /* DLM with DLAB */
	REG_IIR = 2,  /* read */
	REG_FCR = 2,  /* write */
	REG_LCR = 3,
	REG_MCR = 4,
	REG_LSR = 5,
	REG_MSR = 6,
	REG_SCR = 7,
};

#define PROBE_POLLS 200000u /* 0.1 s and more: 16 bytes at 1,200 */

#define IER_RX BIT(0)
#define IER_THRE BIT(1)
#define IER_LINE_STATUS BIT(2)
#define IIR_NONE BIT(0)
#define IIR_FIFO 0xc0u
#define FCR_ENABLE BIT(0)
#define FCR_CLEAR_RX BIT(1)
#define FCR_CLEAR_TX BIT(2)
#define FCR_TRIGGER_8 (2u << 6)
#define LCR_8N1 0x03u
#define LCR_DLAB BIT(7)
#define MCR_DTR BIT(0)
#define MCR_RTS BIT(1)
#define MCR_OUT2 BIT(3) /* on a PC: connects the interrupt line */
#define MCR_LOOP BIT(4)
#define MSR_STATUS 0xf0u
#define MSR_CTS BIT(4)
#define MSR_DCD BIT(7)

/* Are its registers in memory, as firmware's tables may say, and not ports? */
static bool in_memory(const struct uart8250 *u)
{
	return IS_ENABLED(CONFIG_CONSOLE_TABLES) && u->mmio;
}

static u8 reg_read(const struct uart8250 *u, enum uart_reg reg)
{
	if (!in_memory(u))
		return inb((u16)(u->port + reg));
	return u->wide ? (u8)mmio_read32(u->mmio + 4 * reg) : mmio_read8(u->mmio + reg);
}

static void reg_write(const struct uart8250 *u, enum uart_reg reg, u8 value)
{
	if (!in_memory(u))
		outb((u16)(u->port + reg), value);
	else if (u->wide)
		mmio_write32(u->mmio + 4 * reg, value);
	else
		mmio_write8(u->mmio + reg, value);
}

/* Two values, so that a bus that floats at the last one written does not pass. */
static bool has_scratch(const struct uart8250 *u)
{
	bool ok;

	reg_write(u, REG_SCR, 0x5a);
	reg_write(u, REG_LCR, LCR_8N1);
	ok = reg_read(u, REG_SCR) == 0x5a;
	reg_write(u, REG_SCR, 0xa5);
	reg_write(u, REG_LCR, LCR_8N1);
	return ok && reg_read(u, REG_SCR) == 0xa5;
}

/* In loopback RTS shows as CTS and OUT2 as DCD, at once. */
static bool has_loopback(const struct uart8250 *u)
{
	u8 status;

	reg_write(u, REG_MCR, MCR_LOOP | MCR_OUT2 | MCR_RTS);
	status = reg_read(u, REG_MSR) & MSR_STATUS;
	reg_write(u, REG_MCR, MCR_DTR | MCR_RTS);
	return status == (MSR_DCD | MSR_CTS);
}

/*
 * Its transmitter is empty, or becomes so: what floats at zeros never is, and each byte would wait
 * for it.
 */
static bool may_send(const struct uart8250 *u)
{
	u8 status = 0;

	for (unsigned i = 0; i < PROBE_POLLS && status != 0xff && !(status & UART_LSR_THRE); i++)
		status = reg_read(u, REG_LSR);
	return status != 0xff && status & UART_LSR_THRE;
}

enum uart8250_found uart8250_probe(const struct uart8250 *u)
{
	if (has_scratch(u) && has_loopback(u))
		return UART8250_GOOD;
	return may_send(u) ? UART8250_ODD : UART8250_ABSENT;
}

static void set_speed(const struct uart8250 *u, u32 baud)
{
	u16 divisor = (u16)(115200 / baud);

	reg_write(u, REG_LCR, LCR_8N1 | LCR_DLAB);
	reg_write(u, REG_DATA, (u8)divisor);
	reg_write(u, REG_IER, (u8)(divisor >> 8));
}

void uart8250_init(struct uart8250 *u, u32 baud)
{
	u8 byte, status;

	u->ier = 0;
	reg_write(u, REG_IER, 0);
	if (baud)
		set_speed(u, baud);
	reg_write(u, REG_LCR, LCR_8N1);
	reg_write(u, REG_FCR, FCR_ENABLE | FCR_CLEAR_RX | FCR_CLEAR_TX | FCR_TRIGGER_8);
	/* Both bits: a working FIFO. Only bit 7: the 16550 whose FIFO is broken. */
	u->fifo = (reg_read(u, REG_IIR) & IIR_FIFO) == IIR_FIFO ? 16 : 1;
	if (u->fifo == 1)
		reg_write(u, REG_FCR, 0);
	/* What came in before us, with its errors, is nobody's. */
	for (unsigned i = 0; i < 64 && uart8250_receive(u, &byte, &status); i++)
		;
	u->errors = 0;
	reg_read(u, REG_MSR);
	reg_write(u, REG_MCR, MCR_DTR | MCR_RTS | MCR_OUT2);
}

/* Whoever looks whether it may send must not lose the BREAK of a byte that is still to be read. */
static u8 line_status(struct uart8250 *u)
{
	u8 lsr = reg_read(u, REG_LSR);

	/* 0xff: the port has gone away (a BMC that resets its serial-over-LAN UART). */
	if (lsr != 0xff)
		u->errors |= lsr & (UART_LSR_OE | UART_LSR_PE | UART_LSR_FE | UART_LSR_BI);
	return lsr;
}

bool uart8250_can_send(struct uart8250 *u)
{
	return line_status(u) & UART_LSR_THRE;
}

void uart8250_send(const struct uart8250 *u, u8 byte)
{
	reg_write(u, REG_DATA, byte);
}

bool uart8250_idle(struct uart8250 *u)
{
	return line_status(u) & UART_LSR_TEMT;
}

bool uart8250_receive(struct uart8250 *u, u8 *byte, u8 *status)
{
	u8 lsr = line_status(u);

	if (lsr == 0xff || !(lsr & UART_LSR_DR))
		return false;
	*byte = reg_read(u, REG_DATA);
	*status = u->errors;
	u->errors = 0;
	return true;
}

void uart8250_interrupts(struct uart8250 *u, bool receive, bool transmit)
{
	u8 ier = (receive ? IER_RX | IER_LINE_STATUS : 0) | (transmit ? IER_THRE : 0);

	if (ier == u->ier)
		return;
	u->ier = ier;
	reg_write(u, REG_IER, ier);
}

bool uart8250_pending(const struct uart8250 *u)
{
	u8 iir = reg_read(u, REG_IIR);

	return iir != 0xff && !(iir & IIR_NONE);
}
