/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/board/uart16550.c vmm/slots/output_log.c kernel/console/plain.c vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c */
/*
 * The virtual 16550A with a scripted driver: what the data sheet says and what Linux' 8250 driver
 * probes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/vm/intc.h"

enum { DATA = 0x3f8, IER, IIR, LCR, MCR, LSR, MSR, SCR, FCR = IIR };

static struct vm *vm;
static bool line;
static unsigned edges, repeats;

static void watch_line(struct vm *of, unsigned gsi, bool level)
{
	assert_ptr_equal(of, vm);
	assert_int_equal(gsi, 4);
	repeats += level == line;
	edges += level && !line;
	line = level;
}

static const struct intc_ops watch = { .line = watch_line };

static int setup(void **)
{
	fake_host_reset();
	line = false;
	edges = repeats = 0;
	vm = fake_vm_create(0);
	vm->intc = &watch;
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	/* The controller is told of changes only: most accesses are none. */
	return repeats ? -1 : 0;
}

static u8 in(u16 port)
{
	return (u8)guest_in(vm, port, 1);
}

static void out(u16 port, u8 value)
{
	guest_out(vm, port, 1, value);
}

/* FIFOs on, OUT2 on, as a driver leaves it. */
static void start(u8 ier)
{
	out(FCR, 0x01);
	out(MCR, 0x0b);
	out(IER, ier);
}

static const char *output(void)
{
	fake_host.output[fake_host.output_len] = 0;
	return fake_host.output;
}

static void test_linux_autoconfig(void **)
{
	u8 mcr, lcr;

	/* IER keeps four bits and no more. */
	out(IER, 0);
	assert_int_equal(in(IER), 0);
	out(IER, 0xff);
	assert_int_equal(in(IER), 0x0f);
	out(IER, 0);
	/* Loopback: RTS and OUT2 come back as CTS and DCD. */
	mcr = in(MCR);
	out(MCR, 0x1a);
	assert_int_equal(in(MSR) & 0xf0, 0x90);
	out(MCR, mcr);
	/* No extended features behind LCR 0xbf; then FIFOs that work: 16550A. */
	lcr = in(LCR);
	out(LCR, 0xbf);
	out(IIR, 0);
	out(LCR, 0);
	out(FCR, 0x01);
	assert_int_equal(in(IIR) >> 6, 3);
	/* 64-byte FIFO of a 16750 is not echoed. */
	out(FCR, 0x21);
	assert_int_equal(in(IIR) & 0x20, 0);
	out(FCR, 0);
	assert_int_equal(in(IIR) >> 6, 0);
	out(LCR, lcr);
	out(SCR, 0xa5);
	assert_int_equal(in(SCR), 0xa5);
	/* Divisor latch. */
	out(LCR, 0x83);
	out(DATA, 0x0c);
	out(IER, 0x01);
	assert_int_equal(in(DATA), 0x0c);
	assert_int_equal(in(IER), 0x01);
	out(LCR, 0x03);
	assert_int_equal(in(IER), 0);
	assert_int_equal(fake_host.output_len, 0);
}

static void test_linux_size_fifo(void **)
{
	unsigned count = 0;

	out(FCR, 0x07);
	out(MCR, 0x10);
	for (unsigned i = 0; i < 256; i++)
		out(DATA, (u8)i);
	for (; count < 256 && in(LSR) & 0x01; count++)
		assert_int_equal(in(DATA), count);
	assert_int_equal(count, 16);
	assert_int_equal(fake_host.output_len, 0);
	out(MCR, 0);
	/* Without FIFOs there is one holding register, and overrun. */
	out(FCR, 0);
	out(MCR, 0x10);
	out(DATA, 'a');
	assert_int_equal(in(LSR), 0x61);
	out(DATA, 'b');
	assert_int_equal(in(LSR), 0x63);
	assert_int_equal(in(LSR), 0x61);
}

/* Linux' startup tests for TXEN and THRE bugs. */
static void test_linux_thre_tests(void **)
{
	start(0);
	assert_int_equal(in(LSR), 0x60);
	out(IER, 0x02);
	assert_int_equal(in(IIR), 0xc2); /* reading it takes it away */
	assert_int_equal(in(IIR), 0xc1);
	out(IER, 0);
	out(IER, 0x02);
	assert_int_equal(in(IIR), 0xc2); /* and switching on brings it back */
	assert_int_equal(edges, 2);
	assert_false(line);
}

