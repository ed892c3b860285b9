/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/aml.c kernel/acpi/aml_walk.c kernel/acpi/aml_value.c kernel/acpi/aml_pci.c kernel/acpi/aml_resource.c vmm/acpi/aml.c */
/*
 * PCI roots and the routing of line interrupts in AML, in the forms in which
 * firmware writes them: as data, by link devices, and by a method that looks
 * whether the APIC is in use. Declarations are vmm/acpi/aml.c's, code is by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <margay/errno.h>

#include "kernel/acpi/aml_pci.h"
#include "vmm/acpi/aml.h"

#define ROOM 4096

static u8 text[2][ROOM];
static struct aml out[2];
static struct aml_span *exact; /* in memory of exactly their size, for the sanitizer */
static u8 *copy[2];
static struct aml_tables tables;
static struct aml_pci_root root[4];
static unsigned beyond;

static int setup(void **state)
{
	(void)state;
	aml_init(&out[0], text[0], ROOM);
	aml_init(&out[1], text[1], ROOM);
	memset(root, 0, sizeof(root));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(copy[0]);
	free(copy[1]);
	free(exact);
	copy[0] = copy[1] = NULL;
	exact = NULL;
	return 0;
}

/* What has been written becomes the machine's tables, cut off after `size` bytes of the first. */
static unsigned read_cut(size_t size)
{
	teardown(NULL);
	exact = calloc(2, sizeof(*exact));
	for (unsigned i = 0; i < 2; i++) {
		size_t n = i ? out[i].len : MIN(size, out[i].len);

		assert_int_equal(aml_error(&out[i]), 0);
		copy[i] = malloc(n ? n : 1);
		memcpy(copy[i], text[i], n);
		exact[i] = (struct aml_span){ copy[i], n };
	}
	tables = (struct aml_tables){ exact, 2 };
	return aml_pci_roots(&tables, root, ARRAY_SIZE(root), &beyond);
}

static unsigned read_all(void)
{
	return read_cut(ROOM);
}

/* Bytes that the encoder has no word for. */
#define RAW(a, ...) raw(a, (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))
static void raw(struct aml *a, const u8 *bytes, size_t n)
{
	assert_true(a->len + n <= ROOM);
	memcpy(a->buf + a->len, bytes, n);
	a->len += n;
}

static void begin_root(struct aml *a, const char *name, const char *id)
{
	aml_scope(a, "\\_SB");
	aml_device(a, name);
	aml_name_eisaid(a, "_HID", id);
}

static void end_root(struct aml *a)
{
	aml_end(a);
	aml_end(a);
}

static void test_roots(void **state)
{
	struct aml *a = &out[0];

	(void)state;
	/* Fields, regions and methods stand between them: OperationRegion (DBG, SystemIO, 0x402, 1), Field, Mutex, Event, Noop. */
	RAW(a, 0x5b, 0x80, 'D', 'B', 'G', '_', 0x01, 0x0b, 0x02, 0x04, 0x01);
	RAW(a, 0x5b, 0x81, 0x0b, 'D', 'B', 'G', '_', 0x01, 'D', 'B', 'G', 'B', 0x08);
	RAW(a, 0x5b, 0x01, 'M', 'T', 'X', '_', 0x00, 0x5b, 0x02, 'E', 'V', 'T', '_', 0xa3);
	/* Method (FOO, 1) { _HID and a root's ID, which nothing declares } */
	RAW(a, 0x14, 0x10, 'F', 'O', 'O', '_', 0x01, 0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x0a, 0x08);
	/* Name (BUF, Buffer (2) {}), CreateByteField (BUF, 0, BYT), External (X, Device), Alias (A, B) */
	RAW(a, 0x08, 'B', 'U', 'F', '_', 0x11, 0x05, 0x0a, 0x02, 0x00, 0x00, 0x8c, 'B', 'U', 'F', '_', 0x00, 'B', 'Y', 'T', '_');
	RAW(a, 0x15, 0x5c, '_', 'X', '_', '_', 0x06, 0x00, 0x06, 'B', 'U', 'F', '_', 'B', 'U', 'G', '_');
	begin_root(a, "PCI0", "PNP0A08");
	aml_name_eisaid(a, "_CID", "PNP0A03");
	end_root(a);
	begin_root(a, "ABCD", "PNP0C02");
	end_root(a);
	/* In another table, and with parts in a scope of its own. */
	begin_root(&out[1], "PC80", "PNP0A03");
	end_root(&out[1]);
	/* Scope (\_SB.PC80) { Name (_BBN, 0x80) Name (_SEG, 2) Name (_PXM, 1) } */
	RAW(&out[1], 0x10, 0x1f, 0x5c, 0x2e, '_', 'S', 'B', '_', 'P', 'C', '8', '0', 0x08, '_', 'B', 'B', 'N', 0x0a, 0x80,
	    0x08, '_', 'S', 'E', 'G', 0x0a, 0x02, 0x08, '_', 'P', 'X', 'M', 0x01);
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
	/* Name (_CRS, Buffer (n) { ... }): a PkgLength of two bytes, which counts itself, and a WordConst. */
	RAW(a, 0x08, '_', 'C', 'R', 'S', 0x11, (u8)(0x40 | ((n + 5) & 0xf)), (u8)((n + 5) >> 4), 0x0b, (u8)n, (u8)(n >> 8));
	raw(a, bytes, n);
	end_root(a);
	assert_int_equal(read_all(), 1);
	return root[0].nr_windows;
}

