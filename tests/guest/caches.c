/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * INVD, WBINVD and CR0.CD and NW: no byte is lost, neither ours nor the host's
 * (which would not live to tell).
 */
#include "tiny.h"

#define CR0_NW BIT(29)
#define CR0_CD BIT(30)

static u64 data[2048];

static void fill(u64 seed)
{
	for (unsigned i = 0; i < ARRAY_SIZE(data); i++)
		((volatile u64 *)data)[i] = seed * (i + 1);
}

static void intact(u64 seed, const char *what)
{
	for (unsigned i = 0; i < ARRAY_SIZE(data); i++)
		if (((volatile u64 *)data)[i] != seed * (i + 1)) {
			check(false, "%s lost word %u", what, i);
			return;
		}
	check(true, "%s", what);
}

void test_main(void)
{
	u64 cr0 = read_cr0();

	for (u64 i = 1; i <= 20; i++) {
		fill(i);
		asm volatile("invd" : : : "memory");
		intact(i, "INVD");
		fill(i + 100);
		asm volatile("wbinvd" : : : "memory");
		intact(i + 100, "WBINVD");
		fill(i + 200);
		write_cr0(cr0 | CR0_CD);
		asm volatile("invd" : : : "memory");
		check(read_cr0() == (cr0 | CR0_CD), "CR0 %#lx reads CD", read_cr0());
		intact(i + 200, "CD");
		fill(i + 300);
		write_cr0(cr0 | CR0_CD | CR0_NW);
		asm volatile("wbinvd" : : : "memory");
		intact(i + 300, "CD and NW");
		write_cr0(cr0);
		intact(i + 300, "caches on again");
	}
}