static void test_transmit_by_interrupt(void **)
{
	static const char text[] = "Hello, console: forty characters or so..";
	size_t sent = 0;

	start(0x02);
	while (sent < sizeof(text) - 1) {
		assert_true(line);
		assert_int_equal(in(IIR), 0xc2);
		assert_false(line);
		for (unsigned i = 0; i < 16 && sent < sizeof(text) - 1; i++)
			out(DATA, (u8)text[sent++]);
	}
	assert_string_equal(output(), text);
	assert_int_equal(in(LSR), 0x60);
}

static void test_back_pressure(void **)
{
	start(0x02);
	assert_int_equal(in(IIR), 0xc2);
	fake_host.output_room = 3;
	for (char c = 'a'; c < 'a' + 10; c++)
		out(DATA, (u8)c);
	assert_string_equal(output(), "abc");
	assert_int_equal(in(LSR), 0x00);
	/* THRE was raised while there was room; now nothing more may come until all has gone. */
	in(IIR);
	assert_int_equal(in(IIR), 0xc1);
	assert_false(line);
	fake_host_drain(4);
	assert_string_equal(output(), "abcdefg");
	assert_false(line);
	assert_int_equal(in(LSR), 0x00);
	fake_host_drain(100);
	assert_string_equal(output(), "abcdefghij");
	assert_true(line);
	assert_int_equal(in(LSR), 0x60);
	assert_int_equal(in(IIR), 0xc2);
}

/* A guest that polls LSR gets on without the host's call. */
static void test_polled_back_pressure(void **)
{
	start(0);
	fake_host.output_room = 0;
	out(DATA, 'p');
	assert_int_equal(in(LSR), 0x00);
	fake_host.output_room = 1;
	assert_int_equal(in(LSR), 0x60);
	assert_string_equal(output(), "p");
}

static void test_transmit_overflow(void **)
{
	start(0);
	fake_host.output_room = 0;
	for (unsigned i = 0; i < 100; i++)
		out(DATA, (u8)('A' + i % 26));
	fake_host_drain(1000);
	assert_string_equal(output(), "ABCDEFGHIJKLMNOP");
}

static void test_receive(void **)
{
	start(0x05);
	out(FCR, 0xc1); /* trigger level 14 */
	fake_host_type("hi");
	assert_true(line);
	assert_int_equal(in(LSR), 0x61);
	assert_int_equal(in(IIR), 0xcc); /* below the level: character timeout */
	assert_int_equal(in(DATA), 'h');
	assert_true(line);
	assert_int_equal(in(DATA), 'i');
	assert_false(line);
	assert_int_equal(in(IIR), 0xc1);
	assert_int_equal(in(DATA), 0);
	fake_host_type("12345678901234");
	assert_int_equal(in(IIR), 0xc4);
	for (unsigned i = 0; i < 14; i++)
		in(DATA);
	assert_int_equal(edges, 2);
}

/* A paste longer than the FIFO arrives whole; one longer than the queue is flagged. */
static void test_receive_burst(void **)
{
	char burst[1001];
	unsigned n = 0;

	memset(burst, 'x', sizeof(burst) - 1);
	burst[1000] = 0;
	start(0x05);
	burst[300] = 0;
	fake_host_type(burst);
	while (in(LSR) & 1) {
		assert_int_equal(in(DATA), 'x');
		n++;
	}
	assert_int_equal(n, 300);
	burst[300] = 'x';
	fake_host_type(burst);
	assert_int_equal(in(IIR), 0xc6); /* line status comes first */
	assert_int_equal(in(LSR) & 3, 3);
	assert_int_equal(in(IIR) & 0x0f, 0x04);
	assert_true(line);
	out(FCR, 0x03); /* clears the receiver */
	assert_int_equal(in(LSR), 0x60);
	assert_false(line);
}

/* Transmit and receive at once: no interrupt is lost when one source hides the other. */
static void test_sources_together(void **)
{
	start(0x03);
	assert_true(line);
	fake_host_type("k");
	assert_int_equal(in(IIR), 0xc4);
	assert_int_equal(in(IIR), 0xc4); /* looking does not take it away */
	in(DATA);
	assert_true(line);
	assert_int_equal(in(IIR), 0xc2);
	assert_false(line);
	fake_host_type("k");
	assert_true(line);
	assert_int_equal(edges, 2);
}

static void test_out2_gates(void **)
{
	start(0x01);
	out(MCR, 0x03);
	fake_host_type("q");
	assert_false(line);
	assert_int_equal(in(IIR), 0xc4);
	out(MCR, 0x0b);
	assert_true(line);
	out(MCR, 0x1b); /* loopback holds OUT2 inactive */
	assert_false(line);
	fake_host_type("lost"); /* and cuts the receiver off */
	out(MCR, 0x0b);
	assert_int_equal(in(DATA), 'q');
	assert_int_equal(in(LSR), 0x60);
}

