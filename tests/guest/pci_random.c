/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: seed=20261121 rounds=20000
 * VM: memory_map = identity
 * VM: pci = 1234:11e8, class:0108
 * NOT ON qemu: needs devices: tests/system/test_pci_hostile.py
 * NOT ON bochs: no device with MSI
 *
 * Random values to every configuration register of two devices (edu, and an
 * NVMe controller with PCI Express, MSI-X and FLR), by ports and by ECAM, in
 * every size, with their BARs over RAM, the local APIC, ECAM and each other.
 * Nothing of the platform is hidden by it, what says who a device is stays,
 * and at the end both work as if nothing had been: registers, edu's MSI, and
 * its BAR, which is where the guest has moved it and nowhere else.
 */
#include "apic.h"
#include "pci.h"
#include "random.h"
#include "tiny.h"

#define NVME_CLASS 0x010802u
#define VECTOR 0x91
#define TARGET 0x1800000ull
#define ELSEWHERE 0xc0000000u /* nothing is there, of the guest's or of the machine's */
#define WAIT 10000000u
#define DEVICE_CONTROL 8 /* in the PCI Express capability: FLR, which takes 100 ms, is its bit 15 */

static u32 seed;
static volatile unsigned delivered;

static u32 rnd(void)
{
	return random32(&seed);
}

static void on_vector(struct trap_frame *f)
{
	delivered += f->vector == VECTOR;
	apic_write(APIC_EOI, 0);
}

/* Addresses where something is, few bits, or anything. */
static u32 value(void)
{
	static const u32 places[] = {
		0x1000,     TARGET,     0xfee00000, 0xfec00000, 0xfebf0000,
		0xb0000000, 0xc0000000, 0xffffffff, 0xfee01004, 0,
	};

	switch (rnd() & 3) {
	case 0: return 1u << (rnd() & 31);
	case 1: return places[rnd() % ARRAY_SIZE(places)] | (rnd() & 1);
	default: return rnd();
	}
}

static u32 find_class(u32 class)
{
	for (u32 bdf = 1; bdf < 256; bdf++)
		if (pci_read(bdf, 0) != ~0u && pci_read(bdf, 8) >> 8 == class)
			return bdf;
	return 0;
}

static void ports(u32 bdf, u32 offset, u32 v)
{
	outl(0xcf8, 1u << 31 | bdf << 8 | (offset & 0xfc));
	switch (rnd() & 3) {
	case 0: outb(0xcfc + (offset & 3), (u8)v); break;
	case 1: outw(0xcfc + (offset & 3), (u16)v); break;
	default: outl(0xcfc, v);
	}
	(void)inl(0xcfc + (rnd() & 3));
}

static void ecam(u64 base, u32 bdf, u32 offset, u32 v)
{
	volatile u8 *p = (volatile u8 *)(base + (bdf << 12) + (offset & 0xfff));

	switch (rnd() & 7) {
	case 0: *p = (u8)v; break;
	case 1: *(volatile u16 *)p = (u16)v; break;
	case 2: *(volatile u64 *)p = v | (u64)v << 32; break;
	case 3: (void)*(volatile u64 *)p; break;
	default: *(volatile u32 *)p = v;
	}
}

/*
 * Writes that start nothing: neither bus mastering, for this guest would have to mean it, nor,
 * mostly, FLR.
 */
static u32 tame(u32 offset, u32 express, u32 v)
{
	if ((offset & ~3u) == 4)
		v &= ~0x04040404u;
	if ((offset & ~3u) == express + DEVICE_CONTROL && rnd() & 15)
		v &= ~0x80808080u;
	return v;
}

static void storm(u64 base, const u32 bdf[2], u64 rounds)
{
	u32 express = pci_find_cap(bdf[1], PCI_CAP_EXPRESS);
	volatile u64 *target = (volatile u64 *)TARGET;
	u32 version = apic_read(APIC_VERSION);

	check(express, "the NVMe controller has no PCI Express capability");
	for (u64 n = 0; n < rounds; n++) {
		u32 f = bdf[rnd() & 1], offset = rnd() & 3 ? rnd() & 0xff : rnd() & 0xfff;
		u32 v = tame(offset, express, value());

		/* Most of the time the BARs decode. */
		if (!(rnd() & 7))
			pci_write(f, 4, 3);
		if (rnd() & 1 && offset < 0x100)
			ports(f, offset, v);
		else
			ecam(base, f, offset, v);
		if (n % 64)
			continue;
		check(apic_read(APIC_VERSION) == version, "the local APIC is hidden");
		check(*(volatile u32 *)(base + (bdf[0] << 12)) == EDU_IDS, "ECAM is hidden");
		for (unsigned i = 0; i < 8; i++)
			check(target[i] == TARGET + i, "RAM is hidden");
	}
}

