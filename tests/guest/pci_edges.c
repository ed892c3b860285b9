/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * NOT ON qemu: needs devices: tests/system/test_pci_hostile.py
 * NOT ON bochs: no device with MSI-X
 *
 * Around the ends of the registers that the hypervisor keeps to itself, those in the pages of an
 * NVMe controller's MSI-X table and pending bits: loads and stores of all sizes at all offsets, so
 * that an access lies half in them and half in registers, or nothing, that the guest owns. What is
 * aligned reads as it was written, what is not as ones or zeros; the controller lives. A key starts
 * it. Role witness: another VM's device (QEMU's ivshmem, whose registers are less than a page and
 * so are the hypervisor's to read and write, too) keeps what was written to it before, until a key
 * is typed. It does not look meanwhile: while one CPU changes what a function decodes, QEMU now and
 * then gives another CPU that reads a register some third device's.
 */
#include "pci.h"
#include "tiny.h"

#define NVME_CLASS 0x010802u
#define NVME_VERSION 8
#define IVSHMEM_IDS 0x11101af4u
#define PATTERN 0x5a5a5a5au
#define UART 0x3f8
#define AROUND 9
#define ROUNDS 3u

static u64 bar_address(u32 bdf, u32 n)
{
	u32 low = pci_read(bdf, 0x10 + n * 4);

	return (low & ~0xfu) | ((low & 6) == 4 ? (u64)pci_read(bdf, 0x14 + n * 4) << 32 : 0);
}

static void store(u64 at, unsigned size, u64 value)
{
	switch (size) {
	case 1: *(volatile u8 *)at = (u8)value; break;
	case 2: *(volatile u16 *)at = (u16)value; break;
	case 4: *(volatile u32 *)at = (u32)value; break;
	default: *(volatile u64 *)at = value;
	}
}

static u64 load(u64 at, unsigned size)
{
	switch (size) {
	case 1: return *(volatile u8 *)at;
	case 2: return *(volatile u16 *)at;
	case 4: return *(volatile u32 *)at;
	default: return *(volatile u64 *)at;
	}
}

static void around(u64 edge)
{
	for (u64 at = edge - AROUND; at < edge + AROUND; at++)
		for (unsigned size = 1; size <= 8; size *= 2) {
			(void)load(at, size);
			store(at, size, ~0ull);
		}
}

static u32 find_class(u32 class)
{
	for (u32 bdf = 1; bdf < 256; bdf++)
		if (pci_read(bdf, 0) != ~0u && pci_read(bdf, 8) >> 8 == class)
			return bdf;
	return 0;
}

static void attack(void)
{
	u32 bdf = find_class(NVME_CLASS), cap = bdf ? pci_find_cap(bdf, PCI_CAP_MSIX) : 0, version;
	u64 base, table, pending, end;

	if (!check(cap, "no NVMe controller with MSI-X"))
		return;
	pci_write(bdf, 4, 2);
	base = bar_address(bdf, 0);
	table = base + (pci_read(bdf, cap + 4) & ~7u);
	pending = base + (pci_read(bdf, cap + 8) & ~7u);
	end = pending + 0x1000;
	check(!(pci_read(bdf, cap + 4) & 7) && table % 0x1000 == 0 && pending == table + 0x1000,
	      "table %#lx and pending bits %#lx are not pages of BAR 0", table, pending);
	version = *(volatile u32 *)(base + NVME_VERSION);
	check(version && ~version, "the controller's version is %#x", version);
	for (unsigned n = 0; n < ROUNDS; n++) {
		around(table);
		around(pending);
		around(end);
	}
	store(table + 8, 4, 0x11223344);
	check(load(table + 8, 4) == 0x11223344, "data of entry 0: %#lx", load(table + 8, 4));
	/* Its last byte is the next dword's, the mask. */
	check(load(table + 9, 4) == 0x01112233 && load(table + 8, 2) == 0x3344 &&
		      load(table + 11, 1) == 0x11,
	      "parts of entries read %#lx, %#lx, %#lx", load(table + 9, 4), load(table + 8, 2),
	      load(table + 11, 1));
	store(table + 6, 4, 0x99999999);
	check(load(table + 8, 4) == 0x11223344, "half an entry was stored: %#lx",
	      load(table + 8, 4));
	check(load(pending, 8) == 0 && load(pending + 3, 4) == 0, "pending bits: %#lx, %#lx",
	      load(pending, 8), load(pending + 3, 4));
	check(*(volatile u32 *)(base + NVME_VERSION) == version,
	      "the controller's version was %#x and is %#x", version,
	      *(volatile u32 *)(base + NVME_VERSION));
}

static void wait_for_key(void)
{
	while (!(inb(UART + 5) & 1))
		;
}

static void witness(void)
{
	u32 bdf = pci_find(IVSHMEM_IDS);
	volatile u32 *mask;

	if (!check(bdf, "no ivshmem"))
		return;
	pci_write(bdf, 4, 2);
	mask = (volatile u32 *)bar_address(bdf, 0);
	check((u64)mask % 0x1000 == 0, "its registers do not begin a page: %#lx", (u64)mask);
	*mask = PATTERN;
	print("witness: waits");
	wait_for_key();
	check(*mask == PATTERN, "it reads %#x", *mask);
	/* The control: the register changes when it is written. */
	*mask = ~PATTERN;
	check(*mask == ~PATTERN, "stored %#x, read %#x", ~PATTERN, *mask);
}

void test_main(void)
{
	if (option("witness")) {
		witness();
	} else {
		wait_for_key();
		attack();
	}
}
