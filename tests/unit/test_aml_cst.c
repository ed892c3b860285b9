/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: -Wno-unused-function @tests/unit/aml.sources kernel/acpi/aml_cst.c vmm/acpi/aml_build.c vmm/acpi/aml_encode.c lib/span.c */
/*
 * Processors and their _CST in AML: how they are declared, and what is no C-state. Real firmware:
 * test_recorded_machines.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "aml_text.h"
#include "kernel/acpi/aml_cst.h"

#define PROCESSORS 8

static struct aml_processor cpu[PROCESSORS];

/* What has been written, cut off after `size` bytes of the first table. */
static unsigned processors_cut(size_t size)
{
	unsigned n;

	read_cut(size);
	memset(cpu, 0xff, sizeof(cpu));
	n = aml_processors(&tables, cpu, PROCESSORS);
	assert_true(n <= PROCESSORS);
	aml_cstates(&tables, cpu, n);
	return n;
}

static unsigned processors(void)
{
	return processors_cut(ROOM);
}

/* Processor (name, id, 0x810, 6) { */
static void begin_processor(struct aml *a, const char *name, u8 id, u8 length)
{
	RAW(a, 0x5b, 0x83, length, (u8)name[0], (u8)name[1], (u8)name[2], (u8)name[3], id, 0x10,
	    0x08, 0x00, 0x00, 0x06);
}

static void hid(struct aml *a)
{
	RAW(a, 0x08, '_', 'H', 'I', 'D', 0x0d, 'A', 'C', 'P', 'I', '0', '0', '0', '7', 0x00);
}

/*
 * Package (4) { ResourceTemplate () { Register (space, 2, class, address, 1) }, type, latency, 1000
 * } of 33 bytes.
 */
static void state(struct aml *a, u8 space, u8 class, u8 address, u8 type, u8 latency)
{
	RAW(a, 0x12, 0x20, 0x04, 0x11, 0x14, 0x0a, 0x11, 0x82, 0x0c, 0x00, space, 0x02, class, 0x01,
	    address, 0, 0, 0, 0, 0, 0, 0, 0x79, 0x00, 0x0a, type, 0x0a, latency, 0x0b, 0xe8, 0x03);
	/* Noop, which fills up the package's length. */
	RAW(a, 0xa3, 0xa3);
}

/* Package (3) { 2, C1 by MWAIT, C2 by a port } of 72 bytes, as AMD's firmware has it. */
static void amd(struct aml *a)
{
	RAW(a, 0x12, 0x47, 0x04, 0x03, 0x0a, 0x02);
	state(a, 0x7f, 2, 0, 1, 1);
	state(a, 0x01, 0, 0x14, 2, 190);
}

static void name_cst(struct aml *a)
{
	RAW(a, 0x08, '_', 'C', 'S', 'T');
	amd(a);
}

static void is_amd(const struct cstates *s)
{
	assert_int_equal(s->count, 2);
	assert_int_equal(s->state[0].reg.space_id, 0x7f);
	assert_int_equal(s->state[0].reg.bit_offset, 2);
	assert_int_equal(s->state[0].type, 1);
	assert_int_equal(s->state[0].latency, 1);
	assert_int_equal(s->state[0].power, 1000);
	assert_int_equal(s->state[1].reg.space_id, 1);
	assert_int_equal(s->state[1].reg.address, 0x14);
	assert_int_equal(s->state[1].type, 2);
	assert_int_equal(s->state[1].latency, 190);
}

/* Declared in one table, its C-states in the other. */
static void test_processor(void **)
{
	struct aml *a = &out[0], *b = &out[1];

	aml_scope(a, "\\_PR");
	begin_processor(a, "C000", 3, 11);
	begin_processor(a, "C001", 4, 11);
	aml_end(a);
	/* Scope (\_PR.C001) { */
	RAW(b, 0x10, 0x49, 0x05, '\\', 0x2e, '_', 'P', 'R', '_', 'C', '0', '0', '1');
	name_cst(b);
	assert_int_equal(processors(), 2);
	assert_int_equal(cpu[0].uid, 3);
	assert_int_equal(cpu[0].states.count, 0);
	assert_int_equal(cpu[1].uid, 4);
	is_amd(&cpu[1].states);
	/* Fewer than there are. */
	assert_int_equal(aml_processors(&tables, cpu, 1), 2);
	assert_int_equal(aml_processors(&tables, NULL, 0), 2);
}

/*
 * _HID and _UID in either order; a device of another kind is none; methods that do nothing but
 * return, also another CPU's.
 */
