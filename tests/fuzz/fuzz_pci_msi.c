/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/pci/pci_msi.c vmm/pci/pci_config.c vmm/pci/pci_rules.c tests/unit/fake_host.c tests/unit/fake_pci.c */
/* FUZZ: -max_len=512 vmm/pci/pci_msi.c */
/*
 * Fuzzes MSI and MSI-X of an assigned function. The input's head makes a device: 32 or 64 bits,
 * masks, how many messages and entries, or one that is refused, and how many vectors are left; the
 * rest is what its guest writes to both capabilities and to the table, in any size, resets, and
 * interrupts of the device. Checked after each step: what the device would send is a vector of the
 * host's that is this function's, on a CPU of the VM, and nothing else ever stands unmasked in its
 * table or enabled in its capability; what the guest reads is what it has written; what arrives in
 * it is a message that a CPU of its takes. At the end all vectors and pages are back.
 */
#include <margay/errno.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake_host.h"
#include "vmm/pci/pci_device.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/intc.h"

#define MSI 0x50
#define MSIX 0x70
#define TABLE 0x1000
#define MOST 80
#define CPU 2 /* of vCPU 0 */

static struct vm vm;
static struct vcpu vcpus[2], *by_id[] = { &vcpus[0], &vcpus[1] };
static struct pci_device dev;
static struct host_pci_function function;
static u32 table[FAKE_REGISTERS / 4];
static const struct pci_bar bars[PCI_BARS] = { { 0xfebf0000, 0x4000, 0 } };
static const struct pci_cap caps[] = { { 0x05, false, MSI }, { 0x11, false, MSIX } };
static struct {
	u32 word[4];
} model[MOST]; /* what the guest has written */

/* Fixed or lowest priority, edge or level, to the physical ID of one of two vCPUs. */
static struct vcpu *taker(u64 address, u32 data)
{
	u32 id = address >> 12 & 0xff, mode = data >> 8 & 7;

	return address >> 20 == 0xfee && !(address & 4) && id < 2 && mode <= 1 &&
			       (data & 0xff) >= 16
		       ? &vcpus[id]
		       : NULL;
}

static const struct vcpu *msi_vcpu(struct vm *v, u64 address, u32 data)
{
	CHECK(v == &vm);
	return taker(address, data);
}

static void msi(struct vm *v, u64 address, u32 data)
{
	CHECK(v == &vm && taker(address, data));
}

static const struct intc_ops intc = { .msi = msi, .msi_vcpu = msi_vcpu };

/* The handler of those vectors that are not to be had. */
static void others(void *, unsigned) { }

static bool is_ours(u32 address, u32 data, unsigned count, const struct pci_vector *v)
{
	for (unsigned n = 0; n < count; n++)
		if (data + n >= FAKE_VECTORS || !fake_host.vector[data + n].fn ||
		    fake_host.vector[data + n].arg != v || fake_host.vector[data + n].n != n ||
		    address != (0xfee00000u | fake_host.vector[data].cpu << 12))
			return false;
	return fake_host.vector[data].cpu - CPU < 2 && IS_ALIGNED(data, count);
}

static void check(unsigned capable)
{
	u32 control = host_pci_read(0, MSI + 2, 2), x = host_pci_read(0, MSIX + 2, 2);
	unsigned count = 1u << (control >> 4 & 7);

	if (control & 1)
		CHECK(count <= 1u << capable &&
		      is_ours(host_pci_read(0, MSI + 4, 4),
			      host_pci_read(0, control & 0x80 ? MSI + 12 : MSI + 8, 2), count,
			      &dev.msi));
	CHECK(!(control & 0x80) || !(control & 1) || host_pci_read(0, MSI + 8, 4) == 0);
	CHECK(!dev.nr_msix || (x & 0x7ff) == dev.nr_msix - 1);
	for (unsigned i = 0; i < dev.nr_msix; i++) {
		const u32 *e = &table[i * 4];

		CHECK(e[3] == 1 ||
		      (e[3] == 0 && e[1] == 0 && is_ours(e[0], e[2], 1, &dev.msix[i])));
		for (unsigned n = 0; n < 4; n++)
			CHECK(pci_msix_read(&dev, TABLE + i * 16 + n * 4, 4) == model[i].word[n]);
		CHECK(pci_msix_read(&dev, TABLE + i * 16 + 8, 8) ==
		      (model[i].word[2] | (u64)model[i].word[3] << 32));
		CHECK(pci_msix_read(&dev, TABLE + i * 16 + 9, 1) == (model[i].word[2] >> 8 & 0xff));
		CHECK(pci_msix_read(&dev, TABLE + i * 16 + 6, 2) == model[i].word[1] >> 16);
	}
}

