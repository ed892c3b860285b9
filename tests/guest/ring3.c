/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Privileged instructions in ring 3: #GP(0) from each, whoever intercepts it.
 */
#include "tiny.h"

#define REFUSED(text, inputs, ...) \
	({ \
		int trap_ = TRY(text, , O(inputs), ##__VA_ARGS__); \
		check(trap_ == VEC_GP && this_cpu()->trap_error == 0, "%s: vector %d", text, \
		      trap_); \
	})

static u64 table[2];

static void ring3(void *arg)
{
	u64 cr0 = (u64)arg;

	REFUSED("hlt", );
	REFUSED("rdmsr", O("c"(0x10)), "rax", "rdx");
	REFUSED("wrmsr", O("c"(0x10), "a"(0), "d"(0)));
	REFUSED("mov %%cr0, %%rax", , "rax");
	REFUSED("mov %%cr2, %%rax", , "rax");
	REFUSED("mov %%cr3, %%rax", , "rax");
	REFUSED("mov %%cr4, %%rax", , "rax");
	REFUSED("mov %%cr8, %%rax", , "rax");
	REFUSED("mov %%rax, %%cr0", O("a"(cr0)));
	REFUSED("mov %%rax, %%cr3", O("a"(0ull)));
	REFUSED("mov %%rax, %%cr4", O("a"(0x20ull)));
	REFUSED("mov %%rax, %%cr8", O("a"(0ull)));
	REFUSED("clts", );
	REFUSED("lmsw %%ax", O("a"((u16)cr0)));
	REFUSED("invd", );
	REFUSED("wbinvd", );
	REFUSED("invlpg (%%rax)", O("a"(table)));
	REFUSED("lgdt (%%rax)", O("a"(table)));
	REFUSED("lidt (%%rax)", O("a"(table)));
	REFUSED("lldt %%ax", O("a"(0)));
	REFUSED("ltr %%ax", O("a"(SEL_TSS)));
	REFUSED("mov %%dr7, %%rax", , "rax");
	REFUSED("mov %%rax, %%dr6", O("a"(0ull)));
	REFUSED("cli", );
	REFUSED("swapgs", );
}

/* With IOPL 0 the I/O map of the TSS counts; it lets all ports through at first. */
static void io(void *want)
{
	check(TRY("out %%al, $0x80", , O("a"(0))) == (int)(s64)want, "OUT to port 0x80");
	check(TRY("in $0x81, %%al", , , "rax") == NO_TRAP, "IN from port 0x81");
	check(TRY("inw $0x7f, %%ax", , , "rax") == (int)(s64)want,
	      "IN of a word that reaches port 0x80");
}

void test_main(void)
{
	check(user_run(ring3, (void *)read_cr0()) == NO_TRAP, "ring 3 came to its end");
	check(user_run(io, (void *)(s64)NO_TRAP) == NO_TRAP, "ring 3 came to its end");
	this_cpu()->tss.io[0x80 / 8] |= 1;
	check(user_run(io, (void *)VEC_GP) == NO_TRAP, "ring 3 came to its end");
}
