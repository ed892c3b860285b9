/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_route.c kernel/acpi/aml.c kernel/acpi/aml_terms.c kernel/acpi/aml_walk.c kernel/acpi/aml_value.c kernel/acpi/aml_pci.c kernel/acpi/aml_resource.c vmm/acpi/aml_build.c vmm/acpi/aml_encode.c kernel/span.c */
/* Routes are found at boot, behind bridges too: what firmware's tables and the functions' registers are later changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <margay/errno.h>
#include <margay/host.h>

#include "kernel/acpi/acpi.h"
#include "kernel/console/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/pci/pci_route.h"
#include "vmm/acpi/aml_build.h"

#define ROOM 512

static struct {
	struct acpi_sdt head;
	u8 body[ROOM];
} ssdt;
static const struct pci_function function[] = {
	{ .address = { 0, 0, 6 << 3 } }, { .address = { 0, 0, 6 << 3 | 1 } }, { .address = { 0, 0, 7 << 3 } },
	{ .address = { 0, 0, 0x1c << 3 }, .header_type = 1, .secondary_bus = 5 }, { .address = { 0, 5, 2 << 3 } },
};
#define BEHIND_BRIDGE 4
static u8 pin[ARRAY_SIZE(function)];
#define OTHER_TABLES 34 /* more than many machines have */
static const struct acpi_sdt no_body = { .length = sizeof(no_body) };
static const struct pci_function elsewhere = { .address = { 0, 0x80, 0 } };
static unsigned reads;

const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance)
{
	if (!memcmp(signature, "DSDT", 4))
		return instance ? NULL : &no_body;
	return instance < OTHER_TABLES ? &no_body : instance == OTHER_TABLES ? &ssdt.head : NULL;
}

const struct pci_function *pci_get(unsigned i)
{
	return i < ARRAY_SIZE(function) ? &function[i] : NULL;
}

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	assert_int_equal(offset, 0x3c);
	assert_int_equal(size, 4);
	reads++;
	for (unsigned i = 0; i < ARRAY_SIZE(function); i++)
		if (function[i].address.devfn == a.devfn)
			return (u32)pin[i] << 8;
	return ~0u;
}

#if IS_ENABLED(CONFIG_NUMA)
int numa_node_of_proximity(u32 domain)
{
	return (int)domain;
}
#endif

void printk_error(const char *fmt, ...)
{
	fail_msg("%s", fmt);
}

#if IS_ENABLED(CONFIG_BOOT_LOG)
void printk_debug(const char *, ...)
{
}
#endif

static void check(void)
{
	struct host_intx at = { 0 };

	assert_int_equal(host_intx_route(0, &at), 0);
	assert_int_equal(at.gsi, 22);
	assert_true(at.active_low);
	assert_int_equal(host_intx_route(1, &at), -ENXIO);
	assert_int_equal(host_intx_route(2, &at), -ENOENT);
	assert_true(pci_in_window(&function[0], false, 0xc0000000, MIB(1)));
	assert_false(pci_in_window(&function[0], false, 0xc00ff000, 2 * PAGE_SIZE));
	assert_true(pci_in_window(&function[0], true, 0xd000, 16)); /* of ports nothing is said */
	assert_true(pci_in_window(&elsewhere, false, 0x1000, PAGE_SIZE));
}

static void test_at_boot(void **)
{
	/* Device 6, any function; INTA; no link device; the input; and a window of memory. */
	static const u64 entry[] = { 0x6ffff, 0, 0, 22 };
	static const u8 pins[] = { 1, 0, 1, 0, 1 };
	unsigned at_boot;
	struct aml a;

	memcpy(pin, pins, sizeof(pin));
	aml_init(&a, ssdt.body, ROOM);
	aml_scope(&a, "\\_SB");
	aml_device(&a, "PCI0");
	aml_name_eisaid(&a, "_HID", "PNP0A08");
	aml_packages_begin(&a, "_PRT", 1);
	aml_package(&a, entry, ARRAY_SIZE(entry));
	aml_end(&a);
	aml_crs_begin(&a, "_CRS");
	aml_range(&a, AML_RANGE_MEMORY, true, 0xc0000000, MIB(1));
	aml_crs_end(&a);
	aml_end(&a);
	aml_end(&a);
	assert_int_equal(aml_error(&a), 0);
	ssdt.head.length = (u32)(sizeof(ssdt.head) + a.len);
	pci_route_init();
	at_boot = reads;
	check();
	memset(ssdt.body, 0, ROOM);
	memset(pin, 0, sizeof(pin));
	check();
	assert_int_equal(reads, at_boot);
}

