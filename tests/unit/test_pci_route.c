/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci_route.c kernel/acpi/aml.c kernel/acpi/aml_walk.c kernel/acpi/aml_pci.c kernel/acpi/aml_resource.c vmm/aml.c */
/* Routes are found at boot: what firmware's tables and the functions' registers are later changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <margay/errno.h>

#include "kernel/acpi/acpi.h"
#include "kernel/numa.h"
#include "kernel/pci_route.h"
#include "kernel/printk.h"
#include "vmm/aml.h"

#define ROOM 512

static struct {
	struct acpi_sdt head;
	u8 body[ROOM];
} dsdt;
static const struct pci_function function[] = {
	{ .address = { 0, 0, 6 << 3 } }, { .address = { 0, 0, 6 << 3 | 1 } }, { .address = { 0, 0, 7 << 3 } },
};
static u8 pin[ARRAY_SIZE(function)] = { 1, 0, 1 };
static const struct pci_function elsewhere = { .address = { 0, 0x80, 0 } };
static unsigned reads;

const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance)
{
	return memcmp(signature, "DSDT", 4) || instance ? NULL : &dsdt.head;
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
void printk_debug(const char *fmt, ...)
{
	(void)fmt;
}
#endif

static void check(void)
{
	struct aml_pci_route at = { 0 };

	assert_int_equal(pci_route(0, &at), 0);
	assert_int_equal(at.gsi, 22);
	assert_true(at.active_low);
	assert_int_equal(pci_route(1, &at), -ENXIO);
	assert_int_equal(pci_route(2, &at), -ENOENT);
	assert_true(pci_in_window(&function[0], false, 0xc0000000, MIB(1)));
	assert_false(pci_in_window(&function[0], false, 0xc00ff000, 2 * PAGE_SIZE));
	assert_true(pci_in_window(&function[0], true, 0xd000, 16)); /* of ports nothing is said */
	assert_true(pci_in_window(&elsewhere, false, 0x1000, PAGE_SIZE));
}

static void test_at_boot(void **state)
{
	/* Device 6, any function; INTA; no link device; the input; and a window of memory. */
	static const u64 entry[] = { 0x6ffff, 0, 0, 22 };
	unsigned at_boot;
	struct aml a;

	(void)state;
	aml_init(&a, dsdt.body, ROOM);
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
	dsdt.head.length = (u32)(sizeof(dsdt.head) + a.len);
	pci_route_init();
	at_boot = reads;
	check();
	memset(dsdt.body, 0, ROOM);
	memset(pin, 0, sizeof(pin));
	check();
	assert_int_equal(reads, at_boot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
