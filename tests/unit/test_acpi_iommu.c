/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/rsdp.c kernel/acpi/dmar.c kernel/acpi/ivrs.c kernel/iommu/ivrs_units.c */
/*
 * The readers of DMAR and IVRS, as test_acpi_tables.c does it, and an IVRS in the words of a DMAR.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/iommu/iommu.h"
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
	put(2, 2); /* ATSR of one root port: nobody's ATS is switched on */
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
	put(3, 2); /* RHSA of a unit that is none */
	put(20, 2);
	put(0, 4);
	put(0x7f000000, 8);
	put(5, 4);
	for (unsigned required = 0; required < 2; required++) {
		put(5, 2); /* SATC */
		put(8 + 8, 2);
		put8(required);
		put8(0);
		put(9, 2);
		put8(1);
		put8(8);
		put(0, 2);
		put8(0);
		put8(0xe8);
		put8(1);
		put8(required);
	}
	put(4, 2); /* ANDD: no function's */
	put(4, 2);
	put(99, 2); /* unknown */
	put(4, 2);
	finish();
	assert_null(READ(dmar_read, &d));
	assert_int_equal(d.address_width, 46);
	assert_int_equal(d.flags, 1);
	assert_int_equal(d.nr_units, 3);
	unit_is(0, &(struct dmar_unit){ ACPI_DMAR_DRHD, .flags = 1, .segment = 2,
					.base = 0xfed90000, .nr_scopes = 1, .domain = 4 });
	unit_is(1, &(struct dmar_unit){ ACPI_DMAR_RMRR, .segment = 7, .base = 0x7f000000,
					.limit = 0x7f0fffff, .first_scope = 1, .nr_scopes = 1,
					.domain = ~0u });
	unit_is(2, &(struct dmar_unit){ ACPI_DMAR_SATC, .flags = 1, .segment = 9, .first_scope = 2,
					.nr_scopes = 1, .domain = ~0u });
	assert_int_equal(d.nr_scopes, 3);
	assert_int_equal(d.lost, 0);
	assert_int_equal(d.scope[2].path[0].device, 1);
	assert_int_equal(d.scope[2].path[0].function, 1);
	assert_int_equal(d.scope[0].type, 3);
	assert_int_equal(d.scope[0].enumeration_id, 8);
	assert_int_equal(d.scope[0].start_bus, 0xf0);
	assert_int_equal(d.scope[0].depth, 2);
	assert_int_equal(d.scope[0].path[1].device, 1);
	assert_int_equal(d.scope[0].path[1].function, 2);
}

static void drhd(u64 base, unsigned scopes)
{
	put(0, 2);
	put(16 + 8 * scopes, 2);
	put(0, 4);
	put(base, 8);
	for (unsigned i = 0; i < scopes; i++) {
		put8(1);
		put8(8);
		put(0, 2);
		put8(0);
		put8(0);
		put8(i % 32);
		put8(0);
	}
}

/*
 * A large node: what just says more of a unit takes no room; of those for which there is none it is
 * known that they are.
 */
