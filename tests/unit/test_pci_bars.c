/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/pci/pci_bars.c vmm/pci/pci_config.c vmm/pci/pci_rules.c tests/unit/fake_host.c tests/unit/fake_pci.c */
/*
 * A hostile guest moves BARs of two functions onto each other, RAM and its
 * platform, at random; each change of the second-level tables is checked
 * against all that is there: nothing of the guest's is ever hidden, and no
 * address of the host's but the BARs' own is ever mapped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_functions.h"
#include "tests/unit/fake_host.h"
#include "vmm/hvm.h"
#include "vmm/memory/shootdown.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/vm_parts.h"

#define LAPIC 0xfee00000ull
#define ROUNDS 20000

static struct vm_parts parts;
static struct vcpu vcpu = { .vm = &parts.vm };
static struct vm_pci pci;
static struct fake_functions all;
static struct pci_device dev[2];
static u8 hw[2][256];
static u32 registers[FAKE_REGISTERS / 4];
static struct {
	u64 gpa;
	u64 size;
	u64 hpa;
} mapped[64];
static unsigned nr_mapped, maps, unmaps, table_writes;
static bool short_of_memory;

struct hvm_caps hvm_caps = { .phys_bits = 40 };
static unsigned opened;

static void intercept_io(struct vcpu *, u16 port, unsigned count, bool on)
{
	assert_int_equal(port, 0xc040);
	assert_int_equal(count, 0x20);
	assert_false(on);
	opened++;
}

static const struct hvm_ops ops = { .intercept_io = intercept_io };
const struct hvm_ops *hvm = &ops;

static bool meets(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return a < b + b_size && b < a + a_size;
}

int vm_map(struct vm *v, gpa_t gpa, hpa_t hpa, u64 size, unsigned prot, enum memtype type)
{
	const void *of = NULL;

	assert_ptr_equal(v, &parts.vm);
	assert_int_equal(prot & STAGE2_X, 0);
	assert_int_equal(type, MEMTYPE_UC_MINUS);
	assert_true(IS_ALIGNED(gpa.v | hpa.v | size, PAGE_SIZE) && size);
	assert_true(gpa.v + size <= BIT(40));
	if (short_of_memory && !(rand() & 7))
		return -ENOMEM;
	for (unsigned d = 0; d < 2; d++)
		for (unsigned i = 0; i < PCI_BARS; i++)
			if (!(dev[d].host->bar[i].flags & 1) && hpa.v >= dev[d].host->bar[i].base &&
			    hpa.v + size <= dev[d].host->bar[i].base + dev[d].host->bar[i].size)
				of = &dev[d].bar[i];
	assert_non_null(of);
	for (unsigned i = 0; i < parts.map.count; i++)
		assert_false(meets(gpa.v, size, parts.map.region[i].gpa, parts.map.region[i].size));
	for (const struct mmio_range *r = parts.ranges.mmio;
	     r < parts.ranges.mmio + parts.ranges.nr_mmio; r++)
		assert_true(r->dev == of || !meets(gpa.v, size, r->base, r->size));
	for (unsigned i = 0; i < nr_mapped; i++)
		assert_false(meets(gpa.v, size, mapped[i].gpa, mapped[i].size));
	assert_true(nr_mapped < ARRAY_SIZE(mapped));
	mapped[nr_mapped].gpa = gpa.v;
	mapped[nr_mapped].size = size;
	mapped[nr_mapped++].hpa = hpa.v;
	maps++;
	return 0;
}

int vm_unmap(struct vcpu *v, gpa_t gpa, u64 size)
{
	assert_ptr_equal(v, &vcpu);
	for (unsigned i = 0; i < nr_mapped;) {
		if (!meets(gpa.v, size, mapped[i].gpa, mapped[i].size)) {
			i++;
			continue;
		}
		/* All of a mapping or nothing. */
		assert_true(gpa.v == mapped[i].gpa && size == mapped[i].size);
		mapped[i] = mapped[--nr_mapped];
	}
	unmaps++;
	return 0;
}

