/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * A program, at CPL 3, on a device's page that its kernel lets it map: by an instruction that is not emulated, or a jump
 * there, it gets #UD, and its VM lives on. On the bare machine these do what they do.
 */
#include "tiny.h"

#define DEVICE 0xfec00000ull /* the I/O APIC's page */
#define NOBODY 0xfec80000ull /* reads as ones */

/* RDI is an address that is emulated. */
#define REFUSED(text, ...)                                                                  \
	do {                                                                                \
		int trap_ = TRY(text, , O("D"(arg)), "rax", ##__VA_ARGS__);                 \
		check(trap_ == VEC_UD, "%s: vector %d", text, trap_);                       \
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

	for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
		run(moves, pages[i]);
		if (!on_margay())
			continue;
		run(refused, pages[i]);
		jump(pages[i]);
	}
}
