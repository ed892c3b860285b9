/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: memory_map = identity
 * VM: pci = 8086:100e
 * NOT ON qemu: needs an e1000 that no VM has had: tests/system/test_pci_hostile.py
 * NOT ON bochs: reset by no bus
 *
 * Says what the last VM has left in a register of an e1000's, and leaves something there.
 */
#include "pci.h"
#include "tiny.h"

#define E1000_IDS 0x100e8086u
#define BEHIND 0x100u /* 01:00.0: below the first port */
#define TDBAL 0x3800 /* of sending, which is off: 16 bytes aligned */
#define LEFT 0x12345670u

void test_main(void)
{
	u32 bdf = pci_find(E1000_IDS);
	volatile u32 *reg;

	bdf = !bdf && pci_read(BEHIND, 0) == E1000_IDS ? BEHIND : bdf;
	if (!check(bdf, "no e1000"))
		return;
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 2);
	reg = (volatile u32 *)(u64)((pci_read(bdf, 0x10) & ~0xfu) + TDBAL);
	print("remains: found %#x", *reg);
	*reg = LEFT;
	check(*reg == LEFT, "the register holds %#x", *reg);
}
