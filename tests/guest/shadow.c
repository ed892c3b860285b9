/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * STI and MOV SS hold interrupts back for one instruction, also when the
 * hypervisor carries that one out; POPF and a second STI hold nothing back.
 * Events that are pending meanwhile are taken once each.
 */
#include "apic.h"
#include "tiny.h"

#define VECTOR 0x50

u64 at[3];
static u64 where;
static unsigned taken, nmis;

static void on_interrupt(struct trap_frame *f)
{
	where = f->rip;
	taken++;
	f->rflags &= ~RFLAGS_IF;
	apic_write(APIC_EOI, 0);
}

static void on_nmi(struct trap_frame *f)
{
	where = f->rip;
	nmis++;
}

#define X2APIC_ICR 0x830

/*
 * Its own interrupt pending, IF = 0: then `text`, whose instruction that may still run stands
 * between 1: and 2:.
 */
#define PENDING(text, inputs, ...) \
	({ \
		taken = 0; \
		where = 0; \
		apic_ipi(0, ICR_SELF | VECTOR); \
		asm volatile( \
			"lea 1f(%%rip), %%r12; mov %%r12, at; lea 2f(%%rip), %%r12; mov %%r12, at + 8\n\t" text \
			"\n\tcli" : : inputs : "memory", "cc", "r12", ##__VA_ARGS__); \
	})

static void at_label(const char *name, u64 want)
{
	check(taken == 1 && where == want, "%s: %u taken, at +%ld, not +%ld", name, taken,
	      where - at[0], want - at[0]);
}

void test_main(void)
{
	bool x2apic = x2apic_on();

	trap_handlers[VECTOR] = on_interrupt;
	trap_handlers[VEC_NMI] = on_nmi;
	apic_enable();
	PENDING("sti\n1:\tnop\n2:\tnop", );
	at_label("STI; NOP", at[1]);
	PENDING("sti\n1:\tcpuid\n2:\tnop", O("a"(0), "c"(0)), "rbx", "rdx");
	at_label("STI; CPUID", at[1]);
	PENDING("sti\n1:\tmov (%%rsi), %%eax\n2:\tnop", O("S"(LAPIC_BASE + APIC_ID)), "rax");
	at_label("STI; MMIO load", at[1]);
	PENDING("sti\n1:\thlt\n2:\tnop", );
	at_label("STI; HLT", at[1]);
	PENDING("sti\n1:\tout %%al, $0x80\n2:\tnop", O("a"(0)));
	at_label("STI; OUT", at[1]);
	/*
	 * A CR8 write of its own, while KVM waits for its interrupt window by a virtual interrupt,
	 * ends QEMU by an assertion.
	 */
	if (!(option_number("direct", 0) && on_kvm() && on_qemu())) {
		PENDING("sti\n1:\tmov %%rax, %%cr8\n2:\tnop", O("a"(0ull)));
		at_label("STI; MOV to CR8", at[1]);
	}
	PENDING("sti\n1:\tcli\n2:\tnop", );
	check(taken == 0, "STI; CLI lets none through: %u", taken);
	PENDING("1:\tpushfq; orl $0x200, (%%rsp); popfq\n2:\tnop", );
	at_label("POPF", at[1]);
	PENDING("sti\n1:\tmov %%ss, %%eax; mov %%eax, %%ss\n2:\tnop", , "rax");
	check(taken == 1, "STI; MOV SS: %u", taken);
	/* An NMI to itself in the shadow of MOV SS. */
	nmis = 0;
	if (x2apic)
		asm volatile("mov %%ss, %%ebx; mov %%ebx, %%ss\n\twrmsr\n\tnop; nop" :
			     : "a"(ICR_NMI | ICR_ASSERT), "d"(0), "c"(X2APIC_ICR)
			     : "rbx", "memory");
	else
		asm volatile("mov %%ss, %%eax; mov %%eax, %%ss\n\tmov %0, (%1)\n\tnop; nop" :
			     : "r"(ICR_NMI | ICR_ASSERT), "r"(LAPIC_BASE + APIC_ICR)
			     : "rax", "memory");
	check(nmis == 1, "%u NMIs", nmis);
	/* An NMI and an interrupt at once. */
	nmis = 0;
	if (x2apic)
		PENDING("sti\n1:\twrmsr\n2:\tnop; nop; nop",
			O("a"(ICR_NMI | ICR_ASSERT), "c"(X2APIC_ICR), "d"(0)));
	else
		PENDING("sti\n1:\tmovl $0x4400, (%%rdi)\n2:\tnop; nop; nop",
			O("D"(LAPIC_BASE + APIC_ICR)));
	check(nmis == 1 && taken == 1, "%u NMIs, %u interrupts", nmis, taken);
}
