/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Exceptions in the delivery of exceptions: gates that are not present, beyond
 * the limit, of a bad selector, on a page that is not mapped; stacks that are
 * not canonical; and what of it makes a double fault (SDM vol. 3, 6.15). Those
 * that the hypervisor intercepts and delivers itself (#DB, #AC) as the others.
 */
#include "tiny.h"

static u64 code_error(u8 vector)
{
	return (u64)vector << 3 | 2 | 1; /* IDT, external event */
}

/* TCG never sets EXT, natively too. */
static bool error_is(u64 want)
{
	return this_cpu()->trap_error == (on_qemu() ? want & ~1ull : want);
}

/* #UD with the gate as `change` leaves it. */
static void ud(const char *name, int want, u64 error)
{
	int trap = TRY("ud2", , );

	check(trap == want && (want == VEC_UD || error_is(error)), "%s: vector %d, error %#lx",
	      name, trap, (u64)this_cpu()->trap_error);
}

static void gates(void)
{
	struct gate good = idt[VEC_UD];

	ud("a good gate", VEC_UD, 0);
	idt[VEC_UD].attr &= 0x7f;
	ud("gate not present", VEC_NP, code_error(VEC_UD));
	idt[VEC_UD] = good;
	idt[VEC_UD].attr = 0x85; /* a task gate */
	ud("task gate", VEC_GP, code_error(VEC_UD));
	idt[VEC_UD] = good;
	idt[VEC_UD].selector = 0;
	ud("null selector", VEC_GP, 1);
	idt[VEC_UD].selector = SEL_DATA;
	ud("data selector", VEC_GP, SEL_DATA | 1);
	idt[VEC_UD].selector = SEL_CODE32;
	ud("32-bit code selector", VEC_GP, SEL_CODE32 | 1);
	idt[VEC_UD].selector = 0x7000;
	ud("selector beyond the GDT", VEC_GP, 0x7000 | 1);
	idt[VEC_UD] = good;
	idt_load(idt, VEC_UD * 16 + 14);
	idt_load(idt, sizeof(idt) - 1);
	ud("a good gate again", VEC_UD, 0);
}

/* A contributory exception in the delivery of one. */
static void doubles(void)
{
	struct gate gp = idt[VEC_GP], ss = idt[VEC_SS];
	u64 page = (u64)page_alloc();

	idt_set(VEC_DF, 0, 1);
	idt[VEC_GP].attr &= 0x7f;
	/* TCG forgets which exception VMRUN injected when its delivery faults. */
	check(try_wrmsr(0x7fffffff, 0) == (on_qemu() ? VEC_NP : VEC_DF),
	      "#GP of the hypervisor, its gate not present: #DF");
	check(TRY("mov %w0, %%ds", , O("r"(0x7000))) == VEC_DF && this_cpu()->trap_error == 0,
	      "#GP, its gate not present: #DF");
	idt[VEC_GP] = gp;
	/* #GP of the CPU itself. */
	idt[VEC_GP].selector = 0x7000;
	check(TRY("mov %w0, %%ds", , O("r"(0x7000))) == VEC_DF,
	      "#GP, its selector beyond the GDT: #DF");
	idt[VEC_GP] = gp;
	/* #PF with a bad gate: contributory after a page fault. */
	map_page(page, 0, 0);
	idt[VEC_PF].attr &= 0x7f;
	check(TRY("mov (%0), %%al", , O("r"(page)), "rax") == VEC_DF,
	      "#PF, its gate not present: #DF");
	idt[VEC_PF].attr |= 0x80;
	check(TRY("mov (%0), %%al", , O("r"(page)), "rax") == VEC_PF &&
		      this_cpu()->trap_cr2 == page,
	      "#PF again");
	/* #SS for a stack that is not canonical, itself on IST 1. */
	idt_set(VEC_SS, 0, 1);
	idt_set(VEC_GP, 0, 1);
	asm volatile("mov %%rsp, %%r13" : : : "r13");
	check(TRY("mov (%0), %%al", , O("r"(0x8000000000000000)), "rax") == VEC_GP,
	      "a non-canonical operand: #GP");
	idt[VEC_GP] = gp;
	idt[VEC_SS] = ss;
}

/* The IDT over two pages: vectors to 6 on one that is not there, #DF and #PF on one that is. */
static void idt_page(void)
{
	u64 pages = (u64)page_alloc(), second = (u64)page_alloc(), base = second - 7 * 16;

	check(second == pages + PAGE_SIZE, "two pages in a row");
	for (unsigned i = 0; i < 32; i++)
		((struct gate *)base)[i] = idt[i];
	idt_load((void *)base, 32 * 16 - 1);
	check(TRY("ud2", , ) == VEC_UD, "an IDT over two pages");
	map_page(pages, 0, 0);
	check(TRY("ud2", , ) == VEC_PF && this_cpu()->trap_cr2 == base + 6 * 16 &&
		      !(this_cpu()->trap_error & 1),
	      "the IDT's page not present: #PF at %#lx, error %#lx", (u64)this_cpu()->trap_cr2,
	      (u64)this_cpu()->trap_error);
	idt_load(idt, sizeof(idt) - 1);
}

/* ---- those that the hypervisor intercepts ---- */

static u8 unaligned[16] __attribute__((aligned(16)));

static void misaligned(void *want)
{
	int trap;

	asm volatile("pushfq; orl $0x40000, (%%rsp); popfq" : : : "memory", "cc");
	trap = TRY("mov (%0), %%eax", , O("r"(unaligned + 1)), "rax");
	asm volatile("pushfq; andl $~0x40000, (%%rsp); popfq" : : : "memory", "cc");
	check(trap == (int)(u64)want, "misaligned in ring 3: vector %d, error %#lx", trap,
	      (u64)this_cpu()->trap_error);
}

static void alignment(void)
{
	struct gate ac = idt[VEC_AC];

	/* TCG has no #AC, natively neither. */
	if (on_qemu())
		return;
	write_cr0(read_cr0() | BIT(18));
	check(user_run(misaligned, (void *)VEC_AC) == NO_TRAP, "#AC came to its end");
	check(this_cpu()->trap_error == 0, "#AC's error code");
	idt[VEC_AC].attr &= 0x7f;
	check(user_run(misaligned, (void *)VEC_NP) == NO_TRAP, "#AC, its gate not present");
	check(error_is(code_error(VEC_AC)), "#NP's error code %#lx", (u64)this_cpu()->trap_error);
	idt[VEC_AC] = ac;
	write_cr0(read_cr0() & ~BIT(18));
}

static void debug(void)
{
	struct gate db = idt[VEC_DB];
	u64 where = (u64)unaligned, dr7 = 0x400 | 1 | 1 << 16, dr6; /* writes of a byte */

	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : : "r"(where), "r"(dr7));
	check(catch_trap((void (*)(void *))(u64)0, NULL) != NO_TRAP, "a call of nothing is caught");
	idt[VEC_DB].attr &= 0x7f;
	/* The trap comes behind the store. */
	check(TRY("movb $0, (%0); nop", , O("r"(unaligned + 8))) == NO_TRAP, "another byte");
	idt[VEC_DB] = db;
	asm volatile("mov %%dr6, %0" : "=r"(dr6));
	check(!(dr6 & 0xf), "DR6 %#lx", dr6);
	dr7 = 0x400;
	asm volatile("mov %0, %%dr7" : : "r"(dr7));
}

void test_main(void)
{
	gates();
	doubles();
	idt_page();
	alignment();
	debug();
}