static void write_table(struct fuzz_in *in)
{
	u64 offset = fuzz_le(in, 2), value = fuzz_number(in);
	unsigned size = 1u << (fuzz_u8(in) & 3);
	u32 *word;

	CHECK(pci_msix_owns(&dev, 0, TABLE + offset) == (offset < dev.nr_msix * 16) &&
	      !pci_msix_owns(&dev, 1, TABLE));
	if (!dev.nr_msix)
		return;
	offset = ALIGN_DOWN(offset % (dev.nr_msix * 16), size);
	word = model[offset / 16].word;
	/* Most are as a driver's: addresses and vectors that can be had. */
	if (fuzz_u8(in) & 1) {
		size = 4;
		offset &= ~3ull;
		value = offset % 16 == 0 ? 0xfee00000 | (value & 3) << 12
					 : value & (u64[]){ 0, 0xff, 1 }[offset % 16 / 4 - 1];
	}
	pci_msix_write(&dev, TABLE + offset, size, value);
	if (size < 4)
		return;
	for (unsigned n = 0; n < size / 4; n++, value >>= 32) {
		unsigned at = offset % 16 / 4 + n;

		static const u32 writable[] = { ~3u, ~0u, ~0u, 1 };

		word[at] = (u32)value & writable[at];
	}
}

static void write_register(u16 offset, unsigned size, u32 value)
{
	unsigned changed = pci_config_write(&dev.config, offset, size, value);

	if (changed & PCI_CHANGED_MSI)
		pci_msi_update(&dev);
	if (changed & PCI_CHANGED_MSIX)
		pci_msix_update(&dev);
}

static void write_config(struct fuzz_in *in)
{
	u16 offset = (fuzz_u8(in) & 1 ? MSI : MSIX) + fuzz_u8(in) % 24;
	unsigned size = 1u << fuzz_u8(in) % 3;

	if (IS_ALIGNED(offset, size))
		write_register(offset, size,
			       fuzz_u8(in) & 1 ? 0xfee00000u | fuzz_u8(in) : fuzz_u32(in));
}

/* As a driver does it. */
static void enable_msi(struct fuzz_in *in, bool wide)
{
	write_register(MSI + 2, 2, 0);
	write_register(MSI + 4, 4, 0xfee00000u | (fuzz_u8(in) & 3u) << 12);
	if (wide)
		write_register(MSI + 8, 4, 0);
	write_register(wide ? MSI + 12 : MSI + 8, 2, fuzz_u8(in));
	write_register(MSI + 2, 2, (fuzz_u8(in) & 7u) << 4 | 1);
}

static void interrupt(u8 n)
{
	if (fake_host.vector[n % FAKE_VECTORS].fn)
		fake_host.vector[n % FAKE_VECTORS].fn(fake_host.vector[n % FAKE_VECTORS].arg,
						      fake_host.vector[n % FAKE_VECTORS].n);
}

static void clear(void)
{
	memset(model, 0, sizeof(model));
	for (unsigned i = 0; i < MOST; i++) {
		model[i].word[3] = 1;
		memcpy(&table[i * 4], (u32[]){ 0, 0, 0, 1 }, 16);
	}
}