void vm_stage2_lock(struct vcpu *) { }

void vm_stage2_unlock(struct vm *) { }

int vm_register_mmio(struct vm *v, gpa_t base, u64 size, const struct mmio_ops *mmio, void *d)
{
	struct vm_ranges *all = &vm_parts(v)->ranges;

	all->mmio[all->nr_mmio++] = (struct mmio_range){ base.v, size, mmio, d };
	return 0;
}

void vm_set_mmio(struct vm *v, const void *d, u64 base, u64 size)
{
	struct vm_ranges *all = &vm_parts(v)->ranges;

	for (unsigned i = 0; i < all->nr_mmio; i++) {
		if (all->mmio[i].dev == d) {
			all->mmio[i].base = base;
			all->mmio[i].size = size;
		}
	}
}

bool pci_msix_owns(const struct pci_device *d, unsigned bar, u64 offset)
{
	return d->nr_msix && bar == d->table_bar && offset - d->table < d->nr_msix * 16;
}

u64 pci_msix_read(struct pci_device *, u64, unsigned)
{
	return 0;
}

void pci_msix_write(struct pci_device *, u64, unsigned, u64)
{
	table_writes++;
}

static u32 io_read(void *ctx, u16 offset, unsigned size)
{
	u32 v = 0;

	memcpy(&v, (u8 *)ctx + offset, size);
	return v;
}

static void io_write(void *ctx, u16 offset, unsigned size, u32 v)
{
	memcpy((u8 *)ctx + offset, &v, size);
}

static int setup(void **)
{
	/*
	 * MSI-X in the middle of BAR 0; ports; 64-bit prefetchable of 8 GiB; ROM. And one below a
	 * page, with another of 64 KiB.
	 */
	static const struct host_pci_function functions[2] = {
		{ .bar = { { 0xfeb00000, 0x10000, 0 },
			   { 0xc040, 0x20, 1 },
			   { GIB(16), GIB(8), 0xc },
			   { 0 },
			   { 0 },
			   { 0 },
			   { 0xfeb80000, 0x40000, 0 } } },
		{ .bar = { { 0xfeb20100, 0x100, 0 }, { 0xfeb30000, 0x10000, 0 } } },
	};

	fake_host_reset();
	fake_host.registers = (u8 *)registers;
	memset(&parts, 0, sizeof(parts));
	memset(&pci, 0, sizeof(pci));
	memset(dev, 0, sizeof(dev));
	memset(hw, 0, sizeof(hw));
	nr_mapped = maps = unmaps = opened = table_writes = 0;
	short_of_memory = false;
	fake_functions(&pci, &all);
	parts.vm.pci = &pci;
	parts.ranges.mmio = parts.ranges.few;
	parts.map.count = 2;
	parts.map.region[0] = (struct gpa_region){ .gpa = 0, .size = MIB(640) };
	parts.map.region[1] = (struct gpa_region){ .gpa = GIB(4), .size = GIB(2) };
	parts.ranges.mmio[parts.ranges.nr_mmio++] =
		(struct mmio_range){ LAPIC, 0x1000, NULL, &parts.vm };
	parts.ranges.mmio[parts.ranges.nr_mmio++] =
		(struct mmio_range){ 0xb0000000, MIB(256), NULL, &parts.vm };
	pci.nr_functions = 2;
	for (unsigned i = 0; i < 2; i++) {
		const struct pci_config_io io = { io_read, io_write, hw[i] };

		hw[i][4] = 3;
		pci.function[i] = functions[i];
		pci.device[i] = &dev[i];
		dev[i].vm = &parts.vm;
		dev[i].host = &pci.function[i];
		assert_int_equal(pci_config_init(&dev[i].config, &io, functions[i].bar, false,
						 false, NULL, 0),
				 0);
	}
	dev[0].nr_msix = 256;
	dev[0].table = 0x4000;
	dev[0].pending = 0x8000;
	assert_int_equal(pci_bars_create(&dev[0]), 0);
	assert_int_equal(pci_bars_create(&dev[1]), 0);
	return 0;
}

