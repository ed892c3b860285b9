/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_host.c tests/unit/fake_host_vfs.c tests/unit/fake_vfs.c */
/*
 * Device registers that VMs ask the kernel for: mapped once each, and which configuration space
 * guests see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"

static unsigned maps;
static u64 last_pa, last_size;
static bool full;
static u8 space[8192]; /* what is mapped, a byte for each mapping */
static bool no_memory;
static u8 pages[64][PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
static unsigned nr_pages;
struct acpi acpi;

void *mmio_map_type(u64 pa, u64 size, bool)
{
	if (full)
		return NULL;
	last_pa = pa;
	last_size = size;
	return &space[maps++];
}

void *pmem_pages_alloc(unsigned count, int)
{
	assert_true(count == 1 && nr_pages < ARRAY_SIZE(pages));
	return no_memory ? NULL : pages[nr_pages++];
}

/* ---- what is only passed on, and not asked for here ---- */

static const struct pci_function only = { .bar[PCI_ROM_BAR] = { 0xffc00000, MIB(4), 0 } };

const struct pci_function *pci_get(unsigned i)
{
	return i ? NULL : &only;
}

int pci_node(const struct pci_function *)
{
	return -1;
}

unsigned pci_path(const struct pci_function *)
{
	return 0;
}

u32 pci_read(struct pci_address, u16, unsigned)
{
	return 0;
}

void pci_write(struct pci_address, u16, unsigned, u32) { }

/* Of which the ROM has no address. */
void pci_bars(const struct pci_function *f, struct pci_bar bar[PCI_BARS])
{
	assert_ptr_equal(f, &only);
	memcpy(bar, f->bar, sizeof(f->bar));
	bar[PCI_ROM_BAR].base = 0;
}

unsigned pci_capabilities(const struct pci_function *, struct pci_cap *, unsigned, const char **)
{
	return 0;
}

/* ---- the tests ---- */

/* A VM gets the BARs that count, not those of the registers. */
static void test_bars(void **)
{
	struct host_pci_function f;

	assert_true(host_pci_function(0, &f));
	assert_true(f.bar[PCI_ROM_BAR].size == MIB(4) && !f.bar[PCI_ROM_BAR].base);
	assert_false(host_pci_function(1, &f));
}

/* A VM that restarts asks for the same again, and the kernel never unmaps: one mapping each. */
static void test_mapped_once(void **)
{
	volatile void *table, *pending;

	full = true;
	assert_null(host_mmio_map(hpa(0xfeb04000), 0x1000));
	full = false;
	table = host_mmio_map(hpa(0xfeb04000), 0x1000);
	assert_ptr_equal(table, &space[0]);
	assert_true(last_pa == 0xfeb04000 && last_size == 0x1000);
	pending = host_mmio_map(hpa(0xfeb04000), 0x2000);
	assert_ptr_equal(pending, &space[1]);
	assert_ptr_equal(host_mmio_map(hpa(0xfeb05000), 0x1000), &space[2]);
	full = true; /* nothing new is needed */
	assert_ptr_equal(host_mmio_map(hpa(0xfeb04000), 0x1000), table);
	assert_ptr_equal(host_mmio_map(hpa(0xfeb04000), 0x2000), pending);
	assert_int_equal(maps, 3);
	/*
	 * As many as a machine has: two traps of each of its functions. The first one is found
	 * again.
	 */
	full = false;
	for (u64 n = 0; n < 2 * HOST_PCI_FUNCTIONS; n++)
		assert_ptr_equal(host_mmio_map(hpa(GIB(4) + n * 0x1000), 0x1000), &space[3 + n]);
	for (u64 n = 0; n < 2 * HOST_PCI_FUNCTIONS; n++)
		assert_ptr_equal(host_mmio_map(hpa(GIB(4) + n * 0x1000), 0x1000), &space[3 + n]);
	assert_ptr_equal(host_mmio_map(hpa(0xfeb04000), 0x1000), table);
	/* Where there is no room to remember one it is refused, not lost. */
	no_memory = true;
	for (u64 n = 0; host_mmio_map(hpa(GIB(8) + n * 0x1000), 0x1000); n++)
		assert_true(n < PAGE_SIZE / 24);
	assert_ptr_equal(host_mmio_map(hpa(0xfeb04000), 0x1000), table);
}

/* The ECAM that guests see is that of segment 0 from bus 0 on. */
static void test_ecam(void **)
{
	static const struct mcfg_info three = {
		.count = 3,
		.entry = { { 0xe0000000, 1, 0, 0xff },
			   { 0xc0000000, 0, 0x80, 0xff },
			   { 0xb0000000, 0, 0, 0x7f } },
	};
	u64 base = 0;
	u8 last = 0;

	assert_false(host_pci_ecam(&base, &last));
	acpi.mcfg = &three;
	assert_true(host_pci_ecam(&base, &last));
	assert_true(base == 0xb0000000 && last == 0x7f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bars),
		cmocka_unit_test(test_mapped_once),
		cmocka_unit_test(test_ecam),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
