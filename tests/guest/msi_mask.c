/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: memory_map = identity
 * VM: pci = 8086:10c9
 * NOT ON qemu: needs the device igb: tests/system/test_msix.py
 * NOT ON bochs: no device with MSI
 *
 * The mask bit of an MSI message (PCI Local Bus 3.0, 6.8.1.7-8), which Linux does not use on this
 * card, for it has MSI-X: what the device signals while it is masked is pending, and comes when it
 * is unmasked, once; also when the guest has given the message another vector in the meantime. And
 * MSI is switched off and on, more often than a CPU has vectors. The card interrupts by a write to
 * its Interrupt Cause Set register (Intel 82576 datasheet, 8.8; QEMU has these registers at the
 * older cards' addresses only).
 */
#include "pci.h"
#include "vectors.h"

#define IGB_IDS 0x10c98086u
#define MSI_MASKABLE BIT(24)
#define ENABLE BIT(16)
#define FLAPS 300 /* more than a CPU has vectors */
#define WAIT 10000000u
#define SHORT_WAIT (WAIT / 100)
#define CAUSE BIT(2) /* link status change */

enum { ICR = 0xc0, ICS = 0xc8, IMS = 0xd0 };
/* Of a capability with 64-bit addresses and masks. */
enum { ADDRESS = 4, ADDRESS_HIGH = 8, DATA = 12, MASK = 16, PENDING = 20 };

static volatile u8 *igb;

static volatile u32 *reg(u32 offset)
{
	return (volatile u32 *)(igb + offset);
}

/* What came before is acknowledged. */
static void interrupt(void)
{
	(void)*reg(ICR);
	*reg(ICS) = CAUSE;
}

/* Masked, moved to another vector, unmasked. */
static void mask(u32 bdf, u32 cap, u8 from, u8 to)
{
	unsigned before = arrived, there = at_vector[to];

	pci_write(bdf, cap + DATA, from);
	interrupt();
	wait_for_vectors(before + 1, WAIT);
	check(arrived == before + 1 && at_vector[from], "open: %u interrupts, %u at %#x",
	      arrived - before, at_vector[from], from);
	before = arrived;
	there = at_vector[to];
	pci_write(bdf, cap + MASK, 1);
	check(pci_read(bdf, cap + MASK) == 1 && !pci_read(bdf, cap + PENDING),
	      "masked: %#x, pending %#x", pci_read(bdf, cap + MASK), pci_read(bdf, cap + PENDING));
	interrupt();
	wait_for_vectors(before + 1, SHORT_WAIT);
	check(arrived == before, "masked: %u interrupts", arrived - before);
	check(pci_read(bdf, cap + PENDING) == 1, "masked: pending is %#x",
	      pci_read(bdf, cap + PENDING));
	pci_write(bdf, cap + DATA, to);
	check(arrived == before, "moved while masked: %u interrupts", arrived - before);
	pci_write(bdf, cap + MASK, 0);
	wait_for_vectors(before + 1, WAIT);
	check(arrived == before + 1 && at_vector[to] == there + 1,
	      "unmasked: %u interrupts, %u at %#x", arrived - before, at_vector[to] - there, to);
	check(!pci_read(bdf, cap + PENDING), "unmasked: pending is %#x",
	      pci_read(bdf, cap + PENDING));
	wait_for_vectors(before + 2, SHORT_WAIT);
	check(arrived == before + 1, "unmasked: %u interrupts", arrived - before);
}

/*
 * Off and on, with something to signal in both: nothing comes while it is off, all while it is on,
 * and no vector is lost.
 */
static void flap(u32 bdf, u32 cap, u32 control)
{
	unsigned before = arrived;

	for (unsigned i = 0; i < FLAPS && arrived == before + i; i++) {
		pci_write(bdf, cap, control & ~ENABLE);
		interrupt();
		pci_write(bdf, cap, control | ENABLE);
		interrupt();
		wait_for_vectors(before + i + 1, WAIT);
	}
	check(arrived == before + FLAPS, "off and on %u times: %u interrupts", FLAPS,
	      arrived - before);
}

void test_main(void)
{
	u32 bdf = pci_find(IGB_IDS), cap = bdf ? pci_find_cap(bdf, PCI_CAP_MSI) : 0, control;

	if (!check(cap, "no igb with MSI"))
		return;
	control = pci_read(bdf, cap);
	check(control & MSI_MASKABLE, "its MSI is %#x", control);
	count_vectors();
	igb = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	/*
	 * Decoding memory, bus master, no line interrupt, which would stand for the message that is
	 * off.
	 */
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | BIT(10) | 6);
	pci_write(bdf, cap + ADDRESS, 0xfee00000);
	pci_write(bdf, cap + ADDRESS_HIGH, 0);
	pci_write(bdf, cap + DATA, 0x61);
	pci_write(bdf, cap, control | ENABLE);
	*reg(IMS) = CAUSE;
	mask(bdf, cap, 0x61, 0x62);
	/* Through the same vector, and back. */
	mask(bdf, cap, 0x93, 0x93);
	mask(bdf, cap, 0x62, 0x61);
	flap(bdf, cap, control);
	irq_off();
	print("msi_mask: %u messages", arrived);
}
