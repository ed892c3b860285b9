/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pcicap.c kernel/pci/pciinfo.c vmm/pci/pci_fitness.c vmm/pci/pci_config.c vmm/pci/pci_rules.c vmm/pci/pci_bars.c vmm/pci/pci_msi.c tests/unit/fake_host.c tests/unit/fake_pci.c */
/*
 * An InfiniBand card as its public dumps show it, PF and VF: the capability walker, the judgement, the table of rules and the
 * MSI-X logic on its registers. The card itself nobody of us has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/pci/pciinfo.h"
#include "tests/unit/connectx5.h"
#include "tests/unit/fake_host.h"
#include "vmm/hvm.h"
#include "vmm/intc.h"
#include "vmm/memory/shootdown.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_fitness.h"
#include "vmm/vm_parts.h"

static struct vm_parts parts;
static struct vcpu vcpu = { .vm = &parts.vm, .cpu = 2 };
static struct vm_pci pci;
static struct pci_device dev;
static u32 registers[FAKE_REGISTERS / 4];
static struct { u64 start, end; } mapped[8];
static unsigned nr_mapped;

/* ---- what the BARs' code asks of the VMM --------------------------------------------- */

struct hvm_caps hvm_caps = { .phys_bits = 46 };
const struct hvm_ops *hvm;

int vm_map(struct vm *, gpa_t gpa, hpa_t hpa, u64 size, unsigned prot, enum memtype type)
{
	assert_int_equal(gpa.v, hpa.v);
	assert_int_equal(prot, STAGE2_R | STAGE2_W);
	assert_int_equal(type, MEMTYPE_UC_MINUS);
	assert_true(nr_mapped < ARRAY_SIZE(mapped));
	mapped[nr_mapped].start = gpa.v;
	mapped[nr_mapped++].end = gpa.v + size;
	return 0;
}

int vm_unmap(struct vcpu *, gpa_t, u64)
{
	fail();
	return 0;
}

void vm_stage2_lock(struct vcpu *)
{
}

void vm_stage2_unlock(struct vm *)
{
}

int vm_register_mmio(struct vm *v, gpa_t base, u64 size, const struct mmio_ops *mmio, void *d)
{
	struct vm_ranges *all = &vm_parts(v)->ranges;

	all->mmio[all->nr_mmio++] = (struct mmio_range){ base.v, size, mmio, d };
	return 0;
}

void vm_set_mmio(struct vm *, const void *, u64, u64)
{
}

static const struct vcpu *msi_vcpu(struct vm *, u64 address, u32)
{
	return address >> 20 == 0xfee ? &vcpu : NULL;
}

static const struct intc_ops intc = { .msi_vcpu = msi_vcpu };

/* ---- the card ------------------------------------------------------------------------- */

static u32 writable_bars[PCI_BARS];
static u32 before[1024];

static u32 read32(void *, u16 offset)
{
	return host_pci_read(0, offset, 4);
}

/* Of a BAR's bits only those of its address change. */
static void write32(void *ctx, u16 offset, u32 value)
{
	unsigned n = offset == 0x30 ? 6 : (offset - 0x10u) / 4;
	u32 w = offset == 4 ? 0xffff : n < PCI_BARS ? writable_bars[n] : 0;

	host_pci_write(0, offset, 4, (read32(ctx, offset) & ~w) | (value & w));
}

static const struct pcicap_reader reader = { read32, NULL, true };
static struct pci_info info;
static struct pci_cap cap[16];
static unsigned nr_caps;

