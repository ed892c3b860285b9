/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/aml.sources vmm/acpi/aml_build.c vmm/acpi/aml_encode.c lib/span.c */
/*
 * PCI roots and the routing of line interrupts in AML, in the forms in which
 * firmware writes them: as data, through a bridge, by link devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <margay/errno.h>

#include "aml_text.h"

static void test_roots(void **)
{
	struct aml *a = &out[0];

	/*
	 * Fields, regions and methods stand between them: OperationRegion (DBG, SystemIO, 0x402,
	 * 1), Field, Mutex, Event, Noop.
	 */
	RAW(a, 0x5b, 0x80, 'D', 'B', 'G', '_', 0x01, 0x0b, 0x02, 0x04, 0x01);
	RAW(a, 0x5b, 0x81, 0x0b, 'D', 'B', 'G', '_', 0x01, 'D', 'B', 'G', 'B', 0x08);
	RAW(a, 0x5b, 0x01, 'M', 'T', 'X', '_', 0x00, 0x5b, 0x02, 'E', 'V', 'T', '_', 0xa3);
	/* Method (FOO, 1) { _HID and a root's ID, which nothing declares } */
	RAW(a, 0x14, 0x10, 'F', 'O', 'O', '_', 0x01, 0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0,
	    0x0a, 0x08);
	/*
	 * Name (BUF, Buffer (2) {}), CreateByteField (BUF, 0, BYT), External (X, Device), Alias (A,
	 * B)
	 */
	RAW(a, 0x08, 'B', 'U', 'F', '_', 0x11, 0x05, 0x0a, 0x02, 0x00, 0x00, 0x8c, 'B', 'U', 'F',
	    '_', 0x00, 'B', 'Y', 'T', '_');
	RAW(a, 0x15, 0x5c, '_', 'X', '_', '_', 0x06, 0x00, 0x06, 'B', 'U', 'F', '_', 'B', 'U', 'G',
	    '_');
	begin_root(a, "PCI0", "PNP0A08");
	aml_name_eisaid(a, "_CID", "PNP0A03");
	end_root(a);
	begin_root(a, "ABCD", "PNP0C02");
	end_root(a);
	/* In another table, and with parts in a scope of its own. */
	begin_root(&out[1], "PC80", "PNP0A03");
	end_root(&out[1]);
	/* Scope (\_SB.PC80) { Name (_BBN, 0x80) Name (_SEG, 2) Name (_PXM, 1) } */
	RAW(&out[1], 0x10, 0x1f, 0x5c, 0x2e, '_', 'S', 'B', '_', 'P', 'C', '8', '0', 0x08, '_', 'B',
	    'B', 'N', 0x0a, 0x80, 0x08, '_', 'S', 'E', 'G', 0x0a, 0x02, 0x08, '_', 'P', 'X', 'M',
	    0x01);
	assert_int_equal(read_all(), 2);
	assert_int_equal(root[0].segment, 0);
	assert_int_equal(root[0].bus, 0);
	assert_false(root[0].has_proximity);
	assert_int_equal(root[1].segment, 2);
	assert_int_equal(root[1].bus, 0x80);
	assert_true(root[1].has_proximity);
	assert_int_equal(root[1].proximity, 1);
	/* Wherever the table ends, what is read is within it. */
	for (size_t n = 0; n < out[0].len; n++)
		assert_true(read_cut(n) <= 2);
}

static unsigned read_crs(const u8 *bytes, size_t n)
{
	struct aml *a = &out[0];

	aml_init(a, text[0], ROOM);
	begin_root(a, "PCI0", "PNP0A08");
	/*
	 * Name (_CRS, Buffer (n) { ... }): a PkgLength of two bytes, which counts itself, and a
	 * WordConst.
	 */
	RAW(a, 0x08, '_', 'C', 'R', 'S', 0x11, (u8)(0x40 | ((n + 5) & 0xf)), (u8)((n + 5) >> 4),
	    0x0b, (u8)n, (u8)(n >> 8));
	raw(a, bytes, n);
	end_root(a);
	assert_int_equal(read_all(), 1);
	return root[0].nr_windows;
}

#define CRS(...) read_crs((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))
/*
 * Address space descriptors (ACPI 6.4, 6.4.3.5): type, minimum, maximum, translation, length, their
 * numbers lowest byte first.
 */
#define W(v) (u8)(v), (u8)((v) >> 8)
#define D(v) W(v), W((v) >> 16)
#define Q(v) D(v), D((u64)(v) >> 32)
#define WORD_SPACE(type, min, max, trans, len) \
	0x88, 0x0d, 0, type, 0x0c, 0, W(0), W(min), W(max), W(trans), W(len)