#define CRS(...) read_crs((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))
/* Address space descriptors (ACPI 6.4, 6.4.3.5): type, minimum, maximum, translation, length, their numbers lowest byte first. */
#define W(v) (u8)(v), (u8)((v) >> 8)
#define D(v) W(v), W((v) >> 16)
#define Q(v) D(v), D((u64)(v) >> 32)
#define WORD_SPACE(type, min, max, trans, len) 0x88, 0x0d, 0, type, 0x0c, 0, W(0), W(min), W(max), W(trans), W(len)
#define DWORD_SPACE(type, min, max, trans, len) 0x87, 0x17, 0, type, 0x0c, 0, D(0), D(min), D(max), D(trans), D(len)
#define QWORD_SPACE(type, min, max, trans, len) 0x8a, 0x2b, 0, type, 0x0c, 0, Q(0), Q(min), Q(max), Q(trans), Q(len)
#define EXTENDED_SPACE(type, min, max, trans, len) \
	0x8b, 0x35, 0, type, 0x0c, 0, 1, 0, Q(0), Q(min), Q(max), Q(trans), Q(len), Q(0)
#define END 0x79, 0x00
#define PORTS_CF8 0x47, 0x01, 0xf8, 0x0c, 0xf8, 0x0c, 1, 8 /* what the bridge itself has: no window */

static void test_windows(void **state)
{
	(void)state;
	assert_int_equal(CRS(WORD_SPACE(2, 0, 0x7f, 0, 0x80), PORTS_CF8, WORD_SPACE(1, 0, 0xcf7, 0, 0xcf8),
			     DWORD_SPACE(1, 0xd00, 0xffff, 0, 0xf300), DWORD_SPACE(0, 0xc0000000u, 0xfebfffffu, 0, 0x3ec00000),
			     QWORD_SPACE(0, 0x800000000, 0xfffffffff, 0, 0x800000000), END), 5);
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
	assert_int_equal(CRS(QWORD_SPACE(0, 0x80000000u, 0x8fffffffu, 0x1000000000, 0x10000000), END), 1);
	assert_true(aml_pci_reaches(&root[0], false, 0x1080000000, 0x1080000fff));
	assert_false(aml_pci_reaches(&root[0], false, 0x80000000, 0x80000fff));
	assert_int_equal(CRS(EXTENDED_SPACE(0, 0x4000000000, 0x7fffffffff, 0, 0x4000000000), END), 1);
	assert_false(aml_pci_reaches(&root[0], false, 0x3ffffff000, 0x4000000fff));
	/* Of ports this root says nothing. */
	assert_true(aml_pci_reaches(&root[0], true, 0xd00, 0xd0f));
}

