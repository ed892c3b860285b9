/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/wdat.c kernel/acpi/rsdp.c */
/*
 * Which of the machine's watchdogs are found to run, by registers that are set here as the data
 * sheets have them: WDAT, Intel's TCO behind either base, AMD's of SP5100 and Zen. Nothing is
 * touched but what the machine says it has, and nothing written but an index.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "tests/unit/acpi_table.h"

static u8 ports[0x10000];
static bool known[0x10000]; /* the machine has it */
static u8 pm[256], pm_index; /* of an SP5100 */

static u32 from_ports(unsigned port, unsigned size)
{
	u32 value = 0;

	if (port == 0xcd7)
		return pm[pm_index];
	for (unsigned i = 0; i < size; i++)
		assert_true(known[port + i]);
	memcpy(&value, ports + port, size);
	return value;
}

static void to_port(unsigned port, u8 value)
{
	assert_int_equal(port, 0xcd6);
	pm_index = value;
}

#define inb(port) ((u8)from_ports(port, 1))
#define inw(port) ((u16)from_ports(port, 2))
#define inl(port) from_ports(port, 4)
#define outb to_port
#include "kernel/check/watchdogs.c"

#define MAPS 4
static struct {
	u64 pa;
	u64 words[2];
} maps[MAPS];
static unsigned nr_maps;

static void has_memory(u64 pa, u32 first, u32 second)
{
	maps[nr_maps].pa = pa;
	maps[nr_maps++].words[0] = first | (u64)second << 32;
}

void *mmio_map_type(u64 pa, u64 size, bool combining)
{
	assert_false(combining);
	for (unsigned i = 0; i < nr_maps; i++)
		if (maps[i].pa == pa && size <= 8)
			return maps[i].words;
	fail_msg("%#lx is not there", pa);
	return NULL;
}

static void has_ports(u16 port, u64 value, unsigned size)
{
	memset(known + port, true, size);
	memcpy(ports + port, &value, size);
}

static struct pci_function functions[2];
static u8 config[2][256];
static unsigned nr_functions;

const struct pci_function *pci_get(unsigned i)
{
	return i < nr_functions ? &functions[i] : NULL;
}

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	u32 value = 0;

	memcpy(&value, config[a.devfn & 1] + offset, size);
	return value;
}

/* A function, with what it has at an offset of its configuration space. */
static void has_function(u16 vendor, u16 device, u32 class, u8 revision)
{
	functions[nr_functions] = (struct pci_function){ .address = { .devfn = (u8)nr_functions },
							 .id = { vendor, device, class << 8 } };
	config[nr_functions++][8] = revision;
}

static void has_config(u16 offset, u32 value)
{
	memcpy(config[nr_functions - 1] + offset, &value, 4);
}

static bool has_table, has_bmc;
static unsigned complaints;

const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance)
{
	assert_true(!memcmp(signature, "WDAT", 4) && !instance);
	return has_table ? (const struct acpi_sdt *)buf : NULL;
}

void printk_error(const char *, ...)
{
	complaints++;
}

bool watchdog_bmc(struct host_watchdog *w)
{
	w->name = "BMC";
	return has_bmc;
}

static int reset(void **)
{
	memset(ports, 0, sizeof(ports));
	memset(known, 0, sizeof(known));
	memset(maps, 0, sizeof(maps));
	memset(config, 0, sizeof(config));
	memset(pm, 0, sizeof(pm));
	nr_maps = nr_functions = complaints = 0;
	has_table = has_bmc = false;
	return 0;
}

static struct host_watchdog found;

/* There is one; is it so? seconds -1: they are not known. */
static void expect(const char *name, enum host_watchdog_state state, long seconds, const char *what)
{
	struct host_watchdog w[HOST_WATCHDOGS];

	assert_int_equal(host_watchdogs(w), 1);
	found = w[0];
	assert_string_equal(found.name, name);
	assert_int_equal(found.state, state);
	assert_int_equal(found.timed, seconds >= 0);
	if (seconds >= 0)
		assert_int_equal(found.seconds, seconds);
	if (what)
		assert_string_equal(found.what, what);
}

static void test_none(void **)
{
	struct host_watchdog w[HOST_WATCHDOGS];

	assert_int_equal(host_watchdogs(w), 0);
	/* Others' functions, and one of the same ID that is something else. */
	has_function(0x8086, 0x1533, 0x0200, 0);
	has_function(0x8086, 0x1d41, 0x0c05, 0);
	assert_int_equal(host_watchdogs(w), 0);
	nr_functions = 0;
	has_function(0x1022, 0x790b, 0x0c05, 0x61);
	functions[0].id.vendor = 0x1234;
	has_function(0x1022, 0x1d41, 0x0601, 0);
	assert_int_equal(host_watchdogs(w), 0);
	has_bmc = true;
	assert_int_equal(host_watchdogs(w), 1);
	assert_string_equal(w[0].name, "BMC");
}

