/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SHA-256 by the SHA extensions (SDM vol. 1, 5.19; vol. 2, SHA256RNDS2, SHA256MSG1, SHA256MSG2).
 *
 * XMM0 to XMM7 hold the guest's values while the hypervisor runs, so they are kept first and put
 * back last, in one asm statement, of whose use of them the compiler need not know. No instruction
 * in it has VEX: what lies above the 128 bits stays. None of them depends on XCR0, which is the
 * guest's, or on MXCSR. XINUSE may call a state used that was its initial one, of the same values
 * (SDM vol. 1, 13.6). What interrupts it, an NMI or a machine check, comes back with these
 * registers as they were, for nothing else of the hypervisor uses any but vector.c, at an exit.
 */
#include <margay/host_sha256.h>

#include "arch/x86_64/cpu/insn.h"

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define KEEP(n) "movdqu %%xmm" #n ", 16*" #n "(%[kept])\n\t"
#define RESTORE(n) "movdqu 16*" #n "(%[kept]), %%xmm" #n "\n\t"
/* Its 16 bytes, in words of the other byte order. */
#define LOAD(i, words) \
	"movdqu 16*" #i "(%[blocks]), %%xmm" #words "\n\t" \
	"pshufb %%xmm7, %%xmm" #words "\n\t"
/*
 * Four rounds, from 4 * i on. XMM1 has A, B, E and F, XMM2 C, D, G and H, the first highest; two
 * rounds leave the new A, B, E and F in place of C, D, G and H, which are the old ones then.
 */
#define ROUNDS(i, words) \
	"movdqu 16*" i "(%[k]), %%xmm0\n\t" \
	"paddd %%xmm" #words ", %%xmm0\n\t" \
	"sha256rnds2 %%xmm0, %%xmm1, %%xmm2\n\t" \
	"pshufd $0xe, %%xmm0, %%xmm0\n\t" \
	"sha256rnds2 %%xmm0, %%xmm2, %%xmm1\n\t"
/* The four words of the schedule that follow these 16, in place of the first four. */
#define SCHEDULE(a, b, c, d) \
	"sha256msg1 %%xmm" #b ", %%xmm" #a "\n\t" \
	"movdqa %%xmm" #d ", %%xmm7\n\t" \
	"palignr $4, %%xmm" #c ", %%xmm7\n\t" \
	"paddd %%xmm7, %%xmm" #a "\n\t" \
	"sha256msg2 %%xmm" #d ", %%xmm" #a "\n\t"
/* clang-format off */
#define SIXTEEN_AND_SCHEDULE(i) \
	ROUNDS("(" #i ")", 3) SCHEDULE(3, 4, 5, 6) \
	ROUNDS("(1+" #i ")", 4) SCHEDULE(4, 5, 6, 3) \
	ROUNDS("(2+" #i ")", 5) SCHEDULE(5, 6, 3, 4) \
	ROUNDS("(3+" #i ")", 6) SCHEDULE(6, 3, 4, 5)

static void by_extensions(u32 state[8], const u8 *blocks, u64 count, const u32 k[64])
{
	static const u8 order[16] = { 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12 };
	/* the guest's XMM0 to XMM7, the state before a block */
	u8 kept[10][16];

	asm volatile(EACH(KEEP)
		     "movdqu (%[state]), %%xmm1\n\t"
		     "movdqu 16(%[state]), %%xmm3\n\t"
		     "pshufd $0x1b, %%xmm1, %%xmm2\n\t"
		     "pshufd $0x1b, %%xmm3, %%xmm1\n\t"
		     "movdqa %%xmm1, %%xmm3\n\t"
		     "punpckhqdq %%xmm2, %%xmm1\n\t"
		     "punpcklqdq %%xmm2, %%xmm3\n\t"
		     "movdqa %%xmm3, %%xmm2\n"
		     "1:\tmovdqu %%xmm1, 16*8(%[kept])\n\t"
		     "movdqu %%xmm2, 16*9(%[kept])\n\t"
		     "movdqu %[order], %%xmm7\n\t"
		     LOAD(0, 3) LOAD(1, 4) LOAD(2, 5) LOAD(3, 6)
		     SIXTEEN_AND_SCHEDULE(0) SIXTEEN_AND_SCHEDULE(4) SIXTEEN_AND_SCHEDULE(8)
		     ROUNDS("12", 3) ROUNDS("13", 4) ROUNDS("14", 5) ROUNDS("15", 6)
		     "movdqu 16*8(%[kept]), %%xmm3\n\t"
		     "movdqu 16*9(%[kept]), %%xmm4\n\t"
		     "paddd %%xmm3, %%xmm1\n\t"
		     "paddd %%xmm4, %%xmm2\n\t"
		     "add $64, %[blocks]\n\t"
		     "dec %[count]\n\t"
		     "jnz 1b\n\t"
		     /* The same order back, which is its own inverse. */
		     "movdqa %%xmm2, %%xmm3\n\t"
		     "punpckhqdq %%xmm1, %%xmm2\n\t"
		     "punpcklqdq %%xmm1, %%xmm3\n\t"
		     "pshufd $0x1b, %%xmm2, %%xmm2\n\t"
		     "pshufd $0x1b, %%xmm3, %%xmm3\n\t"
		     "movdqu %%xmm2, (%[state])\n\t"
		     "movdqu %%xmm3, 16(%[state])\n\t"
		     EACH(RESTORE)
		     : [blocks] "+r"(blocks), [count] "+r"(count)
		     : [state] "r"(state), [k] "r"(k), [kept] "r"(kept), [order] "m"(order)
		     : "memory", "cc");
}
/* clang-format on */

host_sha256_fn *host_sha256(void)
{
	struct cpuid_regs basic, leaf1, leaf7 = { 0 };

	cpuid(0, 0, &basic);
	cpuid(1, 0, &leaf1);
	if (basic.eax >= 7)
		cpuid(7, 0, &leaf7);
	/* PSHUFB and PALIGNR are of SSSE3. */
	return leaf7.ebx & BIT(29) && leaf1.ecx & BIT(9) ? by_extensions : NULL;
}
