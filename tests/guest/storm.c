/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: rounds=2000
 *
 * Exits of all kinds as fast as they come: what a VM can do to its neighbours
 * (test_storm.py runs it beside timer.c). With progress=N it says every N rounds
 * that it goes on.
 */
#include "apic.h"
#include "tiny.h"

void test_main(void)
{
	u64 rounds = option_number("rounds", 1000), progress = option_number("progress", 0), v;
	unsigned wrong = 0;

	apic_enable();
	for (u64 i = 0; i < rounds; i++) {
		if (progress && i % progress == 0)
			print("storm: round %lu", i);
		wrong += cpuid(0x40000000, 0).ebx != 0x6772614d;
		wrong += inb(0x80) != 0xff;
		wrong += apic_read(APIC_SVR) != 0x1ff;
		wrong += try_rdmsr(0x12345678, &v) != VEC_GP;
		wrong += TRY("vmmcall", , O("a"(~0ull))) !=
			 (is_amd() && on_margay() ? NO_TRAP : VEC_UD);
		wrong += try_write_cr8(i & 15) != NO_TRAP;
	}
	check(wrong == 0, "%u of %lu rounds of exits went wrong", wrong, rounds);
}
