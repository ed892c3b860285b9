/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_pci_route.sources */
/*
 * Routes are found at boot, behind bridges too: what firmware's tables and the functions' registers
 * are later changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <margay/errno.h>
#include <margay/host.h>

#include "kernel/acpi/acpi.h"
#include "kernel/log/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/pci/pci_facts.h"
#include "kernel/pci/pci_route.h"
#include "vmm/acpi/aml_build.h"

#define ROOM 512

static struct {
	struct acpi_sdt head;
	u8 body[ROOM];
} ssdt;
static const struct pci_function function[] = {
	{ .address = { 0, 0, 6 << 3 } },
	{ .address = { 0, 0, 6 << 3 | 1 } },
	{ .address = { 0, 0, 7 << 3 } },
	{ .address = { 0, 0, 0x1c << 3 }, .header_type = 1, .secondary_bus = 5 },
	{ .address = { 0, 5, 2 << 3 } },
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
	if (instance < OTHER_TABLES)
		return &no_body;
	return instance == OTHER_TABLES ? &ssdt.head : NULL;
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

/* Of the groups, which nobody asks for here. */
u16 pci_find_cap(const struct pci_function *, u16)
{
	fail();
	return 0;
}

u16 pci_find_extended_cap(const struct pci_function *, u16)
{
	fail();
	return 0;
}

bool pci_change16(const struct pci_function *, u16, u16, u16)
{
	fail();
	return false;
}

#if IS_ENABLED(CONFIG_NUMA)
int numa_node_of_proximity(u32 domain)
{
	return (int)domain;
}
#endif

static char said[256]; /* the last line of an error, where one is expected */
static bool may_say;