static void test_devices(void **)
{
	struct aml *a = &out[0];

	aml_scope(a, "\\_SB");
	aml_device(a, "C000");
	hid(a);
	aml_name_integer(a, "_UID", 0x1234);
	name_cst(a);
	aml_end(a);
	aml_device(a, "OTHR");
	aml_name_eisaid(a, "_HID", "PNP0501");
	aml_name_integer(a, "_UID", 5);
	name_cst(a);
	aml_end(a);
	aml_device(a, "C001");
	aml_name_integer(a, "_UID", 2);
	hid(a);
	/* Method (_CST) { Return (\_SB.C000._CST) } */
	RAW(a, 0x14, 0x16, '_', 'C', 'S', 'T', 0x00, 0xa4, '\\', 0x2f, 0x03, '_', 'S', 'B', '_',
	    'C', '0', '0', '0', '_', 'C', 'S', 'T');
	aml_end(a);
	aml_device(a, "C002");
	hid(a);
	aml_name_integer(a, "_UID", 3);
	/* Method (_CST) { Return (Package ...) } */
	RAW(a, 0x14, 0x40, 0x05, '_', 'C', 'S', 'T', 0x00, 0xa4);
	amd(a);
	aml_end(a);
	aml_end(a);
	assert_int_equal(processors(), 3);
	assert_int_equal(cpu[0].uid, 0x1234);
	assert_int_equal(cpu[1].uid, 2);
	assert_int_equal(cpu[2].uid, 3);
	for (unsigned i = 0; i < 3; i++)
		is_amd(&cpu[i].states);
}

/*
 * What is there under a condition, or is code, is not known; the first that is there for certain
 * counts.
 */
static void test_unknown(void **)
{
	struct aml *a = &out[0];

	begin_processor(a, "C000", 0, 11);
	/* If (PCF0) { Scope (\C000) { Name (_CST, ...) } } */
	RAW(a, 0xa0, 0x4b, 0x05, 'P', 'C', 'F', '0', 0x10, 0x44, 0x05, '\\', 'C', '0', '0', '0');
	name_cst(a);
	/* Scope (\C000) { Method (_CST) { Return (CFGD + 1) } } */
	RAW(a, 0x10, 0x15, '\\', 'C', '0', '0', '0', 0x14, 0x0e, '_', 'C', 'S', 'T', 0x00, 0xa4,
	    0x72, 'C', 'F', 'G', 'D');
	RAW(a, 0x01, 0x00);
	assert_int_equal(processors(), 1);
	assert_int_equal(cpu[0].states.count, 0);
	RAW(a, 0x10, 0x44, 0x05, '\\', 'C', '0', '0', '0');
	name_cst(a);
	assert_int_equal(processors(), 1);
	is_amd(&cpu[0].states);
	RAW(a, 0x10, 0x30, '\\', 'C', '0', '0', '0', 0x08, '_', 'C', 'S', 'T', 0x12, 0x24, 0x02,
	    0x01);
	state(a, 0x7f, 2, 0, 1, 7);
	assert_int_equal(processors(), 1);
	is_amd(&cpu[0].states);
	/*
	 * A processor under a condition is none for certain: If (PCF0) { Processor (C001, 1, 0x810,
	 * 6) {} }
	 */
	RAW(a, 0xa0, 0x12, 'P', 'C', 'F', '0');
	begin_processor(a, "C001", 1, 11);
	assert_int_equal(processors(), 1);
}

/* Processor { Name (_CST, Package (elements) { count, a state with one byte changed }) } */
static unsigned changed(u8 elements, u8 count, unsigned at, u8 byte)
{
	struct aml *a = &out[0];

	aml_init(a, text[0], ROOM);
	begin_processor(a, "C000", 0, 11 + 5 + 1 + 4 + 33);
	RAW(a, 0x08, '_', 'C', 'S', 'T', 0x12, 0x25, elements, 0x0a, count);
	state(a, 0x7f, 2, 0, 1, 1);
	if (at)
		a->buf[a->len - 33 + at] = byte;
	assert_int_equal(processors(), 1);
	return cpu[0].states.count;
}

static void test_malformed(void **)
{
	assert_int_equal(changed(2, 1, 0, 0), 1);
	/* Its count, and that of a state's fields. */
	assert_int_equal(changed(3, 1, 0, 0), 0);
	assert_int_equal(changed(3, 2, 0, 0), 0);
	assert_int_equal(changed(1, 0, 0, 0), 0);
	assert_int_equal(changed(CSTATES_MAX + 2, CSTATES_MAX + 1, 0, 0), 0);
	assert_int_equal(changed(2, 1, 2, 3), 0);
	/* No buffer; another descriptor than a register, and one too short for it. */
	assert_int_equal(changed(2, 1, 3, 0x12), 0);
	assert_int_equal(changed(2, 1, 7, 0x86), 0);
	assert_int_equal(changed(2, 1, 8, 0x0b), 0);
	/* No such type. */
	assert_int_equal(changed(2, 1, 25, 0), 0);
	assert_int_equal(changed(2, 1, 25, 3), 1);
	assert_int_equal(changed(2, 1, 25, 4), 0);
}

/* Wherever a table ends, nothing is read behind it. */
static void test_cut(void **)
{
	struct aml *a = &out[0];

	begin_processor(a, "C000", 0, 11 + 5 + 72);
	a->buf[2] = 0x49;
	memmove(a->buf + 4, a->buf + 3, a->len - 3);
	a->buf[3] = 0x05;
	a->len++;
	name_cst(a);
	assert_int_equal(processors(), 1);
	is_amd(&cpu[0].states);
	for (size_t size = 0; size < a->len; size++)
		if (processors_cut(size))
			assert_int_equal(cpu[0].states.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_processor), TEST(test_devices), TEST(test_unknown),
		TEST(test_malformed), TEST(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
