/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_pci_group.sources */
/*
 * What the ways to memory of real machines take, by what lspci has shown of their ports; and of one
 * that is made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_path.h"

#define BOTH (HOST_PCI_ATOMICS | HOST_PCI_RELAXED)

/* Device Capabilities 2 by lspci's words: AtomicOpsCap: Routing, 32bit, 64bit, 128bitCAS. */
#define ROUTING BIT(6)
#define OPS (BIT(7) | BIT(8) | BIT(9))
#define EGRESS_BLOCKED BIT(7) /* AtomicOpsCtl: EgressBlck+ */

/*
 * Root ports. ROOT_16GT is AMD Phoenix' (linux-pci, 20250129034018.GA398969@bhelgaas), "Routing+
 * 32bit+ 64bit+ 128bitCAS-"; "Routing+ 32bit- 64bit- 128bitCAS-" is of another post there; neither
 * has an ID. The IDs of the others are of pci.ids and of Linux' quirk, the rest synthesised;
 * Haswell-EP's own is below.
 */
#define INTEL_1901 { 0x8086, 0x1901, PCIE_ROOT_PORT, OPS, 0x400 }
#define ROOT_16GT { 0x1022, 0, PCIE_ROOT_PORT, ROUTING | BIT(7) | BIT(8), 0x420 }
#define ROOT_ROUTES_ONLY { 0x8086, 0, PCIE_ROOT_PORT, ROUTING, 0x400 }
#define HASWELL { 0x8086, 0x2f04, PCIE_ROOT_PORT, OPS, 0 }
#define BROADWELL { 0x8086, 0x6f08, PCIE_ROOT_PORT, OPS, 0 }
/*
 * Upstream ports of the same list: "Routing+ 32bit- 64bit- 128bitCAS-", "EgressBlck-"; "Routing+
 * 32bit+ 64bit+", "EgressBlck+".
 */
#define UP { 0x10b5, 0x8747, PCIE_UPSTREAM, ROUTING, 0 }
#define UP_BLOCKED { 0x1002, 0x1478, PCIE_UPSTREAM, ROUTING | BIT(7) | BIT(8), EGRESS_BLOCKED }
#define DOWN { 0x10b5, 0x8747, PCIE_DOWNSTREAM, ROUTING, 0 }
#define DOWN_BLOCKED { 0x10b5, 0x8747, PCIE_DOWNSTREAM, ROUTING, EGRESS_BLOCKED }
#define DOWN_OLD { 0x10b5, 0x8624, PCIE_DOWNSTREAM, 0, 0 }
/*
 * A Ryzen 7 3700X on X570 (github.com/ROCm/ROCm, issue 910: lspci -vv, IDs by its names): the root
 * ports "Routing- 32bit+ 64bit+ 128bitCAS-", the chipset's ports "Routing-".
 */
#define MATISSE { 0x1022, 0x1483, PCIE_ROOT_PORT, BIT(5) | BIT(7) | BIT(8), 0x400 }
#define X570_UP { 0x1022, 0x57ad, PCIE_UPSTREAM, 0, 0 }
#define X570_DOWN { 0x1022, 0x57a3, PCIE_DOWNSTREAM, BIT(5), 0x420 }

static void test_recorded(void **)
{
	static const struct {
		struct pci_hop hop[4];
		unsigned count;
		unsigned takes;
	} ways[] = {
		{ { INTEL_1901 }, 1, BOTH },
		{ { ROOT_16GT }, 1, BOTH },
		{ { ROOT_ROUTES_ONLY }, 1, HOST_PCI_RELAXED },
		/* A graphics card in that Ryzen's slots: Linux' words on it are the same. */
		{ { MATISSE }, 1, BOTH },
		{ { X570_DOWN, X570_UP, MATISSE },
		  3,
		  HOST_PCI_RELAXED }, /* "PCI rejects atomics" */
		{ { HASWELL }, 1, HOST_PCI_ATOMICS },
		{ { BROADWELL }, 1, HOST_PCI_ATOMICS },
		{ { DOWN, UP, INTEL_1901 }, 3, BOTH },
		{ { DOWN, UP_BLOCKED, INTEL_1901 }, 3, HOST_PCI_RELAXED },
		/* What a downstream port blocks goes the other way. */
		{ { DOWN_BLOCKED, UP, INTEL_1901 }, 3, BOTH },
		{ { DOWN_OLD, UP, INTEL_1901 }, 3, HOST_PCI_RELAXED },
		{ { DOWN, UP, HASWELL }, 3, HOST_PCI_ATOMICS },
		{ { DOWN, UP, ROOT_ROUTES_ONLY }, 3, HOST_PCI_RELAXED },
		/* A bridge to PCI, and a part of the root complex, or a way that is too long. */
		{ { { 0x10b5, 0x8112, PCIE_TO_PCI, ROUTING | OPS, 0 }, INTEL_1901 },
		  2,
		  HOST_PCI_RELAXED },
		{ { DOWN }, 0, HOST_PCI_RELAXED },
		{ { DOWN, UP }, 2, HOST_PCI_RELAXED },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++)
		assert_int_equal(pci_path_takes(ways[i].hop, ways[i].count), ways[i].takes);
	/*
	 * One of the two sizes is not enough; neighbours of the quirk's IDs, and another vendor's.
	 */
	for (unsigned bit = 7; bit < 9; bit++)
		assert_int_equal(
			pci_path_takes(&(struct pci_hop){ 0, 0, PCIE_ROOT_PORT, BIT(bit), 0 }, 1),
			HOST_PCI_RELAXED);
	for (unsigned i = 0; i < 0x10; i++) {
		u16 relaxed = i && i < 0xf ? 0 : HOST_PCI_RELAXED;

		struct pci_hop h = { 0x8086, (u16)(0x2f00 + i), PCIE_ROOT_PORT, 0, 0 };

		assert_int_equal(pci_path_takes(&h, 1), relaxed);
		h.device = (u16)(0x6f00 + i);
		assert_int_equal(pci_path_takes(&h, 1), relaxed);
		h.vendor = 0x1022;
		assert_int_equal(pci_path_takes(&h, 1), HOST_PCI_RELAXED);
	}
	assert_int_equal(pci_path_takes(&(struct pci_hop){ 0x8086, 0x2f04, PCIE_DOWNSTREAM, 0, 0 },
					1),
			 HOST_PCI_RELAXED);
}