#define DWORD_SPACE(type, min, max, trans, len) \
	0x87, 0x17, 0, type, 0x0c, 0, D(0), D(min), D(max), D(trans), D(len)
#define QWORD_SPACE(type, min, max, trans, len) \
	0x8a, 0x2b, 0, type, 0x0c, 0, Q(0), Q(min), Q(max), Q(trans), Q(len)
#define EXTENDED_SPACE(type, min, max, trans, len) \
	0x8b, 0x35, 0, type, 0x0c, 0, 1, 0, Q(0), Q(min), Q(max), Q(trans), Q(len), Q(0)
#define END 0x79, 0x00
/* what the bridge itself has: no window */
#define PORTS_CF8 0x47, 0x01, 0xf8, 0x0c, 0xf8, 0x0c, 1, 8

static void test_windows(void **)
{
	assert_int_equal(CRS(WORD_SPACE(2, 0, 0x7f, 0, 0x80), PORTS_CF8,
			     WORD_SPACE(1, 0, 0xcf7, 0, 0xcf8),
			     DWORD_SPACE(1, 0xd00, 0xffff, 0, 0xf300),
			     DWORD_SPACE(0, 0xc0000000u, 0xfebfffffu, 0, 0x3ec00000),
			     QWORD_SPACE(0, 0x800000000, 0xfffffffff, 0, 0x800000000), END),
			 5);
	assert_int_equal(root[0].window[0].type, AML_WINDOW_BUS);
	assert_int_equal(root[0].window[0].last, 0x7f);
	assert_true(aml_pci_reaches(&root[0], false, 0xc0000000, 0xc0000fff));
	assert_true(aml_pci_reaches(&root[0], false, 0xfebff000, 0xfebfffff));
	assert_false(aml_pci_reaches(&root[0], false, 0xfebff000, 0xfec00000));
	assert_false(aml_pci_reaches(&root[0], false, 0xbffff000, 0xc0000fff));
	assert_false(aml_pci_reaches(&root[0], false, 0xd00, 0xd0f));
	assert_true(aml_pci_reaches(&root[0], false, 0x800000000, 0xfffffffff));
	assert_false(aml_pci_reaches(&root[0], false, 0xfffffff000, 0x10000000fff));
	assert_true(aml_pci_reaches(&root[0], true, 0xd00, 0xd0f));
	assert_false(aml_pci_reaches(&root[0], true, 0xcf0, 0xcff));
	/* An address on the bus that the CPU has elsewhere. */
	assert_int_equal(
		CRS(QWORD_SPACE(0, 0x80000000u, 0x8fffffffu, 0x1000000000, 0x10000000), END), 1);
	assert_true(aml_pci_reaches(&root[0], false, 0x1080000000, 0x1080000fff));
	assert_false(aml_pci_reaches(&root[0], false, 0x80000000, 0x80000fff));
	assert_int_equal(CRS(EXTENDED_SPACE(0, 0x4000000000, 0x7fffffffff, 0, 0x4000000000), END),
			 1);
	assert_false(aml_pci_reaches(&root[0], false, 0x3ffffff000, 0x4000000fff));
	/* Of ports this root says nothing. */
	assert_true(aml_pci_reaches(&root[0], true, 0xd00, 0xd0f));
}

/* Anything may be reached where it is not known what can. */
static void test_unknown_windows(void **)
{
	u8 many[17 * 16];

	assert_int_equal(CRS(END), 0);
	/* Without addresses, upside down, of a vendor's type; the last one is right. */
	assert_int_equal(CRS(DWORD_SPACE(0, 0, 0, 0, 0), DWORD_SPACE(0, 0x2000, 0x1fff, 0, 1),
			     DWORD_SPACE(192, 0, 0xfff, 0, 0x1000),
			     DWORD_SPACE(0, 0x1000, 0x1fff, 0, 0x1000), END),
			 1);
	/* Cut off: nothing of it counts. */
	assert_int_equal(CRS(DWORD_SPACE(0, 0x1000, 0x1fff, 0, 0x1000), 0x87, 0x17, 0, 0, 0x0c), 0);
	assert_int_equal(CRS(DWORD_SPACE(0, 0x1000, 0x1fff, 0, 0x1000), 0x87, 0x17), 0);
	/* By less than the bytes in front of it. */
	assert_int_equal(CRS(DWORD_SPACE(0, 0x1000, 0x1fff, 0, 0x1000), 0x87, 0x02, 0), 0);
	/* Shorter than its own kind. */
	assert_int_equal(CRS(0x87, 0x05, 0, 0, 0x0c, 0, 0, 0, END), 0);
	/* One more than there is room for. */
	for (unsigned i = 0; i < 17; i++)
		memcpy(many + 16 * i, (const u8[]){ WORD_SPACE(1, 0x1000, 0x1fff, 0, 0x1000) }, 16);
	assert_int_equal(read_crs(many, 16 * 16), 16);
	assert_false(aml_pci_reaches(&root[0], true, 0x5000, 0x5fff));
	assert_int_equal(read_crs(many, 17 * 16), 0);
	assert_true(aml_pci_reaches(&root[0], true, 0x5000, 0x5fff));
	/* By a method that makes it up. */
	aml_init(&out[0], text[0], ROOM);
	begin_root(&out[0], "PCI0", "PNP0A08");
	RAW(&out[0], 0x14, 0x0f, '_', 'C', 'R', 'S', 0x00, 0x70, 0x0a, 0x01, 0x60, 0xa4, 'R', 'E',
	    'S', '_');
	end_root(&out[0]);
	assert_int_equal(read_all(), 1);
	assert_int_equal(root[0].nr_windows, 0);
	assert_true(aml_pci_reaches(&root[0], false, 0, ~0ull));
}

