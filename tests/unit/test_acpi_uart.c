/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/spcr.c kernel/acpi/aml_uart.c kernel/acpi/aml.c kernel/acpi/aml_resource.c kernel/acpi/rsdp.c */
/*
 * Serial ports by firmware's tables: SPCR (Microsoft's, 1.10), and PNP0501 of the DSDT, as QEMU
 * writes it, as other firmware does (ACPI 6.4, 6.4.2, 6.4.3), and cut at each byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/acpi/uart.h"
#include "tests/unit/acpi_table.h"

static struct acpi_uart u;

/* All 80 bytes. */
static void spcr(unsigned interface, unsigned space, unsigned width, unsigned access, u64 address,
		 unsigned how, unsigned irq, u32 gsi, unsigned baud)
{
	begin("SPCR", 2);
	put(interface, 4);
	put8(space);
	put8(width);
	put8(0);
	put8(access);
	put(address, 8);
	put8(how);
	put8(irq);
	put(gsi, 4);
	put8(baud);
	zeros(21);
	finish();
}

static const char *read_it(void)
{
	memset(&u, 0xee, sizeof(u));
	return READ(spcr_read, &u);
}

static void expect(bool mmio, bool wide, u64 address, s32 irq, u32 baud)
{
	assert_int_equal(u.mmio, mmio);
	assert_int_equal(u.wide, wide);
	assert_int_equal(u.address, address);
	assert_int_equal(u.irq, irq);
	assert_int_equal(u.baud, baud);
}

static void test_spcr(void **)
{
	spcr(0, 1, 8, 1, 0x2f8, 3, 3, 99, 7);
	assert_null(read_it());
	expect(false, false, 0x2f8, 3, 115200);
	spcr(1, 1, 8, 0, 0x3f8, 2, 4, 20, 3);
	assert_null(read_it());
	expect(false, false, 0x3f8, 20, 9600);
	spcr(0x12, 0, 32, 3, 0xfedc6000, 0, 4, 20, 0);
	assert_null(read_it());
	expect(true, true, 0xfedc6000, -1, 0);
	spcr(0x12, 0, 32, 0, 0xfedc6000, 2, 0, 256, 6);
	assert_null(read_it());
	expect(true, true, 0xfedc6000, -1, 57600);
	spcr(0x12, 0, 8, 3, 0xfedc6000, 0, 4, 20, 4);
	assert_null(read_it());
	expect(true, true, 0xfedc6000, -1, 19200);
	spcr(0, 0, 8, 1, 0xfe030000, 1, 16, 20, 8);
	assert_null(read_it());
	expect(true, false, 0xfe030000, -1, 0);
	/* One that is not set, and where it leads to comes the PIT's. */
	for (unsigned irq = 0; irq < 4; irq++)
		for (unsigned how = 1; how < 3; how++) {
			spcr(0, 0, 8, 1, 0xfe030000, how, irq, irq, 8);
			assert_null(read_it());
			expect(true, false, 0xfe030000, irq % 2 ? (s32)irq : -1, 0);
		}
}

static void test_spcr_is_not_ours(void **)
{
	spcr(3, 0, 32, 3, 0x9000000, 8, 0, 33, 0); /* an ARM PL011 */
	assert_string_equal(read_it(), "its port is no 16550");
	spcr(0, 1, 8, 1, 0, 1, 4, 0, 7); /* firmware's console is off */
	assert_string_equal(read_it(), "it has no port");
	spcr(0, 2, 8, 1, 0x3f8, 1, 4, 0, 7);
	assert_string_equal(read_it(), "its port is neither I/O nor memory");
	spcr(0, 1, 8, 1, 0xfff9, 1, 4, 0, 7);
	assert_string_equal(read_it(), "its port is neither I/O nor memory");
	spcr(0, 0, 32, 3, 0xfe030002, 1, 4, 0, 7);
	assert_string_equal(read_it(), "its address is impossible");
	spcr(0, 0, 8, 1, BIT(52) - 8, 1, 4, 0, 7);
	assert_string_equal(read_it(), "its address is impossible");
	spcr(0, 1, 8, 1, 0x3f8, 1, 4, 0, 7);
	buf[9]++;
	assert_string_equal(read_it(), "wrong checksum");
	spcr(0, 1, 8, 1, 0x3f8, 1, 4, 0, 7);
	used = 79;
	finish();
	assert_string_equal(read_it(), "shorter than its fixed part");
}

/* ---- the DSDT ---- */

static size_t length_at; /* of the Device's PkgLength, of two bytes */

static void name(const char *seg)
{
	put8(0x08);
	for (unsigned i = 0; i < 4; i++)
		put8((unsigned)seg[i]);
}

static void device(const char *seg)
{
	put8(0x5b);
	put8(0x82);
	length_at = used;
	zeros(2);
	for (unsigned i = 0; i < 4; i++)
		put8((unsigned)seg[i]);
}

static void end_device(size_t at)
{
	size_t n = used - at;

	buf[at] = (u8)(0x40 | (n & 15));
	buf[at + 1] = (u8)(n >> 4);
}

static void hid(void)
{
	name("_HID");
	put(0x0105d0410c, 5);
}

/* _CRS of these bytes and an end tag. */
static void resources(const u8 *bytes, unsigned n)
{
	name("_CRS");
	put8(0x11);
	put8(1 + 2 + n + 2);
	put8(0x0a);
	put8(n + 2);
	for (unsigned i = 0; i < n; i++)
		put8(bytes[i]);
	put8(0x79);
	put8(0);
}

