/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * The serial port's registers (PC16550D data sheet, section 8), by port and in
 * memory: probing, setting up, sending, receiving, a port that goes away. The
 * file is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/insn.h"

/* A 16550A with what stands in its receive FIFO; both ways to it lead here. */
static struct {
	u8 reg[8];
	u8 dll;
	u8 dlm;
	u8 fcr;
	u8 iir;
	u8 fifo[16][2]; /* byte, line status beside it */
	unsigned head;
	unsigned tail;
	u8 sent;
	bool absent;
	bool by_memory;
	bool wide;
	bool no_loopback;
} hw;
static u8 window[32];

static u8 hw_read(unsigned reg)
{
	u8 byte;

	assert_true(reg < 8);
	if (hw.absent)
		return 0xff;
	switch (reg) {
	case 0:
		byte = hw.fifo[hw.tail % 16][0];
		hw.tail += hw.tail != hw.head;
		return byte;
	case 2: return hw.iir;
	case 5: /* to read it clears the errors beside the byte */
		if (hw.tail == hw.head)
			return hw.reg[5];
		byte = hw.reg[5] | 1 | hw.fifo[hw.tail % 16][1];
		hw.fifo[hw.tail % 16][1] = 0;
		return byte;
	case 6: /* in loopback RTS shows as CTS, OUT2 as DCD */
		if (hw.no_loopback)
			return 0xb0;
		return hw.reg[4] & 0x10 ? (u8)((hw.reg[4] & 2) << 3 | (hw.reg[4] & 8) << 4) : 0xb0;
	default: return hw.reg[reg];
	}
}

static void hw_write(unsigned reg, u8 value)
{
	assert_true(reg < 8);
	if (reg == 0 && hw.reg[3] & 0x80)
		hw.dll = value;
	else if (reg == 1 && hw.reg[3] & 0x80)
		hw.dlm = value;
	else if (reg == 0)
		hw.sent = value;
	else if (reg == 2)
		hw.fcr = value;
	else if (reg != 5 && reg != 6)
		hw.reg[reg] = value;
	if (reg == 2 && value & 2)
		hw.tail = hw.head;
}

static u8 fake_inb(u16 port)
{
	assert_false(hw.by_memory);
	return hw_read(port - 0x2f8u);
}

static void fake_outb(u16 port, u8 value)
{
	assert_false(hw.by_memory);
	hw_write(port - 0x2f8u, value);
}

static u8 fake_mmio_read8(const volatile void *p)
{
	assert_true(hw.by_memory && !hw.wide);
	return hw_read((unsigned)((const volatile u8 *)p - window));
}

static void fake_mmio_write8(volatile void *p, u8 value)
{
	assert_true(hw.by_memory && !hw.wide);
	hw_write((unsigned)((volatile u8 *)p - window), value);
}

/* Registers of 32 bits: nothing but whole ones is read or written, and only the low byte counts. */
static u32 fake_mmio_read32(const volatile void *p)
{
	u64 at = (u64)((const volatile u8 *)p - window);

	assert_true(hw.by_memory && hw.wide && !(at % 4));
	return 0xabcdef00 | hw_read((unsigned)at / 4);
}

static void fake_mmio_write32(volatile void *p, u32 value)
{
	u64 at = (u64)((volatile u8 *)p - window);

	assert_true(hw.by_memory && hw.wide && !(at % 4) && value <= 0xff);
	hw_write((unsigned)at / 4, (u8)value);
}

#define inb fake_inb
#define outb fake_outb
#define mmio_read32 fake_mmio_read32
#define mmio_write32 fake_mmio_write32
#define mmio_read8 fake_mmio_read8
#define mmio_write8 fake_mmio_write8
#include "drivers/uart8250.c"

static struct uart8250 uart;

static int setup(void **)
{
	memset(&hw, 0, sizeof(hw));
	hw.reg[5] = 0x60;
	hw.iir = 0xc1;
	uart = (struct uart8250){ .port = 0x2f8 };
	return 0;
}

static void arrives(u8 byte, u8 status)
{
	hw.fifo[hw.head % 16][0] = byte;
	hw.fifo[hw.head++ % 16][1] = status;
}