/* ---- WDAT -------------------------------------------------------------------------- */

enum { IO = 1, MEMORY = 0 };

static void entry(unsigned action, unsigned instruction, unsigned space, unsigned width,
		  unsigned shift, unsigned access, u64 address, u32 value, u32 mask)
{
	put8(action);
	put8(instruction);
	put(0, 2);
	put8(space);
	put8(width);
	put8(shift);
	put8(access);
	put(address, 8);
	put(value, 4);
	put(mask, 4);
}

/* The head, as Intel's boards have it: ticks of 600 ms. */
static void table(unsigned flags, unsigned entries)
{
	has_table = true;
	begin("WDAT", 1);
	put(32, 4);
	put(0xffff00ff, 4);
	put(0xff, 4);
	put(600, 4);
	put(0x3ff, 4);
	put(2, 4);
	put(flags, 4);
	put(entries, 4);
}

/*
 * A server's with a PCH: the TCO at 0x460, halted by bit 11 of the word at 8. What writes is not
 * taken, nor what asks something else.
 */
static void server(void)
{
	table(1, 8);
	entry(1, 2, IO, 16, 0, 2, 0x460, 1, 1);
	entry(4, 1, IO, 16, 0, 2, 0x460, 0, 0x3ff);
	entry(5, 1, IO, 16, 0, 2, 0x472, 0, 0x3ff);
	entry(8, 0, IO, 16, 11, 2, 0x468, 0, 1);
	entry(9, 0x82, IO, 16, 11, 2, 0x468, 0, 1);
	entry(10, 0, IO, 16, 11, 2, 0x468, 1, 1);
	entry(4, 3, IO, 16, 0, 2, 0x470, 0, 0x3ff);
	entry(10, 2, IO, 16, 11, 2, 0x470, 1, 1);
	finish();
}

/* Firmware's largest tick and count: more seconds than a number has room for. */
static void test_table_longest(void **)
{
	static const u32 tick_ms = ~0u;

	table(1, 2);
	memcpy(buf + 48, &tick_ms, sizeof(tick_ms));
	entry(4, 1, IO, 32, 0, 3, 0x460, 0, ~0u);
	entry(8, 0, IO, 8, 0, 1, 0x468, 1, 1);
	finish();
	has_ports(0x460, ~0u, 4);
	has_ports(0x468, 1, 1);
	expect("WDAT", HOST_WATCHDOG_RUNS, 0xffffffff, NULL);
}

static void test_table(void **)
{
	server();
	has_ports(0x460, 0xfc00 | 50, 2);
	has_ports(0x468, 0xf7ff, 2);
	expect("WDAT", HOST_WATCHDOG_RUNS, 30, "the machine restarts");
	has_ports(0x468, 0x0800, 2);
	expect("WDAT", HOST_WATCHDOG_OFF, -1, NULL);
	/* It is the chipset's own, which is not looked at then; the BMC's is another. */
	has_function(0x8086, 0x1d41, 0x0601, 0);
	expect("WDAT", HOST_WATCHDOG_OFF, -1, NULL);
	has_bmc = true;
	assert_int_equal(host_watchdogs(&(struct host_watchdog[HOST_WATCHDOGS]){ 0 }[0]), 2);
}

static void test_table_in_memory(void **)
{
	/* Only whether it is stopped is told; a register of 32 bits without an access size. */
	table(1, 1);
	entry(10, 0, MEMORY, 32, 0, 0, 0xfed80b00, 0, 1);
	finish();
	has_memory(0xfed80b00, 0x81, 0);
	expect("WDAT", HOST_WATCHDOG_RUNS, -1, NULL);
	maps[0].words[0] = 0x80;
	expect("WDAT", HOST_WATCHDOG_OFF, -1, NULL);
	/* The same of a byte, and no more of it. */
	table(1, 1);
	entry(10, 0, MEMORY, 8, 0, 0, 0xfed80b00, 0, 0xfff);
	finish();
	maps[0].words[0] = 0x100;
	expect("WDAT", HOST_WATCHDOG_OFF, -1, NULL);
	/* A byte, whose count is not to be had. */
	table(1, 2);
	entry(8, 0, MEMORY, 8, 1, 1, 0xfed80b00, 3, 3);
	entry(4, 1, MEMORY, 64, 0, 4, 0xfed80b00, 0, ~0u);
	finish();
	maps[0].words[0] = 0xff06;
	expect("WDAT", HOST_WATCHDOG_RUNS, -1, NULL);
	maps[0].words[0] = 0xff0a;
	expect("WDAT", HOST_WATCHDOG_OFF, -1, NULL);
}

