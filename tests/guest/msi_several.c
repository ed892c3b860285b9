/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: memory_map = identity
 * VM: pci = 1033:0194
 * NOT ON qemu: needs the device nec-usb-xhci: tests/system/test_msix.py
 * NOT ON bochs: no device with MSI
 *
 * MSI with several messages, which Linux does not use without interrupt
 * remapping: an xHCI with 16 interrupters, each of which interrupts when its
 * event ring is said to be not empty (xHCI 1.2, 4.17.2, 5.5.2). With 1, 4 and
 * 16 messages the n-th interrupter arrives at the n-th vector, modulo their
 * number, once, and nothing else does; what the low bits of the data are is
 * the device's own (PCI Local Bus 3.0, 6.8.1.6).
 */
#include "pci.h"
#include "vectors.h"

#define XHCI_IDS 0x01941033u
#define INTERRUPTERS 16
/* RAM that nobody uses: a page each for the segment table and the ring */
#define RINGS 0x1800000ull
#define TRBS 16
#define WAIT 10000000u
#define MSI_64 BIT(23)

enum { USBCMD = 0, USBCMD_INTE = 1 << 2, RTSOFF = 0x18 };
/* Of an interrupter, at RTSOFF + 0x20 + 32 * n. */
enum { IMAN = 0, IMAN_IE = 1 << 1, ERSTSZ = 8, ERSTBA = 0x10, ERDP = 0x18, ERDP_BUSY = 1 << 3 };

static volatile u8 *xhci;

static volatile u32 *reg(u32 offset)
{
	return (volatile u32 *)(xhci + offset);
}

static u32 interrupter(unsigned n)
{
	return *reg(RTSOFF) + 0x20 + 32 * n;
}

static u64 ring(unsigned n)
{
	return RINGS + n * 2 * PAGE_SIZE + PAGE_SIZE;
}

static void set_up(unsigned n)
{
	volatile u64 *table = (volatile u64 *)(ring(n) - PAGE_SIZE);
	u32 at = interrupter(n);

	table[0] = ring(n);
	table[1] = TRBS;
	*reg(at + IMAN) = IMAN_IE;
	*reg(at + ERSTSZ) = 1;
	*reg(at + ERDP) = (u32)ring(n);
	*reg(at + ERDP + 4) = 0;
	*reg(at + ERSTBA) = (u32)(ring(n) - PAGE_SIZE);
	*reg(at + ERSTBA + 4) = 0;
}

/* The controller has written no event: a dequeue pointer beyond its own is a ring with events. */
static void interrupt(unsigned n)
{
	*reg(interrupter(n) + ERDP) = (u32)(ring(n) + 16) | ERDP_BUSY;
}

static void messages(u32 bdf, u32 cap, unsigned log, u32 data)
{
	u32 control = pci_read(bdf, cap) & ~(BIT(16) | 7u << 20);

	pci_write(bdf, cap, control);
	pci_write(bdf, cap + 4, 0xfee00000);
	pci_write(bdf, cap + 8, 0);
	pci_write(bdf, cap + 12, data);
	pci_write(bdf, cap, control | BIT(16) | log << 20);
	for (unsigned n = 0; n < INTERRUPTERS; n++) {
		u32 vector = (data & ~(BIT(log) - 1)) | (n & (BIT(log) - 1));
		unsigned before = arrived, there = at_vector[vector];

		interrupt(n);
		wait_for_vectors(before + 1, WAIT);
		check(arrived == before + 1 && at_vector[vector] == there + 1,
		      "%u messages from %#x: interrupter %u not at %#x", 1u << log, data, n,
		      vector);
	}
}

void test_main(void)
{
	u32 bdf = pci_find(XHCI_IDS), cap = bdf ? pci_find_cap(bdf, PCI_CAP_MSI) : 0, control;

	if (!check(cap, "no xHCI with MSI"))
		return;
	control = pci_read(bdf, cap);
	check((control >> 17 & 7) == 4 && control & MSI_64, "its MSI is %#x", control);
	count_vectors();
	xhci = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 6);
	for (unsigned n = 0; n < INTERRUPTERS; n++)
		set_up(n);
	*reg((*reg(0) & 0xff) + USBCMD) = USBCMD_INTE;
	messages(bdf, cap, 2, 0x63);
	messages(bdf, cap, 4, 0x80);
	messages(bdf, cap, 0, 0x55);
	/* Moved while on, and off. */
	messages(bdf, cap, 4, 0xb7);
	pci_write(bdf, cap, control & ~BIT(16));
	control = arrived;
	for (unsigned n = 0; n < INTERRUPTERS; n++)
		interrupt(n);
	wait_for_vectors(control + 1, WAIT / 100);
	check(arrived == control, "%u messages from a disabled capability", arrived - control);
	irq_off();
	print("msi_several: %u messages", arrived);
}
