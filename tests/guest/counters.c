/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: counters = yes
 *
 * Performance counters where the machine has none that a guest can own, as on all of ours: nothing
 * tells of any, and their registers are #GP. Bochs' CPUID tells of Intel's, whose MSRs it has not.
 */
#include "tiny.h"

static const u32 hidden[] = {
	0xc1, 0x186, 0x309, 0x38d, 0x38e, 0x38f, 0x390, 0xc0010200, 0xc0010201
};

void test_main(void)
{
	u32 lo, hi;

	check(cpuid(0xa, 0).eax == 0, "leaf 0xA EAX is %#x", cpuid(0xa, 0).eax);
	check(!(cpuid(0x80000001, 0).ecx & BIT(23)), "AMD's counters are told of");
	for (unsigned i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		check(try_wrmsr(hidden[i], 0) == VEC_GP, "MSR %#x can be written", hidden[i]);
	check(TRY("rdpmc", O("=a"(lo), "=d"(hi)), O("c"(0))) == VEC_GP, "RDPMC reads a counter");
}
