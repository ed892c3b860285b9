/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * CPUID of every leaf in and around the ranges in use, with many subleaves, and
 * of leaves anywhere: no exception, in ring 3 as in ring 0; the same each time
 * but for what follows the state; beyond the last leaf as the vendor has it.
 */
#include "tiny.h"

static bool same(struct cpuid a, struct cpuid b)
{
	return a.eax == b.eax && a.ebx == b.ebx && a.ecx == b.ecx && a.edx == b.edx;
}

static void sweep(void *arg)
{
	static const u32 base[] = { 0,          0x40000000, 0x40000100, 0x80000000,
				    0x80860000, 0xc0000000, 0x20000000, 0xffffff80 };

	(void)arg;
	for (unsigned b = 0; b < ARRAY_SIZE(base); b++)
		for (u32 i = 0; i < 0x80; i++)
			for (u32 sub = 0; sub < 8; sub += i < 0x20 ? 1 : 7) {
				struct cpuid r;
				int trap =
					TRY("cpuid",
					    O("=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)),
					    O("a"(base[b] + i), "c"(sub)));

				if (trap != NO_TRAP || !same(r, cpuid(base[b] + i, sub)))
					check(false, "leaf %#x.%u: vector %d", base[b] + i, sub,
					      trap);
			}
}

void test_main(void)
{
	u32 last = cpuid(0, 0).eax, ext = cpuid(0x80000000, 0).eax;
	struct cpuid zero = { 0 }, beyond = is_amd() ? zero : cpuid(last, 0);

	sweep(NULL);
	check(user_run(sweep, NULL) == NO_TRAP, "ring 3 came to its end");
	check(last >= 0xd && last < 0x100, "last leaf %#x", last);
	check(ext >= 0x80000008 && ext < 0x80000100, "last extended leaf %#x", ext);
	/* Intel answers for the last basic leaf, AMD with zeros. */
	check(same(cpuid(last + 1, 0), beyond), "leaf %#x beyond the last", last + 1);
	check(same(cpuid(ext + 1, 0), beyond), "leaf %#x beyond the last", ext + 1);
	check(cpuid(0x40000000, 0).ebx == 0x6772614d, "leaf 0x40000000 names Margay");
	for (u32 sub = 0, edge; sub < 64; sub++) {
		edge = sub << 26;
		check(TRY("cpuid", , O("a"(edge), "c"(~0u)), "rbx", "rdx") == NO_TRAP, "leaf %#x",
		      edge);
	}
	/* The upper halves are cleared. */
	u64 a = ~0ull << 32, b, c = ~0ull << 32, d;

	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	check(!((a | b | c | d) >> 32), "CPUID clears the upper halves");
	/* For who counts the exits that they make: tests/system/test_exit_counts.py. */
	for (u64 n = option_number("cpuids", 0); n; n--)
		cpuid(0, 0);
}
