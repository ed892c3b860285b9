/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: pci = 1234:11e8
 * NOT ON qemu: needs the device edu: tests/system/test_iommu.py
 * NOT ON bochs: no device edu
 *
 * Has edu write to and read from addresses where its VM has no memory (at=, read=), and in between
 * write within it. Waits for a key after the first, while somebody else looks at the machine's
 * memory.
 */
#include "bus.h"
#include "edu.h"

#define TARGET 0x1800000ull /* pages of RAM that nobody uses */
#define SOURCE 0x1801000ull
#define PATTERN 0x60616261676f7221ull

static void fill(u64 at, u64 value)
{
	for (unsigned i = 0; i < 512; i++)
		((volatile u64 *)at)[i] = value;
}

static void wait_for_key(void)
{
	while (!(inb(0x3fd) & 1))
		;
	(void)inb(0x3f8);
}

void test_main(void)
{
	volatile u64 *target = (volatile u64 *)TARGET;
	u32 bdf = pci_find(EDU_IDS);

	if (!check(bdf, "no edu"))
		return;
	edu = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	bus_init(bdf);
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 6);
	fill(SOURCE, PATTERN);
	edu_dma(bus_address(SOURCE), EDU_BUFFER, 0);
	edu_wait();
	for (unsigned i = 0; i < option_number("times", 1); i++) {
		edu_dma(EDU_BUFFER, option_number("at", 0), EDU_DMA_TO_RAM);
		edu_wait();
	}
	print("rogue: wrote");
	wait_for_key();
	/* The device itself goes on: what is its VM's it reaches. */
	fill(TARGET, 0);
	edu_dma(EDU_BUFFER, bus_address(TARGET), EDU_DMA_TO_RAM);
	edu_wait();
	check(target[0] == PATTERN && target[511] == PATTERN, "the device does not write: %#lx",
	      target[0]);
	edu_dma(option_number("read", 0), EDU_BUFFER, 0);
	edu_wait();
	fill(TARGET, 0);
	edu_dma(EDU_BUFFER, bus_address(TARGET), EDU_DMA_TO_RAM);
	edu_wait();
	print("rogue: read %#lx", target[0]);
}
