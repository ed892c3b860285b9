/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * NOT ON qemu: test_direct.py starts it, with interrupts = direct
 * NOT ON bochs: the same
 *
 * The local APIC that is the CPU's own (interrupts = direct): at its reset
 * values at the start, whatever another guest has left; vectors of exceptions,
 * pending over exits; timer, priorities, CR8; entries of the LVT and modes of
 * the ICR that could reach the hypervisor or others. It ends with as much
 * pending and in service as it can, which the next one must not find. With
 * again=1 it does no more than the first and the last of that, and resets.
 */
#include "apic.h"
#include "listen.h"

#define X2(reg) (0x800 + (reg) / 16)
#define TIMER 0x71
#define LOW 0x41
#define HIGH 0xa1
#define PATIENCE 100000000
#define TSC_DEADLINE 0x6e0
#define FOREIGN 3 /* an APIC ID that is another VM's */

static volatile u32 came[256];

static void on_any(struct trap_frame *f)
{
	came[f->vector]++;
	wrmsr(X2(APIC_EOI), 0);
}

static void on_nmi(struct trap_frame *f)
{
	came[f->vector]++;
}

static void self(u32 vector)
{
	wrmsr(X2(APIC_SELF_IPI), vector);
}

static bool is_set(unsigned reg, unsigned vector)
{
	return rdmsr(X2(reg) + vector / 32) >> vector % 32 & 1;
}

static bool has_deadline(void)
{
	return cpuid(1, 0).ecx & BIT(24);
}

/* Registers as after a reset (SDM vol. 3, 11.4.7.1), and not more than that. */
static void at_reset(void *)
{
	u64 any = 0;

	check(x2apic_on(), "CPU %u: x2APIC mode is on", this_cpu()->id);
	for (unsigned i = 0; i < 8; i++)
		any |= rdmsr(X2(APIC_IRR) + i) | rdmsr(X2(APIC_ISR) + i);
	check(!any, "CPU %u: nothing pending or in service", this_cpu()->id);
	check(rdmsr(X2(APIC_LVT_TIMER)) == 0x10000 && !rdmsr(X2(APIC_TIMER_INIT)) &&
		      !rdmsr(X2(APIC_TIMER_NOW)) && !rdmsr(X2(APIC_TIMER_DIVIDE)),
	      "CPU %u: the timer is off", this_cpu()->id);
	check(!rdmsr(X2(APIC_TPR)) && !read_cr8(), "CPU %u: TPR", this_cpu()->id);
	/* The others' has been written by the runtime. */
	check(rdmsr(X2(APIC_SVR)) == 0xff || this_cpu()->id, "CPU %u: SVR %#lx", this_cpu()->id,
	      rdmsr(X2(APIC_SVR)));
	check(!has_deadline() || !rdmsr(TSC_DEADLINE), "CPU %u: a TSC deadline", this_cpu()->id);
	check(rdmsr(X2(APIC_ICR)) == 0 || this_cpu()->id == 0, "CPU %u: ICR", this_cpu()->id);
	/* All but the timer's are the monitor's. */
	for (u32 lvt = APIC_LVT_TIMER; lvt <= APIC_LVT_ERROR; lvt += 0x10)
		check(rdmsr(X2(lvt)) == 0x10000, "CPU %u: LVT %#x", this_cpu()->id, lvt);
}

/* The mode stays. */
static void base(void)
{
	u64 value = rdmsr(0x1b);

	check(try_wrmsr(0x1b, value) == NO_TRAP, "APIC_BASE as it is");
	check(try_wrmsr(0x1b, value & ~BIT(10)) == VEC_GP &&
		      try_wrmsr(0x1b, value & ~(BIT(10) | BIT(11))) == VEC_GP &&
		      try_wrmsr(0x1b, value + 0x1000) == VEC_GP && rdmsr(0x1b) == value,
	      "APIC_BASE does not change");
}

static void exits(void)
{
	for (unsigned i = 0; i < 300; i++) {
		cpuid(0, 0);
		outb(0x80, 0);
		rdmsr(0x1b);
	}
}

/*
 * Interrupts with numbers of exceptions wait in the APIC while the hypervisor runs, and are the
 * guest's.
 */
static void exception_vectors(void)
{
	static const u8 vectors[] = { 16, 18, 19, 20, 22, 23, 24, 25, 26, 27, 28, 31 };

	irq_off();
	for (unsigned i = 0; i < ARRAY_SIZE(vectors); i++) {
		trap_handlers[vectors[i]] = on_any;
		self(vectors[i]);
	}
	exits();
	for (unsigned i = 0; i < ARRAY_SIZE(vectors); i++)
		check(is_set(APIC_IRR, vectors[i]) && !came[vectors[i]], "vector %u waits",
		      vectors[i]);
	irq_on();
	for (volatile unsigned i = 0; i < 1000; i++)
		;
	irq_off();
	for (unsigned i = 0; i < ARRAY_SIZE(vectors); i++)
		check(came[vectors[i]] == 1, "vector %u came %u times", vectors[i],
		      came[vectors[i]]);
}