/* Anything may be reached where it is not known what can. */
static void test_unknown_windows(void **state)
{
	u8 many[17 * 16];

	(void)state;
	assert_int_equal(CRS(END), 0);
	/* Without addresses, upside down, of a vendor's type; the last one is right. */
	assert_int_equal(CRS(DWORD_SPACE(0, 0, 0, 0, 0), DWORD_SPACE(0, 0x2000, 0x1fff, 0, 1),
			     DWORD_SPACE(192, 0, 0xfff, 0, 0x1000), DWORD_SPACE(0, 0x1000, 0x1fff, 0, 0x1000), END), 1);
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
	RAW(&out[0], 0x14, 0x0f, '_', 'C', 'R', 'S', 0x00, 0x70, 0x0a, 0x01, 0x60, 0xa4, 'R', 'E', 'S', '_');
	end_root(&out[0]);
	assert_int_equal(read_all(), 1);
	assert_int_equal(root[0].nr_windows, 0);
	assert_true(aml_pci_reaches(&root[0], false, 0, ~0ull));
}

/* A bus number that code finds out is not guessed; a domain that it returns plainly is one. */
static void test_methods(void **state)
{
	struct aml *a = &out[0];

	(void)state;
	begin_root(a, "PCI0", "PNP0A08");
	/* Method (_BBN) { Return (FOO (1)) } */
	RAW(a, 0x14, 0x0d, '_', 'B', 'B', 'N', 0x00, 0xa4, 'F', 'O', 'O', '_', 0x01, 0xa3);
	end_root(a);
	begin_root(a, "PCI1", "PNP0A08");
	aml_name_integer(a, "_BBN", 0x40);
	RAW(a, 0x14, 0x09, '_', 'P', 'X', 'M', 0x00, 0xa4, 0x0a, 0x07);
	end_root(a);
	assert_int_equal(read_all(), 1);
	assert_int_equal(root[0].bus, 0x40);
	assert_true(root[0].has_proximity);
	assert_int_equal(root[0].proximity, 7);
}

