/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: memory_map = identity
 * VM: pci = 1234:11e8
 * NOT ON qemu: needs the device edu: tests/system/test_pci_hostile.py
 * NOT ON bochs: no device edu
 *
 * Role victim: ends while a device writes into its memory (edu takes 100 ms
 * for that); one such write that is waited for shows before that it would
 * have come. Role checker, the next owner of that memory: finds it zero, and
 * still zero after the device has said that the write is over. With master=1
 * it lets the device write to it, and fails: the control.
 */
#include "edu.h"

#define TARGET 0x1800000ull /* a page of RAM that nobody uses, at the same address in both */
#define SOURCE 0x1801000ull
#define PATTERN 0x5a5a5a5a5a5a5a5aull
#define LOOKS 200000u

static void victim(void)
{
	volatile u64 *target = (volatile u64 *)TARGET, *source = (volatile u64 *)SOURCE;
	u32 bdf = pci_find(EDU_IDS);

	if (!check(bdf, "no edu"))
		return;
	edu = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 6);
	check((*(volatile u32 *)edu & 0xff) == 0xed, "edu's ID is %#x", *(volatile u32 *)edu);
	for (unsigned i = 0; i < 512; i++)
		source[i] = PATTERN;
	edu_dma(SOURCE, EDU_BUFFER, 0);
	edu_wait();
	edu_dma(EDU_BUFFER, TARGET, EDU_DMA_TO_RAM);
	edu_wait();
	check(target[0] == PATTERN && target[511] == PATTERN, "the device does not write: %#lx",
	      target[0]);
	for (unsigned i = 0; i < 512; i++)
		target[i] = 0;
	edu_dma(EDU_BUFFER, TARGET, EDU_DMA_TO_RAM);
	check(edu_under_way() && target[0] == 0, "the device was too fast");
	/* Now, with it under way. */
	if (option_number("triple", 0)) {
		result();
		asm volatile("lidt %0; ud2" : : "m"((struct {
				     u16 limit;
				     u64 base;
			     } __attribute__((packed))){ 0, 0 }));
	}
}

static void checker(void)
{
	volatile u64 *target = (volatile u64 *)TARGET;
	unsigned foreign = 0;
	u32 bdf = pci_find(EDU_IDS);
	u64 command, looks = 0;

	if (!check(bdf, "no edu"))
		return;
	/*
	 * It has no reset and goes on, so that it says itself when the write is over: only its bus
	 * mastering has been taken.
	 */
	check(!(pci_read(bdf, 4) & 4), "bus mastering is on");
	edu = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	pci_write(bdf, 4, option_number("master", 0) ? 6 : 2);
	command = *(volatile u64 *)(edu + EDU_DMA_COMMAND);
	while (edu_under_way() && looks < LOOKS) {
		for (unsigned i = 0; i < 512; i++)
			foreign += target[i] != 0;
		looks++;
	}
	print("checker: under way at first: %d, after %lu looks: %d",
	      (int)(command & EDU_DMA_START), looks, edu_under_way());
	check(!edu_under_way(), "it is still under way");
	for (unsigned i = 0; i < 512; i++)
		foreign += target[i] != 0;
	check(!foreign, "%u foreign writes", foreign);
}

void test_main(void)
{
	if (option_number("victim", 0))
		victim();
	else
		checker();
}
