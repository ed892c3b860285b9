/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A PCI function whose registers are known from public dumps, in a VM: what the host reads of it at
 * boot, and what the guest then has of its configuration space, its BARs and its MSI-X. Included
 * once, by the test of such cards, which says what it links.
 */
#ifndef TESTS_FAKE_CARD_H
#define TESTS_FAKE_CARD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/pci/pci_info.h"
#include "tests/unit/config_dword.h"
#include "tests/unit/fake_functions.h"
#include "tests/unit/fake_host.h"
#include "vmm/hvm.h"
#include "vmm/vm/intc.h"
#include "vmm/memory/shootdown.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_fitness.h"
#include "vmm/vm_parts.h"

struct card {
	const struct config_dword *words;
	unsigned count;
	u64 size[PCI_BARS]; /* of each BAR, by the number of its first register; 0: none */
};

static struct vm_parts parts;
static struct vcpu vcpu = { .vm = &parts.vm, .cpu = 2 }, *by_id[] = { &vcpu };
static struct vm_pci pci;
static struct fake_functions functions;
static struct pci_device dev;
static u32 registers[FAKE_REGISTERS / 4];
static struct {
	u64 start;
	u64 end;
} mapped[8];
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

void vm_stage2_lock(struct vcpu *) { }

void vm_stage2_unlock(struct vm *) { }

int vm_register_mmio(struct vm *v, gpa_t base, u64 size, const struct mmio_ops *mmio, void *d)
{
	struct vm_ranges *all = &vm_parts(v)->ranges;

	all->mmio[all->nr_mmio++] = (struct mmio_range){ base.v, size, mmio, d };
	return 0;
}

void vm_set_mmio(struct vm *, const void *, u64, u64) { }

static const struct vcpu *msi_vcpu(struct vm *, u64 address, u32)
{
	return address >> 20 == 0xfee ? &vcpu : NULL;
}

static const struct intc_ops intc = { .msi_vcpu = msi_vcpu };

static bool is_mapped(u64 at)
{
	for (unsigned i = 0; i < nr_mapped; i++)
		if (at >= mapped[i].start && at < mapped[i].end)
			return true;
	return false;
}

/* ---- the card ------------------------------------------------------------------------- */

static const struct card *card;
static u32 before[1024];

static u32 read32(void *, u16 offset)
{
	return host_pci_read(0, offset, 4);
}

/* Which bits of a BAR's register change: those of its address. */
static u32 address_bits(unsigned n)
{
	bool second = n && n < PCI_ROM_BAR && card->size[n - 1] &&
		      host_pci_read(0, (u16)(0x10 + (n - 1) * 4), 4) & 4;

	if (second)
		return (u32)(~(card->size[n - 1] - 1) >> 32);
	return card->size[n] ? (u32) ~(card->size[n] - 1) | (n == PCI_ROM_BAR) : 0;
}

static void write32(void *ctx, u16 offset, u32 value)
{
	unsigned n = offset == 0x30 ? PCI_ROM_BAR : (offset - 0x10u) / 4;
	u32 bits = n < PCI_BARS ? address_bits(n) : 0;
	u32 w = offset == 4 ? 0xffff : bits;

	host_pci_write(0, offset, 4, (read32(ctx, offset) & ~w) | (value & w));
}

static const struct pcicap_reader reader = { read32, NULL, true };
static struct pci_info info;
static struct pci_cap cap[32];
static unsigned nr_caps;

/* As the host leaves it: quiet. */
static void silence(void)
{
	u16 msi = pcicap_find(&reader, PCI_CAP_MSI, false),
	    msix = pcicap_find(&reader, PCI_CAP_MSIX, false);

	host_pci_write(0, 4, 2, (host_pci_read(0, 4, 2) & ~4u) | 0x402);
	if (msi)
		host_pci_write(0, msi + 2, 2, host_pci_read(0, msi + 2, 2) & 0xfffe);
	if (msix)
		host_pci_write(0, msix + 2, 2, host_pci_read(0, msix + 2, 2) & 0x7fff);
}

