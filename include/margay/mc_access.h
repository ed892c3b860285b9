/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses to memory that the machine may have lost, as a guest's: a machine check in one of these
 * is its failure, and not the node's end. Their instructions are regions of the section mc_table,
 * by which trap_dispatch() finds where to go on. That does not take up the access again, so the
 * saved RIP must be its own (EIPV; SDM vol. 3, 16.3.1.2), but need not be one to restart at. In
 * images without MACHINE_CHECKS none of them ever fails.
 */
#ifndef MARGAY_MC_ACCESS_H
#define MARGAY_MC_ACCESS_H

#include <margay/types.h>

/* Each word is a distance from itself. */
struct mc_region {
	/* end exclusive */
	s32 begin;
	s32 end;
	s32 resume;     /* where to go on, with the registers as they were */
};

/* In an asm statement: what stands between its labels 1 and 2. */
#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
#define MC_TABLE(resume) \
	".pushsection mc_table, \"a\"\n\t" \
	".balign 4\n\t" \
	".long 1b - ., 2b - ., " resume " - .\n\t" \
	".popsection\n\t"
#else
#define MC_TABLE(resume)
#endif

/* What is accessed need not be aligned, and may be of any type. */
typedef u16 mc_u16 __attribute__((aligned(1), may_alias));
typedef u32 mc_u32 __attribute__((aligned(1), may_alias));
typedef u64 mc_u64 __attribute__((aligned(1), may_alias));

/*
 * One load or store each, in program order. False: the memory is lost. The empty asm: some
 * compilers lose the value without.
 */
#define MC_ACCESS(bits, load, store) \
	static inline bool mc_load##bits(const void *from, u##bits *value) \
	{ \
		u##bits v; \
\
		asm goto volatile("1:\t" load "\n2:\n\t" MC_TABLE("%l[lost]") : "=r"(v) \
				  : "m"(*(const mc_u##bits *)from) : "memory" : lost); \
		asm volatile(""); \
		*value = v; \
		return true; \
lost: \
		return false; \
	} \
	static inline bool mc_store##bits(void *to, u##bits value) \
	{ \
		asm goto volatile("1:\t" store "\n2:\n\t" MC_TABLE("%l[lost]") : \
				  : "r"(value), "m"(*(mc_u##bits *)to) : "memory" : lost); \
		return true; \
lost: \
		return false; \
	}

MC_ACCESS(16, "movw %1, %0", "movw %0, %1")
MC_ACCESS(32, "movl %1, %0", "movl %0, %1")
MC_ACCESS(64, "movq %1, %0", "movq %0, %1")

enum mc_exchange { MC_OTHER, MC_EXCHANGED, MC_LOST };

/* Atomically, if it is `old`. MC_OTHER: it is another one. */
#define MC_EXCHANGE(bits, cmpxchg) \
	static inline enum mc_exchange mc_exchange##bits(void *at, u##bits old, u##bits value) \
	{ \
		u8 result = MC_LOST; \
\
		asm volatile("1:\tlock " cmpxchg " %3, %2\n\tsete %0\n2:\n\t" MC_TABLE("2b") \
			     : "+q"(result), "+a"(old) : "m"(*(mc_u##bits *)at), "r"(value) \
			     : "memory", "cc"); \
		return result; \
	}

MC_EXCHANGE(32, "cmpxchgl")
MC_EXCHANGE(64, "cmpxchgq")

/*
 * False: some of it may be copied. The instruction behind REP MOVS belongs to the region: some CPUs
 * say that one, where they have read a line too far (Intel, Skylake's and Cascade Lake's errata on
 * fast string operations).
 */
static inline bool mc_copy(void *to, const void *from, u64 size)
{
	u64 count = size / 8, rest = size % 8;
	u32 lost = 1;

	asm volatile(
		"1:\trep movsq\n\tmovq %4, %2\n\trep movsb\n\txorl %3, %3\n2:\n\t" MC_TABLE("2b")
		: "+&D"(to), "+&S"(from), "+&c"(count), "+&r"(lost) : "r"(rest) : "memory", "cc");
	return !lost;
}

static inline bool mc_zero(void *to, u64 size)
{
	u64 count = size / 8, rest = size % 8;
	u32 lost = 1;

	asm volatile(
		"1:\trep stosq\n\tmovq %3, %1\n\trep stosb\n\txorl %2, %2\n2:\n\t" MC_TABLE("2b")
		: "+&D"(to), "+&c"(count), "+&r"(lost) : "r"(rest), "a"(0ull) : "memory", "cc");
	return !lost;
}

#endif
