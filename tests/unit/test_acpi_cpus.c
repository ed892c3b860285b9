/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/rsdp.c kernel/acpi/madt.c kernel/acpi/srat.c kernel/acpi/slit.c */
/* The readers of MADT, SRAT and SLIT, as test_acpi_tables.c does it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/acpi/tables.h"
#include "tests/unit/acpi_table.h"

static void lapic(unsigned uid, unsigned id, u32 flags)
{
	put8(0);
	put8(8);
	put8(uid);
	put8(id);
	put(flags, 4);
}

static void x2apic(u32 uid, u32 id, u32 flags)
{
	put8(9);
	put8(16);
	put(0, 2);
	put(id, 4);
	put(flags, 4);
	put(uid, 4);
}

static struct madt_info m;

static void begin_madt(void)
{
	begin("APIC", 5);
	put(0xfee00000, 4);
	put(1, 4);
}

static void test_madt(void **)
{
	begin_madt();
	lapic(0, 0, 1);
	lapic(1, 2, 1);
	lapic(2, 4, 0);    /* disabled */
	lapic(3, 0xff, 1); /* broadcast */
	x2apic(1, 2, 1);   /* listed twice */
	x2apic(7, 0x12345, 1);
	put8(1); /* I/O APIC */
	put8(12);
	put8(3);
	put8(0);
	put(0xfec00000, 4);
	put(24, 4);
	put8(2); /* ISA 0 -> GSI 2 */
	put8(10);
	put8(0);
	put8(0);
	put(2, 4);
	put(0, 2);
	put8(2); /* ISA 9 level, active low */
	put8(10);
	put8(0);
	put8(9);
	put(9, 4);
	put(0xf, 2);
	put8(4); /* all LINT1 */
	put8(6);
	put8(0xff);
	put(5, 2);
	put8(1);
	put8(10);
	put8(12);
	put(0, 2);
	put(7, 4);
	put8(0);
	zeros(3);
	put8(5);
	put8(12);
	put(0, 2);
	put(0x1fee00000, 8);
	put8(0x7f); /* unknown kind */
	put8(3);
	put8(0);
	finish();
	assert_null(READ(madt_read, &m));
	assert_int_equal(m.nr_cpus, 3);
	assert_int_equal(m.cpu[0].apic_id, 0);
	assert_int_equal(m.cpu[1].apic_id, 2);
	assert_int_equal(m.cpu[2].apic_id, 0x12345);
	assert_int_equal(m.cpu[2].uid, 7);
	assert_true(m.pcat_compat);
	assert_int_equal(m.lapic_address, 0x1fee00000);
	assert_int_equal(m.nr_ioapics, 1);
	assert_int_equal(m.ioapic[0].id, 3);
	assert_int_equal(m.ioapic[0].address, 0xfec00000);
	assert_int_equal(m.ioapic[0].gsi_base, 24);
	assert_int_equal(m.isa[0].gsi, 2);
	assert_int_equal(m.isa[4].gsi, 4);
	assert_int_equal(m.isa[4].flags, 0);
	assert_int_equal(m.isa[9].flags & ACPI_INTI_TRIGGER, ACPI_INTI_LEVEL);
	assert_int_equal(m.isa[9].flags & ACPI_INTI_POLARITY, ACPI_INTI_ACTIVE_LOW);
	assert_int_equal(m.nr_nmis, 2);
	assert_true(m.nmi[0].all);
	assert_int_equal(m.nmi[0].lint, 1);
	assert_int_equal(m.nmi[0].flags, 5);
	assert_true(!m.nmi[1].all && m.nmi[1].uid == 7);
	/* The first is all CPUs', the second of the one with UID 7. */
	assert_true(madt_nmi_is_of(&m, 0, 0) && madt_nmi_is_of(&m, 0, 2) &&
		    madt_nmi_is_of(&m, 0, 0x12345));
	assert_true(!madt_nmi_is_of(&m, 1, 0) && !madt_nmi_is_of(&m, 1, 2) &&
		    madt_nmi_is_of(&m, 1, 0x12345));
	/* Of a CPU that the table does not name nothing is known. */
	assert_false(madt_nmi_is_of(&m, 0, 1));
}