static unsigned mapped_at(u64 gpa, u64 size, u64 hpa)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nr_mapped; i++)
		n += mapped[i].gpa == gpa && mapped[i].size == size && mapped[i].hpa == hpa;
	return n;
}

static void write(unsigned d, u16 offset, unsigned size, u32 value)
{
	if (pci_config_write(&dev[d].config, offset, size, value) & PCI_CHANGED_DECODE)
		pci_bars_update(&vcpu, &dev[d]);
}

/* Around the pages of the table and of the pending bits; the small one is trapped whole. */
static void test_first(void **)
{
	assert_int_equal(mapped_at(0xfeb00000, 0x4000, 0xfeb00000), 1);
	assert_int_equal(mapped_at(0xfeb05000, 0x3000, 0xfeb05000), 1);
	assert_int_equal(mapped_at(0xfeb09000, 0x7000, 0xfeb09000), 1);
	assert_int_equal(mapped_at(GIB(16), GIB(8), GIB(16)), 1);
	assert_int_equal(mapped_at(0xfeb30000, 0x10000, 0xfeb30000), 1);
	assert_int_equal(nr_mapped, 5);
	pci_bars_open_ports(&vcpu, &dev[0]);
	assert_int_equal(opened, 1);
	parts.ranges.pio[parts.ranges.nr_pio++] = (struct pio_range){ .base = 0xc05f, .count = 1 };
	pci_bars_open_ports(&vcpu, &dev[0]);
	assert_int_equal(opened, 1);
}

/*
 * The mapping moves, the host's address does not. What lies on something else is nowhere until it
 * is moved again.
 */
static void test_moves(void **)
{
	write(1, 0x14, 4, 0xe0000000);
	assert_int_equal(mapped_at(0xe0000000, 0x10000, 0xfeb30000), 1);
	assert_int_equal(nr_mapped, 5);
	write(1, 0x14, 4, 0xfee00000);
	assert_int_equal(nr_mapped, 4);
	write(1, 0x14, 4, MIB(600));
	assert_int_equal(nr_mapped, 4);
	write(1, 0x14, 4, 0xfeb00000);
	assert_int_equal(nr_mapped, 4);
	write(1, 0x14, 4, 0xb0000000);
	assert_int_equal(nr_mapped, 4);
	write(1, 0x14, 4, 0xe0000000);
	assert_int_equal(nr_mapped, 5);
	/* 64 bits, beyond the guest's physical addresses, and back. */
	write(0, 0x1c, 4, 0xffffffff);
	assert_int_equal(nr_mapped, 4);
	write(0, 0x1c, 4, 0x10);
	assert_int_equal(mapped_at(GIB(64), GIB(8), GIB(16)), 1);
	/* The ROM, and decoding off and on. */
	write(0, 0x30, 4, 0xfeb80001);
	assert_int_equal(mapped_at(0xfeb80000, 0x40000, 0xfeb80000), 1);
	write(0, 4, 2, 0);
	assert_int_equal(nr_mapped, 1);
	write(0, 4, 2, 2);
	assert_int_equal(nr_mapped, 6);
}

/*
 * What is the platform's is neither mapped, nor trapped and forwarded, nor opened, though it was
 * judged before.
 */