static void test_dmar_large(void **)
{
	static const u16 scopes[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 500, 1, 3 };

	begin_dmar();
	for (unsigned i = 0; i < 66; i++)
		drhd(0xd0000000 + i * 0x1000, i < ARRAY_SIZE(scopes) ? scopes[i] : 0);
	for (unsigned i = 0; i < 66; i++) {
		put(2, 2); /* ATSR */
		put(8, 2);
		put(0, 4);
		put(3, 2); /* RHSA */
		put(20, 2);
		put(0, 4);
		put(0xd0000000 + i * 0x1000, 8);
		put(i / 8, 4);
	}
	for (unsigned i = 0; i < 4; i++) {
		put(1, 2); /* RMRR */
		put(24, 2);
		put(0, 4);
		put(0x7f000000 + i * 0x1000, 8);
		put(0x7f000fff + i * 0x1000, 8);
	}
	finish();
	assert_null(READ(dmar_read, &d));
	/* One that has more functions than there is room for, and the last of all. */
	assert_int_equal(d.lost, 2);
	assert_int_equal(d.nr_units, 64 + 4);
	assert_int_equal(d.nr_scopes, 511);
	assert_true(d.unit[11].base == 0xd000b000 && d.unit[12].base == 0xd000d000 &&
		    d.unit[12].domain == 1);
	assert_true(d.unit[63].type == ACPI_DMAR_DRHD && d.unit[63].base == 0xd0040000 &&
		    d.unit[63].domain == 8);
	assert_true(d.unit[64].type == ACPI_DMAR_RMRR);
	/* A unit among the rest may not have a number that none has. */
	begin_dmar();
	for (unsigned i = 0; i < 64; i++) {
		put(1, 2);
		put(24, 2);
		put(0, 4);
		put(0x7f000000, 8);
		put(0x7f000fff, 8);
	}
	drhd(0xd0000000, 0);
	finish();
	assert_null(READ(dmar_read, &d));
	assert_true(d.lost == 1 && d.nr_units == 64);
	begin_dmar();
	for (unsigned i = 0; i < 129; i++) {
		put(1, 2);
		put(24, 2);
		put(0, 4);
		put(0x7f000000, 8);
		put(0x7f000fff, 8);
	}
	finish();
	assert_string_equal(READ(dmar_read, &d), "more than 128 structures");
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
		/* of a device scope: bytes there, bytes it says */
		unsigned room;
		unsigned length;

		const char *reason;
	} scopes[] = {
		{ 5, 8, "a device scope is cut" },
		{ 30, 0, "a device scope's length is wrong" },
		{ 30, 5, "a device scope's length is wrong" },
		{ 30, 6, "a device scope's length is wrong" },
		{ 30, 7, "a device scope's length is wrong" },
		{ 30, 9, "a device scope's path is longer than 8" },
		{ 30, 24, "a device scope's path is longer than 8" },
		{ 30, 255, "a device scope's length is wrong" },
		{ 8, 10, "a device scope's length is wrong" },
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

/* A device entry of 4 bytes; the other 4 of one that has 8. */
static unsigned settings;

static void entry(unsigned type, unsigned id)
{
	put8(type);
	put(id, 2);
	put8(settings);
}

static void rest(unsigned a, unsigned id, unsigned b)
{
	put8(a);
	put(id, 2);
	put8(b);
}

static void scope_is(unsigned i, u16 type, u16 first, u16 last, u8 settings)
{
	assert_true(d.scope[i].type == type && d.scope[i].first == first &&
		    d.scope[i].last == last);
	assert_int_equal(d.scope[i].settings, settings);
}

static void test_units(void **)
{
	begin_ivrs();
	ivhd(0x10, 4 * 4 + 8);
	entry(2, 0x100); /* that function */
	entry(4, 0x1ff); /* the end of no range */
	entry(3, 0x200); /* from there on, but it does not end */
	entry(0, 0);
	entry(72, 0);
	rest(33, 0x1400, 1); /* I/O APIC 33 is 14:00.0 */
	ivhd(0x11, 5 * 4 + 7 * 8);
	entry(1, 0); /* all others */
	entry(3, 0x8);
	entry(64, 0); /* nothing, of 8 bytes */
	zeros(4);
	entry(4, 0xfffe);
	entry(67, 0x300); /* that range sends as 00:02.0 */
	rest(0, 0x10, 0);
	entry(4, 0x3ff);
	entry(4, 0x4ff);
	entry(66, 0x501);
	rest(0, 0x500, 0);
	entry(66, 0x502); /* as itself */
	rest(0, 0x502, 0);
	entry(72, 0);
	rest(0, 0xa0, 2); /* an HPET */
	entry(72, 0);
	rest(0, 0xa1, 3);
	entry(70, 0x600);
	zeros(4);
	buf[48 + 24 + 24 + 4] = 3; /* another unit's: its own function */
	put8(0x21);
	put8(8);
	put(32, 2);
	put(0x100, 2);
	put(0, 2);
	put(1, 2);
	zeros(6);
	put(0x7e000000, 8);
	put(0x10000, 8);
	put8(0x21);
	put8(8);
	put(32, 2);
	put(0x101, 2);
	zeros(10);
	put(0x7e000000, 8);
	put(0, 8);
	finish();
	assert_null(READ(ivrs_read, &iv));
	assert_int_equal(iv.nr_iommus, 2);
	assert_null(ivrs_units(&iv, buf, &d));
	assert_true(d.flags == ACPI_DMAR_INTR_REMAP && d.nr_units == 3 && d.nr_scopes == 9);
	unit_is(0, &(struct dmar_unit){
			   .domain = ~0u, .segment = 1, .base = 0xfeb80000, .nr_scopes = 2 });
	assert_true(d.unit[0].function == 2 && d.unit[0].hints == 0x30);
	scope_is(0, DMAR_SCOPE_RANGE, 0x100, 0x100, 0);
	scope_is(1, DMAR_SCOPE_IOAPIC, 0x1400, 0x1400, 0);
	assert_true(d.scope[1].enumeration_id == 33 && d.scope[1].start_bus == 0x14 &&
		    d.scope[1].depth == 1 && !d.scope[1].path[0].device &&
		    !d.scope[1].path[0].function);
	unit_is(1, &(struct dmar_unit){ .domain = ~0u,
					.flags = 1,
					.segment = 1,
					.base = 0xfeb80000,
					.first_scope = 2,
					.nr_scopes = 6 });
	scope_is(2, DMAR_SCOPE_RANGE, 8, 0xfffe, 0);
	scope_is(3, DMAR_SCOPE_ALIAS, 0x300, 0x3ff, 0);
	scope_is(4, DMAR_SCOPE_ALIAS, 0x501, 0x501, 0);
	scope_is(5, DMAR_SCOPE_RANGE, 0x502, 0x502, 0);
	scope_is(6, DMAR_SCOPE_HPET, 0xa0, 0xa0, 0);
	scope_is(7, DMAR_SCOPE_RANGE, 0x600, 0x600, 0);
	unit_is(2, &(struct dmar_unit){ .type = ACPI_DMAR_RMRR,
					.segment = 1,
					.base = 0x7e000000,
					.limit = 0x7e00ffff,
					.first_scope = 8,
					.nr_scopes = 1 });
	scope_is(8, DMAR_SCOPE_RANGE, 0x100, 0x100, 0);
	/* More than there is room for. */
	iv.nr_memory = 127;
	assert_string_equal(ivrs_units(&iv, buf, &d), "more than 128 IOMMUs and memory blocks");
	begin_ivrs();
	ivhd(0x10, 513 * 4);
	for (unsigned i = 0; i < 513; i++)
		entry(2, i);
	finish();
	assert_null(READ(ivrs_read, &iv));
	assert_string_equal(ivrs_units(&iv, buf, &d), "more than 512 device entries");
	iv.iommu[0].entries_size -= 4;
	assert_null(ivrs_units(&iv, buf, &d));
	iv.nr_memory = 1;
	iv.memory[0].size = 4096;
	assert_string_equal(ivrs_units(&iv, buf, &d), "more than 512 device entries");
}

/*
 * The IVHD of a Supermicro H8DGU's IVRS (57ED146F2C3C of tests/machines): 0xd7 of the FCH, of its
 * I/O APIC and of its HPET.
 */
static void test_settings_of_fch(void **)
{
	static const u8 h8dgu[] = {
		2,    0x88, 0,    0,    3,    0x90, 0,  0,  4, 0x92, 0,    0,    2, 0xa0, 0,
		0xd7, 2,    0xa3, 0,    0,    67,   0,  1,  0, 0,    0xa4, 0,    0, 4,    0xff,
		1,    0,    2,    0xa5, 0,    0,    72, 0,  0, 0xd7, 0,    0xa0, 0, 1,    72,
		0,    0,    0xd7, 0,    0xa0, 0,    2,  72, 0, 0,    0,    1,    1, 1,    1,
	};

	begin_ivrs();
	ivhd(0x10, sizeof(h8dgu));
	for (unsigned i = 0; i < sizeof(h8dgu); i++)
		put8(h8dgu[i]);
	finish();
	assert_null(READ(ivrs_read, &iv));
	assert_null(ivrs_units(&iv, buf, &d));
	assert_int_equal(d.nr_scopes, 9);
	for (unsigned i = 0; i < d.nr_scopes; i++)
		assert_int_equal(d.scope[i].settings,
				 d.scope[i].first == 0xa0 && d.scope[i].last == 0xa0 ? 0xd7 : 0);
	scope_is(2, DMAR_SCOPE_RANGE, 0xa0, 0xa0, 0xd7);
	scope_is(6, DMAR_SCOPE_IOAPIC, 0xa0, 0xa0, 0xd7);
	scope_is(7, DMAR_SCOPE_HPET, 0xa0, 0xa0, 0xd7);
	assert_int_equal(d.unit[0].settings, 0);
}

/* Each kind of entry has settings, of all its devices; a reserved bit is none. */
static void test_settings(void **)
{
	begin_ivrs();
	settings = 0xff;
	ivhd(0x40, 6 * 4 + 4 * 8 + 22 + 2);
	entry(1, 0);
	entry(3, 0x100);
	settings = 0;
	entry(4, 0x107); /* the first one's count */
	settings = 0x44;
	entry(67, 0x300);
	rest(0, 0x10, 0);
	settings = 0;
	entry(4, 0x3ff);
	settings = 0x01;
	entry(66, 0x501);
	rest(0, 0x500, 0);
	entry(66, 0x502);
	rest(0, 0x502, 0);
	entry(72, 0);
	rest(0, 0xa1, 3); /* neither an I/O APIC nor an HPET */
	put8(240);
	put(0xa5, 2);
	put8(0x40);
	zeros(17);
	put8(2);
	zeros(2);
	entry(2, 0x600);
	settings = 0;
	entry(0, 0);
	finish();
	assert_null(READ(ivrs_read, &iv));
	assert_null(ivrs_units(&iv, buf, &d));
	assert_true(d.unit[0].settings == 0xf7 && d.unit[0].flags == ACPI_DMAR_PCI_ALL);
	assert_int_equal(d.nr_scopes, 9);
	scope_is(0, DMAR_SCOPE_RANGE, 0x100, 0x107, 0xf7);
	scope_is(1, DMAR_SCOPE_ALIAS, 0x300, 0x3ff, 0x44);
	scope_is(2, DMAR_SCOPE_RANGE, 0x10, 0x10, 0x44);
	scope_is(3, DMAR_SCOPE_ALIAS, 0x501, 0x501, 0x01);
	scope_is(4, DMAR_SCOPE_RANGE, 0x500, 0x500, 0x01);
	scope_is(5, DMAR_SCOPE_RANGE, 0x502, 0x502, 0x01);
	scope_is(6, DMAR_SCOPE_RANGE, 0xa1, 0xa1, 0x01);
	scope_is(7, DMAR_SCOPE_RANGE, 0xa5, 0xa5, 0x40);
	scope_is(8, DMAR_SCOPE_RANGE, 0x600, 0x600, 0x01);
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
		cmocka_unit_test(test_dmar_large),
		cmocka_unit_test(test_dmar_bad),
		cmocka_unit_test(test_ivrs),
		cmocka_unit_test(test_ivrs_bad),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_settings_of_fch),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
