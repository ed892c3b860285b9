/* SPDX-License-Identifier: GPL-2.0-only */
/* Exceptions and interrupts: descriptor tables, the default handling, ring 3. */
#include "runtime.h"

struct cpu cpus[MAX_CPUS];
trap_handler trap_handlers[256];
struct gate idt[256] __attribute__((aligned(16)));

extern const u64 extable_start[][2], extable_end[][2];
extern u8 gdt_pointer[];
void user_enter(void (*fn)(void *), void *arg, u64 stack);
void trap_common(struct trap_frame *f);

#define USER_LEAVE 0x20

/*
 * RFLAGS.RF as pushed: set by faults, by traps as it was, which is clear (SDM vol. 3, 18.3.1.1).
 * #DF and #MC are neither.
 */
static void check_resume_flag(const struct trap_frame *f)
{
	bool trap = f->vector == VEC_DB || f->vector == VEC_NMI || f->vector == VEC_BP ||
		    f->vector == VEC_OF;

	if (f->vector != VEC_DF && f->vector != VEC_MC && !(f->rflags & RFLAGS_RF) != trap)
		check(false, "vector %lu at RIP %#lx pushes RFLAGS %#lx", f->vector, f->rip,
		      f->rflags);
}

void trap_common(struct trap_frame *f)
{
	struct cpu *c = this_cpu();

	if (trap_handlers[f->vector]) {
		trap_handlers[f->vector](f);
		return;
	}
	if (f->vector == USER_LEAVE && c->user)
		context_restore(c->user);
	asm volatile("mov %%cr2, %0" : "=r"(c->trap_cr2));
	c->trap_error = f->error;
	c->trap_rip = f->rip;
	c->trap = (int)f->vector;
	for (const u64(*e)[2] = extable_start; e < extable_end; e++) {
		if ((*e)[0] == f->rip) {
			check_resume_flag(f);
			f->rip = (*e)[1];
			f->rflags &= ~RFLAGS_TF;
			return;
		}
	}
	c->ended_by = (int)f->vector;
	if ((f->cs & 3) == 3 && c->user)
		context_restore(c->user);
	if (c->catching)
		context_restore(c->catching);
	check(false, "cpu %u: unexpected vector %lu, error %#lx, RIP %#lx, CS %#lx, CR2 %#lx",
	      c->id, f->vector, f->error, f->rip, f->cs, (u64)c->trap_cr2);
	exit_test();
}

int catch_trap(void (*fn)(void *arg), void *arg)
{
	struct cpu *c = this_cpu();
	struct context here;

	c->ended_by = NO_TRAP;
	c->catching = &here;
	if (!context_save(&here))
		fn(arg);
	c->catching = NULL;
	return c->ended_by;
}

int user_run(void (*fn)(void *arg), void *arg)
{
	struct cpu *c = this_cpu();
	struct context here;

	c->ended_by = NO_TRAP;
	c->user = &here;
	if (!context_save(&here))
		user_enter(fn, arg, (u64)(c->user_stack + sizeof(c->user_stack)));
	asm volatile("mov %0, %%ds; mov %0, %%es" : : "r"(SEL_DATA));
	c->user = NULL;
	return c->ended_by;
}

void idt_set(u8 vector, u8 dpl, u8 ist)
{
	u64 to = (u64)(trap_stubs + vector * 16);

	idt[vector] = (struct gate){ .offset0 = (u16)to,
				     .selector = SEL_CODE64,
				     .ist = ist,
				     .attr = (u8)(0x8e | dpl << 5),
				     .offset1 = (u16)(to >> 16),
				     .offset2 = (u32)(to >> 32) };
}

void idt_load(const void *base, u16 limit)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) p = { limit, (u64)base };

	asm volatile("lidt %0" : : "m"(p));
}

void cpu_init(struct cpu *c)
{
	u64 base = (u64)&c->tss, *d = gdt + (SEL_TSS + 16 * c->id) / 8;

	c->self = c;
	c->trap = NO_TRAP;
	c->tss.rsp[0] = (u64)(c->trap_stack + sizeof(c->trap_stack));
	c->tss.ist[0] = (u64)(c->ist_stack + sizeof(c->ist_stack));
	c->tss.iomap = offsetof(struct tss, io);
	c->tss.io[sizeof(c->tss.io) - 1] = 0xff;
	d[0] = (sizeof(c->tss) - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 |
	       (base >> 24 & 0xff) << 56;
	d[1] = base >> 32;
	asm volatile("lgdt %0" : : "m"(*gdt_pointer));
	asm volatile("ltr %w0" : : "r"(SEL_TSS + 16 * c->id));
	wrmsr(0xc0000101, (u64)c); /* GS.base */
	idt_load(idt, sizeof(idt) - 1);
}

void trap_init(void)
{
	for (unsigned v = 0; v < 256; v++)
		idt_set((u8)v, v == VEC_BP || v == VEC_OF || v == USER_LEAVE ? 3 : 0, 0);
}