static void test_modem_status(void **)
{
	assert_int_equal(in(MSR), 0xb0);
	start(0x08);
	out(MCR, 0x10); /* all lines drop */
	assert_int_equal(in(MSR), 0x0b);
	assert_int_equal(in(MSR), 0x00);
	out(MCR, 0x14); /* RI rises: no delta */
	assert_int_equal(in(MSR), 0x40);
	out(MCR, 0x10); /* RI falls: trailing edge */
	assert_int_equal(in(MSR), 0x04);
	out(MCR, 0x0b);
	assert_true(line);
	assert_int_equal(in(IIR), 0xc0);
	in(MSR);
	assert_false(line);
}

static void test_wide_accesses(void **)
{
	assert_int_equal(guest_in(vm, DATA, 4), 0xffffffff);
	guest_out(vm, DATA, 2, 0x4141);
	assert_int_equal(fake_host.output_len, 0);
	out(LSR, 0xff); /* read-only registers */
	out(MSR, 0xff);
	assert_int_equal(in(LSR), 0x60);
	assert_int_equal(in(MSR), 0xb0);
}

/*
 * PC16550D, 8.4: a BREAK is a zero byte; LSR tells of it when that is the next one of the FIFO,
 * with an interrupt of the highest priority, and forgets it then; bit 7 is its sign anywhere in the
 * FIFO.
 */
static void test_break(void **)
{
	start(0x05);
	fake_host_type("a");
	fake_host.console->rx_break(fake_host.console);
	fake_host_type("b");
	assert_int_equal(in(IIR), 0xc4);
	assert_int_equal(in(LSR), 0xe1);
	assert_int_equal(in(DATA), 'a');
	assert_int_equal(in(IIR), 0xc6);
	assert_int_equal(in(LSR), 0xf9);
	assert_int_equal(in(LSR), 0x61);
	assert_int_equal(in(IIR), 0xc4);
	assert_int_equal(in(DATA), 0);
	assert_int_equal(in(DATA), 'b');
	assert_int_equal(in(LSR), 0x60);
	/* Read without a look at LSR it goes with its byte. */
	fake_host.console->rx_break(fake_host.console);
	assert_true(line);
	assert_int_equal(in(DATA), 0);
	assert_false(line);
	assert_int_equal(in(LSR), 0x60);
	/* Bit 7 is the FIFO's. */
	out(FCR, 0);
	fake_host.console->rx_break(fake_host.console);
	assert_int_equal(in(LSR), 0x79);
	in(DATA);
	/* In loopback the line is cut off. */
	out(MCR, 0x1b);
	fake_host.console->rx_break(fake_host.console);
	assert_int_equal(in(LSR), 0x60);
}

static bool takes;
static u8 taken;

static bool second_rx(struct second_console *, u8 byte)
{
	taken = byte;
	return takes;
}

/* While input goes to hvc0, the key that Linux takes for a BREAK there does, too. */
static void test_break_of_second_console(void **)
{
	struct second_console second = { .rx = second_rx };

	start(0x05);
	vm->second = &second;
	takes = true;
	fake_host.console->rx_break(fake_host.console);
	assert_int_equal(taken, 0x0f);
	assert_int_equal(in(LSR), 0x60);
	takes = false;
	fake_host.console->rx_break(fake_host.console);
	assert_int_equal(in(LSR), 0xf9);
	in(DATA);
	vm->second = NULL;
}

/* Input belongs to the first VM that runs. */
static void test_input_owner(void **)
{
	struct vm *first = vm, *second;

	second = fake_vm_create(0);
	second->intc = &watch;
	fake_host_type("z");
	assert_int_equal(in(LSR), 0x61);
	vm = second;
	assert_int_equal(in(LSR), 0x60);
	vm = first;
	in(DATA);
	fake_host.pages_in_use--; /* the first VM's UART, while the second is destroyed alone */
	fake_vm_destroy(second);
	fake_host.pages_in_use++;
	assert_non_null(fake_host.console);
	fake_host_type("y");
	assert_int_equal(in(DATA), 'y');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_linux_autoconfig, setup, teardown),
		cmocka_unit_test_setup_teardown(test_linux_size_fifo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_linux_thre_tests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_transmit_by_interrupt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_back_pressure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_polled_back_pressure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_transmit_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_receive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_receive_burst, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sources_together, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out2_gates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modem_status, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wide_accesses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_break, setup, teardown),
		cmocka_unit_test_setup_teardown(test_break_of_second_console, setup, teardown),
		cmocka_unit_test_setup_teardown(test_input_owner, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
