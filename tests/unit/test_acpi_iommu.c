/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/rsdp.c kernel/acpi/dmar.c kernel/acpi/ivrs.c */
/* The readers of DMAR and IVRS, as test_acpi_tables.c does it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/acpi/tables.h"
#include "tests/unit/acpi_table.h"

static struct dmar_info d;

static void begin_dmar(void)
{
	begin("DMAR", 1);
	put8(45);
	put8(1);
	zeros(10);
}

static void unit_is(unsigned i, const struct dmar_unit *u)
{
	assert_int_equal(d.unit[i].type, u->type);
	assert_int_equal(d.unit[i].flags, u->flags);
	assert_int_equal(d.unit[i].segment, u->segment);
	assert_int_equal(d.unit[i].base, u->base);
	assert_int_equal(d.unit[i].limit, u->limit);
	assert_int_equal(d.unit[i].domain, u->domain);
	assert_int_equal(d.unit[i].first_scope, u->first_scope);
	assert_int_equal(d.unit[i].nr_scopes, u->nr_scopes);
}

static void test_dmar(void **)
{
	begin_dmar();
	put(0, 2); /* DRHD with one scope: I/O APIC 8 at 00:1f.7, behind a bridge */
	put(16 + 10, 2);
	put8(1);
	put8(0);
	put(2, 2);
	put(0xfed90000, 8);
	put8(3);
	put8(10);
	put(0, 2);
	put8(8);
	put8(0xf0);
	put8(0x1f);
	put8(7);
	put8(1);
	put8(2);
	put(1, 2); /* RMRR */
	put(24 + 8, 2);
	put(0x101, 2); /* reserved: an ATSR has its flags there */
	put(7, 2);
	put(0x7f000000, 8);
	put(0x7f0fffff, 8);
	put8(1);
	put8(8);
	put(0, 2);
	put8(0);
	put8(0);
	put8(0x14);
	put8(0);
	put(2, 2); /* ATSR of one root port */
	put(8 + 8, 2);
	put8(6);
	put8(0);
	put(5, 2);
	put8(2);
	put8(8);
	put(0, 2);
	put8(0);
	put8(0x40);
	put8(3);
	put8(1);
	put(3, 2); /* RHSA */
	put(20, 2);
	put(0, 4);
	put(0xfed90000, 8);
	put(4, 4);
	put(99, 2); /* unknown */
	put(4, 2);
	finish();
	assert_null(READ(dmar_read, &d));
	assert_int_equal(d.address_width, 46);
	assert_int_equal(d.flags, 1);
	assert_int_equal(d.nr_units, 4);
	unit_is(0, &(struct dmar_unit){ ACPI_DMAR_DRHD, .flags = 1, .segment = 2, .base = 0xfed90000, .nr_scopes = 1 });
	unit_is(1, &(struct dmar_unit){ ACPI_DMAR_RMRR, .segment = 7, .base = 0x7f000000, .limit = 0x7f0fffff, .first_scope = 1,
					.nr_scopes = 1 });
	unit_is(2, &(struct dmar_unit){ ACPI_DMAR_ATSR, .flags = 6, .segment = 5, .first_scope = 2, .nr_scopes = 1 });
	unit_is(3, &(struct dmar_unit){ ACPI_DMAR_RHSA, .base = 0xfed90000, .domain = 4, .first_scope = 3 });
	assert_int_equal(d.nr_scopes, 3);
	assert_int_equal(d.scope[2].path[0].device, 3);
	assert_int_equal(d.scope[2].path[0].function, 1);
	assert_int_equal(d.scope[0].type, 3);
	assert_int_equal(d.scope[0].enumeration_id, 8);
	assert_int_equal(d.scope[0].start_bus, 0xf0);
	assert_int_equal(d.scope[0].depth, 2);
	assert_int_equal(d.scope[0].path[1].device, 1);
	assert_int_equal(d.scope[0].path[1].function, 2);
}

