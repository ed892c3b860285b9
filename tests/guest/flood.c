/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * NOT ON qemu: needs e1000e or edu, and somebody outside: tests/system/test_fault_storm.py
 * NOT ON bochs: no such devices
 *
 * Has a function do what its IOMMU blocks, about times= times: e1000e fetches descriptors for
 * sending where its VM has no memory (at=), a ring full for each write of its tail; or edu sends an
 * interrupt that somebody outside has made another's. Each key on the console is a step. After each
 * of the first rings there is a pause: QEMU notes no fault while one of the same function is there
 * to be seen, and all CPUs that use the unit wait while the card works.
 */
#include "e1000e.h"
#include "edu.h"

#define RING 4096u /* descriptors of 16 bytes */
#define APART 32u  /* rings that somebody looks at between: more than are told of */
#define PAUSE_TSC 20000000ull
#define MASTER 4u

static void next(const char *what)
{
	print("flood: %s", what);
	while (!(inb(0x3fd) & 1))
		;
	(void)inb(0x3f8);
}

static volatile u8 *enable(u32 bdf)
{
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 2 | MASTER);
	return (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
}

static void write_reg(volatile u8 *regs, u32 reg, u32 value)
{
	*(volatile u32 *)(regs + reg) = value;
}

/* Without the device, whose every access has the machine's lock. */
static void pause(void)
{
	u64 start = rdtsc();

	while (rdtsc() - start < PAUSE_TSC)
		cpu_relax();
}

static void send(volatile u8 *regs, u64 times)
{
	u32 tail = 0;

	write_reg(regs, E1000E_TDBAL, (u32)option_number("at", 0));
	write_reg(regs, E1000E_TDBAH, 0);
	write_reg(regs, E1000E_TDLEN, RING * 16);
	write_reg(regs, E1000E_TDH, 0);
	write_reg(regs, E1000E_TCTL, E1000E_TCTL_ON);
	for (u64 sent = 0; sent < times; sent += RING - 1) {
		tail = (tail + RING - 1) % RING;
		write_reg(regs, E1000E_TDT, tail);
		check(*(volatile u32 *)(regs + E1000E_TDH) == tail, "it has not fetched all");
		if (sent < APART * (RING - 1))
			pause();
	}
}

static void raise(volatile u8 *regs, u64 times)
{
	for (u64 i = 0; i < times; i++)
		write_reg(regs, EDU_RAISE, 1);
}

void test_main(void)
{
	u64 times = option_number("times", 1);
	u32 card = pci_find(E1000E_IDS), bdf = card ? card : pci_find(EDU_IDS),
	    cap = pci_find_cap(bdf, PCI_CAP_MSI);
	volatile u8 *regs;

	if (!check(bdf, "neither e1000e nor edu"))
		return;
	regs = enable(bdf);
	/* Any message: which one it sends is not this guest's word. */
	pci_write(bdf, cap + 4, 0xfee00000);
	pci_write(bdf, cap + 8, 0);
	pci_write(bdf, cap + 12, 0x61);
	pci_write(bdf, cap, pci_read(bdf, cap) | BIT(16));
	print("flood: capability at %#x", cap);
	next("ready");
	if (card)
		send(regs, times);
	else
		raise(regs, times);
	next("done");
	enable(bdf);
	if (!card)
		raise(regs, 100);
	check(pci_read(bdf, 4) & MASTER, "its own bit is gone");
	next("again");
}
