/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * A program, at CPL 3, on a device's page that its kernel lets it map: XADD, CMPXCHG, CMPXCHG8B and
 * CMPXCHG16B do what they do on RAM; by an instruction that is not emulated, or a jump there, it
 * gets #UD, and its VM lives on.
 */
#include "tiny.h"

#define DEVICE 0xfec00000ull /* the I/O APIC's page */
#define NOBODY 0xfec80000ull /* reads as ones */

/* RDI is an address that is emulated. */
#define REFUSED(text, ...) \
	do { \
		int trap_ = TRY(text, , O("D"(arg)), "rax", ##__VA_ARGS__); \
		check(trap_ == VEC_UD, "%s: vector %d", text, trap_); \
	} while (0)

static void refused(void *arg)
{
	REFUSED("imul (%%rdi), %%eax");
	REFUSED("mull (%%rdi)", "rdx");
	REFUSED("shll $1, (%%rdi)");
	REFUSED("fildl (%%rdi)");
	REFUSED("pushq (%%rdi)");
}

static void moves(void *arg)
{
	check(TRY("mov (%%rdi), %%eax", , O("D"(arg)), "rax") == NO_TRAP, "MOV is emulated");
}

#define MASK 0x10000u /* of a redirection entry: what it holds beside is nobody's matter */

/* The I/O APIC's window is on the masked entry of pin 0, which keeps its vector. */
static void exchanges(void *arg)
{
	volatile u32 *win = (u32 *)((u64)arg + 0x10);
	u32 v = 2, rax;
	bool same;

	*win = MASK | 0x31;
	check(TRY("lock xaddl %0, %1", O("+r"(v), "+m"(*win)), ) == NO_TRAP, "XADD");
	check(v == (MASK | 0x31) && *win == (MASK | 0x33), "XADD: %#x, %#x", v, *win);
	rax = MASK | 0x33;
	check(TRY("lock cmpxchgl %3, %1\n\tsetz %2", O("+a"(rax), "+m"(*win), "=q"(same)),
		  O("r"(MASK | 0x44))) == NO_TRAP,
	      "CMPXCHG");
	check(same && rax == (MASK | 0x33) && *win == (MASK | 0x44), "CMPXCHG, equal: %#x, %#x",
	      rax, *win);
	check(TRY("cmpxchgl %3, %1\n\tsetz %2", O("+a"(rax), "+m"(*win), "=q"(same)),
		  O("r"(MASK | 0x55))) == NO_TRAP,
	      "CMPXCHG");
	check(!same && rax == (MASK | 0x44) && *win == (MASK | 0x44),
	      "CMPXCHG, different: %#x, %#x", rax, *win);
}

/* Equal, and with another upper half. */
#define PAIR(insn, ones) \
	for (unsigned differs = 0; differs < 2; differs++) { \
		u64 rax = (ones), rdx = (ones) - differs; \
		bool same; \
		int trap = TRY(insn " (%3)\n\tsetz %2", O("+a"(rax), "+d"(rdx), "=&q"(same)), \
			       O("D"(arg), "b"(0ull), "c"(0ull))); \
		check(trap == NO_TRAP && same == !differs && rax == (ones) && rdx == (ones), \
		      "%s: %#lx, %#lx, %d", insn, rdx, rax, same); \
	}

/* What nobody has reads as ones. */
static void pairs(void *arg)
{
	PAIR("lock cmpxchg8b", 0xffffffffull)
	PAIR("cmpxchg8b", 0xffffffffull)
	PAIR("lock cmpxchg16b", ~0ull)
	PAIR("cmpxchg16b", ~0ull)
}

static void run(void (*fn)(void *arg), u64 page)
{
	int vector = user_run(fn, (void *)page);

	check(vector == NO_TRAP, "at %#lx: ring 3 ends by vector %d", page, vector);
}

static void jump(u64 to)
{
	int vector = user_run((void (*)(void *))to, NULL);

	check(vector == VEC_UD, "a jump to %#lx ends by vector %d", to, vector);
}

void test_main(void)
{
	static const u64 pages[] = { DEVICE, NOBODY };

	if (!option_number("direct", 0)) {
		*(volatile u32 *)DEVICE = 0x10;
		run(exchanges, DEVICE);
	}
	if (on_margay())
		run(pairs, NOBODY);
	for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
		run(moves, pages[i]);
		if (!on_margay())
			continue;
		run(refused, pages[i]);
		jump(pages[i]);
	}
}