enum { TABLE_OUTSIDE = 1, NO_MSIX, NO_MEMORY, PENDING_OUTSIDE };

/* Its capabilities; the reason, if any, why it is none for a guest. */
static int create(unsigned capable, unsigned form, unsigned entries)
{
	unsigned odd = form >> 2 & 7;
	int err;

	host_pci_write(0, 0x34, 1, MSI);
	host_pci_write(0, MSI, 4, (form & 3) << 23 | capable << 17 | MSIX << 8 | 5);
	host_pci_write(0, MSIX, 4, (entries - 1) << 16 | 0x11);
	host_pci_write(0, MSIX + 4, 4, odd == TABLE_OUTSIDE ? 0x4000 - entries * 16 + 8 : TABLE);
	host_pci_write(0, MSIX + 8, 4, odd == PENDING_OUTSIDE ? TABLE | 1 : TABLE + 0x1000);
	fake_host.pages_until_fail = odd == NO_MEMORY;
	dev.vm = &vm;
	dev.host = &function;
	CHECK(!pci_config_init(&dev.config, &fake_pci_io, bars, false, false, caps,
			       odd == NO_MSIX ? 1 : 2));
	err = pci_msi_create(&dev);
	if (odd == NO_MEMORY)
		CHECK(err == -ENOMEM);
	else
		CHECK(err == (odd == TABLE_OUTSIDE || odd == PENDING_OUTSIDE ? -EINVAL : 0));
	CHECK(err || dev.nr_msix == (odd == NO_MSIX ? 0 : entries));
	return err;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned capable = fuzz_u8(&in) % 6, form = fuzz_u8(&in), entries = 1 + fuzz_u8(&in) % MOST,
		 what;

	fake_host_reset();
	fake_host.quiet = true;
	fake_host.nr_pci = 1;
	memset(&dev, 0, sizeof(dev));
	vm = (struct vm){ .name = "vm0", .intc = &intc, .nr_vcpus = 2, .vcpus = by_id };
	for (unsigned i = 0; i < 2; i++)
		vcpus[i] = (struct vcpu){ .vm = &vm, .id = i, .apic_id = i, .cpu = CPU + i };
	function = (struct host_pci_function){ .bar[0] = { 0xfebf0000, 0x4000, 0 } };
	fake_host.pci[0] = function;
	for (unsigned i = 0; i < FAKE_VECTORS * (form >> 5) / 7; i++)
		fake_host.vector[i].fn = others;
	if (create(capable, form, entries))
		in.left = 0;
	dev.bar[0].nr_traps = 1;
	dev.bar[0].trap[0] = (struct pci_trap){ TABLE, TABLE + 0x2000, (volatile u8 *)table };
	fake_host.registers = (u8 *)table;
	clear();
	while (in.left) {
		switch (fuzz_u8(&in) & 3) {
		case 0: write_config(&in); break;
		case 1: write_table(&in); break;
		case 2: interrupt(fuzz_u8(&in)); break;
		default:
			what = fuzz_u8(&in);
			if (what & 1)
				enable_msi(&in, form & 1);
			/*
			 * Rarely: the device has lost what it had, as after a reset of a guest's.
			 */
			if (what != 0x5a)
				break;
			host_pci_write(0, MSI + 2, 2, host_pci_read(0, MSI + 2, 2) & ~0x71u);
			host_pci_write(0, MSIX + 2, 2, host_pci_read(0, MSIX + 2, 2) & 0x7ff);
			CHECK(!pci_config_init(&dev.config, &fake_pci_io, bars, false, false, caps,
					       dev.nr_msix ? 2 : 1));
			pci_msi_reset(&dev);
			clear();
		}
		check(capable);
	}
	pci_msi_destroy(&dev);
	for (unsigned i = 0; i < FAKE_VECTORS; i++)
		CHECK(fake_host.vector[i].fn ==
		      (i < FAKE_VECTORS * (form >> 5) / 7 ? others : NULL));
	CHECK(!fake_host.pages_in_use);
	return 0;
}