/* Neither one that is not known nor one that is too many is among those that are given. */
static void too_many_roots(void **)
{
	char name[5] = "PCI0";

	for (unsigned i = 0; i < 6; i++) {
		name[3] = (char)('0' + i);
		begin_root(&out[0], name, "PNP0A08");
		/* Method (_BBN) { Return (FOO (1)) } */
		if (i == 1)
			RAW(&out[0], 0x14, 0x0d, '_', 'B', 'B', 'N', 0x00, 0xa4, 'F', 'O', 'O', '_',
			    0x01, 0xa3);
		else
			aml_name_integer(&out[0], "_BBN", i);
		end_root(&out[0]);
	}
	assert_int_equal(read_all(), 3);
	assert_int_equal(beyond, 2);
	assert_int_equal(root[0].bus, 0);
	assert_int_equal(root[1].bus, 2);
	assert_int_equal(root[2].bus, 3);
}

static void test_plain_table(void **)
{
	static const u64 entry[][4] = { { 0x3ffff, 0, 0, 19 },
					{ 0x3ffff, 1, 0, 20 },
					{ 0x1fffff, 3, 0, 47 } };
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	begin_root(a, "PCI0", "PNP0A08");
	aml_packages_begin(a, "_PRT", ARRAY_SIZE(entry));
	for (unsigned i = 0; i < ARRAY_SIZE(entry); i++)
		aml_package(a, entry[i], 4);
	aml_end(a);
	aml_device(a, "BR01");
	aml_name_integer(a, "_ADR", 0x1c0002);
	aml_end(a);
	end_root(a);
	assert_int_equal(read_all(), 1);
	assert_int_equal(route(3, 0, 0, &gsi, &low), 0);
	assert_int_equal(gsi, 19);
	assert_true(low);
	assert_int_equal(route(3, 1, 0, &gsi, &low), 0);
	assert_int_equal(gsi, 20);
	assert_int_equal(route(31, 3, 0, &gsi, &low), 0);
	assert_int_equal(gsi, 47);
	/* Interrupt Line does not answer for what the table leaves out. */
	assert_int_equal(route(3, 2, 11, &gsi, &low), -ENOENT);
	assert_int_equal(route(4, 0, 11, &gsi, &low), -ENOENT);
	for (size_t n = 0; n < out[0].len; n++)
		if (read_cut(n))
			assert_true(route(31, 3, 0, &gsi, &low) == 0 || n < out[0].len);
}

static void test_bridge(void **)
{
	struct aml_name child;
	struct aml_pci_route r;
	u64 const entry[] = { 0xffff, 0, 0, 33 };
	struct aml *a = &out[0];

	begin_root(a, "PCI0", "PNP0A08");
	aml_device(a, "BR01");
	aml_name_integer(a, "_ADR", 0x1c0002);
	aml_packages_begin(a, "_PRT", 1);
	aml_package(a, entry, 4);
	aml_end(a);
	aml_device(a, "SLOT");
	aml_name_integer(a, "_ADR", 0);
	aml_end(a);
	aml_end(a);
	end_root(a);
	assert_int_equal(read_all(), 1);
	assert_int_equal(aml_pci_child(&tables, &root[0].path, 0x1c << 3 | 2, &child), 0);
	assert_int_equal(aml_pci_route(&tables, &child, 0, 0, 0, &r), 0);
	assert_int_equal(r.gsi, 33);
	assert_int_equal(aml_pci_route(&tables, &root[0].path, 0, 0, 0, &r), -ENODEV);
	/* A grandchild is none. */
	assert_int_equal(aml_pci_child(&tables, &root[0].path, 0, &child), -ENODEV);
}