static void test_platform(void **)
{
	/* The ROM's last page, and the BAR that is trapped whole. */
	static const u64 places[] = { 0xfebbf000, 0xfeb20100 };

	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		fake_host.platform = places[i];
		fake_host.platform_size = 0x100;
		memset(dev[i].bar, 0, sizeof(dev[i].bar));
		nr_mapped = 0;
		assert_int_equal(pci_bars_create(&dev[i]), -EPERM);
		assert_non_null(strstr(fake_host.log, "is over what is the platform's\n"));
		assert_int_equal(mapped_at(0xfeb80000, 0x40000, 0xfeb80000), 0);
		assert_true(i == 0 || !dev[1].bar[0].trap[0].regs);
		fake_host.log[0] = '\0';
	}
	fake_host.platform = 0xc05f;
	fake_host.platform_size = 1;
	pci_bars_open_ports(&vcpu, &dev[0]);
	assert_int_equal(opened, 0);
	assert_non_null(strstr(fake_host.log, "the platform's is there\n"));
}

/*
 * The table at one end of a large BAR, the pending bits at the other: of what lies between the host
 * needs no view.
 */
static void test_far(void **)
{
	struct pci_device *d = &dev[0];

	memset(d->bar, 0, sizeof(d->bar));
	parts.ranges.nr_mmio = nr_mapped = 0;
	d->table_bar = d->pending_bar = 2;
	d->table = 0;
	d->pending = GIB(8) - PAGE_SIZE;
	assert_int_equal(pci_bars_create(d), 0);
	assert_int_equal(
		mapped_at(GIB(16) + PAGE_SIZE, GIB(8) - 2 * PAGE_SIZE, GIB(16) + PAGE_SIZE), 1);
	assert_ptr_equal(pci_window_reg(&d->bar[2], GIB(8) - 8, 8),
			 (u8 *)registers + PAGE_SIZE - 8);
	assert_null(pci_window_reg(&d->bar[2], GIB(8) - 4, 8));
	assert_null(pci_window_reg(&d->bar[2], PAGE_SIZE, 4));
}

/*
 * One below a page is trapped: it may lie beside registers of the platform in theirs, but not over
 * them.
 */
static void test_beside_others(void **)
{
	const struct pci_window *small = &dev[1].bar[0];

	parts.ranges.mmio[parts.ranges.nr_mmio++] =
		(struct mmio_range){ 0xfed00200, 0x100, NULL, &parts.vm };
	write(1, 0x10, 4, 0xfed00100);
	assert_true(small->mapped && small->at == 0xfed00100);
	write(1, 0x10, 4, 0xfed00200);
	assert_false(small->mapped);
	write(1, 0x10, 4, 0xfed00300);
	assert_true(small->mapped && small->at == 0xfed00300);
	/* Whole pages are not to be had there. */
	write(1, 0x14, 4, 0xfed00000);
	assert_int_equal(mapped_at(0xfed00000, 0x10000, 0xfeb30000), 0);
}

/* Forwarded within the traps; nothing beyond them, however the offset came about. */
static void test_trapped(void **)
{
	const struct mmio_range *small = NULL, *big = NULL;

	for (unsigned i = 0; i < parts.ranges.nr_mmio; i++) {
		if (parts.ranges.mmio[i].dev == &dev[1].bar[0])
			small = &parts.ranges.mmio[i];
		if (parts.ranges.mmio[i].dev == &dev[0].bar[0])
			big = &parts.ranges.mmio[i];
	}
	registers[3] = 0x12345678;
	assert_int_equal(small->ops->read(small->dev, &vcpu, 12, 4), 0x12345678);
	assert_int_equal(small->ops->read(small->dev, &vcpu, 13, 1), 0x56);
	small->ops->write(small->dev, &vcpu, 0xfe, 2, 0xabcd);
	assert_int_equal(registers[0xfc / 4], 0xabcd0000);
	assert_int_equal(small->ops->read(small->dev, &vcpu, 0xfc, 8), ~0ull);
	assert_int_equal(small->ops->read(small->dev, &vcpu, 0x100, 4), ~0ull);
	assert_int_equal(small->ops->read(small->dev, &vcpu, -8ull, 8), ~0ull);
	assert_int_equal(big->ops->read(big->dev, &vcpu, 0x3ff8, 8), ~0ull);
	assert_int_equal(big->ops->read(big->dev, &vcpu, 0x5000, 8), ~0ull); /* between the two */
	assert_int_equal(big->ops->read(big->dev, &vcpu, 0x9000, 8), ~0ull);
	registers[0] = 7; /* each trap has a view of its own */
	assert_int_equal(big->ops->read(big->dev, &vcpu, 0x8000, 4), 7);
	/* Who was on the way here when the BAR was taken away does not reach the device. */
	write(0, 4, 2, 0);
	write(1, 4, 2, 0);
	assert_int_equal(small->ops->read(small->dev, &vcpu, 12, 4), ~0ull);
	assert_int_equal(big->ops->read(big->dev, &vcpu, 0x8000, 4), ~0ull);
	assert_int_equal(big->ops->read(big->dev, &vcpu, 0x4000, 4), ~0ull);
	small->ops->write(small->dev, &vcpu, 12, 4, 0);
	big->ops->write(big->dev, &vcpu, 0x4000, 4, 0);
	assert_int_equal(registers[3], 0x12345678);
	assert_int_equal(table_writes, 0);
	write(0, 4, 2, 2);
	big->ops->write(big->dev, &vcpu, 0x4000, 4, 0);
	assert_int_equal(table_writes, 1);
}

