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
 * Root ports. Intel's 6th to 10th generation, 8086:1901: "Routing- 32bit+ 64bit+ 128bitCAS+"
 * (github.com/robertrosenbusch/ gfx803_rocm, issue 6). "Routing+ 32bit+ 64bit+ 128bitCAS-" at 16
 * GT/s, and "Routing+ 32bit- 64bit- 128bitCAS-": of posts to linux-pci with lspci -vv, their IDs
 * synthesised. Haswell-EP's and Broadwell-EP's: IDs of Linux' quirk, the rest synthesised.
 */
#define INTEL_1901 { 0x8086, 0x1901, PCIE_ROOT_PORT, OPS, 0x400 }
#define ROOT_16GT { 0x1022, 0x1483, PCIE_ROOT_PORT, ROUTING | BIT(7) | BIT(8), 0x420 }
#define ROOT_ROUTES_ONLY { 0x8086, 0x9d10, PCIE_ROOT_PORT, ROUTING, 0x400 }
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
};
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
	return has_express[f - machine] ? 0x40 : 0;
}

u16 pci_find_extended_cap(const struct pci_function *, u16)
{
	return 0;
}

bool pci_isolating;

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded),
					    cmocka_unit_test(test_read) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