/* Reads it as the host does at boot, and gives it to a VM. */
static void assign(const struct config_dword *words, unsigned count)
{
	struct host_pci_function *f = &pci.function[0];
	const char *problem;

	for (unsigned i = 0; i < count; i++)
		host_pci_write(0, words[i].offset, 4, words[i].value);
	memset(&info, 0, sizeof(info));
	info.id.class_code = host_pci_read(0, 8, 4) >> 8;
	pciinfo_bars(&reader, write32, 0, info.id.class_code, info.bar);
	pciinfo_read(&reader, &info);
	nr_caps = pcicap_walk(&reader, cap, ARRAY_SIZE(cap), &problem);
	assert_null(problem);
	/* As the host leaves it: quiet. */
	host_pci_write(0, 4, 2, (host_pci_read(0, 4, 2) & ~4u) | 0x402);
	host_pci_write(0, 0x9e, 2, host_pci_read(0, 0x9e, 2) & 0x7fff);
	memcpy(f->bar, info.bar, sizeof(f->bar));
	pci.device[0] = &dev;
	pci.nr_functions = 1;
	dev.vm = &parts.vm;
	dev.host = f;
	assert_int_equal(pci_config_init(&dev.config, &fake_pci_io, f->bar, true, false, cap, nr_caps), 0);
	assert_int_equal(pci_msi_create(&dev), 0);
	assert_int_equal(pci_bars_create(&dev), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(before); i++)
		before[i] = host_pci_read(0, (u16)(i * 4), 4);
}

static int setup(void **)
{
	fake_host_reset();
	fake_host.nr_pci = 1;
	fake_host.registers = (u8 *)registers;
	memset(registers, 0, sizeof(registers));
	memset(&parts, 0, sizeof(parts));
	memset(&pci, 0, sizeof(pci));
	memset(&dev, 0, sizeof(dev));
	memset(writable_bars, 0, sizeof(writable_bars));
	nr_mapped = 0;
	parts.vm.pci = &pci;
	parts.vm.intc = &intc;
	parts.vm.nr_vcpus = 1;
	parts.vm.vcpus[0] = &vcpu;
	writable_bars[1] = ~0u;
	return 0;
}

static int pf(void **state)
{
	setup(state);
	writable_bars[0] = (u32)~(MIB(32) - 1);
	writable_bars[6] = (u32)~(MIB(1) - 1) | 1;
	assign(connectx5_pf, ARRAY_SIZE(connectx5_pf));
	return 0;
}

static int vf(void **state)
{
	setup(state);
	writable_bars[0] = (u32)~(MIB(1) - 1);
	assign(connectx5_vf, ARRAY_SIZE(connectx5_vf));
	return 0;
}

static int teardown(void **)
{
	pci_msi_destroy(&dev);
	assert_int_equal(fake_host.pages_in_use, 0);
	return 0;
}

struct place {
	u16 id, offset;
};

static void walked(const struct place *expected, unsigned count)
{
	assert_int_equal(nr_caps, count);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(cap[i].id, expected[i].id);
		assert_int_equal(cap[i].offset, expected[i].offset);
	}
}

/* The list as the guest walks it. */
static void seen(const struct place *standard, const struct place *extended)
{
	u16 at = (u16)pci_config_read(&dev.config, 0x34, 1);

	for (; at; at = (u16)pci_config_read(&dev.config, at + 1, 1), standard++) {
		assert_int_equal(at, standard->offset);
		assert_int_equal(pci_config_read(&dev.config, at, 1), standard->id);
	}
	assert_int_equal(standard->id, 0);
	for (at = 0x100; at; at = (u16)(pci_config_read(&dev.config, at, 4) >> 20), extended++) {
		assert_int_equal(at, extended->offset);
		assert_int_equal(pci_config_read(&dev.config, at, 2), extended->id);
	}
	assert_int_equal(extended->id, 0);
}