void printk_error(const char *fmt, ...)
{
	va_list ap;

	if (!may_say)
		fail_msg("%s", fmt);
	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

static char told[256]; /* the last other line */

#if IS_ENABLED(CONFIG_BOOT_LOG)
void printk_debug(const char *, ...) { }

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(told, sizeof(told), fmt, ap);
	va_end(ap);
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
	assert_int_equal(pci_window(&function[0], false, 0xc0000000, MIB(1)), PCI_WINDOW_IN);
	assert_int_equal(pci_window(&function[0], false, 0xc00ff000, 2 * PAGE_SIZE),
			 PCI_WINDOW_OUT);
	/* of ports nothing is said */
	assert_int_equal(pci_window(&function[0], true, 0xd000, 16), PCI_WINDOW_UNKNOWN);
	assert_int_equal(pci_window(&elsewhere, false, 0x1000, PAGE_SIZE), PCI_WINDOW_UNKNOWN);
	assert_true(pci_in_any_window(0xc0000000, MIB(1)));
	assert_false(pci_in_any_window(0xc00ff000, 2 * PAGE_SIZE));
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
	aml_range(&a, AML_RANGE_MEMORY, true, 0xc0000000, MIB(1), 0);
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

/*
 * A bridge with these bytes beside its name, in a root whose table has all four pins of it: what
 * the function behind it gets.
 */
static int behind(const void *bytes, size_t n)
{
	static const u64 entry[4][4] = {
		{ 0x1cffff, 0, 0, 40 },
		{ 0x1cffff, 1, 0, 41 },
		{ 0x1cffff, 2, 0, 42 },
		{ 0x1cffff, 3, 0, 43 },
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
#define PRT \
	0x08, '_', 'P', 'R', 'T', 0x12, 0x0e, 0x01, 0x12, 0x0b, 0x04, 0x0c, 0xff, 0xff, 0x02, \
		0x00, 0x01, 0x00, 0x0a, 50

/*
 * INTB of device 2 is the bridge's INTD, where the bridge surely has no table; else it is unknown.
 */
static void test_bridges(void **)
{
	assert_int_equal(BEHIND(ADR(0x1c)), 43);
	assert_int_equal(BEHIND(ADR(0x1c), PRT), 50);
	/* No bridge of that number has a name: a card's. */
	assert_int_equal(BEHIND(ADR(0x1d), PRT), 43);
	/*
	 * A number that must be asked for, that is there under a condition, or that is behind what
	 * ends the list.
	 */
	assert_int_equal(BEHIND(0x14, 0x0b, '_', 'A', 'D', 'R', 0x00, 0xa4, 'R', 'P', 'A', '1',
				PRT),
			 -ENOENT);
	assert_int_equal(BEHIND(0xa0, 0x0f, 'C', 'O', 'N', 'D', ADR(0x1c)), -ENOENT);
	assert_int_equal(BEHIND(0x5b, 0x20, ADR(0x1c), PRT), -ENOENT);
	/* A table that code makes, one under a condition, and one behind what ends the list. */
	assert_int_equal(BEHIND(ADR(0x1c), 0x14, 0x0a, '_', 'P', 'R', 'T', 0x00, 0x70, 0x00, 0x60),
			 -ENOENT);
	assert_int_equal(BEHIND(ADR(0x1c), 0xa0, 0x1a, 'C', 'O', 'N', 'D', PRT), -ENOENT);
	assert_int_equal(BEHIND(ADR(0x1c), 0x5b, 0x20, PRT), -ENOENT);
	/* One that has no line for the device. */
	assert_int_equal(BEHIND(ADR(0x1c), 0x08, '_', 'P', 'R', 'T', 0x12, 0x02, 0x00), -ENOENT);
}

/* ---- facts ---- */

static struct host_module module[2];
static unsigned held; /* pages */
static bool no_memory;

const struct host_module *host_module(unsigned i)
{
	return i < ARRAY_SIZE(module) && module[i].name ? &module[i] : NULL;
}

void *host_pages_alloc(unsigned count, int)
{
	held += no_memory ? 0 : count;
	return no_memory ? NULL : calloc(count, PAGE_SIZE);
}

void host_pages_free(void *pages, unsigned count)
{
	held -= count;
	free(pages);
}

static u64 hash_of_ssdt(void)
{
	const struct aml_span body[] = { { ssdt.body, ssdt.head.length - sizeof(ssdt.head) } };
	const struct aml_span empty[OTHER_TABLES + 1] = { 0 };

	return pci_facts_hash(&(struct aml_tables){ body, 1 }) +
	       pci_facts_hash(&(struct aml_tables){ empty, ARRAY_SIZE(empty) });
}

/*
 * A machine of which the tables do not say what is behind its bridge; function 0 is unknown, too.
 * Then its modules.
 */
static void with_facts(const char *first, const char *second)
{
	static char text[2][512];
	const char *const given[] = { first, second };

	assert_int_equal(BEHIND(0x14, 0x0b, '_', 'A', 'D', 'R', 0x00, 0xa4, 'R', 'P', 'A', '1'),
			 -ENOENT);
	pin[0] = 1;
	pin[3] = 1;
	pci_route_init();
	memset(module, 0, sizeof(module));
	for (unsigned i = 0; i < ARRAY_SIZE(module) && given[i]; i++) {
		snprintf(text[i], sizeof(text[i]), given[i], hash_of_ssdt());
		module[i] = (struct host_module){ i ? "facts:b" : "facts:a", "", text[i],
						  strlen(text[i]) };
	}
	*said = *told = 0;
	may_say = true;
	pci_route_facts(host_module);
	may_say = false;
	assert_int_equal(held, 0);
}

static int gsi(unsigned i)
{
	struct host_intx at = { 0 };
	int err = host_intx_route(i, &at);

	if (!err && i != 3)
		assert_true(at.active_low);
	return err ? err : (int)at.gsi;
}

#define OURS "tables = %016lx\n"

static void untouched(void)
{
	assert_int_equal(gsi(0), -ENOENT);
	assert_int_equal(gsi(3), 40);
	assert_int_equal(gsi(BEHIND_BRIDGE), -ENOENT);
	assert_int_equal(pci_node(&function[0]), -1);
	assert_int_equal(pci_window(&function[0], false, 0x1000, PAGE_SIZE), PCI_WINDOW_UNKNOWN);
	assert_false(pci_in_any_window(0x1000, PAGE_SIZE));
	assert_string_equal(told, "");
}

static void test_facts(void **)
{
	/* Of a device, of one behind a bridge, and what the tables say, too. */
	with_facts(
		OURS
		"route = 0000:00/6 A 20\nroute = 0000:00/1c.0/2 B 21\nroute = 0000:00/1c A 40\nproximity = 0000:00 1\n"
		"window = 0000:00 mem 0x80000000-0x8fffffff\nproximity = 0000:80 2\nend = 6\n",
		NULL);
	assert_string_equal(said, "");
	assert_string_equal(told, "facts:a: 6 facts of this machine");
	assert_int_equal(gsi(0), 20);
	assert_int_equal(gsi(1), -ENXIO);
	assert_int_equal(gsi(2), -ENXIO);
	assert_int_equal(gsi(3), 40);
	assert_int_equal(gsi(BEHIND_BRIDGE), 21);
	assert_int_equal(pci_node(&function[BEHIND_BRIDGE]), 1);
	assert_int_equal(pci_window(&function[0], false, 0x80000000, PAGE_SIZE), PCI_WINDOW_IN);
	assert_int_equal(pci_window(&function[0], false, 0x1000, PAGE_SIZE), PCI_WINDOW_OUT);
	/* A root that the tables do not have. */
	assert_int_equal(pci_node(&elsewhere), 2);
	/* Of other pins, devices, bridges and roots nothing is said. */
	with_facts(
		OURS
		"route = 0000:00/6 B 20\nroute = 0000:00/1c.0/2 A 21\nroute = 0000:00/1c.1/2 B 22\nroute = 0000:00/2 B 23\n"
		"route = 0000:05/2 B 24\nroute = 0001:00/6 A 25\nend = 6\n",
		NULL);
	assert_int_equal(gsi(0), -ENOENT);
	assert_int_equal(gsi(BEHIND_BRIDGE), -ENOENT);
}

static void test_facts_are_refused(void **)
{
	with_facts("tables = 0000000000000001\nend = 0\n", NULL);
	assert_memory_equal(
		said, "facts:a:1: not of this machine: the hash of its tables: 0x1 here, 0x", 68);
	untouched();
	with_facts(OURS "route = 0000:00/6 A 20\n", NULL);
	assert_string_equal(said, "facts:a:2: cut off: no end: ignored");
	untouched();
	/* What the tables say is never another value's; and then nothing of the module is taken. */
	with_facts(
		OURS
		"route = 0000:00/6 A 20\nwindow = 0000:00 mem 0x80000000-0x8fffffff\nproximity = 0000:00 1\n"
		"route = 0000:00/1c A 41\nend = 4\n",
		NULL);
	assert_string_equal(
		said,
		"facts:a:5: contradicts the firmware's tables: 0x29 here, 0x28 expected: ignored");
	untouched();
	no_memory = true;
	with_facts(OURS "end = 0\n", NULL);
	no_memory = false;
	assert_string_equal(said, "facts:a: no memory to read it: ignored");
	untouched();
	/* The first that fits is taken, whatever was before it or comes after. */
	with_facts("tables = 1\nend = 0\n", OURS "route = 0000:00/6 A 20\nend = 1\n");
	assert_string_equal(told, "facts:b: 1 facts of this machine");
	assert_int_equal(gsi(0), 20);
	with_facts(OURS "route = 0000:00/6 A 20\nend = 1\n",
		   OURS "route = 0000:00/6 A 21\nend = 1\n");
	assert_string_equal(said, "");
	assert_string_equal(told, "facts:b: not looked at: one was taken before it");
	assert_int_equal(gsi(0), 20);
}

/* A root whose node and windows the tables say. */
static void test_facts_of_a_known_root(void **)
{
	static const struct {
		const char *facts;
		const char *said;
	} cases[] = {
		{ OURS
		  "proximity = 0000:00 1\nwindow = 0000:00 mem 0xc0000000-0xc00fffff\nend = 2\n",
		  "" },
		{ OURS "proximity = 0000:00 2\nend = 1\n",
		  "facts:a:2: contradicts the firmware's tables: 0x2 here, 0x1 expected: ignored" },
		{ OURS "window = 0000:00 mem 0xc0000000-0xc01fffff\nend = 1\n",
		  "facts:a:2: contradicts the firmware's tables: 0xc01fffff here, 0xc00fffff expected: ignored" },
		{ OURS "window = 0000:00 mem 0xb0000000-0xc00fffff\nend = 1\n",
		  "facts:a:2: contradicts the firmware's tables: 0xb0000000 here, 0xc0000000 expected: ignored" },
		/*
		 * What is told is a window of its kind, that with its first address if there is
		 * one.
		 */
		{ OURS "window = 0000:00 mem 0xd0000000-0xd01fffff\nend = 1\n",
		  "facts:a:2: contradicts the firmware's tables: 0xd01fffff here, 0xd00fffff expected: ignored" },
		{ OURS "window = 0000:00 io 0xd000-0xdfff\nend = 1\n",
		  "facts:a:2: contradicts the firmware's tables: 0xd000 here, 0 expected: ignored" },
	};
	char text[256];
	struct aml a;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		aml_init(&a, ssdt.body, ROOM);
		aml_scope(&a, "\\_SB");
		aml_device(&a, "PCI0");
		aml_name_eisaid(&a, "_HID", "PNP0A08");
		aml_name_integer(&a, "_PXM", 1);
		aml_crs_begin(&a, "_CRS");
		aml_range(&a, AML_RANGE_BUS, true, 0, 16, 0);
		aml_range(&a, AML_RANGE_MEMORY, true, 0xc0000000, MIB(1), 0);
		aml_range(&a, AML_RANGE_MEMORY, true, 0xd0000000, MIB(1), 0);
		aml_crs_end(&a);
		aml_end(&a);
		aml_end(&a);
		assert_int_equal(aml_error(&a), 0);
		ssdt.head.length = (u32)(sizeof(ssdt.head) + a.len);
		pci_route_init();
		snprintf(text, sizeof(text), cases[i].facts, hash_of_ssdt());
		memset(module, 0, sizeof(module));
		module[0] = (struct host_module){ "facts:a", "", text, strlen(text) };
		*said = 0;
		may_say = true;
		pci_route_facts(host_module);
		may_say = false;
		assert_string_equal(said, cases[i].said);
		assert_int_equal(pci_node(&function[0]), 1);
		assert_int_equal(pci_window(&function[0], false, 0xc0000000, MIB(1)),
				 PCI_WINDOW_IN);
		assert_int_equal(pci_window(&function[0], false, 0xc0100000, PAGE_SIZE),
				 PCI_WINDOW_OUT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_boot),
		cmocka_unit_test(test_bridges),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_facts_are_refused),
		cmocka_unit_test(test_facts_of_a_known_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
