/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/gdb_port.c */
/*
 * The debugger's line is one only if its interrupt comes; else a line says so, and the VM is
 * debugged by nobody.
 */
#include "tests/unit/fake_uart.h"

#include <string.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/ioapic.h"
#include "kernel/console/gdb_port.h"
#include "kernel/console/serial.h"
#include "kernel/cpu/irq.h"
#include "kernel/cpu/nmi.h"
#include "kernel/log/printk.h"
#include "kernel/work/nmi_try.h"
#include "tests/unit/fake_say.h"

static bool (*handler)(void);
static bool comes;
static int request_says, console_irq;
static unsigned tries, masks;

int nmi_request(unsigned irq, bool (*fn)(void))
{
	assert_int_equal(irq, 3);
	handler = fn;
	return request_says;
}

/*
 * PC16550D, 8.6.4 and table V: an empty transmitter interrupts as soon as it may, until that has
 * been read.
 */
bool nmi_comes(void (*ask)(bool on))
{
	tries++;
	ask(true);
	assert_true(irq_tx && empty_irq && !irq_rx);
	ask(false);
	assert_false(irq_tx || empty_irq);
	return comes;
}

void nmi_expected(unsigned cpu)
{
	assert_int_equal(cpu, 0);
}

u32 irq_gsi(unsigned irq)
{
	return irq + 16;
}

void ioapic_mask(u32 gsi, bool masked)
{
	assert_true(gsi == 19 && masked);
	masks++;
}

int serial_irq(void)
{
	return console_irq;
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

static char typed[16];
static unsigned nr_typed;

static void rx(u8 byte)
{
	typed[nr_typed++] = (char)byte;
}

static const struct cmdline c = {
	.gdb_port = 0x2f8, .gdb_baud = 9600, .gdb_irq = 3, .gdb_vm = "vm0"
};

static int reset(void **)
{
	present = always_ready = comes = true;
	odd = false;
	request_says = 0;
	console_irq = 4;
	tries = masks = nr_typed = 0;
	input_head = input_tail = in_fifo = 0;
	nr_sent = 0;
	said[0] = 0;
	irq_rx = irq_tx = empty_irq = false;
	gdb_port_init(&c, nmi_comes);
	return 0;
}

static void test_comes(void **)
{
	assert_int_equal(host_debug_listen(rx), 0);
	assert_true(tries == 1 && !masks && irq_rx && speed == 9600);
	assert_string_equal(said, "");
	assert_string_equal(host_debug_name(), "vm0");
	input[input_head++] = '+';
	assert_true(handler());
	assert_true(nr_typed == 1 && typed[0] == '+');
	/* More than a FIFO goes on by the interrupt. */
	always_ready = false;
	host_debug_send((const u8 *)"$0123456789abcdef#9a", 20);
	assert_true(nr_sent == 16 && irq_tx);
	emptied();
	assert_true(handler());
	assert_int_equal(nr_sent, 20);
	assert_memory_equal(sent, "$0123456789abcdef#9a", 20);
}

#define NONE \
	"command line: gdb=: interrupt 3, of the port at 0x2f8, does not come: vm0 cannot be debugged\n"

static void test_does_not_come(void **state)
{
	comes = false;
	assert_int_equal(host_debug_listen(rx), -EIO);
	assert_true(masks == 1 && !irq_rx);
	assert_string_equal(said, NONE);
	assert_null(host_debug_name());
	/* The console has this input, too. */
	reset(state);
	comes = false;
	console_irq = 3;
	assert_int_equal(host_debug_listen(rx), -EIO);
	assert_int_equal(masks, 0);
	assert_string_equal(said, NONE);
	reset(state);
	request_says = -ENODEV;
	assert_int_equal(host_debug_listen(rx), -ENODEV);
	assert_int_equal(tries, 0);
	assert_string_equal(said, NONE);
	assert_null(host_debug_name());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_comes, reset),
		cmocka_unit_test_setup(test_does_not_come, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