static void test_pf(void **)
{
	static const struct place all[] = {
		{ 0x10, 0x60 }, { 0x03, 0x48 }, { 0x11, 0x9c }, { 0x09, 0xc0 }, { 0x01, 0x40 },
		{ 0x01, 0x100 }, { 0x0e, 0x150 }, { 0x10, 0x180 }, { 0x19, 0x1c0 },
	};
	static const struct place standard[] = {
		{ 0x10, 0x60 }, { 0x03, 0x48 }, { 0x11, 0x9c }, { 0x09, 0xc0 }, { 0x01, 0x40 }, { 0 },
	};
	static const struct place extended[] = { { 0x01, 0x100 }, { 0x0e, 0x150 }, { 0x19, 0x1c0 }, { 0 } };
	char why[PCI_FITNESS_TEXT];

	walked(all, ARRAY_SIZE(all));
	assert_int_equal(info.bar[0].base, 0xf8000000);
	assert_int_equal(info.bar[0].size, MIB(32));
	assert_true(pci_bar_is_64(&info.bar[0]) && info.bar[0].flags & PCI_BAR_PREFETCH);
	assert_int_equal(info.bar[PCI_ROM_BAR].size, MIB(1));
	assert_true(info.flr && !info.pm_reset && info.pcie && !info.ats);
	assert_int_equal(info.type, PCIE_ENDPOINT);
	assert_int_equal(info.msix, 64);
	assert_int_equal(info.msi, 0);
	assert_int_equal(info.pin, 1);
	assert_int_equal(info.vfs, 8);
	assert_int_equal(info.vfs_on, 0);
	assert_int_equal(pci_fitness(&info, why), PCI_FIT);
	seen(standard, extended);
}

static void test_vf(void **)
{
	static const struct place all[] = { { 0x10, 0x60 }, { 0x11, 0x9c }, { 0x0b, 0x100 }, { 0x0e, 0x150 } };
	static const struct place standard[] = { { 0x10, 0x60 }, { 0x11, 0x9c }, { 0 } };
	static const struct place extended[] = { { 0x0b, 0x100 }, { 0x0e, 0x150 }, { 0 } };
	char why[PCI_FITNESS_TEXT];

	walked(all, ARRAY_SIZE(all));
	assert_int_equal(info.bar[0].size, MIB(1));
	assert_false(info.bar[PCI_ROM_BAR].base || info.bar[PCI_ROM_BAR].size);
	assert_true(info.flr && !info.pm);
	assert_int_equal(info.msix, 12);
	assert_int_equal(info.pin, 0);
	assert_int_equal(info.vfs, 0);
	assert_int_equal(pci_fitness(&info, why), PCI_FIT);
	seen(standard, extended);
}

/* With VFs that firmware has switched on nobody gets it. */
static void test_vfs_on(void **)
{
	host_pci_write(0, 0x188, 2, 0x19);
	host_pci_write(0, 0x190, 2, 4);
	pciinfo_read(&reader, &info);
	assert_int_equal(info.vfs_on, 4);
	assert_non_null(pci_unfit(&info));
}

/* Every register reads as the card's, but for what docs/passthrough.md names. */
static void test_pf_differences(void **)
{
	static const struct config_dword expected[] = {
		{ 0x04, 0x00100142 }, /* INTx disable is the host's */
		{ 0x3c, 0x000000ff }, /* its line is not passed through */
		{ 0x150, 0x1c01000e }, /* the next one is not SR-IOV */
	};
	unsigned n = 0;

	for (u16 at = 0; at < 4096; at += 4) {
		u32 value = pci_config_read(&dev.config, at, 4);

		if (at >= 0x180 && at < 0x1c0) {
			assert_int_equal(value, 0);
		} else if (value != before[at / 4]) {
			assert_true(n < ARRAY_SIZE(expected));
			assert_int_equal(at, expected[n].offset);
			assert_int_equal(value, expected[n++].value);
		}
	}
	assert_int_equal(n, ARRAY_SIZE(expected));
}