/* Neither one that is not known nor one that is too many is among those that are given. */
static void too_many_roots(void **state)
{
	char name[5] = "PCI0";

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		name[3] = (char)('0' + i);
		begin_root(&out[0], name, "PNP0A08");
		/* Method (_BBN) { Return (FOO (1)) } */
		if (i == 1)
			RAW(&out[0], 0x14, 0x0d, '_', 'B', 'B', 'N', 0x00, 0xa4, 'F', 'O', 'O', '_', 0x01, 0xa3);
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

static int route(u8 device, u8 pin, u8 line, u32 *gsi, bool *low)
{
	struct aml_pci_route r = { 0 };
	int err = aml_pci_route(&tables, &root[0].path, device, pin, line, &r);

	*gsi = r.gsi;
	*low = r.active_low;
	return err;
}

static void test_plain_table(void **state)
{
	static const u64 entry[][4] = { { 0x3ffff, 0, 0, 19 }, { 0x3ffff, 1, 0, 20 }, { 0x1fffff, 3, 0, 47 } };
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	(void)state;
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

static void test_bridge(void **state)
{
	struct aml_name child;
	struct aml_pci_route r;
	u64 const entry[] = { 0xffff, 0, 0, 33 };
	struct aml *a = &out[0];

	(void)state;
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

/* Package (4) { 0x00nnffff, pin, name, 0 } */
static void link_entry(struct aml *a, u8 device, u8 pin, const char *link)
{
	RAW(a, 0x12, 0x0e, 0x04, 0x0c, 0xff, 0xff, device, 0x00, 0x0a, pin);
	RAW(a, (u8)link[0], (u8)link[1], (u8)link[2], (u8)link[3], 0x00);
}

/*
 * A table by link devices, in front of them: GSIA as data, LNKA whose setting a
 * method reads from a register and that offers 5, 10 and 11, LNKB that offers nothing.
 */
static void links(struct aml *a)
{
	aml_scope(a, "\\_SB");
	aml_device(a, "GSIA");
	/* Interrupt (Level, ActiveHigh, Shared) { 0x10 } */
	RAW(a, 0x08, '_', 'C', 'R', 'S', 0x11, 0x0e, 0x0a, 0x0b, 0x89, 0x06, 0x00, 0x09, 0x01, 0x10, 0x00, 0x00, 0x00, 0x79, 0x00);
	aml_end(a);
	aml_device(a, "LNKA");
	/* Method (_CRS) { Return (PRQ0) }; IRQ (Level, ActiveLow, Shared) {5,10,11} */
	RAW(a, 0x14, 0x0b, '_', 'C', 'R', 'S', 0x00, 0xa4, 'P', 'R', 'Q', '0');
	RAW(a, 0x08, '_', 'P', 'R', 'S', 0x11, 0x09, 0x0a, 0x06, 0x23, 0x20, 0x0c, 0x18, 0x79, 0x00);
	aml_end(a);
	aml_device(a, "LNKB");
	RAW(a, 0x14, 0x0b, '_', 'C', 'R', 'S', 0x00, 0xa4, 'P', 'R', 'Q', '1');
	aml_end(a);
	aml_end(a);
}

static void link_table(struct aml *a, const char *name, const char *const *link)
{
	/* Name (name, Package (3) { ... }), whose entries have 15 bytes. */
	RAW(a, 0x08, (u8)name[0], (u8)name[1], (u8)name[2], (u8)name[3], 0x12, 0x02 + 3 * 15, 0x03);
	for (unsigned i = 0; i < 3; i++)
		link_entry(a, 6, (u8)i, link[i]);
}

static void test_links(void **state)
{
	static const char *const link[] = { "GSIA", "LNKA", "LNKB" };
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	(void)state;
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
static void test_links_by_paths(void **state)
{
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	(void)state;
	begin_root(a, "PCI0", "PNP0A03");
	aml_device(a, "ISA_");
	aml_device(a, "LNKC");
	/* Interrupt (Level, ActiveLow, Shared) { 0x11 } */
	RAW(a, 0x08, '_', 'C', 'R', 'S', 0x11, 0x0e, 0x0a, 0x0b, 0x89, 0x06, 0x00, 0x0d, 0x01, 0x11, 0x00, 0x00, 0x00, 0x79, 0x00);
	aml_end(a);
	aml_end(a);
	/* Name (_PRT, Package (2) { Package (4) { 0x6ffff, 0, ISA.LNKC, 0 }, Package (4) { 0x6ffff, 1, ISA.LNKC, 0 } }) */
	RAW(a, 0x08, '_', 'P', 'R', 'T', 0x12, 0x2b, 0x02);
	RAW(a, 0x12, 0x13, 0x04, 0x0c, W(0xffff), W(6), 0x0a, 0, 0x2e, 'I', 'S', 'A', '_', 'L', 'N', 'K', 'C', 0x00);
	RAW(a, 0x12, 0x14, 0x04, 0x0c, W(0xffff), W(6), 0x0a, 1, 0x2f, 2, 'I', 'S', 'A', '_', 'L', 'N', 'K', 'C', 0x00);
	end_root(a);
	assert_int_equal(read_all(), 1);
	for (u8 pin = 0; pin < 2; pin++) {
		assert_int_equal(route(6, pin, 0, &gsi, &low), 0);
		assert_int_equal(gsi, 17);
		assert_true(low);
	}
}

/* Method (_PRT) { If (condition) { Return (PRTP) } Else { Return (PRTA) } }: with the APIC it is PRTA. */
static unsigned by_method(const u8 *condition, u8 n, bool flag, const char *first, const char *second, bool has_else)
{
	static const char *const legacy[] = { "LNKA", "LNKA", "LNKA" }, *const apic[] = { "GSIA", "GSIA", "GSIA" };
	struct aml *a = &out[0];
	u8 body = (u8)(n + 7), rest = has_else ? 7 : 5;

	aml_init(a, text[0], ROOM);
	/* Method (_PIC, 1) { PICF = Arg0 } */
	if (flag)
		RAW(a, 0x14, 0x0c, '_', 'P', 'I', 'C', 0x01, 0x70, 0x68, 'P', 'I', 'C', 'F');
	links(a);
	begin_root(a, "PCI0", "PNP0A03");
	link_table(a, "PRTP", legacy);
	link_table(a, "PRTA", apic);
	RAW(a, 0x14, (u8)(6 + 1 + (body - 1) + rest), '_', 'P', 'R', 'T', 0x00, 0xa0, (u8)(body - 1));
	raw(a, condition, n);
	RAW(a, 0xa4, (u8)first[0], (u8)first[1], (u8)first[2], (u8)first[3]);
	if (has_else)
		RAW(a, 0xa1, 0x06);
	RAW(a, 0xa4, (u8)second[0], (u8)second[1], (u8)second[2], (u8)second[3]);
	end_root(a);
	return read_all();
}

#define BY_METHOD(flag, first, second, has_else, ...) \
	by_method((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }), flag, first, second, has_else)

static void test_chosen_table(void **state)
{
	u32 gsi;
	bool low;

	(void)state;
	for (unsigned has_else = 0; has_else < 2; has_else++) {
		/* If (PICF == 0) { PRTP } else { PRTA } */
		assert_int_equal(BY_METHOD(true, "PRTP", "PRTA", has_else, 0x93, 'P', 'I', 'C', 'F', 0x00), 1);
		assert_int_equal(route(6, 2, 0, &gsi, &low), 0);
		assert_int_equal(gsi, 16);
		/* If (PICF) { PRTA } else { PRTP } */
		assert_int_equal(BY_METHOD(true, "PRTA", "PRTP", has_else, 'P', 'I', 'C', 'F'), 1);
		assert_int_equal(route(6, 2, 0, &gsi, &low), 0);
		assert_int_equal(gsi, 16);
		/* If (!\PICF) { PRTP } else { PRTA } */
		assert_int_equal(BY_METHOD(true, "PRTP", "PRTA", has_else, 0x92, 0x5c, 'P', 'I', 'C', 'F'), 1);
		assert_int_equal(route(6, 2, 0, &gsi, &low), 0);
		assert_int_equal(gsi, 16);
		/* The other way round it is the other table. */
		assert_int_equal(BY_METHOD(true, "PRTP", "PRTA", has_else, 'P', 'I', 'C', 'F'), 1);
		assert_int_equal(route(6, 2, 0, &gsi, &low), -ENOENT);
		assert_int_equal(route(6, 2, 11, &gsi, &low), 0);
		assert_int_equal(gsi, 11);
	}
	/* A variable that \_PIC does not set, and a condition that must be run. */
	assert_int_equal(BY_METHOD(true, "PRTA", "PRTP", true, 'P', 'I', 'C', 'G'), 1);
	assert_int_equal(route(6, 2, 11, &gsi, &low), -ENOENT);
	assert_int_equal(BY_METHOD(false, "PRTA", "PRTP", true, 'P', 'I', 'C', 'F'), 1);
	assert_int_equal(route(6, 2, 11, &gsi, &low), -ENOENT);
	assert_int_equal(BY_METHOD(true, "PRTA", "PRTP", true, 0x94, 'P', 'I', 'C', 'F', 0x00), 1);
	assert_int_equal(route(6, 2, 11, &gsi, &low), -ENOENT);
	/* A name for itself. */
	assert_int_equal(BY_METHOD(true, "_PRT", "PRTP", true, 'P', 'I', 'C', 'F'), 1);
	assert_int_equal(route(6, 2, 11, &gsi, &low), -ENOENT);
}

/* What \_PIC does, and methods that it calls, in the second table; the first asks for PICF. 16, 11 by the other table, or 0. */
static u32 by_pic(const u8 *code, u8 n)
{
	u32 gsi;
	bool low;

	aml_init(&out[1], text[1], ROOM);
	/* Method (NOTE, 1) { PICF = Arg0 }; Method (LOOP, 1) { LOOP (Arg0) } */
	RAW(&out[1], 0x14, 0x0c, 'N', 'O', 'T', 'E', 0x01, 0x70, 0x68, 'P', 'I', 'C', 'F');
	RAW(&out[1], 0x14, 0x0b, 'L', 'O', 'O', 'P', 0x01, 'L', 'O', 'O', 'P', 0x68);
	RAW(&out[1], 0x14, (u8)(n + 6), '_', 'P', 'I', 'C', 0x01);
	raw(&out[1], code, n);
	assert_int_equal(BY_METHOD(false, "PRTA", "PRTP", true, 'P', 'I', 'C', 'F'), 1);
	if (route(6, 2, 11, &gsi, &low))
		return 0;
	return gsi;
}

#define PIC(...) by_pic((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))
#define TO(a, b, c, d, value) 0x70, value, a, b, c, d
#define PICF(value) TO('P', 'I', 'C', 'F', value)
#define DBG8(value) TO('D', 'B', 'G', '8', value)

static void test_pic(void **state)
{
	(void)state;
	assert_int_equal(PIC(PICF(0x68)), 16);
	/* Behind another store, to a port that shows how far firmware came; an Else may be there or not. */
	assert_int_equal(PIC(DBG8(0x01), TO('G', 'P', 'I', 'C', 0x68), 0xa3, PICF(0x68)), 16);
	assert_int_equal(PIC(0xa0, 0x08, 0x68, DBG8(0x01), 0xa1, 0x07, DBG8(0x00), PICF(0x68)), 16);
	assert_int_equal(PIC(0xa0, 0x08, 0x68, DBG8(0x01), PICF(0x68)), 16);
	/* Debug = "x", Debug = Arg0 */
	assert_int_equal(PIC(0x70, 0x0d, 'x', 0x00, 0x5b, 0x31, 0x70, 0x68, 0x5b, 0x31, PICF(0x68)), 16);
	assert_int_equal(PIC(PICF(0x68), 0x70, 0x0d, 'x', 0x00, 'P', 'I', 'C', 'F'), 0);
	/* Under an If that Arg0 decides, and one that it does not. */
	assert_int_equal(PIC(0xa0, 0x08, 0x68, PICF(0x01), 0xa1, 0x07, PICF(0x00)), 16);
	assert_int_equal(PIC(0xa0, 0x0a, 0x93, 0x68, 0x00, PICF(0x00), 0xa1, 0x07, PICF(0x01)), 16);
	assert_int_equal(PIC(0xa0, 0x0a, 0x93, 0x68, 0x00, PICF(0x01)), 0);
	assert_int_equal(PIC(PICF(0x68), 0xa0, 0x0b, 'D', 'B', 'G', '8', PICF(0x00)), 0);
	assert_int_equal(PIC(PICF(0x68), 0xa0, 0x0b, 'D', 'B', 'G', '8', DBG8(0x00)), 16);
	/* By a method. */
	assert_int_equal(PIC('N', 'O', 'T', 'E', 0x68), 16);
	assert_int_equal(PIC('N', 'O', 'T', 'E', 0x68, PICF(0x00)), 11);
	assert_int_equal(PIC('N', 'O', 'T', 'E', 0x01), 0);
	assert_int_equal(PIC('L', 'O', 'O', 'P', 0x68, PICF(0x68)), 0);
	assert_int_equal(PIC('N', 'O', 'N', 'E', 0x68, PICF(0x68)), 0);
	/* What comes last holds, and what is no constant is unknown: PICF = Local0, PICF |= 2, a loop. */
	assert_int_equal(PIC(PICF(0x68), PICF(0x00)), 11);
	assert_int_equal(PIC(PICF(0x68), PICF(0x60)), 0);
	assert_int_equal(PIC(PICF(0x68), 0x7d, 'P', 'I', 'C', 'F', 0x0a, 0x02, 'P', 'I', 'C', 'F'), 0);
	assert_int_equal(PIC(PICF(0x68), 0xa2, 0x08, 0x60, PICF(0x00)), 0);
}

/* _PRT as a method of this code, in a root with the tables PRTP (by 11) and PRTA (16), and \_PIC. 16, 11 or 0: unknown. */
static u32 by_code(const u8 *code, u8 n)
{
	static const char *const legacy[] = { "LNKA", "LNKA", "LNKA" }, *const apic[] = { "GSIA", "GSIA", "GSIA" };
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	aml_init(a, text[0], ROOM);
	RAW(a, 0x14, 0x0c, '_', 'P', 'I', 'C', 0x01, PICF(0x68));
	links(a);
	begin_root(a, "PCI0", "PNP0A03");
	link_table(a, "PRTP", legacy);
	link_table(a, "PRTA", apic);
	RAW(a, 0x14, (u8)(0x40 | ((n + 7) & 0xf)), (u8)((n + 7) >> 4), '_', 'P', 'R', 'T', 0x00);
	raw(a, code, n);
	end_root(a);
	assert_int_equal(read_all(), 1);
	return route(6, 1, 11, &gsi, &low) ? 0 : gsi;
}

#define CODE(...) by_code((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))
#define STORE_IN_LOCAL0(a, b, c, d) 0x70, a, b, c, d, 0x60
#define IF_NOT_PICF(n) 0xa0, 6 + (n), 0x92, 'P', 'I', 'C', 'F'
#define RETURN_LOCAL0 0xa4, 0x60
/* Name (abcd, Package () { Package () { 0x6ffff, 1, efgh, 0 } }): 23 bytes */
#define DECLARE(a, b, c, d, e, f, g, h) \
	0x08, a, b, c, d, 0x12, 0x11, 0x01, 0x12, 0x0e, 0x04, 0x0c, 0xff, 0xff, 0x06, 0x00, 0x0a, 0x01, e, f, g, h, 0x00

static void test_locals(void **state)
{
	(void)state;
	/* Local0 = PRTA; If (!PICF) { Local0 = PRTP }; Return (Local0) */
	assert_int_equal(CODE(STORE_IN_LOCAL0('P', 'R', 'T', 'A'), IF_NOT_PICF(6), STORE_IN_LOCAL0('P', 'R', 'T', 'P'),
			      RETURN_LOCAL0), 16);
	assert_int_equal(CODE(STORE_IN_LOCAL0('P', 'R', 'T', 'P'), IF_NOT_PICF(6), STORE_IN_LOCAL0('P', 'R', 'T', 'A'),
			      RETURN_LOCAL0), 11);
	/* Tables that are declared in the method, one for each case, and Local1 between. */
	assert_int_equal(CODE(IF_NOT_PICF(29), DECLARE('T', 'A', 'B', '1', 'L', 'N', 'K', 'A'), STORE_IN_LOCAL0('T', 'A', 'B', '1'),
			      0xa1, 0x21, DECLARE('T', 'A', 'B', '2', 'G', 'S', 'I', 'A'), 0x70, 'T', 'A', 'B', '2', 0x61,
			      0x70, 0x61, 0x60, RETURN_LOCAL0), 16);
	assert_int_equal(CODE(DECLARE('P', 'R', 'T', 'P', 'G', 'S', 'I', 'A'), 0xa4, 'P', 'R', 'T', 'P'), 16);
	/* Local1 was given nothing; a value that is computed; a table that is changed. */
	assert_int_equal(CODE(STORE_IN_LOCAL0('P', 'R', 'T', 'A'), 0xa4, 0x61), 0);
	assert_int_equal(CODE(0x70, 0x72, 0x01, 0x01, 0x00, 0x60, RETURN_LOCAL0), 0);
	assert_int_equal(CODE(STORE_IN_LOCAL0('P', 'R', 'T', 'A'), 0x70, 0x01, 0x88, 0x60, 0x00, 0x00, RETURN_LOCAL0), 0);
}

static bool root_behind(const u8 *term, size_t n)
{
	aml_init(&out[0], text[0], ROOM);
	raw(&out[0], term, n);
	begin_root(&out[0], "PCI0", "PNP0A08");
	end_root(&out[0]);
	return read_all() == 1;
}

#define BEHIND(...) root_behind((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))

/* What firmware has in its lists beside declarations. */
static void test_terms(void **state)
{
	(void)state;
	assert_true(BEHIND(0x08, 'A', 'B', 'C', 'D', 0x0a, 0x05, 0x0a, 0x06, 0x00, 0x0d, 'x', 0x00));
	assert_true(BEHIND(0x70, 0x0d, 'x', 0x00, 0x5b, 0x31, 0x70, 0x5b, 0x33, 0x5b, 0x31));
	assert_true(BEHIND(0x70, 0x01, 0x88, 'B', 'U', 'F', '_', 0x0a, 0x02, 0x00));
	/* OperationRegion (REG, SystemMemory, BASE (1, 2) + 4, 0x10) */
	assert_true(BEHIND(0x5b, 0x80, 'R', 'E', 'G', '_', 0x00, 0x72, 'B', 'A', 'S', 'E', 0x01, 0x0a, 0x02, 0x0a, 0x04, 0x00, 0x0a,
			   0x10));
	assert_true(BEHIND(0x5b, 0x80, 'R', 'E', 'G', '_', 0x00, 0x72, 'A', 'G', 'R', 'B', 0x7d, 0x79, 0x83, 0x88, 'A', 'D', 'A',
			   'T', 0x72, 0x01, 0x0a, 0x0d, 0x00, 0x00, 0x0a, 0x0f, 0x00, 0x01, 0x00, 0x00, 0x0b, 0x00, 0x10));
	assert_true(BEHIND('A', 'D', 'B', 'G', 0x0d, 'x', 0x00, 0x86, 'R', 'P', '0', '1', 0x0a, 0x02));
	assert_true(BEHIND(0xa0, 0x07, 'C', 'O', 'N', 'D', 0x00, 0xa5, 0x9d, 0x01, 'A', 'B', 'C', 'D'));
	/* Load, which nobody expects there. */
	assert_false(BEHIND(0x5b, 0x20, 'S', 'S', 'D', 'T', 'H', 'N', 'D', 'L'));
}

/* Method (_PRT) { Return (AR00 ()) }; Method (AR00) { Return (^^AR00) }, which is \_SB.AR00. */
static void test_names_in_methods(void **state)
{
	static const char *const apic[] = { "GSIA", "GSIA", "GSIA" };
	struct aml *a = &out[0];
	u32 gsi;
	bool low;

	(void)state;
	links(a);
	aml_scope(a, "\\_SB");
	link_table(a, "AR00", apic);
	aml_end(a);
	begin_root(a, "PCI0", "PNP0A03");
	RAW(a, 0x14, 0x0b, '_', 'P', 'R', 'T', 0x00, 0xa4, 'A', 'R', '0', '0');
	RAW(a, 0x14, 0x0d, 'A', 'R', '0', '0', 0x00, 0xa4, '^', '^', 'A', 'R', '0', '0');
	end_root(a);
	assert_int_equal(read_all(), 1);
	assert_int_equal(route(6, 1, 0, &gsi, &low), 0);
	assert_int_equal(gsi, 16);
}

/* Name (_PRT, Package () { Package () { 0x6ffff, 1, ^GSIA, 0 } }): as from where _PRT is declared. */
static void test_names_in_packages(void **state)
{
	u32 gsi;
	bool low;

	(void)state;
	links(&out[0]);
	begin_root(&out[0], "PCI0", "PNP0A03");
	RAW(&out[0], 0x08, '_', 'P', 'R', 'T', 0x12, 0x12, 0x01, 0x12, 0x0f, 0x04, 0x0c, 0xff, 0xff, 0x06, 0x00, 0x0a, 0x01,
	    '^', 'G', 'S', 'I', 'A', 0x00);
	end_root(&out[0]);
	assert_int_equal(read_all(), 1);
	assert_int_equal(route(6, 1, 0, &gsi, &low), 0);
	assert_int_equal(gsi, 16);
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

static void test_status(void **state)
{
	static const u8 there[] = { 0x08, '_', 'S', 'T', 'A', 0x0a, 0x0f }, absent[] = { 0x08, '_', 'S', 'T', 'A', 0x0a, 0x0e };
	static const u8 method[] = { 0x14, 0x08, '_', 'S', 'T', 'A', 0x00, 0xa4, 0x00 };
	static const u8 run[] = { 0x14, 0x0b, '_', 'S', 'T', 'A', 0x00, 0xa4, 'X', 'Y', 'Z', '_' };
	static const u8 elsewhere[] = { 0x08, '_', 'B', 'B', 'N', 0x0a, 0x40 };

	(void)state;
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
		cmocka_unit_test_setup_teardown(test_methods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_roots, setup, teardown),
		cmocka_unit_test_setup_teardown(test_plain_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bridge, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_by_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chosen_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_terms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_in_methods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_in_packages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
