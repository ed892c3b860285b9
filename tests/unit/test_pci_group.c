/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_acs.c @tests/unit/test_pci_group.sources */
/* Groups of functions that no IOMMU can keep apart, on machines as lspci -t would show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel/pci/pci_function.h"

#define AT(bus, device, fn) { 0, bus, (device) << 3 | (fn) }
#define BRIDGE(from, bus, device, fn) \
	{ .address = AT(bus, device, fn), \
	  .header_type = 1, \
	  .secondary_bus = (from), \
	  .subordinate_bus = (from) }

/* clang-format off */
static struct pci_function function[] = {
	{ .address = AT(0, 0, 0) },
	/*
	 * Two root ports of one device, the first with ACS: two functions of a card, and a switch.
	 */
	BRIDGE(1, 0, 1, 0), BRIDGE(2, 0, 1, 1),
	/* On bus 0 alone, and a device of three functions. */
	{ .address = AT(0, 2, 0) }, { .address = AT(0, 31, 0) }, { .address = AT(0, 31, 2) },
	{ .address = AT(0, 31, 3) },
	{ .address = AT(1, 0, 0) }, { .address = AT(1, 0, 1) },
	/* The switch: upstream port, two downstream ports, a card behind each. */
	BRIDGE(3, 2, 0, 0), BRIDGE(4, 3, 0, 0), BRIDGE(5, 3, 1, 0), { .address = AT(4, 0, 0) },
	{ .address = AT(5, 0, 0) },
};
/* clang-format on */

static u64 acs; /* a bit for each function */
static u16 can = 0x5f, control[ARRAY_SIZE(function)];
static unsigned lacks = ~0u; /* the function that can less */
static bool integrated; /* the device of three functions is, in the root complex */

const struct pci_function *pci_get(unsigned i)
{
	return i < ARRAY_SIZE(function) ? &function[i] : NULL;
}

u16 pci_find_extended_cap(const struct pci_function *f, u16 id)
{
	assert_int_equal(id, PCI_EXT_CAP_ACS);
	return acs >> (f - function) & 1 ? 0x100 : 0;
}

/* PCI Express: the upstream port is one, by its type. */
u16 pci_find_cap(const struct pci_function *, u16 id)
{
	assert_int_equal(id, PCI_CAP_EXP);
	return 0x40;
}

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	assert_int_equal(size, 2);
	for (unsigned i = 0; offset >= 0x104 && i < ARRAY_SIZE(function); i++) {
		if (!pci_same_address(&function[i].address, &a))
			continue;
		if (offset == 0x106)
			return control[i];
		return i == lacks ? can : 0x5f;
	}
	assert_int_equal(offset, 0x42);
	if (integrated && !a.bus && PCI_DEVICE(a.devfn) == 31)
		return PCIE_INTEGRATED << 4 | 2;
	if (a.bus == 2)
		return PCIE_UPSTREAM << 4 | 2;
	return (a.bus == 3 ? PCIE_DOWNSTREAM : PCIE_ROOT_PORT) << 4 | 2;
}

static unsigned changes;

bool pci_change16(const struct pci_function *f, u16 offset, u16 clear, u16 set)
{
	assert_int_equal(offset, 0x106);
	assert_int_equal(clear, 0);
	assert_int_equal(set, 0x1d & (f == &function[lacks] ? can : 0x5f));
	control[f - function] |= set;
	changes++;
	return true;
}

/* The index of the function by which the group of function i goes. */
static unsigned group(unsigned i)
{
	struct pci_address a = pci_group(&function[i]);
	unsigned n = 0;

	while (function[n].address.bus != a.bus || function[n].address.devfn != a.devfn)
		n++;
	return n;
}