/* A bridge with these bytes beside its name, in a root whose table has all four pins of it: what the function behind it gets. */
static int behind(const void *bytes, size_t n)
{
	static const u64 entry[4][4] = {
		{ 0x1cffff, 0, 0, 40 }, { 0x1cffff, 1, 0, 41 }, { 0x1cffff, 2, 0, 42 }, { 0x1cffff, 3, 0, 43 },
	};
	struct host_intx at = { 0 };
	struct aml a;
	int err;

	memset(pin, 0, sizeof(pin));
	pin[BEHIND_BRIDGE] = 2;
	aml_init(&a, ssdt.body, ROOM);
	aml_scope(&a, "\\_SB");
	aml_device(&a, "PCI0");
	aml_name_eisaid(&a, "_HID", "PNP0A08");
	aml_packages_begin(&a, "_PRT", 4);
	for (unsigned i = 0; i < 4; i++)
		aml_package(&a, entry[i], 4);
	aml_end(&a);
	aml_device(&a, "RP01");
	memcpy(a.buf + a.len, bytes, n);
	a.len += n;
	aml_end(&a);
	aml_end(&a);
	aml_end(&a);
	assert_int_equal(aml_error(&a), 0);
	ssdt.head.length = (u32)(sizeof(ssdt.head) + a.len);
	pci_route_init();
	err = host_intx_route(BEHIND_BRIDGE, &at);
	return err ? err : (int)at.gsi;
}

#define BEHIND(...) behind((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))
#define ADR(devfn) 0x08, '_', 'A', 'D', 'R', 0x0c, 0x00, 0x00, devfn, 0x00
/* Name (_PRT, Package () { Package () { 0x2ffff, 1, 0, 50 } }) */
#define PRT 0x08, '_', 'P', 'R', 'T', 0x12, 0x0e, 0x01, 0x12, 0x0b, 0x04, 0x0c, 0xff, 0xff, 0x02, 0x00, 0x01, 0x00, 0x0a, 50

/* INTB of device 2 is the bridge's INTD, where the bridge surely has no table; else it is unknown. */
static void test_bridges(void **)
{
	assert_int_equal(BEHIND(ADR(0x1c)), 43);
	assert_int_equal(BEHIND(ADR(0x1c), PRT), 50);
	/* No bridge of that number has a name: a card's. */
	assert_int_equal(BEHIND(ADR(0x1d), PRT), 43);
	/* A number that must be asked for, that is there under a condition, or that is behind what ends the list. */
	assert_int_equal(BEHIND(0x14, 0x0b, '_', 'A', 'D', 'R', 0x00, 0xa4, 'R', 'P', 'A', '1', PRT), -ENOENT);
	assert_int_equal(BEHIND(0xa0, 0x0f, 'C', 'O', 'N', 'D', ADR(0x1c)), -ENOENT);
	assert_int_equal(BEHIND(0x5b, 0x20, ADR(0x1c), PRT), -ENOENT);
	/* A table that code makes, one under a condition, and one behind what ends the list. */
	assert_int_equal(BEHIND(ADR(0x1c), 0x14, 0x0a, '_', 'P', 'R', 'T', 0x00, 0x70, 0x00, 0x60), -ENOENT);
	assert_int_equal(BEHIND(ADR(0x1c), 0xa0, 0x1a, 'C', 'O', 'N', 'D', PRT), -ENOENT);
	assert_int_equal(BEHIND(ADR(0x1c), 0x5b, 0x20, PRT), -ENOENT);
	/* One that has no line for the device. */
	assert_int_equal(BEHIND(ADR(0x1c), 0x08, '_', 'P', 'R', 'T', 0x12, 0x02, 0x00), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_boot),
		cmocka_unit_test(test_bridges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