static void priorities(void)
{
	irq_on();
	write_cr8(LOW >> 4);
	check(rdmsr(X2(APIC_TPR)) == LOW / 16 * 16, "CR8 is the TPR");
	self(LOW);
	exits();
	check(is_set(APIC_IRR, LOW) && !came[LOW], "CR8 holds it back");
	self(HIGH);
	for (unsigned i = 0; i < PATIENCE && !came[HIGH]; i++)
		cpu_relax();
	check(came[HIGH] == 1 && !came[LOW], "a higher one comes");
	write_cr8(0);
	for (unsigned i = 0; i < PATIENCE && !came[LOW]; i++)
		cpu_relax();
	check(came[LOW] == 1, "then the lower one");
	irq_off();
}

static void timer(void)
{
	u64 start, count;

	irq_off();
	wrmsr(X2(APIC_TIMER_DIVIDE), 0xb);
	wrmsr(X2(APIC_LVT_TIMER), TIMER);
	wrmsr(X2(APIC_TIMER_INIT), 1000000);
	asm volatile("sti; hlt; cli" : : : "memory");
	check(came[TIMER] == 1 && !rdmsr(X2(APIC_TIMER_NOW)), "the timer ends HLT");
	wrmsr(X2(APIC_LVT_TIMER), 0x20000 | TIMER);
	wrmsr(X2(APIC_TIMER_INIT), 100000);
	while (came[TIMER] < 10)
		asm volatile("sti; hlt; cli" : : : "memory");
	wrmsr(X2(APIC_LVT_TIMER), 0x10000);
	wrmsr(X2(APIC_TIMER_INIT), 0xffffffff);
	start = rdtsc();
	while (rdtsc() - start < 10000000)
		;
	count = 0xffffffff - rdmsr(X2(APIC_TIMER_NOW));
	wrmsr(X2(APIC_TIMER_INIT), 0);
	check(count && rdtsc() - start >= 10000000, "the timer counts");
	check(!has_deadline() || try_wrmsr(TSC_DEADLINE, 0) == NO_TRAP,
	      "a TSC deadline where CPUID shows it");
	check(!cpuid(0x40000010, 0).ebx && !cpuid(0x15, 0).ecx,
	      "no clock is told that is not the timer's");
}

/* Entries that could mask what stops this guest, or send what is not its. */
static void entries(void)
{
	static const u32 lvts[] = { 0x330, 0x340, 0x350, 0x360 };
	u64 value;

	for (unsigned i = 0; i < ARRAY_SIZE(lvts); i++)
		for (u32 mode = 0; mode < 8; mode++) {
			u32 entry = mode << 8 | 0x55;

			wrmsr(X2(lvts[i]), entry);
			check(rdmsr(X2(lvts[i])) == entry, "LVT %#x reads %#lx", lvts[i],
			      rdmsr(X2(lvts[i])));
			wrmsr(X2(lvts[i]), 0x10000);
		}
	/* The timer's is the CPU's, and knows one mode. */
	wrmsr(X2(APIC_LVT_TIMER), 0x30055);
	check(rdmsr(X2(APIC_LVT_TIMER)) == 0x30055, "the timer's LVT reads %#lx",
	      rdmsr(X2(APIC_LVT_TIMER)));
	for (u32 mode = 1; mode < 8; mode++)
		check(try_wrmsr(X2(APIC_LVT_TIMER), 0x10000 | mode << 8 | TIMER) == VEC_GP &&
			      rdmsr(X2(APIC_LVT_TIMER)) == 0x30055,
		      "no timer interrupt of mode %u", mode);
	wrmsr(X2(APIC_LVT_TIMER), 0x10000);
	check(try_wrmsr(X2(APIC_SVR), 0x11ff) == VEC_GP, "no suppression of EOI broadcasts");
	check(try_wrmsr(X2(0x400), 0) == VEC_GP && try_rdmsr(X2(0x400), &value) == VEC_GP,
	      "no extended registers");
	check(try_wrmsr(X2(APIC_ID), 0) == VEC_GP && try_wrmsr(X2(APIC_LDR), 0) == VEC_GP,
	      "the ID is read only");
}

/*
 * Messages to whom this VM does not own; those who get one would say so, and so would the
 * hypervisor.
 */
