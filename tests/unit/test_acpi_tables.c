/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/rsdp.c kernel/acpi/xsdt.c kernel/acpi/mcfg.c kernel/acpi/fadt.c kernel/acpi/hpet_table.c */
/* ACPI readers: hand-built tables byte by byte after the specifications, then broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/acpi/tables.h"
#include "tests/unit/acpi_table.h"

static void test_header(void **)
{
	u8 fixed[47] = { 0 };

	begin("ABCD", 1);
	zeros(10);
	finish();
	assert_null(acpi_read_fixed(buf, used, "ABCD", fixed, 46));
	assert_memory_equal(fixed, buf, 46);
	assert_int_equal(fixed[46], 0);
	assert_non_null(acpi_read_fixed(buf, used, "ABCE", fixed, 46));
	assert_non_null(acpi_read_fixed(buf, used, "ABCD", fixed, 47));
	assert_non_null(acpi_read_fixed(buf, used - 1, "ABCD", fixed, 46));
	assert_non_null(acpi_read_fixed(buf, 35, "ABCD", fixed, 36));
	buf[40]++;
	assert_non_null(acpi_read_fixed(buf, used, "ABCD", fixed, 46));
	buf[40]--;
	buf[4] = 3; /* length shorter than the header */
	assert_non_null(acpi_read_fixed(buf, used, "ABCD", fixed, 0));
}

static void build_rsdp(u8 revision, u32 rsdt, u64 xsdt)
{
	u8 sum = 0;

	memset(buf, 0, 64);
	used = 0;
	for (unsigned i = 0; i < 8; i++)
		put8((unsigned)"RSD PTR "[i]);
	zeros(7);
	put8(revision);
	put(rsdt, 4);
	for (unsigned i = 0; i < 20; i++)
		sum = (u8)(sum + buf[i]);
	buf[8] = (u8)-sum;
	if (revision < 2)
		return;
	put(36, 4);
	put(xsdt, 8);
	zeros(4);
	sum = 0;
	for (unsigned i = 0; i < 36; i++)
		sum = (u8)(sum + buf[i]);
	buf[32] = (u8)-sum;
}

static void test_rsdp(void **)
{
	struct rsdp_info r;

	build_rsdp(0, 0x7fe1234, 0);
	assert_null(READ(rsdp_read, &r));
	assert_false(r.is_xsdt);
	assert_int_equal(r.table, 0x7fe1234);
	used = 19;
	assert_non_null(READ(rsdp_read, &r));

	build_rsdp(2, 0x7fe1234, 0x1234567890);
	assert_null(READ(rsdp_read, &r));
	assert_true(r.is_xsdt);
	assert_int_equal(r.table, 0x1234567890);
	buf[35]++;
	assert_non_null(READ(rsdp_read, &r));
	build_rsdp(2, 0x7fe1234, 0x1234567890);
	used = 20; /* says 36 */
	assert_null(READ(rsdp_read, &r)); /* the XSDT address is not there: the RSDT is used */
	assert_false(r.is_xsdt);
	build_rsdp(0, 0, 0);
	assert_non_null(READ(rsdp_read, &r));
	build_rsdp(0, 1, 0);
	buf[0] = 'X';
	assert_non_null(READ(rsdp_read, &r));
}

static void test_rsdp_scan(void **)
{
	static u8 area[4096];

	memset(area, 0x52, sizeof(area));
	assert_int_equal(rsdp_scan(area, sizeof(area)), -1);
	build_rsdp(0, 0x1000, 0);
	memcpy(area + 1000, buf, 20); /* not on 16 bytes */
	assert_int_equal(rsdp_scan(area, sizeof(area)), -1);
	memcpy(area + 2048, buf, 20);
	area[2048 + 8]++; /* checksum */
	memcpy(area + 4064, buf, 20);
	assert_int_equal(rsdp_scan(area, sizeof(area)), 4064);
	assert_int_equal(rsdp_scan(area, 4064 + 19), -1);
	assert_int_equal(rsdp_scan(area, 0), -1);
}

static void test_xsdt(void **)
{
	static struct xsdt_info x;

	begin("XSDT", 1);
	put(0x100000000, 8);
	put(0, 8);
	put(0x7fff0000, 8);
	put(0x11, 4); /* half an entry */
	finish();
	assert_null(xsdt_read(buf, used, true, &x));
	assert_int_equal(x.count, 2);
	assert_int_equal(x.table[0], 0x100000000);
	assert_int_equal(x.table[1], 0x7fff0000);
	assert_non_null(xsdt_read(buf, used, false, &x));

	begin("RSDT", 1);
	put(0x7fff1000, 4);
	finish();
	assert_null(xsdt_read(buf, used, false, &x));
	assert_int_equal(x.count, 1);
	assert_int_equal(x.table[0], 0x7fff1000);

	begin("XSDT", 1);
	for (unsigned i = 0; i < XSDT_MAX + 5; i++)
		put(0x1000 + i, 8);
	finish();
	assert_null(xsdt_read(buf, used, true, &x));
	assert_int_equal(x.count, XSDT_MAX);
	assert_int_equal(x.dropped, 5);
}

