/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Every mode of the CPU in a row, several times: 64-bit, compatibility, 32-bit
 * and 16-bit protected without paging, real and big real mode, and back; in each
 * CPUID, ports, MMIO, MSRs and SMSW, in real mode INT, #UD and #GP through the
 * vector table.
 */
#include "tiny.h"

#define LOW 0x9000ull
#define ROUNDS 20

extern const u8 low_start[], low_end[];
extern volatile u32 mode_marks, mode_cpuid[4];
void mode_run(void);

void test_main(void)
{
	u32 leaf0 = cpuid(0, 0).eax;

	for (unsigned round = 1; round <= ROUNDS; round++) {
		for (const u8 *p = low_start; p < low_end; p++)
			*(volatile u8 *)(LOW + (u64)(p - low_start)) = *p;
		mode_marks = 0;
		for (unsigned i = 0; i < 4; i++)
			mode_cpuid[i] = ~0u;
		mode_run();
		wrmsr(0xc0000101, (u64)&cpus[0]); /* the way back loaded GS */
		check(mode_marks == 9, "round %u: %u of 9 marks", round, mode_marks);
		for (unsigned i = 0; i < 4; i++)
			check(mode_cpuid[i] == leaf0, "round %u: CPUID in mode %u says %#x", round,
			      i, mode_cpuid[i]);
		check(TRY("ud2", , ) == VEC_UD, "round %u: exceptions in 64-bit mode again", round);
	}
}