/* What cannot be asked, or not so, is not. */
static void test_table_unknown(void **)
{
	static const struct {
		u8 action;
		u8 instruction;
		u8 space;
		u8 width;
		u8 shift;
		u8 access;
		u64 address;
		u32 mask;
	} bad[] = {
		{ 8, 1, IO, 16, 0, 2, 0x468, 1 },          { 8, 2, IO, 16, 0, 2, 0x468, 1 },
		{ 10, 2, IO, 16, 0, 2, 0x468, 1 },         { 8, 0, 2, 16, 0, 2, 0x468, 1 },
		{ 8, 0, IO, 16, 0, 2, 0x469, 1 },          { 8, 0, IO, 16, 0, 5, 0x468, 1 },
		{ 8, 0, IO, 64, 0, 4, 0x468, 1 },          { 8, 0, IO, 24, 0, 0, 0x468, 1 },
		{ 8, 0, IO, 16, 0, 2, 0x10000, 1 },        { 8, 0, IO, 16, 32, 2, 0x468, 1 },
		{ 8, 0, MEMORY, 16, 0, 2, 0xfed80000, 1 }, { 8, 0, IO, 16, 0, 2, 0x468, 0 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		table(1, 1);
		entry(bad[i].action, bad[i].instruction, bad[i].space, bad[i].width, bad[i].shift,
		      bad[i].access, bad[i].address, 1, bad[i].mask);
		finish();
		expect("WDAT", HOST_WATCHDOG_UNKNOWN, -1, "the table does not say how it is asked");
	}
}

/* Not for the system's use, or broken: the chipset is asked. */
static void test_table_without_use(void **)
{
	has_function(0x1022, 0x780b, 0x0c05, 0x16);
	server();
	buf[36 + 24] = 0x80;
	finish();
	expect("SB800", HOST_WATCHDOG_UNKNOWN, -1, NULL);
	assert_int_equal(complaints, 0);
	table(1, 2);
	entry(8, 0, IO, 16, 0, 2, 0x468, 1, 1);
	finish();
	expect("SB800", HOST_WATCHDOG_UNKNOWN, -1, NULL);
	assert_int_equal(complaints, 1);
}

/* ---- the chipset --------------------------------------------------------------------- */

static void lpc(u16 device)
{
	reset(NULL);
	has_function(0x8086, device, 0x0601, 0);
	has_config(0x40, 0x401);
	has_config(0x44, 0x80);
	has_config(0xf0, 0xfed1c001);
	has_memory(0xfed1f410, 0, 0);
	has_ports(0x460, 0x0014, 2);
	has_ports(0x468, 0, 2);
}

#define UNSEEN "it runs, and whether it restarts the machine cannot be seen"

static void test_tco(void **)
{
	static const u16 devices[] = { 0x2918, 0x3a16, 0x3b14, 0x1c54, 0x1d41, 0x8d44, 0x8c54 };

	for (unsigned i = 0; i < ARRAY_SIZE(devices); i++) {
		lpc(devices[i]);
		expect("TCO", HOST_WATCHDOG_RUNS, 12, "the machine restarts");
	}
	maps[0].words[0] = BIT(5);
	expect("TCO", HOST_WATCHDOG_HARMLESS, -1, "NO_REBOOT is set");
	has_config(0xf0, 0xfed1c000);
	expect("TCO", HOST_WATCHDOG_UNKNOWN, -1, UNSEEN);
	has_ports(0x468, 0x0800, 2);
	expect("TCO", HOST_WATCHDOG_OFF, -1, NULL);
	has_ports(0x468, 0xffff, 2);
	expect("TCO", HOST_WATCHDOG_UNKNOWN, -1, "its registers do not answer");
	has_config(0x44, 0x7f);
	expect("TCO", HOST_WATCHDOG_UNKNOWN, -1, "its ports are switched off");
	has_config(0x44, 0x80);
	has_config(0x40, 0x0001);
	expect("TCO", HOST_WATCHDOG_UNKNOWN, -1, "its ports are switched off");
}

static void test_tco_behind_smbus(void **)
{
	static const u16 devices[] = { 0xa123, 0xa1a3, 0xa223, 0xa2a3, 0xa323, 0x1bc9 };

	for (unsigned i = 0; i < ARRAY_SIZE(devices); i++) {
		reset(NULL);
		has_function(0x8086, devices[i], 0x0c05, 9);
		has_config(0x50, 0x401);
		has_config(0x54, 0x100);
		has_ports(0x400, 0xffff, 2);
		has_ports(0x408, 0x0001, 2);
		/* The older ones have this bit elsewhere, where nobody sees it. */
		if (i < 4)
			expect("TCO", HOST_WATCHDOG_UNKNOWN, -1, UNSEEN);
		else
			expect("TCO", HOST_WATCHDOG_HARMLESS, -1, NULL);
		has_ports(0x408, 0x0000, 2);
		if (i < 4)
			expect("TCO", HOST_WATCHDOG_UNKNOWN, -1, UNSEEN);
		else
			expect("TCO", HOST_WATCHDOG_RUNS, 613, NULL);
		has_ports(0x408, 0x0801, 2);
		expect("TCO", HOST_WATCHDOG_OFF, -1, NULL);
		has_config(0x54, 0xff);
		expect("TCO", HOST_WATCHDOG_UNKNOWN, -1, NULL);
		has_config(0x54, 0x100);
		has_config(0x50, 0x001);
		expect("TCO", HOST_WATCHDOG_UNKNOWN, -1, NULL);
	}
}

static void test_fch(void **)
{
	has_function(0x1022, 0x790b, 0x0c05, 0x51);
	has_memory(0xfed80300, 0x0300007e, 0);
	expect("FCH", HOST_WATCHDOG_OFF, -1, NULL); /* and the others are not there */
	maps[0].words[0] |= 0x80;
	has_memory(0xfeb00000, 0x01, 0xffff003c);
	expect("FCH", HOST_WATCHDOG_RUNS, 60, "the machine restarts");
	maps[1].words[0] |= BIT(2);
	expect("FCH", HOST_WATCHDOG_RUNS, 60, "the machine goes off");
	/* Counts of something else than a second. */
	maps[0].words[0] = 0x02000080;
	expect("FCH", HOST_WATCHDOG_RUNS, -1, NULL);
	maps[1].words[0] |= BIT(3);
	expect("FCH", HOST_WATCHDOG_OFF, -1, NULL);
	maps[1].words[0] = 0x80;
	expect("FCH", HOST_WATCHDOG_OFF, -1, NULL);
	maps[1].words[0] = ~0ull;
	expect("FCH", HOST_WATCHDOG_UNKNOWN, -1, "its registers do not answer");
	maps[0].words[0] = ~0ull;
	maps[1].words[0] = 1;
	expect("FCH", HOST_WATCHDOG_UNKNOWN, -1, "its registers do not answer");
	config[0][8] = 0x50;
	expect("SB800", HOST_WATCHDOG_UNKNOWN, -1, "of this chipset it is not read");
}

static void test_sp5100(void **)
{
	has_function(0x1002, 0x4385, 0x0c05, 0x3d);
	has_config(0x40, BIT(3) << 8);
	has_memory(0xfec000f0, 1, 300);
	memcpy(pm + 0x6c, &(u32){ 0xfec000f5 }, 4);
	pm[0x69] = 6;
	expect("SP5100", HOST_WATCHDOG_RUNS, 300, NULL);
	pm[0x69] = 4;
	expect("SP5100", HOST_WATCHDOG_RUNS, -1, NULL);
	pm[0x69] = 7;
	expect("SP5100", HOST_WATCHDOG_OFF, -1, NULL);
	pm[0x69] = 6;
	has_config(0x40, 0xf700);
	expect("SP5100", HOST_WATCHDOG_UNKNOWN, -1, "its registers are switched off");
	has_config(0x40, BIT(3) << 8);
	memset(pm + 0x6c, 0, 4);
	expect("SP5100", HOST_WATCHDOG_UNKNOWN, -1, NULL);
	config[0][8] = 0x40;
	expect("SB800", HOST_WATCHDOG_UNKNOWN, -1, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_none, reset),
		cmocka_unit_test_setup(test_table, reset),
		cmocka_unit_test_setup(test_table_longest, reset),
		cmocka_unit_test_setup(test_table_in_memory, reset),
		cmocka_unit_test_setup(test_table_unknown, reset),
		cmocka_unit_test_setup(test_table_without_use, reset),
		cmocka_unit_test_setup(test_tco, reset),
		cmocka_unit_test_setup(test_tco_behind_smbus, reset),
		cmocka_unit_test_setup(test_fch, reset),
		cmocka_unit_test_setup(test_sp5100, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