static u32 edu_id(u32 bar)
{
	return *(volatile u32 *)(u64)(bar & ~0xfu) & 0xff;
}

/* The control of what the storm checks: a BAR really moves, but not over RAM. */
static void moves(u32 bdf, u32 bar)
{
	pci_write(bdf, 0x10, ELSEWHERE);
	check(edu_id(ELSEWHERE) == 0xed && edu_id(bar) != 0xed, "the BAR has not moved: %#x, %#x",
	      edu_id(ELSEWHERE), edu_id(bar));
	pci_write(bdf, 0x10, TARGET & ~0xfffffu);
	check(edu_id(ELSEWHERE) != 0xed && *(volatile u64 *)TARGET == TARGET,
	      "the BAR is over RAM");
	pci_write(bdf, 0x10, bar);
	check(edu_id(bar) == 0xed, "the BAR does not come back");
}

/* Configures edu anew, and has it work. */
static void edu_works(u32 bdf, u32 bar)
{
	volatile u8 *edu = (volatile u8 *)(u64)(bar & ~0xfu);
	u32 msi = pci_find_cap(bdf, PCI_CAP_MSI);

	check(msi, "edu has no MSI");
	pci_write(bdf, 4, 0);
	for (u32 at = 0x14; at < 0x28; at += 4)
		pci_write(bdf, at, 0);
	pci_write(bdf, 0x10, bar);
	pci_write(bdf, msi, 0);
	pci_write(bdf, msi + 4,
		  (u32)LAPIC_BASE | apic_read(APIC_ID) >> (x2apic_on() ? 0 : 24) << 12);
	pci_write(bdf, msi + 8, 0);
	pci_write(bdf, msi + 12, VECTOR);
	pci_write(bdf, msi, 1u << 16);
	pci_write(bdf, 4, 6);
	check(edu_id(bar) == 0xed, "edu's ID is %#x", edu_id(bar));
	*(volatile u32 *)(edu + EDU_LIVE) = 0x12345678;
	check(*(volatile u32 *)(edu + EDU_LIVE) == ~0x12345678u, "edu does not invert");
	delivered = 0;
	*(volatile u32 *)(edu + EDU_RAISE) = 1;
	irq_on();
	for (u32 n = 0; n < WAIT && !delivered; n++)
		cpu_relax();
	irq_off();
	*(volatile u32 *)(edu + EDU_ACK) = 1;
	check(delivered == 1, "%u interrupts", delivered);
	moves(bdf, bar);
}

/* The controller's version register. */
static u32 nvme_version(u32 bdf, const u32 bar[2])
{
	pci_write(bdf, 4, 0);
	pci_write(bdf, 0x10, bar[0]);
	pci_write(bdf, 0x14, bar[1]);
	pci_write(bdf, 4, 2);
	return *(volatile u32 *)(u64)((bar[0] & ~0xfu) + 8);
}

void test_main(void)
{
	u32 bdf[2] = { pci_find(EDU_IDS), find_class(NVME_CLASS) }, ids[2], classes[2], edu_bar,
	    nvme_bar[2], version;
	volatile u64 *target = (volatile u64 *)TARGET;
	u64 base = option_number("ecam", 0xb0000000);

	seed = (u32)option_number("seed", 1);
	if (!check(bdf[0] && bdf[1], "no edu, or no NVMe controller"))
		return;
	edu_bar = pci_read(bdf[0], 0x10);
	nvme_bar[0] = pci_read(bdf[1], 0x10);
	nvme_bar[1] = pci_read(bdf[1], 0x14);
	check(!nvme_bar[1], "the NVMe controller's registers are above 4 GiB");
	for (unsigned i = 0; i < 8; i++)
		target[i] = TARGET + i;
	for (unsigned i = 0; i < 2; i++) {
		ids[i] = pci_read(bdf[i], 0);
		classes[i] = pci_read(bdf[i], 8);
		check(*(volatile u32 *)(base + (bdf[i] << 12)) == ids[i], "ECAM and ports differ");
	}
	trap_handlers[VECTOR] = on_vector;
	apic_enable();
	version = nvme_version(bdf[1], nvme_bar);
	check(version && version != ~0u, "the NVMe controller's version is %#x", version);
	edu_works(bdf[0], edu_bar);
	storm(base, bdf, option_number("rounds", 1000));
	for (unsigned i = 0; i < 2; i++)
		check(pci_read(bdf[i], 0) == ids[i] && pci_read(bdf[i], 8) == classes[i],
		      "its IDs have changed");
	/* One may still be where the other was. */
	pci_write(bdf[0], 4, 0);
	check(nvme_version(bdf[1], nvme_bar) == version, "the NVMe controller's version is %#x",
	      nvme_version(bdf[1], nvme_bar));
	edu_works(bdf[0], edu_bar);
	for (unsigned i = 0; i < 8; i++)
		check(target[i] == TARGET + i, "RAM has changed");
}
