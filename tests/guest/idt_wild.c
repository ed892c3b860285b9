/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Addresses that are not canonical where an exception is delivered: the
 * handler, the stack of the IST and of the TSS, the gate itself; for exceptions
 * of the CPU and for those that the hypervisor injects.
 */
#include "tiny.h"

#define WILD BIT(63)
#define TOP 0x7ffffffff000ull /* the last page below the hole */
#define FIRST_WILD 32         /* the first vector whose gate lies in the hole */

extern u64 pml4[];

/* EXT as the CPU sets it; TCG never does, natively neither. */
static bool error_is(u64 want)
{
	return this_cpu()->trap_error == (on_qemu() ? want & ~1ull : want);
}

static void ud(void *arg)
{
	(void)arg;
	asm volatile("ud2");
}

static void handler(void)
{
	struct gate ud_gate = idt[VEC_UD], gp_gate = idt[VEC_GP];

	/*
	 * TCG goes to the handler and raises #GP there, natively too: by catch_trap(), since RIP is
	 * not UD2's.
	 */
	idt[VEC_UD].offset2 = WILD >> 32;
	check(catch_trap(ud, NULL) == VEC_GP && error_is(1),
	      "handler not canonical: vector %d, error %#lx", this_cpu()->ended_by,
	      (u64)this_cpu()->trap_error);
	idt[VEC_UD] = ud_gate;
	check(TRY("ud2", , ) == VEC_UD, "a good gate again");
	if (on_qemu())
		return;
	idt[VEC_GP].offset2 = WILD >> 32;
	check(try_wrmsr(0x7fffffff, 0) == VEC_DF,
	      "#GP of the hypervisor, handler not canonical: %d", this_cpu()->trap);
	check(TRY("mov %w0, %%ds", , O("r"(0x7000))) == VEC_DF,
	      "#GP of the CPU, handler not canonical: %d", this_cpu()->trap);
	idt[VEC_GP] = gp_gate;
}

static void stacks(void)
{
	struct cpu *c = this_cpu();
	u64 rsp0 = c->tss.rsp[0], ist2 = c->tss.ist[1];
	int trap, on_tcg;

	idt_set(VEC_SS, 0, 1);
	c->tss.ist[1] = WILD;
	idt_set(VEC_UD, 0, 2);
	check(TRY("ud2", , ) == VEC_SS, "the IST's stack not canonical: vector %d", c->trap);
	idt_set(VEC_UD, 0, 0);
	idt_set(VEC_GP, 0, 2);
	trap = try_wrmsr(0x7fffffff, 0);
	/* TCG knows any MSR natively, and forgets which exception VMRUN injected. */
	on_tcg = on_margay() ? VEC_SS : NO_TRAP;
	check(trap == (on_qemu() ? on_tcg : VEC_DF),
	      "#GP of the hypervisor, its stack not canonical: %d", trap);
	idt_set(VEC_GP, 0, 0);
	c->tss.ist[1] = ist2;
	c->tss.rsp[0] = WILD;
	check(user_run(ud, NULL) == VEC_SS, "the stack of ring 0 not canonical: %d", c->ended_by);
	c->tss.rsp[0] = rsp0;
	idt_set(VEC_SS, 0, 0);
}

static void table(void)
{
	u64 *pdpt = page_alloc(), *pd = page_alloc(), *pt = page_alloc(), page = (u64)page_alloc();
	u64 base = TOP + PAGE_SIZE - FIRST_WILD * sizeof(struct gate);

	pml4[255] = (u64)pdpt | PTE_P | PTE_W;
	pdpt[511] = (u64)pd | PTE_P | PTE_W;
	pd[511] = (u64)pt | PTE_P | PTE_W;
	pt[511] = page | PTE_P | PTE_W;
	for (unsigned i = 0; i < FIRST_WILD; i++)
		((struct gate *)base)[i] = idt[i];
	idt_load((void *)base, 256 * sizeof(struct gate) - 1);
	check(TRY("ud2", , ) == VEC_UD, "a gate in the last page");
	check(TRY("int $0x20", , ) == VEC_GP, "a gate in the hole: vector %d, error %#lx",
	      this_cpu()->trap, (u64)this_cpu()->trap_error);
	idt_load(idt, sizeof(idt) - 1);
	/* TCG takes any base, natively too. */
	if (!on_qemu()) {
		struct {
			u16 limit;
			u64 base;
		} __attribute__((packed)) p = { 0xfff, WILD };

		check(TRY("lidt %0", , O("m"(p))) == VEC_GP,
		      "LIDT of a base that is not canonical: %d", this_cpu()->trap);
	}
}

void test_main(void)
{
	idt_set(VEC_DF, 0, 1);
	handler();
	stacks();
	table();
}
