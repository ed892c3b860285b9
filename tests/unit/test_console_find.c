/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/console_find.c kernel/console/console_tables.c */
/*
 * Which port is the console: the operator's word, else SPCR, else the DSDT, else COM1; and what is
 * learned of its interrupt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "kernel/acpi/acpi.h"
#include "kernel/acpi/uart.h"
#include "kernel/boot/bootinfo.h"
#include "kernel/console/console.h"
#include "kernel/console/console_find.h"
#include "kernel/log/printk.h"
#include "tests/unit/fake_say.h"

static struct cmdline c;
static struct acpi_uart in_spcr, in_dsdt[3];
static unsigned nr_dsdt;
static bool endless; /* has the DSDT ports without end */
static bool has_spcr, has_dsdt;
static const char *spcr_says;
static bool works; /* the console, so far */
static u64 answers[3]; /* where a port does */
static unsigned starts, inits;
static struct cmdline started;

static const struct acpi_sdt table = { .length = sizeof(table) + 100 };

const struct acpi_sdt *acpi_table(const char signature[4], unsigned)
{
	bool has = signature[0] == 'S' ? has_spcr : has_dsdt;

	return has ? &table : NULL;
}

const char *spcr_read(const void *t, size_t size, struct acpi_uart *out)
{
	assert_true(t == &table && size == table.length);
	*out = in_spcr;
	return spcr_says;
}

bool aml_uart(const void *aml, size_t size, unsigned n, struct acpi_uart *out)
{
	assert_true(aml == &table + 1 && size == 100);
	if (endless) {
		*out = (struct acpi_uart){ .address = 0x2000, .irq = 5 };
		return true;
	}
	if (n >= nr_dsdt)
		return false;
	*out = in_dsdt[n];
	return true;
}

static struct bootinfo boot;

const struct bootinfo *bootinfo_of_boot(void)
{
	return &boot;
}

bool console_works(void)
{
	return works;
}

int console_start(const struct cmdline *at)
{
	starts++;
	started = *at;
	for (unsigned i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i] == at->console_address)
			works = true;
	for (unsigned i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i] == at->console_address)
			return 0;
	return -ENODEV;
}

