/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: pci = 1234:11e8
 * NOT ON qemu: needs edu and ivshmem, and somebody outside: tests/system/test_iommu.py
 * NOT ON bochs: no such devices
 *
 * Has edu write to the memory of ivshmem, its BAR 2: this VM's, or at the address to=, where
 * another's is. What arrives is seen from outside.
 */
#include "bus.h"
#include "edu.h"

#define SOURCE 0x1801000ull /* a page of RAM that nobody uses */
#define PATTERN 0x60616261676f7221ull
#define IVSHMEM_IDS 0x11101af4u

void test_main(void)
{
	u32 bdf = pci_find(EDU_IDS), memory = pci_find(IVSHMEM_IDS);
	u64 to = option_number("to", 0);

	if (!check(bdf && (to || memory), "no edu, or nowhere to write"))
		return;
	edu = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	bus_init(bdf);
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 6);
	if (memory) {
		pci_write(memory, 4, (pci_read(memory, 4) & 0xffff) | 2);
		to = to ? to
			: ((u64)pci_read(memory, 0x1c) << 32 | (pci_read(memory, 0x18) & ~0xfu));
	}
	for (unsigned i = 0; i < 512; i++)
		((volatile u64 *)SOURCE)[i] = PATTERN;
	edu_dma(bus_address(SOURCE), EDU_BUFFER, 0);
	edu_wait();
	edu_dma(EDU_BUFFER, to, EDU_DMA_TO_RAM);
	edu_wait();
	print("p2p: wrote to %#lx", to);
}
