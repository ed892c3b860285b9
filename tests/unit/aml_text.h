/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two tables of AML that a test writes, the PCI roots that the reader finds in
 * them, and link devices for their lines. Declarations are vmm/acpi/aml_build.c's,
 * code is by hand.
 */
#ifndef TESTS_AML_TEXT_H
#define TESTS_AML_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "kernel/acpi/aml_pci.h"
#include "vmm/acpi/aml_build.h"

#define ROOM 4096

static u8 text[2][ROOM];
static struct aml out[2];
static struct aml_span *exact; /* in memory of exactly their size, for the sanitizer */
static u8 *copy[2];
static struct aml_tables tables;
static struct aml_pci_root root[4];
static unsigned beyond;

static int setup(void **)
{
	aml_init(&out[0], text[0], ROOM);
	aml_init(&out[1], text[1], ROOM);
	memset(root, 0, sizeof(root));
	return 0;
}

static int teardown(void **)
{
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

static int route(u8 device, u8 pin, u8 line, u32 *gsi, bool *low)
{
	struct aml_pci_route r = { 0 };
	int err = aml_pci_route(&tables, &root[0].path, device, pin, line, &r);

	*gsi = r.gsi;
	*low = r.active_low;
	return err;
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
	RAW(a, 0x08, '_', 'C', 'R', 'S', 0x11, 0x0e, 0x0a, 0x0b, 0x89, 0x06, 0x00, 0x09, 0x01, 0x10,
	    0x00, 0x00, 0x00, 0x79, 0x00);
	aml_end(a);
	aml_device(a, "LNKA");
	/* Method (_CRS) { Return (PRQ0) }; IRQ (Level, ActiveLow, Shared) {5,10,11} */
	RAW(a, 0x14, 0x0b, '_', 'C', 'R', 'S', 0x00, 0xa4, 'P', 'R', 'Q', '0');
	RAW(a, 0x08, '_', 'P', 'R', 'S', 0x11, 0x09, 0x0a, 0x06, 0x23, 0x20, 0x0c, 0x18, 0x79,
	    0x00);
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

#endif
