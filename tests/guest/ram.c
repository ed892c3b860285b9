/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * All RAM that nothing was loaded into is zero, whoever had it before; then it
 * is filled, for the next VM, or somebody outside, to find if it stayed.
 */
#include "tiny.h"

#define MIB_1 0x100000ull
#define IMAGE 0x400000ull /* lib/tiny.lds */
#define FILLED 0x5a5a5a5a5a5a5a5aull

extern u8 image_end[];

/* How many words of [from, to) were not zero. */
static u64 look_and_fill(u64 from, u64 to)
{
	u64 found = 0;

	for (volatile u64 *p = (volatile u64 *)from; p < (volatile u64 *)to; p++) {
		found += *p != 0;
		*p = FILLED;
	}
	return found;
}

void test_main(void)
{
	u64 end = MIB_1 + ((u64)boot_info[2] << 10),
	    from = ((u64)image_end + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
	u64 found = look_and_fill(MIB_1, IMAGE) + look_and_fill(from, end);

	check(end > from + MIB_1, "RAM ends at %#lx, the image at %#lx", end, from);
	check(!found, "%lu words of RAM are not zero", found);
	print("ram: filled up to %#lx", end);
}
