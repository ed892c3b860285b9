/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/rsdp.c kernel/acpi/xsdt.c kernel/acpi/madt.c kernel/acpi/srat.c kernel/acpi/slit.c kernel/acpi/mcfg.c kernel/acpi/fadt.c kernel/acpi/hpet.c kernel/acpi/dmar.c kernel/acpi/ivrs.c */
/* ACPI readers: hand-built tables byte by byte after the specifications, then broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/acpi/tables.h"

static u8 buf[131072];
static size_t used;

static void put8(unsigned v)
{
	buf[used++] = (u8)v;
}

static void put(u64 v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		put8((unsigned)(v >> (8 * i)));
}

static void zeros(unsigned n)
{
	while (n--)
		put8(0);
}

static void begin(const char *signature, unsigned revision)
{
	memset(buf, 0, sizeof(buf));
	used = 0;
	for (unsigned i = 0; i < 4; i++)
		put8((unsigned)signature[i]);
	zeros(4);
	put8(revision);
	zeros(27);
}

static void finish(void)
{
	u8 sum = 0;

	for (unsigned i = 0; i < 4; i++)
		buf[4 + i] = (u8)(used >> (8 * i));
	buf[9] = 0;
	for (size_t i = 0; i < used; i++)
		sum = (u8)(sum + buf[i]);
	buf[9] = (u8)-sum;
}

/* Calls a reader on a copy of exactly the table's size, so that AddressSanitizer sees reads beyond it. */
#define READ(reader, out)                                           \
	({                                                          \
		u8 *exact_ = malloc(used ? used : 1);               \
		const char *reason_;                                \
		memcpy(exact_, buf, used);                          \
		reason_ = reader(exact_, used, out);                \
		free(exact_);                                       \
		reason_;                                            \
	})