static void test_links(void **)
{
	static const char *const link[] = { "GSIA", "LNKA", "LNKB" };
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	links(a);
	begin_root(a, "PCI0", "PNP0A03");
	link_table(a, "_PRT", link);
	end_root(a);
	assert_int_equal(read_all(), 1);
	assert_int_equal(route(6, 0, 0, &gsi, &low), 0);
	assert_int_equal(gsi, 16);
	assert_false(low);
	/* What firmware wrote into Interrupt Line, if the link offers it. */
	assert_int_equal(route(6, 1, 10, &gsi, &low), 0);
	assert_int_equal(gsi, 10);
	assert_true(low);
	assert_int_equal(route(6, 1, 5, &gsi, &low), 0);
	assert_int_equal(gsi, 5);
	assert_int_equal(route(6, 1, 9, &gsi, &low), -ENOENT);
	assert_int_equal(route(6, 1, 255, &gsi, &low), -ENOENT);
	assert_int_equal(route(6, 2, 10, &gsi, &low), -ENOENT);
}

/* A link device that lies deeper, by its path in the two forms that it may have. */
static void test_links_by_paths(void **)
{
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	begin_root(a, "PCI0", "PNP0A03");
	aml_device(a, "ISA_");
	aml_device(a, "LNKC");
	/* Interrupt (Level, ActiveLow, Shared) { 0x11 } */
	RAW(a, 0x08, '_', 'C', 'R', 'S', 0x11, 0x0e, 0x0a, 0x0b, 0x89, 0x06, 0x00, 0x0d, 0x01, 0x11,
	    0x00, 0x00, 0x00, 0x79, 0x00);
	aml_end(a);
	aml_end(a);
	/*
	 * Name (_PRT, Package (2) { Package (4) { 0x6ffff, 0, ISA.LNKC, 0 }, Package (4) { 0x6ffff,
	 * 1, ISA.LNKC, 0 } })
	 */
	RAW(a, 0x08, '_', 'P', 'R', 'T', 0x12, 0x2b, 0x02);
	RAW(a, 0x12, 0x13, 0x04, 0x0c, W(0xffff), W(6), 0x0a, 0, 0x2e, 'I', 'S', 'A', '_', 'L', 'N',
	    'K', 'C', 0x00);
	RAW(a, 0x12, 0x14, 0x04, 0x0c, W(0xffff), W(6), 0x0a, 1, 0x2f, 2, 'I', 'S', 'A', '_', 'L',
	    'N', 'K', 'C', 0x00);
	end_root(a);
	assert_int_equal(read_all(), 1);
	for (u8 pin = 0; pin < 2; pin++) {
		assert_int_equal(route(6, pin, 0, &gsi, &low), 0);
		assert_int_equal(gsi, 17);
		assert_true(low);
	}
}

/* Two roots that are the machine's bus 0, the second one with what is in `status`. */
static unsigned two_roots(const u8 *status, size_t n)
{
	aml_init(&out[0], text[0], ROOM);
	begin_root(&out[0], "PCI0", "PNP0A08");
	end_root(&out[0]);
	begin_root(&out[0], "PCI1", "PNP0A08");
	raw(&out[0], status, n);
	end_root(&out[0]);
	return read_all();
}

static void test_status(void **)
{
	static const u8 there[] = { 0x08, '_', 'S', 'T', 'A', 0x0a, 0x0f },
			absent[] = { 0x08, '_', 'S', 'T', 'A', 0x0a, 0x0e };
	static const u8 method[] = { 0x14, 0x08, '_', 'S', 'T', 'A', 0x00, 0xa4, 0x00 };
	static const u8 run[] = { 0x14, 0x0b, '_', 'S', 'T', 'A', 0x00, 0xa4, 'X', 'Y', 'Z', '_' };
	static const u8 elsewhere[] = { 0x08, '_', 'B', 'B', 'N', 0x0a, 0x40 };

	assert_int_equal(two_roots(absent, sizeof(absent)), 1);
	assert_int_equal(root[0].path.seg[1], AML_SEG('P', 'C', 'I', '0'));
	assert_int_equal(two_roots(method, sizeof(method)), 1);
	assert_int_equal(two_roots(elsewhere, sizeof(elsewhere)), 2);
	/* Which of the two is there is not known. */
	assert_int_equal(two_roots(there, sizeof(there)), 0);
	/* PCI0 has no _STA: it is there, so that PCI1 is not. */
	assert_int_equal(two_roots(run, sizeof(run)), 1);
	assert_int_equal(root[0].path.seg[1], AML_SEG('P', 'C', 'I', '0'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_roots, setup, teardown),
		cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_roots, setup, teardown),
		cmocka_unit_test_setup_teardown(test_plain_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bridge, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_by_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