static void icr(void)
{
	static const u32 modes[] = { ICR_FIXED | HIGH, ICR_FIXED | 18, ICR_LOWEST | HIGH, ICR_SMI,
				     ICR_NMI,          ICR_INIT,       ICR_STARTUP | 0x8 };
	u32 before = came[HIGH];

	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++)
		for (u32 dest = 2; dest < 300; dest += dest == FOREIGN ? 250 : 1) {
			apic_ipi(dest, modes[i] | ICR_ASSERT);
			apic_ipi(1u << 16 | dest, modes[i] | ICR_ASSERT | ICR_LOGICAL);
			apic_ipi(1u << FOREIGN | 1u << 2, modes[i] | ICR_ASSERT | ICR_LOGICAL);
		}
	exits();
	check(!is_set(APIC_IRR, HIGH) && came[HIGH] == before, "none of them comes back");
	irq_on();
	/* All: this one and CPU 1, which has its own count of nothing. */
	apic_ipi(0, ICR_ALL | ICR_ASSERT | HIGH);
	for (unsigned i = 0; i < PATIENCE && came[HIGH] < before + 2; i++)
		cpu_relax();
	apic_ipi(~0u, ICR_ASSERT | HIGH);
	for (unsigned i = 0; i < PATIENCE && came[HIGH] < before + 4; i++)
		cpu_relax();
	irq_off();
	check(came[HIGH] == before + 4, "a broadcast is for both: %u", came[HIGH] - before);
}

/*
 * All vectors pending that can be; one in service, and no EOI for it; the timer runs; SVR is off.
 */
static void leave(void *)
{
	u32 last = on_bochs() ? 254 : 255;

	irq_off();
	wrmsr(X2(APIC_LVT_TIMER), 0x20000 | 18);
	wrmsr(X2(APIC_TIMER_DIVIDE), 0xb);
	wrmsr(X2(APIC_TIMER_INIT), 50000);
	/*
	 * A CPU refuses those below 16, TCG takes them. On Bochs the spurious vector, 255, never
	 * goes out of service again.
	 */
	for (u32 v = 1; v <= last; v++)
		self(v);
	wrmsr(X2(APIC_TPR), 0xff);
	if (this_cpu()->id)
		wrmsr(X2(APIC_SVR), 0xff);
}

/* What leave() has left is gone with an INIT. */
static void after_init(void *)
{
	u64 any = 0;

	for (unsigned i = 0; i < 8; i++)
		any |= rdmsr(X2(APIC_IRR) + i) | rdmsr(X2(APIC_ISR) + i);
	check(!any && rdmsr(X2(APIC_LVT_TIMER)) == 0x10000 && !rdmsr(X2(APIC_TPR)),
	      "INIT leaves nothing");
}

static void in_service(struct trap_frame *) { }

/*
 * The timer by its other mode, or within the time that the end takes; the monitor's entries open;
 * and one under way to each CPU.
 */
static void leave_more(void)
{
	u32 soon = (u32)rdtsc() % 50000 + 1000;

	if (has_deadline() && soon & 1) {
		wrmsr(X2(APIC_LVT_TIMER), 0x40000 | TIMER);
		wrmsr(TSC_DEADLINE, rdtsc() + soon);
	} else {
		wrmsr(X2(APIC_TIMER_INIT), soon);
	}
	for (u32 lvt = APIC_LVT_TIMER + 0x10; lvt <= APIC_LVT_ERROR; lvt += 0x10)
		wrmsr(X2(lvt), LOW);
	apic_ipi(1, ICR_NMI | ICR_ASSERT);
	apic_ipi(1, HIGH | ICR_ASSERT);
	self(HIGH);
}

static void serve_and_leave(void)
{
	trap_handlers[HIGH] = in_service;
	self(HIGH);
	irq_on();
	for (unsigned i = 0; i < PATIENCE && !is_set(APIC_ISR, HIGH); i++)
		cpu_relax();
	check(is_set(APIC_ISR, HIGH), "one is in service");
	leave(NULL);
}

static void again(void)
{
	smp_start();
	smp_run(1, at_reset, NULL);
	smp_wait(1);
	smp_run(1, leave, NULL);
	smp_wait(1);
	serve_and_leave();
	result();
	leave_more();
	outb(0x64, 0xfe);
}

void test_main(void)
{
	at_reset(NULL);
	trap_handlers[VEC_NMI] = on_nmi;
	if (option_number("again", 0))
		again();
	trap_handlers[TIMER] = trap_handlers[LOW] = trap_handlers[HIGH] = on_any;
	smp_start();
	start_listening();
	base();
	exception_vectors();
	priorities();
	timer();
	entries();
	icr();
	for (unsigned i = 0; i < PATIENCE && came[VEC_NMI] < 1; i++)
		apic_ipi(1, ICR_NMI | ICR_ASSERT);
	check(came[VEC_NMI], "an NMI to the other CPU");
	stop_listening();
	/* INIT leaves nothing either. */
	smp_run(1, leave, NULL);
	smp_wait(1);
	smp_restart(1);
	smp_run(1, after_init, NULL);
	smp_wait(1);
	smp_run(1, leave, NULL);
	smp_wait(1);
	serve_and_leave();
}
