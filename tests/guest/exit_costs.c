/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: loops=100
 *
 * What makes the hypervisor work, in loops: each does what it should, and says
 * what it took in TSC ticks. tests/bench runs the same guest natively, under
 * Margay and under KVM, where the emulator's ticks are instructions; the
 * markers let it count from outside, too. Each loop begins after `settle` ticks, by
 * when a line has taken what the loops before and the boot have to say.
 */
#include "apic.h"
#include "tiny.h"
#include "tests/bench/marker.h"

#define VECTOR 0x41
#define PORT_UART_LSR 0x3fd
#define PORT_ELCR 0x4d0
#define MSR_TSC_DEADLINE 0x6e0

static unsigned loops;
static u64 settle;
static volatile unsigned interrupts;

static void interrupt(struct trap_frame *f)
{
	(void)f;
	interrupts++;
	wrmsr(0x80b, 0);
}

static void wait_settled(void)
{
	u64 start = rdtsc();

	while (rdtsc() - start < settle)
		;
}

/* One loop over the statement, and its cost on the console. */
#define MEASURE(name, statement) \
	({ \
		u64 start, ticks; \
		wait_settled(); \
		MARKER(1); \
		start = rdtsc(); \
		for (unsigned i = 0; i < loops; i++) { \
			asm volatile("" : : : "memory"); \
			statement; \
		} \
		ticks = rdtsc() - start; \
		MARKER(2); \
		print("exit-cost: %s loops=%u ticks=%lu", name, loops, ticks); \
	})

static void hypercall(bool amd)
{
	u64 rax = ~0ull;

	if (amd)
		asm volatile("vmmcall" : "+a"(rax) : : "memory");
	else
		asm volatile("vmcall" : "+a"(rax) : : "memory");
	check((s64)rax < 0, "an unknown hypercall is refused: %lx", rax);
}

/* Interrupts are on: the handler runs before the next statement, or a little later. */
static void wait_interrupt(unsigned before)
{
	while (interrupts == before)
		;
}

static void self_ipi(void)
{
	unsigned before = interrupts;

	wrmsr(0x83f, VECTOR);
	wait_interrupt(before);
}

static bool deadline;

static void timer(void)
{
	unsigned before = interrupts;

	if (deadline)
		wrmsr(MSR_TSC_DEADLINE, rdtsc());
	else
		wrmsr(0x838, 1);
	wait_interrupt(before);
}

void test_main(void)
{
	struct cpuid r = { 0 };
	/* QEMU's TCG calls itself a hypervisor, too: "TCGT". */
	bool amd = is_amd(),
	     virtual = cpuid(1, 0).ecx & BIT(31) && cpuid(0x40000000, 0).ebx != 0x54474354;

	loops = (unsigned)option_number("loops", 100);
	settle = option_number("settle", 0);
	MEASURE("loop", );
	MEASURE("cpuid", r = cpuid(0, 0));
	check(r.eax != 0, "CPUID leaf 0: %#x", r.eax);
	if (virtual)
		MEASURE("hypercall", hypercall(amd));
	MEASURE("rdmsr", rdmsr(MSR_APIC_BASE));
	MEASURE("port-elcr", inb(PORT_ELCR));
	MEASURE("port-uart", inb(PORT_UART_LSR));
	MEASURE("mmio-lapic", *(volatile u32 *)(LAPIC_BASE + APIC_VERSION));
	trap_handlers[VECTOR] = interrupt;
	/* A BIOS leaves the PIT's interrupt open. */
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
	if (!check(x2apic_enable(), "there is an x2APIC"))
		return;
	apic_enable();
	irq_on();
	MEASURE("self-ipi", self_ipi());
	check(interrupts == loops, "%u of %u IPIs", interrupts, loops);
	deadline = cpuid(1, 0).ecx & BIT(24);
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, VECTOR | (deadline ? 2 << 17 : 0));
	MEASURE(deadline ? "timer-deadline" : "timer-count", timer());
	check(interrupts == 2 * loops, "%u of %u timers", interrupts - loops, loops);
	irq_off();
}