int console_init(const struct cmdline *at)
{
	inits++;
	started = *at;
	return 0;
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

static int reset(void **)
{
	c = (struct cmdline){ CMDLINE_CONSOLE_PORT, 0x3f8, 115200,
			      .console_irq = CMDLINE_IRQ_UNKNOWN };
	has_spcr = has_dsdt = false;
	spcr_says = NULL;
	nr_dsdt = starts = inits = 0;
	works = true;
	memset(answers, 0, sizeof(answers));
	said[0] = 0;
	return 0;
}

static void expect(enum cmdline_console kind, u64 address, s32 irq, u32 baud)
{
	console_find(&c);
	assert_int_equal(c.console, kind);
	assert_int_equal(c.console_address, address);
	assert_int_equal(c.console_irq, irq);
	assert_int_equal(c.baud, baud);
}

static void spcr(bool mmio, u64 address, s32 irq, u32 baud)
{
	has_spcr = true;
	in_spcr = (struct acpi_uart){
		.mmio = mmio, .wide = mmio, .address = address, .irq = irq, .baud = baud
	};
}

static void dsdt(u64 address, s32 irq)
{
	has_dsdt = true;
	in_dsdt[nr_dsdt++] = (struct acpi_uart){ .address = address, .irq = irq };
}

/* No table: by habit. */
static void test_habit(void **state)
{
	static const struct {
		u64 port;
		s32 irq;
	} ports[] = {
		{ 0x3f8, 4 }, { 0x2f8, 3 }, { 0x3e8, 4 }, { 0x2e8, 3 }, { 0xc000, CMDLINE_IRQ_NONE }
	};

	for (unsigned i = 0; i < ARRAY_SIZE(ports); i++) {
		reset(state);
		c.console_address = ports[i].port;
		expect(CMDLINE_CONSOLE_PORT, ports[i].port, ports[i].irq, 115200);
		assert_int_equal(starts + inits, 0);
	}
	reset(state);
	c.console = CMDLINE_CONSOLE_MMIO;
	c.console_named = true;
	expect(CMDLINE_CONSOLE_MMIO, 0x3f8, CMDLINE_IRQ_NONE, 115200);
	assert_string_equal(said, "");
}

/* The operator has named the port: what he has not said of it is learned, of no other. */
static void test_named(void **state)
{
	c.console_named = true;
	spcr(false, 0x2f8, 11, 9600);
	dsdt(0x3f8, 7);
	expect(CMDLINE_CONSOLE_PORT, 0x3f8, 7, 115200);
	assert_int_equal(starts + inits, 0);
	/* SPCR before the DSDT, and its speed, at which the line begins anew. */
	reset(state);
	c.console_named = true;
	c.console_address = 0x2f8;
	dsdt(0x2f8, 7);
	spcr(false, 0x2f8, 11, 9600);
	expect(CMDLINE_CONSOLE_PORT, 0x2f8, 11, 9600);
	assert_true(!starts && inits == 1 && started.baud == 9600);
	/* What he has said stays. */
	reset(state);
	c.console_named = c.baud_named = true;
	c.console_irq = CMDLINE_IRQ_NONE;
	spcr(false, 0x3f8, 11, 9600);
	expect(CMDLINE_CONSOLE_PORT, 0x3f8, CMDLINE_IRQ_NONE, 115200);
	/* Nothing answers there, and that has been said. */
	works = false;
	console_find(&c);
	c.baud_named = false;
	console_find(&c);
	assert_int_equal(starts + inits, 0);
	/* A table that has no interrupt for it leaves the question to the next. */
	reset(state);
	spcr(false, 0x3f8, -1, 0);
	dsdt(0x3f8, 5);
	expect(CMDLINE_CONSOLE_PORT, 0x3f8, 5, 115200);
	assert_int_equal(starts, 0);
}

/* Nobody has named one: firmware's, if it answers. */
static void test_moves(void **state)
{
	spcr(false, 0x2f8, 3, 9600);
	dsdt(0x3f8, 4);
	answers[0] = 0x2f8;
	expect(CMDLINE_CONSOLE_PORT, 0x2f8, 3, 9600);
	assert_true(starts == 1 && !inits && started.console_address == 0x2f8 &&
		    started.baud == 9600);
	assert_string_equal(said, "console: at port 0x2f8, as the SPCR says\n");
	/* Registers of 32 bits keep their speed, which goes by a clock that nobody knows. */
	reset(state);
	spcr(true, 0xfedc6000, 22, 57600);
	answers[0] = 0xfedc6000;
	expect(CMDLINE_CONSOLE_MMIO, 0xfedc6000, 22, 0);
	assert_true(started.console_wide && !inits);
	assert_string_equal(said, "console: at mmio:0xfedc6000, as the SPCR says\n");
	/* A table is not read for ever. */
	reset(state);
	works = false;
	has_dsdt = endless = true;
	console_find(&c);
	endless = false;
	/* What firmware says is memory is not written to. */
	reset(state);
	boot.nr_ranges = 1;
	boot.range[0] = (struct boot_range){ 0xfedc6000, 0xfedc7000, BOOT_MEMORY_USABLE };
	spcr(true, 0xfedc6000, 22, 57600);
	answers[0] = 0xfedc6000;
	expect(CMDLINE_CONSOLE_PORT, 0x3f8, 4, 115200);
	assert_int_equal(starts, 0);
	assert_string_equal(
		said, "console: the SPCR has it at mmio:0xfedc6000, which is memory: ignored\n");
	boot.nr_ranges = 0;
	/* A port of the DSDT's is none that works is left for. */
	reset(state);
	dsdt(0x2f8, 3);
	answers[0] = 0x2f8;
	expect(CMDLINE_CONSOLE_PORT, 0x3f8, 4, 115200);
	assert_int_equal(starts, 0);
	/* It does not answer: the DSDT's, and of these COM1, which has begun already. */
	reset(state);
	spcr(false, 0x2e8, 3, 9600);
	dsdt(0x2f8, 3);
	dsdt(0x3f8, 7);
	expect(CMDLINE_CONSOLE_PORT, 0x3f8, 7, 115200);
	assert_true(starts == 1 && !inits);
	assert_string_equal(said, "");
	/* It has another only. */
	reset(state);
	works = false;
	spcr_says = "its port is no 16550";
	has_spcr = true;
	dsdt(0x2e8, 10);
	dsdt(0x2f8, 3);
	answers[0] = 0x2e8;
	expect(CMDLINE_CONSOLE_PORT, 0x2e8, 10, 115200);
	assert_string_equal(
		said,
		"console: table SPCR: its port is no 16550: ignored\nconsole: at port 0x2e8, as the DSDT says\n");
	/* SPCR means COM1: where that works, it is it; where not, the DSDT may have another. */
	for (unsigned good = 0; good < 2; good++) {
		reset(state);
		works = good;
		spcr(false, 0x3f8, 4, 0);
		dsdt(0x2f8, 3);
		answers[0] = 0x2f8;
		expect(CMDLINE_CONSOLE_PORT, good ? 0x3f8 : 0x2f8, good ? 4 : 3, 115200);
	}
	/* COM1 is the DSDT's, too, and does not answer: that is said now. */
	reset(state);
	works = false;
	dsdt(0x3f8, 4);
	expect(CMDLINE_CONSOLE_PORT, 0x3f8, 4, 115200);
	assert_true(!starts && inits == 1);
}

static void test_none(void **)
{
	c.console = CMDLINE_CONSOLE_NONE;
	works = false;
	spcr(false, 0x2f8, 3, 9600);
	expect(CMDLINE_CONSOLE_NONE, 0x3f8, CMDLINE_IRQ_UNKNOWN, 115200);
	assert_int_equal(starts + inits, 0);
}

/* The debugger's port has its own, and the console does not go there, whatever firmware says. */
static void test_gdb(void **)
{
	spcr(false, 0x2f8, -1, 0);
	answers[0] = 0x2f8;
	c.gdb_port = 0x2f8;
	c.gdb_irq = 3;
	dsdt(0x3f8, 4);
	dsdt(0x2f8, 9);
	console_find(&c);
	assert_int_equal(c.gdb_irq, IS_ENABLED(CONFIG_GDB) ? 9 : 3);
	assert_int_equal(c.console_address, IS_ENABLED(CONFIG_GDB) ? 0x3f8 : 0x2f8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_habit, reset),
		cmocka_unit_test_setup(test_named, reset),
		cmocka_unit_test_setup(test_moves, reset),
		cmocka_unit_test_setup(test_none, reset),
		cmocka_unit_test_setup(test_gdb, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