static void test_init(void **)
{
	arrives('x', 0);
	hw.reg[1] = 0xf;
	assert_int_equal(uart8250_probe(&uart), UART8250_GOOD);
	uart8250_init(&uart, 38400);
	assert_true(hw.dll == 3 && hw.dlm == 0);
	assert_int_equal(hw.reg[3], 3); /* 8 bits, no parity, 1 stop bit */
	assert_int_equal(hw.reg[1], 0); /* no interrupt */
	assert_int_equal(hw.reg[4], 0x0b); /* DTR, RTS, OUT2, no loopback */
	assert_int_equal(hw.fcr & 1, 1);
	assert_int_equal(uart.fifo, 16);
	assert_int_equal(hw.tail, hw.head);
	/* A baud rate with two bytes of divisor; FIFOs that do not work. */
	hw.iir = 0x81;
	uart8250_init(&uart, 300);
	assert_true(hw.dll == 0x80 && hw.dlm == 1);
	assert_int_equal(uart.fifo, 1);
	assert_int_equal(hw.fcr, 0);
	/* As it is. */
	uart8250_init(&uart, 0);
	assert_true(hw.dll == 0x80 && hw.dlm == 1);
	assert_int_equal(hw.reg[3], 3);
	/* What is not whole, and what is not there. */
	hw.no_loopback = true;
	assert_int_equal(uart8250_probe(&uart), UART8250_ODD);
	uart8250_init(&uart, 9600);
	assert_true(hw.dll == 12 && hw.dlm == 0 && hw.reg[4] == 0x0b);
	hw.reg[5] = 0;
	assert_int_equal(uart8250_probe(&uart), UART8250_ABSENT);
	hw.absent = true;
	assert_int_equal(uart8250_probe(&uart), UART8250_ABSENT);
}

static void test_memory(void **)
{
	u8 byte, status;

	hw.by_memory = true;
	uart.mmio = window;
	assert_int_equal(uart8250_probe(&uart), UART8250_GOOD);
	uart8250_init(&uart, 115200);
	assert_true(hw.dll == 1 && hw.dlm == 0);
	uart8250_send(&uart, 'y');
	assert_int_equal(hw.sent, 'y');
	arrives('z', 0);
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_int_equal(byte, 'z');
}

static void test_wide(void **state)
{
	setup(state);
	hw.wide = uart.wide = true;
	test_memory(NULL);
	assert_int_equal(uart.fifo, 16);
	uart8250_interrupts(&uart, true, false);
	assert_int_equal(hw.reg[1], 5);
}

static void test_receive(void **)
{
	u8 byte = 0, status = 0;

	assert_false(uart8250_receive(&uart, &byte, &status));
	arrives('a', 0);
	arrives(0, 0x98); /* a break, by FE, BI, and the error bit of the FIFO */
	arrives('b', 2);
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_true(byte == 'a' && status == 0);
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_true(byte == 0 && status == 0x18);
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_true(byte == 'b' && status == 2);
	assert_false(uart8250_receive(&uart, &byte, &status));
	/* A port that has gone away reads as ones: no endless input. */
	hw.absent = true;
	assert_false(uart8250_receive(&uart, &byte, &status));
	assert_false(uart8250_pending(&uart));
}

/* A look at the transmitter clears a BREAK in the register: the byte that is read next has it. */
static void test_errors_are_kept(void **)
{
	u8 byte;
	u8 status;

	arrives('a', 0);
	assert_true(uart8250_can_send(&uart));
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_true(byte == 'a' && status == 0);
	arrives(0, 0x98);
	arrives(0, 0x98);
	arrives('h', 0);
	assert_true(uart8250_idle(&uart));
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_true(byte == 0 && status == 0x18);
	assert_true(uart8250_can_send(&uart));
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_true(byte == 0 && status == 0x18);
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_true(byte == 'h' && status == 0);
	/* What came in before the set-up is of no later byte; a port that is gone has no errors. */
	hw.reg[5] |= 2;
	uart8250_init(&uart, 0);
	hw.reg[5] &= (u8)~2u;
	hw.absent = true;
	assert_true(uart8250_can_send(&uart));
	hw.absent = false;
	arrives('i', 0);
	assert_true(uart8250_receive(&uart, &byte, &status));
	assert_true(byte == 'i' && status == 0);
}

static void test_transmitter(void **)
{
	assert_true(uart8250_can_send(&uart) && uart8250_idle(&uart));
	uart8250_send(&uart, 'q');
	assert_int_equal(hw.sent, 'q');
	hw.reg[5] = 0x20; /* the last byte is still in the shift register */
	assert_true(uart8250_can_send(&uart));
	assert_false(uart8250_idle(&uart));
	hw.reg[5] = 0;
	assert_false(uart8250_can_send(&uart));
}

/* Received data with line status in bits 0 and 2, transmitter empty in bit 1. */
static void test_interrupts(void **)
{
	uart8250_interrupts(&uart, true, false);
	assert_int_equal(hw.reg[1], 5);
	uart8250_interrupts(&uart, true, true);
	assert_int_equal(hw.reg[1], 7);
	uart8250_interrupts(&uart, false, true);
	assert_int_equal(hw.reg[1], 2);
	/* Written only when it changes: to enable it again would be another interrupt. */
	hw.reg[1] = 0;
	uart8250_interrupts(&uart, false, true);
	assert_int_equal(hw.reg[1], 0);
	assert_false(uart8250_pending(&uart));
	hw.iir = 0xc4;
	assert_true(uart8250_pending(&uart));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_init, setup),
		cmocka_unit_test_setup(test_memory, setup),
		cmocka_unit_test_setup(test_wide, setup),
		cmocka_unit_test_setup(test_receive, setup),
		cmocka_unit_test_setup(test_errors_are_kept, setup),
		cmocka_unit_test_setup(test_transmitter, setup),
		cmocka_unit_test_setup(test_interrupts, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