static void test_groups(void **)
{
	static const struct {
		u64 acs;
		unsigned group[ARRAY_SIZE(function)];
	} cases[] = {
		/* Nothing has ACS: all behind a device of root ports is one group with it. */
		{ 0, { 0, 1, 1, 3, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1 } },
		/*
		 * The first root port has: its card is apart, both functions together; the port
		 * itself, too.
		 */
		{ BIT(1), { 0, 1, 2, 3, 4, 4, 4, 7, 7, 2, 2, 2, 2, 2 } },
		/* The card's functions as well: each apart. */
		{ BIT(1) | BIT(7) | BIT(8), { 0, 1, 2, 3, 4, 4, 4, 7, 8, 2, 2, 2, 2, 2 } },
		/* One of them only: it is apart. */
		{ BIT(1) | BIT(7), { 0, 1, 2, 3, 4, 4, 4, 7, 8, 2, 2, 2, 2, 2 } },
		/* Of the switch one downstream port: what is behind it is apart. */
		{ BIT(10), { 0, 1, 1, 3, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1 } },
		/* Both downstream ports, but no root port: what the root ports reflect. */
		{ BIT(10) | BIT(11), { 0, 1, 1, 3, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1 } },
		/*
		 * Root ports and downstream ports; an upstream port of one function has none
		 * (6.12.1.2).
		 */
		{ BIT(1) | BIT(2) | BIT(10) | BIT(11),
		  { 0, 1, 2, 3, 4, 4, 4, 7, 7, 9, 9, 9, 12, 13 } },
		/* All ports: every card. */
		{ BIT(1) | BIT(2) | BIT(9) | BIT(10) | BIT(11),
		  { 0, 1, 2, 3, 4, 4, 4, 7, 7, 9, 10, 11, 12, 13 } },
	};

	for (unsigned n = 0; n < ARRAY_SIZE(cases); n++) {
		acs = cases[n].acs;
		for (unsigned i = 0; i < ARRAY_SIZE(function); i++)
			assert_int_equal(group(i), cases[n].group[i]);
	}
}

/*
 * A virtual function whose number is on another bus is behind the same port, which must keep it
 * apart.
 */
static void test_other_bus(void **)
{
	extern const struct pci_function *fake_vf, *fake_pf;

	acs = 0;
	assert_ptr_equal(pci_bridge_of(&function[12]), &function[10]);
	fake_vf = &function[12];
	fake_pf = &function[7];
	assert_ptr_equal(pci_bridge_of(&function[12]), &function[1]);
	assert_int_equal(group(12), 1);
	acs = BIT(1);
	assert_int_equal(group(12), 12);
	fake_vf = fake_pf = NULL;
}

/* A port's bus is reset for a function that is alone behind it, and no other. */
static void test_own_port(void **)
{
	static const unsigned alone[] = { 12, 13 };

	function[2].subordinate_bus = function[9].subordinate_bus = 5;
	for (unsigned i = 0; i < ARRAY_SIZE(function); i++) {
		const struct pci_function *port = i == alone[0] ? &function[10] : NULL;

		if (i == alone[1])
			port = &function[11];
		assert_ptr_equal(pci_own_port(&function[i]), port);
	}
	/*
	 * A bus behind it that firmware has numbered for later is no function; one with a function
	 * is.
	 */
	function[10].subordinate_bus = 5;
	assert_null(pci_own_port(&function[12]));
	function[13].address.segment = 1;
	assert_ptr_equal(pci_own_port(&function[12]), &function[10]);
	function[13].address.segment = 0;
	assert_null(pci_own_port(&function[7]));
	function[8].address.segment = 1;
	assert_ptr_equal(pci_own_port(&function[7]), &function[1]);
	function[8].address.segment = 0;
	function[10].subordinate_bus = 4;
}

/* Firmware that has numbered no bus, or in circles, ends no walk. */
static void test_circles(void **)
{
	acs = 0;
	function[1].secondary_bus = 0;
	function[9].secondary_bus = 2;
	assert_int_equal(group(7), 7);
	assert_int_equal(group(12), 10);
	function[1].secondary_bus = 1;
	function[9].secondary_bus = 3;
}

/*
 * A root port keeps apart what is below it if it can do all that this takes; a function of a card
 * need not be able to.
 */