static void test_dmar_bad(void **)
{
	for (unsigned length = 0; length < 16; length++) {
		begin_dmar();
		put(0, 2);
		put(length, 2);
		zeros(4);
		put(0xfed90000, 8);
		finish();
		assert_non_null(READ(dmar_read, &d));
	}
	static const struct {
		unsigned room, length; /* of a device scope: bytes there, bytes it says */
		const char *reason;
	} scopes[] = {
		{ 5, 8, "a device scope is cut" },
		{ 30, 0, "a device scope's length is wrong" }, { 30, 5, "a device scope's length is wrong" },
		{ 30, 6, "a device scope's length is wrong" }, { 30, 7, "a device scope's length is wrong" },
		{ 30, 9, "a device scope's path is longer than 8" }, { 30, 24, "a device scope's path is longer than 8" },
		{ 30, 255, "a device scope's length is wrong" }, { 8, 10, "a device scope's length is wrong" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(scopes); i++) {
		begin_dmar();
		put(0, 2);
		put(16 + scopes[i].room, 2);
		zeros(4);
		put(0xfed90000, 8);
		put8(1);
		put8(scopes[i].length);
		zeros(scopes[i].room - 2);
		finish();
		assert_string_equal(READ(dmar_read, &d), scopes[i].reason);
	}
	begin_dmar(); /* a region that ends before it starts */
	put(1, 2);
	put(24, 2);
	zeros(4);
	put(0x2000, 8);
	put(0x1000, 8);
	finish();
	assert_non_null(READ(dmar_read, &d));
}

static struct ivrs_info iv;

static void ivhd(unsigned type, unsigned extra)
{
	unsigned fixed = type == 0x10 ? 24 : 40;

	put8(type);
	put8(0x30);
	put(fixed + extra, 2);
	put(0x0002, 2);
	put(0x40, 2);
	put(0xfeb80000, 8);
	put(1, 2);
	put(0, 2);
	put(0, 4);
	if (fixed == 40) {
		put(0x22294ada, 8);
		put(0, 8);
	}
}

static void begin_ivrs(void)
{
	begin("IVRS", 2);
	put(0x203040, 4);
	zeros(8);
}

static void test_ivrs(void **)
{
	begin_ivrs();
	ivhd(0x11, 4 + 8 + 22 + 3);
	put8(2); /* select: 4 bytes */
	put(0x10, 2);
	put8(0);
	put8(72); /* special device: 8 bytes */
	zeros(7);
	put8(240); /* ACPI HID: 22 + 3 */
	zeros(20);
	put8(3);
	put8('a');
	put8('b');
	put8('c');
	ivhd(0x10, 4); /* the same IOMMU, says less */
	put8(1);
	zeros(3);
	put8(0x22); /* memory for a range */
	put8(8);
	put(32, 2);
	put(0x100, 2);
	put(0x1ff, 2);
	zeros(8);
	put(0x7e000000, 8);
	put(0x10000, 8);
	put8(0x20);
	put8(0);
	put(32, 2);
	zeros(12);
	put(0x1000, 8);
	put(0x1000, 8);
	finish();
	assert_null(READ(ivrs_read, &iv));
	assert_int_equal(iv.iv_info, 0x203040);
	assert_int_equal(iv.nr_iommus, 1);
	assert_int_equal(iv.iommu[0].type, 0x11);
	assert_int_equal(iv.iommu[0].base, 0xfeb80000);
	assert_int_equal(iv.iommu[0].segment, 1);
	assert_int_equal(iv.iommu[0].efr, 0x22294ada);
	assert_int_equal(iv.iommu[0].entries_offset, 48 + 40);
	assert_int_equal(iv.iommu[0].entries_size, 37);
	assert_int_equal(iv.nr_memory, 2);
	assert_int_equal(iv.memory[0].first, 0x100);
	assert_int_equal(iv.memory[0].last, 0x1ff);
	assert_int_equal(iv.memory[0].base, 0x7e000000);
	assert_int_equal(iv.memory[1].last, 0xffff);
}

static void test_ivrs_bad(void **)
{
	u8 hid[22] = { 240 };

	hid[21] = 10;
	assert_int_equal(ivrs_entry_length(hid, 32), 32);
	assert_int_equal(ivrs_entry_length(hid, 31), 0);
	assert_int_equal(ivrs_entry_length(hid, 21), 0);
	assert_int_equal(ivrs_entry_length(hid, 0), 0);

	begin_ivrs(); /* an entry that is cut */
	ivhd(0x10, 4);
	put8(64);
	zeros(3);
	finish();
	assert_non_null(READ(ivrs_read, &iv));
	for (unsigned length = 0; length < 24; length++) {
		begin_ivrs();
		ivhd(0x10, 0);
		buf[50] = (u8)length;
		finish();
		assert_non_null(READ(ivrs_read, &iv));
	}
}

static void test_hostile(void **state)
{
	srand(3);
	test_dmar(state);
	DAMAGE(dmar_read, &d);
	test_ivrs(state);
	DAMAGE(ivrs_read, &iv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dmar),
		cmocka_unit_test(test_dmar_bad),
		cmocka_unit_test(test_ivrs),
		cmocka_unit_test(test_ivrs_bad),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