static void test_header(void **state)
{
	(void)state;
	begin("ABCD", 1);
	zeros(10);
	finish();
	assert_null(acpi_check_header(buf, used, "ABCD", 46));
	assert_non_null(acpi_check_header(buf, used, "ABCE", 46));
	assert_non_null(acpi_check_header(buf, used, "ABCD", 47));
	assert_non_null(acpi_check_header(buf, used - 1, "ABCD", 46));
	assert_non_null(acpi_check_header(buf, 35, "ABCD", 36));
	buf[40]++;
	assert_non_null(acpi_check_header(buf, used, "ABCD", 46));
	buf[40]--;
	buf[4] = 3; /* length shorter than the header */
	assert_non_null(acpi_check_header(buf, used, "ABCD", 0));
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

static void test_rsdp(void **state)
{
	struct rsdp_info r;

	(void)state;
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

static void test_rsdp_scan(void **state)
{
	static u8 area[4096];

	(void)state;
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

static void test_xsdt(void **state)
{
	static struct xsdt_info x;

	(void)state;
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

static void test_madt(void **state)
{
	(void)state;
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
	assert_false(m.nmi[1].all);
	assert_int_equal(m.nmi[1].uid, 7);
}

static void test_madt_bad(void **state)
{
	static const u8 bad[][3] = {
		{ 0, 0, 0 },  /* length 0: a loop */
		{ 0, 1, 0 },
		{ 0, 7, 0 },  /* too short for its kind */
		{ 9, 8, 0 },
		{ 1, 200, 0 }, /* past the end */
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		begin_madt();
		lapic(0, 0, 1);
		for (unsigned k = 0; k < 3; k++)
			put8(bad[i][k]);
		zeros(10);
		finish();
		assert_non_null(READ(madt_read, &m));
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

static void test_madt_many(void **state)
{
	(void)state;
	begin_madt();
	for (u32 i = 0; i < MADT_MAX_CPUS + 3; i++)
		x2apic(i, i, 1);
	finish();
	assert_null(READ(madt_read, &m));
	assert_int_equal(m.nr_cpus, MADT_MAX_CPUS);
	assert_int_equal(m.dropped_cpus, 3);
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

static void test_srat(void **state)
{
	(void)state;
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

static void test_slit(void **state)
{
	(void)state;
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

static void test_mcfg(void **state)
{
	struct mcfg_info info;

	(void)state;
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

static void set32(size_t at, u32 v)
{
	memcpy(buf + at, &v, 4);
}

static void set64(size_t at, u64 v)
{
	memcpy(buf + at, &v, 8);
}

static void test_fadt(void **state)
{
	struct fadt_info f;

	(void)state;
	/* Revision 1, 116 bytes: offsets of ACPI 1.0b, 5.2.5. */
	begin("FACP", 1);
	zeros(116 - 36);
	set32(40, 0x1fff0000); /* DSDT */
	set32(48, 0xb2);       /* SMI_CMD */
	buf[52] = 0xf1;        /* ACPI_ENABLE */
	set32(64, 0xb004);     /* PM1a_CNT_BLK */
	set32(76, 0xb008);     /* PM_TMR_BLK */
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

static void test_hpet(void **state)
{
	struct hpet_info h;

	(void)state;
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

static struct dmar_info d;

static void begin_dmar(void)
{
	begin("DMAR", 1);
	put8(45);
	put8(1);
	zeros(10);
}

static void test_dmar(void **state)
{
	(void)state;
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
	put(0, 2);
	put(0, 2);
	put(0x7f000000, 8);
	put(0x7f0fffff, 8);
	put8(1);
	put8(8);
	put(0, 2);
	put8(0);
	put8(0);
	put8(0x14);
	put8(0);
	put(2, 2); /* ATSR, all ports */
	put(8, 2);
	put8(1);
	put8(0);
	put(0, 2);
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
	assert_int_equal(d.unit[0].type, ACPI_DMAR_DRHD);
	assert_int_equal(d.unit[0].base, 0xfed90000);
	assert_int_equal(d.unit[0].segment, 2);
	assert_int_equal(d.unit[0].nr_scopes, 1);
	assert_int_equal(d.scope[0].type, 3);
	assert_int_equal(d.scope[0].enumeration_id, 8);
	assert_int_equal(d.scope[0].start_bus, 0xf0);
	assert_int_equal(d.scope[0].depth, 2);
	assert_int_equal(d.scope[0].path[1].device, 1);
	assert_int_equal(d.scope[0].path[1].function, 2);
	assert_int_equal(d.unit[1].base, 0x7f000000);
	assert_int_equal(d.unit[1].limit, 0x7f0fffff);
	assert_int_equal(d.unit[1].first_scope, 1);
	assert_int_equal(d.unit[1].nr_scopes, 1);
	assert_int_equal(d.unit[3].domain, 4);
}

static void test_dmar_bad(void **state)
{
	(void)state;
	for (unsigned length = 0; length < 16; length++) {
		begin_dmar();
		put(0, 2);
		put(length, 2);
		zeros(4);
		put(0xfed90000, 8);
		finish();
		assert_non_null(READ(dmar_read, &d));
	}
	/* Device scope lengths: 0, odd, a path of nine, past the end. */
	static const u8 lengths[] = { 0, 5, 6, 7, 9, 24, 255 };

	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		begin_dmar();
		put(0, 2);
		put(16 + 30, 2);
		zeros(4);
		put(0xfed90000, 8);
		put8(1);
		put8(lengths[i]);
		zeros(28);
		finish();
		assert_non_null(READ(dmar_read, &d));
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

static void test_ivrs(void **state)
{
	(void)state;
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

static void test_ivrs_bad(void **state)
{
	u8 hid[22] = { 240 };

	(void)state;
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

/* Random damage to good tables, checksum repaired: no crash, no read outside. */
static void test_hostile(void **state)
{
	static u8 original[sizeof(buf)];
	size_t size;

	srand(3);
	for (unsigned which = 0; which < 5; which++) {
		switch (which) {
		case 0: test_madt(state); break;
		case 1: test_dmar(state); break;
		case 2: test_ivrs(state); break;
		case 3: test_srat(state); begin_srat(3); srat_lapic(1, 1, 1); srat_memory(1, 0, 0x1000, 1); finish(); break;
		default: begin("SLIT", 1); put(2, 8); put8(10); put8(20); put8(20); put8(10); finish(); break;
		}
		memcpy(original, buf, used);
		size = used;
		for (unsigned round = 0; round < 5000; round++) {
			memcpy(buf, original, size);
			used = size - (size_t)(rand() % 3 ? 0 : (unsigned)rand() % (size - 36));
			for (int i = rand() % 5; i >= 0; i--)
				buf[36 + (size_t)rand() % (size - 36)] = (u8)rand();
			finish();
			switch (which) {
			case 0: READ(madt_read, &m); break;
			case 1: READ(dmar_read, &d); break;
			case 2: READ(ivrs_read, &iv); break;
			case 3: READ(srat_read, &s); break;
			default: READ(slit_read, &sl); break;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_rsdp),
		cmocka_unit_test(test_rsdp_scan),
		cmocka_unit_test(test_xsdt),
		cmocka_unit_test(test_madt),
		cmocka_unit_test(test_madt_bad),
		cmocka_unit_test(test_madt_many),
		cmocka_unit_test(test_srat),
		cmocka_unit_test(test_slit),
		cmocka_unit_test(test_mcfg),
		cmocka_unit_test(test_fadt),
		cmocka_unit_test(test_hpet),
		cmocka_unit_test(test_dmar),
		cmocka_unit_test(test_dmar_bad),
		cmocka_unit_test(test_ivrs),
		cmocka_unit_test(test_ivrs_bad),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