/*
 * Whatever the core may ask for, in the traps and beside them, keeps within what the host has
 * mapped (fake_pci.c sees to it).
 */
static void test_all_accesses(void **)
{
	for (unsigned i = 2; i < parts.ranges.nr_mmio; i++) {
		const struct mmio_range *r = &parts.ranges.mmio[i];

		for (u64 at = 0; at < MIN(r->size, 0xa000u); at++)
			for (unsigned size = 1; size <= 8 && IS_ALIGNED(at, size); size *= 2) {
				r->ops->write(r->dev, &vcpu, at, size, 0);
				(void)r->ops->read(r->dev, &vcpu, at, size);
			}
	}
	assert_true(table_writes);
}

static void random_moves(void)
{
	static const u32 places[] = {
		0,          0x1000,     0xfeb00000, 0xfeb04000, 0xfeb20000, 0xfeb30000,
		0xfee00000, 0xb0000000, 0xe0000000, 0x27ff0000, 0xffffffff, 0x20000000,
	};

	for (unsigned n = 0; n < ROUNDS; n++) {
		unsigned d = rand() & 1, size = 1u << rand() % 3;
		u16 offset =
			(u16)((rand() & 3 ? 0x10 + rand() % 0x24 : rand() % 0x100) & ~(size - 1));
		u32 value = rand() & 1 ? places[(unsigned)rand() % ARRAY_SIZE(places)] +
						 (u32)(rand() & 1)
				       : (u32)rand() << 16 ^ (u32)rand();

		write(d, offset, size, value);
		/* So that much is mapped at most times. */
		if (!(rand() & 3))
			write(d, 4, 2, 3);
	}
}

static void test_random(void **)
{
	srand(8);
	random_moves();
	assert_true(maps > 1000 && unmaps > 1000);
	short_of_memory = true;
	random_moves();
	/* Whatever happened: back where it was, all of it. */
	short_of_memory = false;
	for (unsigned d = 0; d < 2; d++)
		write(d, 4, 2, 0);
	assert_int_equal(nr_mapped, 0);
	for (unsigned i = 0; i < parts.ranges.nr_mmio; i++)
		assert_true(parts.ranges.mmio[i].dev == &parts.vm || !parts.ranges.mmio[i].size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_first, setup),
		cmocka_unit_test_setup(test_moves, setup),
		cmocka_unit_test_setup(test_platform, setup),
		cmocka_unit_test_setup(test_far, setup),
		cmocka_unit_test_setup(test_beside_others, setup),
		cmocka_unit_test_setup(test_trapped, setup),
		cmocka_unit_test_setup(test_all_accesses, setup),
		cmocka_unit_test_setup(test_random, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