/* Whatever a guest writes, these only ever change: and within them not what is the path's or the host's. */
static void test_pf_writes(void **)
{
	static const struct { u16 start, end; } open[] = {
		{ 0x04, 0x08 }, { 0x44, 0x48 }, { 0x48, 0x50 }, { 0x68, 0x6c }, { 0x88, 0x8c }, { 0xc0, 0xd8 }, { 0x100, 0x150 },
		/* In no capability: the vendor's. */
		{ 0x50, 0x60 }, { 0xa8, 0xc0 }, { 0xd8, 0x100 },
	};
	static const u32 pattern[] = { 0xffffffff, 0, 0xa5a5a5a5, 0x5a5a5a5a };

	for (unsigned p = 0; p < ARRAY_SIZE(pattern); p++)
		for (u16 at = 0; at < 4096; at += 4)
			if (pci_config_write(&dev.config, at, 4, pattern[p]) & PCI_CHANGED_DECODE)
				pci_config_unmapped(&dev.config);
	for (u16 at = 0; at < 4096; at += 4) {
		bool may = false;

		for (unsigned i = 0; i < ARRAY_SIZE(open); i++)
			may = may || (at >= open[i].start && at < open[i].end);
		if (!may)
			assert_int_equal(host_pci_read(0, at, 4), before[at / 4]);
	}
	/* Power state; payload size, FLR; LTR; the vendor-specific capability's head. */
	assert_int_equal(host_pci_read(0, 0x44, 2) & 3, 0);
	assert_int_equal(host_pci_read(0, 0x68, 2) & 0x80e0, before[0x68 / 4] & 0x80e0);
	assert_int_equal(host_pci_read(0, 0x88, 2) & 0x0400, 0);
	assert_int_equal(pci_config_read(&dev.config, 0xc0, 1), 9);
}

static bool is_mapped(u64 at)
{
	for (unsigned i = 0; i < nr_mapped; i++)
		if (at >= mapped[i].start && at < mapped[i].end)
			return true;
	return false;
}

/* Table and pending bits are trapped, a page each; initialisation segment and doorbells (UAR pages) are not. */
static void test_pf_bar(void **)
{
	assert_int_equal(dev.nr_msix, 64);
	assert_int_equal(nr_mapped, 2);
	for (u64 at = 0; at < MIB(32); at += PAGE_SIZE)
		assert_int_equal(is_mapped(0xf8000000 + at), at != 0x2000 && at != 0x3000);
}

/* Each of the 64 entries gets a vector of the host's, and only what the guest may say is ever in the card's table. */
static void test_pf_msix(void **)
{
	const struct mmio_ops *ops = parts.ranges.mmio[0].ops;
	void *bar = parts.ranges.mmio[0].dev;

	assert_int_equal(parts.ranges.nr_mmio, 1);
	for (unsigned i = 0; i < 64; i++) {
		assert_int_equal(ops->read(bar, &vcpu, 0x2000 + i * 16 + 12, 4), 1);
		ops->write(bar, &vcpu, 0x2000 + i * 16, 8, i == 7 ? 0x100000 : 0xfee00000);
		ops->write(bar, &vcpu, 0x2000 + i * 16 + 8, 4, 0x30 + i);
		/* Of the fake's 64 vectors some are nobody's. */
		if (i < 32)
			ops->write(bar, &vcpu, 0x2000 + i * 16 + 12, 4, 0);
	}
	for (unsigned i = 0; i < 32; i++) {
		const u32 *e = &registers[i * 4];

		assert_int_equal(ops->read(bar, &vcpu, 0x2000 + i * 16 + 8, 4), 0x30 + i);
		if (i == 7) {
			assert_int_equal(e[3] & 1, 1);
			assert_int_equal(e[0], 0);
			continue;
		}
		assert_int_equal(e[0], 0xfee00000 | vcpu.cpu << 12);
		assert_int_equal(e[1], 0);
		assert_int_equal(e[3], 0);
		assert_non_null(fake_host.vector[e[2]].fn);
		assert_ptr_equal(fake_host.vector[e[2]].arg, &dev.msix[i]);
	}
	pci_config_write(&dev.config, 0x9e, 2, 0x8000);
	pci_msix_update(&dev);
	assert_int_equal(host_pci_read(0, 0x9e, 2), 0x803f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pf, pf, teardown),
		cmocka_unit_test_setup_teardown(test_vf, vf, teardown),
		cmocka_unit_test_setup_teardown(test_vfs_on, pf, teardown),
		cmocka_unit_test_setup_teardown(test_pf_differences, pf, teardown),
		cmocka_unit_test_setup_teardown(test_pf_writes, pf, teardown),
		cmocka_unit_test_setup_teardown(test_pf_bar, pf, teardown),
		cmocka_unit_test_setup_teardown(test_pf_msix, pf, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