/* A function below a switch, whose ports are read. */
static struct pci_function machine[] = {
	{ .address = { 0, 0, PCI_DEVFN(1, 0) },
	  .header_type = 1,
	  .secondary_bus = 1,
	  .subordinate_bus = 3,
	  .id = { 0x8086, 0x2f02, 0 } },
	{ .address = { 0, 1, 0 }, .header_type = 1, .secondary_bus = 2, .subordinate_bus = 3 },
	{ .address = { 0, 2, 0 }, .header_type = 1, .secondary_bus = 3, .subordinate_bus = 3 },
	{ .address = { 0, 3, 0 } },
	/* Haswell-EP's first root port, and what is behind it. */
	{ .address = { 0, 0, PCI_DEVFN(1, 1) },
	  .header_type = 1,
	  .secondary_bus = 4,
	  .subordinate_bus = 4,
	  .id = { 0x8086, 0x2f02, 0 } },
	{ .address = { 0, 4, 0 } },
};

/*
 * Its PCI Express capability, at 0x90 of lspci -xxxx (linux-pci, 29 October 2020,
 * 63e89b35-ad83-98e9-c032-704381e5221e@bstnet.org; a Core i7-5930K).
 */
static const u8 haswell[0x3c] = {
	0x10, 0xe0, 0x42, 0x01, 0x01, 0x80, 0x00, 0x00, 0x0f, 0x00, 0x00, 0x00, 0x43, 0x38, 0x7a,
	0x01, 0x40, 0x00, 0x01, 0x10, 0x00, 0x00, 0x10, 0x00, 0xc0, 0x03, 0x08, 0x00, 0x18, 0x00,
	0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0xbe, 0x13, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0e,
	0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
#define HASWELL_EXP 0x90
static struct {
	u16 says;
	u16 cap2;
	u16 control2;
} express[] = {
	{ PCIE_ROOT_PORT << 4 | 2, 0x380, 0 },
	{ PCIE_UPSTREAM << 4 | 2, 0x40, 0 },
	{ PCIE_DOWNSTREAM << 4 | 2, 0x40, 0 },
};
static bool has_express[] = { true, true, true };

const struct pci_function *pci_get(unsigned i)
{
	return i < ARRAY_SIZE(machine) ? &machine[i] : NULL;
}

u16 pci_find_cap(const struct pci_function *f, u16 id)
{
	assert_int_equal(id, PCI_CAP_EXP);
	if (f->secondary_bus == 4)
		return HASWELL_EXP;
	return has_express[f - machine] ? 0x40 : 0;
}

u16 pci_find_extended_cap(const struct pci_function *, u16)
{
	return 0;
}

bool pci_isolating;

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	u32 value = 0;

	if (a.devfn == PCI_DEVFN(1, 1)) {
		assert_true(offset >= HASWELL_EXP);
		assert_true(offset + size <= HASWELL_EXP + sizeof(haswell));
		memcpy(&value, haswell + offset - HASWELL_EXP, size);
		return value;
	}
	assert_int_equal(size, offset == 0x64 ? 4 : 2);
	if (offset == 0x42)
		return express[a.bus].says;
	if (offset == 0x64)
		return express[a.bus].cap2;
	return offset == 0x68 ? express[a.bus].control2 : 0xffff;
}

static void test_read(void **)
{
	assert_int_equal(pci_path(&machine[3]), HOST_PCI_ATOMICS);
	machine[0].id.device = 0x1901;
	assert_int_equal(pci_path(&machine[3]), BOTH);
	express[1].control2 = EGRESS_BLOCKED;
	assert_int_equal(pci_path(&machine[3]), HOST_PCI_RELAXED);
	express[1].control2 = 0;
	/* Of version 1 these registers are others'. */
	express[2].says = PCIE_DOWNSTREAM << 4 | 1;
	assert_int_equal(pci_path(&machine[3]), HOST_PCI_RELAXED);
	express[2].says++;
	assert_int_equal(pci_path(&machine[3]), BOTH);
	has_express[1] = false;
	assert_int_equal(pci_path(&machine[3]), HOST_PCI_RELAXED);
}

/* By its own bytes: "Routing- 32bit+ 64bit+ 128bitCAS+", and one of Linux' quirk. */
static void test_haswell(void **)
{
	assert_int_equal(pci_path(&machine[5]), HOST_PCI_ATOMICS);
	machine[4].id.device = 0x2f00;
	assert_int_equal(pci_path(&machine[5]), BOTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded),
					    cmocka_unit_test(test_read),
					    cmocka_unit_test(test_haswell) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