/* What the host reads of it at boot. */
static void read_card(const struct card *c)
{
	const char *problem;

	fake_host_reset();
	fake_host.nr_pci = 1;
	fake_host.registers = (u8 *)registers;
	memset(registers, 0, sizeof(registers));
	memset(&parts, 0, sizeof(parts));
	fake_functions(&pci, &functions);
	parts.ranges.mmio = parts.ranges.few;
	memset(&dev, 0, sizeof(dev));
	nr_mapped = 0;
	parts.vm.pci = &pci;
	parts.vm.intc = &intc;
	parts.vm.nr_vcpus = 1;
	parts.vm.vcpus = by_id;
	card = c;
	for (unsigned i = 0; i < c->count; i++)
		host_pci_write(0, c->words[i].offset, 4, c->words[i].value);
	memset(&info, 0, sizeof(info));
	info.id.class_code = host_pci_read(0, 8, 4) >> 8;
	pciinfo_bars(&reader, write32, 0, info.id.class_code, info.bar);
	pciinfo_read(&reader, &info);
	nr_caps = pcicap_walk(&reader, cap, ARRAY_SIZE(cap), &problem);
	assert_null(problem);
	silence();
}

/* Then a VM has it. */
static void assign(const struct card *c)
{
	struct host_pci_function *f;

	read_card(c);
	f = &pci.function[0];
	memcpy(f->bar, info.bar, sizeof(f->bar));
	pci.device[0] = &dev;
	pci.nr_functions = 1;
	dev.vm = &parts.vm;
	dev.host = f;
	assert_int_equal(
		pci_config_init(&dev.config, &fake_pci_io, f->bar, true, false, cap, nr_caps), 0);
	assert_int_equal(pci_msi_create(&dev), 0);
	assert_int_equal(pci_bars_create(&dev), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(before); i++)
		before[i] = host_pci_read(0, (u16)(i * 4), 4);
}

static int teardown(void **)
{
	pci_msi_destroy(&dev);
	assert_int_equal(fake_host.pages_in_use, 0);
	return 0;
}

/* ---- what is looked at ----------------------------------------------------------------- */

struct place {
	u16 id;
	u16 offset;
};

static void walked(const struct place *expected, unsigned count)
{
	assert_int_equal(nr_caps, count);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(cap[i].id, expected[i].id);
		assert_int_equal(cap[i].offset, expected[i].offset);
	}
}

/* The lists as the guest walks them; each ends at offset 0. */
static void seen(const struct place *standard, const struct place *extended)
{
	u16 at = (u16)pci_config_read(&dev.config, 0x34, 1);

	for (; at; at = (u16)pci_config_read(&dev.config, at + 1, 1), standard++) {
		assert_int_equal(at, standard->offset);
		assert_int_equal(pci_config_read(&dev.config, at, 1), standard->id);
	}
	assert_int_equal(standard->offset, 0);
	for (at = 0x100; at; at = (u16)(pci_config_read(&dev.config, at, 4) >> 20), extended++) {
		assert_int_equal(at, extended->offset);
		assert_int_equal(pci_config_read(&dev.config, at, 2), extended->id);
	}
	assert_int_equal(extended->offset, 0);
}

struct span {
	u16 start;
	u16 end;
};

/*
 * Whatever a guest writes, only within these spans does the card's own configuration space ever
 * change.
 */
static void changes_only(const struct span *open, unsigned count)
{
	static const u32 pattern[] = { 0xffffffff, 0, 0xa5a5a5a5, 0x5a5a5a5a };

	for (unsigned p = 0; p < ARRAY_SIZE(pattern); p++)
		for (u16 at = 0; at < 4096; at += 4)
			if (pci_config_write(&dev.config, at, 4, pattern[p]) & PCI_CHANGED_DECODE)
				pci_config_unmapped(&dev.config);
	for (u16 at = 0; at < 4096; at += 4) {
		bool may = false;

		for (unsigned i = 0; i < count; i++)
			may = may || (at >= open[i].start && at < open[i].end);
		if (!may)
			assert_int_equal(host_pci_read(0, at, 4), before[at / 4]);
	}
}

#endif