/* As QEMU has them: io, irq; a UID and _STA. */
static void com(const char *seg, unsigned port, unsigned irq, unsigned status)
{
	const u8 bytes[] = {
		0x47, 1,    (u8)port,        (u8)(port >> 8),     (u8)port, (u8)(port >> 8), 0,
		8,    0x22, (u8)(1u << irq), (u8)(1u << irq >> 8)
	};
	size_t at;

	device(seg);
	at = length_at;
	hid();
	name("_STA");
	put8(0x0a);
	put8(status);
	resources(bytes, sizeof(bytes));
	end_device(at);
}

static bool find(unsigned n)
{
	u8 *exact = malloc(used ? used : 1);
	bool found;

	memcpy(exact, buf, used);
	memset(&u, 0xee, sizeof(u));
	found = aml_uart(exact, used, n, &u);
	free(exact);
	return found;
}

static void test_dsdt(void **)
{
	size_t bridge;

	used = 0;
	assert_false(find(0));
	/* In a bridge, whose own _CRS and _STA are none of theirs. */
	device("ISA_");
	bridge = length_at;
	name("_STA");
	put8(0);
	resources((const u8[]){ 0x47, 1, 0x80, 0, 0x80, 0, 0, 8 }, 8);
	com("COM1", 0x3f8, 7, 0xf);
	com("COM3", 0x3e8, 4, 0xd); /* not shown, but there */
	com("COM4", 0x2e8, 3, 8); /* not there */
	com("COM2", 0x2f8, 11, 0xf);
	end_device(bridge);
	assert_true(find(0));
	expect(false, false, 0x3f8, 7, 0);
	assert_true(find(1));
	expect(false, false, 0x3e8, 4, 0);
	assert_true(find(2));
	expect(false, false, 0x2f8, 11, 0);
	assert_false(find(3));
	/* Cut anywhere nothing is read beyond it. */
	for (size_t all = used; all--;) {
		used = all;
		find(3);
	}
}

static void one(const u8 *bytes, unsigned n)
{
	used = 0;
	device("UAR1");
	hid();
	resources(bytes, n);
	end_device(length_at);
}

static void test_resources(void **)
{
	size_t bridge;

	/* A fixed port; no interrupt, an empty list of them. */
	one((const u8[]){ 0x22, 0, 0, 0x4b, 0xe8, 0x02, 8 }, 7);
	assert_true(find(0));
	expect(false, false, 0x2e8, -1, 0);
	/* 32-bit memory, an extended interrupt. */
	one((const u8[]){ 0x86, 9,    0, 1, 0, 0x60, 0xdc, 0xfe, 0, 0x10, 0,
			  0,    0x89, 6, 0, 1, 1,    22,   0,    0, 0 },
	    21);
	assert_true(find(0));
	expect(true, false, 0xfedc6000, 22, 0);
	/* One beyond what an I/O APIC of the node may have, and the first of two ports. */
	one((const u8[]){ 0x89, 6, 0, 1, 1,    22, 1,    0, 0,    0x47, 1, 0xf8, 3,
			  0xf8, 3, 0, 8, 0x47, 1,  0xf8, 2, 0xf8, 2,    0, 8 },
	    25);
	assert_true(find(0));
	expect(false, false, 0x3f8, -1, 0);
	/* No place; a port beyond the last; a method makes it; none at all. */
	one((const u8[]){ 0x22, 0x10, 0 }, 3);
	assert_false(find(0));
	one((const u8[]){ 0x47, 1, 0xf9, 0xff, 0xf9, 0xff, 0, 8 }, 8);
	assert_false(find(0));
	used = 0;
	device("UAR1");
	hid();
	put8(0x14);
	put8(0x06);
	put(0x5352435f, 4); /* _CRS */
	put8(0);
	end_device(length_at);
	assert_false(find(0));
	used = 0;
	hid();
	assert_false(find(0));
	/*
	 * A table full of the ID is not read to its end: each costs as much as all before it are
	 * long.
	 */
	for (unsigned lies = 63; lies < 65; lies++) {
		used = 0;
		for (unsigned i = 0; i < lies; i++)
			hid();
		com("COM1", 0x3f8, 4, 0xf);
		assert_int_equal(find(0), lies < 64);
	}
	/*
	 * Behind a device of its own, which is not the one that has the ID; of two interrupts the
	 * first.
	 */
	used = 0;
	device("UAR1");
	bridge = length_at;
	device("PORT");
	end_device(length_at);
	hid();
	resources((const u8[]){ 0x22, 0x10, 0, 0x22, 0x20, 0, 0x47, 1, 0xf8, 2, 0xf8, 2, 0, 8 },
		  14);
	end_device(bridge);
	assert_true(find(0));
	expect(false, false, 0x2f8, 4, 0);
	/* By text. */
	used = 0;
	device("UAR1");
	name("_HID");
	put8(0x0d);
	for (const char *p = "PNP0501"; *p; p++)
		put8((unsigned)*p);
	put8(0);
	resources((const u8[]){ 0x47, 1, 0xf8, 2, 0xf8, 2, 0, 8 }, 8);
	end_device(length_at);
	assert_true(find(0));
	expect(false, false, 0x2f8, -1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spcr),
		cmocka_unit_test(test_spcr_is_not_ours),
		cmocka_unit_test(test_dsdt),
		cmocka_unit_test(test_resources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