static void test_parts(void **)
{
	static const u16 parts[] = { 0x01, 0x04, 0x08, 0x10 };

	acs = BIT(1) | BIT(7);
	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
		can = 0x5f & (u16)~parts[i];
		lacks = 1;
		assert_int_equal(group(7), 1);
		lacks = 7;
		assert_int_equal(group(7), 7);
		assert_int_equal(group(8), 8);
	}
	/* Translation blocking and direct translated are of no use here. */
	lacks = 1;
	can = 0x1d;
	assert_int_equal(group(7), 7);
	can = 0x5f;
	lacks = ~0u;
}

static void set_ids(unsigned first, unsigned count, u16 vendor, u16 device)
{
	for (unsigned i = 0; i < count; i++)
		function[first + i].id = (struct pci_id){ vendor, device, 0x020000 };
}

/*
 * Devices without ACS whose maker says that no function of theirs sends to another: two ports of an
 * 82576 behind one root port are apart. Neighbours of their IDs are not, nor is a bridge with such
 * an ID; nor what is behind a port that does not keep it apart.
 */
static void test_without_acs(void **)
{
	static const struct pci_id apart[] = {
		{ 0x8086, 0x10c9, 0 }, { 0x8086, 0x1521, 0 }, { 0x8086, 0x10fb, 0 },
		{ 0x14e4, 0x16d7, 0 }, { 0x1924, 0x0a03, 0 }, { 0x8088, 0x010f, 0 },
	};
	static const struct pci_id together[] = {
		{ 0x8086, 0x10ca, 0 }, { 0x8086, 0x1520, 0 }, { 0x8086, 0x1525, 0 },
		{ 0x8086, 0x1528, 0 }, { 0x15b3, 0x10c9, 0 }, { 0x8088, 0x0110, 0 },
	};

	acs = BIT(1);
	for (unsigned i = 0; i < ARRAY_SIZE(apart); i++) {
		set_ids(7, 2, apart[i].vendor, apart[i].device);
		assert_int_equal(group(7), 7);
		assert_int_equal(group(8), 8);
		set_ids(7, 2, together[i].vendor, together[i].device);
		assert_int_equal(group(8), 7);
	}
	set_ids(7, 2, 0x8086, 0x10c9);
	acs = 0;
	assert_int_equal(group(8), 1);
	set_ids(1, 2, 0x8086, 0x10c9);
	assert_int_equal(group(2), 1);
	set_ids(1, 2, 0, 0);
	set_ids(7, 2, 0, 0);
}

/*
 * What Intel has integrated in the root complex sends to others by translated addresses only (VT-d
 * 3.1, 3.16).
 */
static void test_integrated(void **)
{
	acs = 0;
	for (unsigned type = 0; type < 2; type++) {
		integrated = type;
		set_ids(4, 3, 0x8086, 0x0b25);
		assert_int_equal(group(5), type ? 5 : 4);
		assert_int_equal(group(6), type ? 6 : 4);
		set_ids(4, 3, 0x1022, 0x0b25);
		assert_int_equal(group(6), 4);
	}
	integrated = false;
	set_ids(4, 3, 0, 0);
}

/*
 * Only what redirects to the IOMMU is switched on, where there is ACS; from then on what is not on
 * keeps nothing apart: of a port that does not let itself be switched, or of a function that has
 * been reset.
 */
static void test_isolate(void **)
{
	acs = BIT(1) | BIT(7) | BIT(8);
	lacks = 7;
	can = 0x0c;
	for (unsigned i = 0; i < ARRAY_SIZE(function); i++)
		pci_isolate(&function[i]);
	assert_int_equal(changes, 3);
	assert_int_equal(group(7), 7);
	assert_int_equal(group(8), 8);
	control[7] = 0x04;
	control[8] = 0;
	assert_int_equal(group(7), 7);
	assert_int_equal(group(8), 7);
	control[7] = 0x0c;
	for (unsigned bit = 0; bit < 5; bit++) {
		control[1] = 0x5f & (u16)~BIT(bit);
		assert_int_equal(group(7), BIT(bit) & 0x1d ? 1 : 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),     cmocka_unit_test(test_other_bus),
		cmocka_unit_test(test_circles),    cmocka_unit_test(test_own_port),
		cmocka_unit_test(test_parts),      cmocka_unit_test(test_without_acs),
		cmocka_unit_test(test_integrated), cmocka_unit_test(test_isolate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