static void test_madt_bad(void **)
{
	static const u8 bad[][3] = {
		{ 0, 0, 0 },  /* length 0: a loop */
		{ 0, 1, 0 }, { 0, 7, 0 },  /* too short for its kind */
		{ 9, 8, 0 }, { 1, 200, 0 }, /* past the end */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		begin_madt();
		lapic(0, 0, 1);
		for (unsigned k = 0; k < 3; k++)
			put8(bad[i][k]);
		zeros(10);
		finish();
		assert_non_null(READ(madt_read, &m));
	}
	/* One byte less than its kind has: type, size. */
	static const u8 kinds[][2] = { { 0, 8 },  { 1, 12 }, { 2, 10 }, { 4, 6 },
				       { 5, 12 }, { 9, 16 }, { 10, 12 } };

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		begin_madt();
		lapic(0, 0, 1);
		put8(kinds[i][0]);
		put8(kinds[i][1] - 1);
		zeros(kinds[i][1] - 3);
		finish();
		assert_string_equal(READ(madt_read, &m), "an entry is too short");
	}
	begin_madt(); /* nobody there */
	lapic(0, 0, 0);
	finish();
	assert_non_null(READ(madt_read, &m));
	begin_madt(); /* one byte of an entry */
	lapic(0, 0, 1);
	put8(0);
	finish();
	assert_non_null(READ(madt_read, &m));
	begin_madt(); /* an override for interrupt 200 is dropped, the rest kept */
	lapic(0, 0, 1);
	put8(2);
	put8(10);
	put8(0);
	put8(200);
	put(2, 4);
	put(0, 2);
	finish();
	assert_null(READ(madt_read, &m));
}

static void test_madt_many(void **)
{
	begin_madt();
	for (u32 i = 0; i < MADT_MAX_CPUS + 3; i++)
		x2apic(i, i, 1);
	finish();
	assert_null(READ(madt_read, &m));
	assert_int_equal(m.nr_cpus, MADT_MAX_CPUS);
	assert_int_equal(m.dropped_cpus, 3);
}

static void local_nmi(u8 uid, u16 flags, u8 lint)
{
	put8(4);
	put8(6);
	put8(uid);
	put(flags, 2);
	put8(lint);
}

/* One for each CPU, as some firmware lists them: all are kept. More: counted. */
static void test_madt_nmis(void **)
{
	begin_madt();
	for (u8 i = 0; i < 200; i++)
		lapic(i, i, 1);
	for (u8 i = 0; i < 200; i++)
		local_nmi(i, 5, 1);
	for (u8 i = 0; i < 100; i++)
		local_nmi(i, 0, 0);
	local_nmi(100, 5, 0);
	finish();
	assert_null(READ(madt_read, &m));
	assert_true(m.nr_nmis == 301 && !m.dropped_nmis);
	assert_true(madt_nmi_is_of(&m, 199, 199) && !madt_nmi_is_of(&m, 199, 198) &&
		    madt_nmi_is_of(&m, 299, 99));
	assert_true(m.nmi[299].lint == 0 && m.nmi[300].uid == 100 && m.nmi[300].flags == 5);
	begin_madt();
	lapic(0, 0, 1);
	for (u32 i = 0; i < MADT_MAX_NMIS + 2; i++)
		local_nmi((u8)i, 0, 1);
	local_nmi(1, 0, 2); /* no input */
	finish();
	assert_null(READ(madt_read, &m));
	assert_true(m.nr_nmis == MADT_MAX_NMIS && m.dropped_nmis == 2);
}

static void srat_memory(u32 domain, u64 base, u64 size, u32 flags)
{
	put8(1);
	put8(40);
	put(domain, 4);
	put(0, 2);
	put(base, 8);
	put(size, 8);
	put(0, 4);
	put(flags, 4);
	put(0, 8);
}

static void srat_lapic(u32 domain, unsigned id, u32 flags)
{
	put8(0);
	put8(16);
	put8(domain & 0xff);
	put8(id);
	put(flags, 4);
	put8(0);
	put(domain >> 8, 3);
	put(0, 4);
}