static void test_mcfg(void **)
{
	struct mcfg_info info;

	begin("MCFG", 1);
	put(0, 8);
	put(0xb0000000, 8);
	put(0, 2);
	put8(0);
	put8(255);
	put(0, 4);
	put(0x800000000, 8);
	put(1, 2);
	put8(16);
	put8(31);
	put(0, 4);
	finish();
	assert_null(READ(mcfg_read, &info));
	assert_int_equal(info.count, 2);
	assert_int_equal(info.entry[0].base, 0xb0000000);
	assert_int_equal(info.entry[1].segment, 1);
	assert_int_equal(info.entry[1].bus_start, 16);
	assert_int_equal(info.entry[1].bus_end, 31);
	buf[36 + 8 + 10] = 5;
	buf[36 + 8 + 11] = 4; /* backwards */
	finish();
	assert_non_null(READ(mcfg_read, &info));
	begin("MCFG", 1);
	put(0, 8);
	finish();
	assert_non_null(READ(mcfg_read, &info));
}

static void test_fadt(void **)
{
	struct fadt_info f;

	/* Revision 1, 116 bytes: offsets of ACPI 1.0b, 5.2.5. */
	begin("FACP", 1);
	zeros(116 - 36);
	set32(40, 0x1fff0000); /* DSDT */
	set32(48, 0xb2); /* SMI_CMD */
	buf[52] = 0xf1; /* ACPI_ENABLE */
	set32(64, 0xb004); /* PM1a_CNT_BLK */
	set32(76, 0xb008); /* PM_TMR_BLK */
	buf[89] = 2;
	buf[91] = 4;
	buf[108] = 0x32;
	set32(112, BIT(8));
	finish();
	assert_null(READ(fadt_read, &f));
	assert_int_equal(f.dsdt, 0x1fff0000);
	assert_int_equal(f.smi_cmd, 0xb2);
	assert_int_equal(f.acpi_enable, 0xf1);
	assert_int_equal(f.pm1a_cnt.space_id, ACPI_SPACE_IO);
	assert_int_equal(f.pm1a_cnt.address, 0xb004);
	assert_int_equal(f.pm1b_cnt.address, 0);
	assert_int_equal(f.pm_tmr.address, 0xb008);
	assert_int_equal(f.pm_tmr.bit_width, 32);
	assert_int_equal(f.century, 0x32);
	assert_true(f.flags & ACPI_FADT_TMR_VAL_EXT);
	assert_int_equal(f.reset_reg.address, 0);

	/* Revision 6, 276 bytes, X_ fields and reset register. */
	begin("FACP", 6);
	zeros(276 - 36);
	set32(40, 0x1fff0000);
	set64(140, 0x100002000);
	set32(112, BIT(10));
	buf[116] = 1;
	set64(120, 0xcf9);
	buf[128] = 6;
	set32(64, 0xb004);
	buf[172] = 0; /* X_PM1a_CNT_BLK: memory */
	set64(176, 0xfed80804);
	finish();
	assert_null(READ(fadt_read, &f));
	assert_int_equal(f.dsdt, 0x100002000);
	assert_int_equal(f.reset_reg.address, 0xcf9);
	assert_int_equal(f.reset_value, 6);
	assert_int_equal(f.pm1a_cnt.space_id, ACPI_SPACE_MEMORY);
	assert_int_equal(f.pm1a_cnt.address, 0xfed80804);

	/* Hardware-reduced: the PM1 blocks mean nothing. */
	set32(112, BIT(20));
	buf[244] = 1;
	set64(248, 0x600);
	finish();
	assert_null(READ(fadt_read, &f));
	assert_int_equal(f.pm1a_cnt.address, 0);
	assert_int_equal(f.sleep_control.address, 0x600);
	assert_int_equal(f.reset_reg.address, 0);

	begin("FACP", 1);
	zeros(115 - 36);
	finish();
	assert_non_null(READ(fadt_read, &f));
}

static void test_hpet(void **)
{
	struct hpet_info h;

	begin("HPET", 1);
	put(0x8086a201, 4);
	put8(0);
	put8(64);
	put8(0);
	put8(0);
	put(0xfed00000, 8);
	put8(1);
	put(100, 2);
	put8(0);
	finish();
	assert_null(READ(hpet_table_read, &h));
	assert_int_equal(h.base, 0xfed00000);
	assert_int_equal(h.number, 1);
	buf[40] = 1; /* in I/O space */
	finish();
	assert_non_null(READ(hpet_table_read, &h));
	buf[40] = 0;
	set64(44, 0);
	finish();
	assert_non_null(READ(hpet_table_read, &h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),    cmocka_unit_test(test_rsdp),
		cmocka_unit_test(test_rsdp_scan), cmocka_unit_test(test_xsdt),
		cmocka_unit_test(test_mcfg),      cmocka_unit_test(test_fadt),
		cmocka_unit_test(test_hpet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