static struct srat_info s;

static void begin_srat(unsigned revision)
{
	begin("SRAT", revision);
	put(1, 4);
	put(0, 8);
}

static void test_srat(void **)
{
	begin_srat(3);
	srat_lapic(0x010203, 5, 1);
	srat_lapic(0, 6, 0);
	put8(2);
	put8(24);
	put(0, 2);
	put(9, 4);
	put(0x1000, 4);
	put(1, 4);
	put(0, 8);
	put8(2); /* disabled */
	put8(24);
	put(0, 2);
	put(8, 4);
	put(0x1001, 4);
	put(0, 4);
	put(0, 8);
	srat_memory(0, 0, 0x80000000, 1);
	srat_memory(9, 0x100000000, 0x80000000, 1);
	srat_memory(3, 0x200000000, 0x80000000, 0);
	finish();
	assert_null(READ(srat_read, &s));
	assert_int_equal(s.nr_cpus, 2);
	assert_int_equal(s.cpu[0].domain, 0x010203);
	assert_int_equal(s.cpu[0].apic_id, 5);
	assert_int_equal(s.cpu[1].domain, 9);
	assert_int_equal(s.cpu[1].apic_id, 0x1000);
	assert_int_equal(s.nr_memory, 2);
	assert_int_equal(s.memory[1].base, 0x100000000);
	assert_int_equal(s.memory[1].size, 0x80000000);
	assert_int_equal(s.memory[1].domain, 9);

	begin_srat(1); /* the upper bytes of the domain are reserved here */
	srat_lapic(0xaabb01, 5, 1);
	srat_memory(0xaabb0102, 0, 0x1000, 1);
	finish();
	assert_null(READ(srat_read, &s));
	assert_int_equal(s.cpu[0].domain, 1);
	assert_int_equal(s.memory[0].domain, 2);

	begin_srat(3);
	srat_memory(0, 0xfffffffffffff000, 0x2000, 1);
	finish();
	assert_non_null(READ(srat_read, &s));
	begin_srat(3);
	finish();
	assert_non_null(READ(srat_read, &s));
	begin_srat(3);
	srat_memory(0, 0, 0x1000, 1);
	put8(1);
	put8(39);
	zeros(38);
	finish();
	assert_non_null(READ(srat_read, &s));
}

static struct slit_info sl;

static void test_slit(void **)
{
	begin("SLIT", 1);
	put(2, 8);
	put8(10);
	put8(21);
	put8(31);
	put8(10);
	finish();
	assert_null(READ(slit_read, &sl));
	assert_int_equal(sl.count, 2);
	assert_int_equal(sl.distance[1], 21);
	assert_int_equal(sl.distance[2], 31);
	used--;
	finish(); /* one byte short */
	assert_non_null(READ(slit_read, &sl));

	static const u64 counts[] = { 0, 65, 0x100000000, 0x8000000000000000, ~0ull };

	for (unsigned i = 0; i < ARRAY_SIZE(counts); i++) {
		begin("SLIT", 1);
		put(counts[i], 8);
		zeros(64);
		finish();
		assert_non_null(READ(slit_read, &sl));
	}
	begin("SLIT", 1); /* a neighbour nearer than oneself */
	put(2, 8);
	put8(10);
	put8(9);
	put8(20);
	put8(10);
	finish();
	assert_non_null(READ(slit_read, &sl));
}

static void test_hostile(void **state)
{
	srand(3);
	test_madt(state);
	DAMAGE(madt_read, &m);
	begin_srat(3);
	srat_lapic(1, 1, 1);
	srat_memory(1, 0, 0x1000, 1);
	finish();
	DAMAGE(srat_read, &s);
	begin("SLIT", 1);
	put(2, 8);
	put8(10);
	put8(20);
	put8(20);
	put8(10);
	finish();
	DAMAGE(slit_read, &sl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_madt),      cmocka_unit_test(test_madt_bad),
		cmocka_unit_test(test_madt_many), cmocka_unit_test(test_madt_nmis),
		cmocka_unit_test(test_srat),      cmocka_unit_test(test_slit),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
