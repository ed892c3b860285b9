/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Runs on the CPU that leak_a_fill.c has left, finds every register at its
 * power-on value, and gets no interrupt of its timer.
 */
#include "apic.h"
#include "leak.h"
#include "tiny.h"

#define LVT_MASKED 0x10000u

static u8 fx[512] __attribute__((aligned(16)));
static u8 ymm[32] __attribute__((aligned(32)));

static bool zero(const u8 *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static const u64 after_init[] = { [6] = 0xffff0ff0, [7] = 0x400 };

#define CHECK_DR(n) \
	do { \
		u64 dr; \
\
		asm volatile("mov %%dr" #n ", %0" : "=r"(dr)); \
		check(dr == after_init[n], "DR" #n ": %#lx", dr); \
	} while (0)

static void vectors(void)
{
	u64 xcr0;

	write_cr4(read_cr4() | CR4_OSFXSR);
	asm volatile("fxsave %0" : "=m"(fx));
	check(fx[4] == 0, "x87 registers in use: %#x", fx[4]);
	check(*(u16 *)fx == 0x37f || *(u16 *)fx == 0x40, "x87 control word %#x", *(u16 *)fx);
	check(*(u32 *)(fx + 24) == 0x1f80, "MXCSR %#x", *(u32 *)(fx + 24));
	check(zero(fx + 32, 128), "x87 registers");
	check(zero(fx + 160, 256), "XMM registers");
	if (!(cpuid(1, 0).ecx & BIT(26)))
		return;
	write_cr4(read_cr4() | CR4_OSXSAVE);
	asm volatile("xgetbv" : "=a"(xcr0) : "c"(0) : "rdx");
	check((u32)xcr0 == 1, "XCR0 %#lx", xcr0);
	if (cpuid(0xd, 0).eax & 4) {
		asm volatile("xsetbv" : : "c"(0), "a"(7), "d"(0));
#define CHECK_YMM(n) \
	asm volatile("vmovups %%ymm" #n ", %0" : "=m"(ymm)); \
	check(zero(ymm, 32), "YMM" #n)
		CHECK_YMM(0);
		CHECK_YMM(7);
		CHECK_YMM(8);
		CHECK_YMM(15);
	}
}

static void pending(void)
{
	u32 kept = x2apic_on() && on_qemu() ? 1 : 0;

	/*
	 * QEMU accepts vector 0 into the IRR, and as that is its number for none (hw/intc/apic.c)
	 * it never leaves.
	 */
	for (unsigned reg = APIC_ISR; reg < APIC_ESR; reg += 0x10)
		check(!(apic_read(reg) & ~(reg == APIC_IRR ? kept : 0)), "APIC register %#x: %#x",
		      reg, apic_read(reg));
}

/* Waits, with a timer that interrupts nobody, until the one of before would have expired. */
static void timer(void)
{
	check(apic_read(APIC_LVT_TIMER) == LVT_MASKED && apic_read(APIC_TIMER_DIVIDE) == 0 &&
		      apic_read(APIC_TIMER_INIT) == 0,
	      "timer %#x, divider %#x, count %#x", apic_read(APIC_LVT_TIMER),
	      apic_read(APIC_TIMER_DIVIDE), apic_read(APIC_TIMER_INIT));
	apic_enable();
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_TIMER_INIT, LEAK_TIMER);
	while (apic_read(APIC_TIMER_NOW))
		cpu_relax();
	pending();
	apic_write(APIC_SVR, 0xff);
}

void test_main(void)
{
	u64 cr2 = read_cr2(), v;
	u32 pkru = 0;

	check(cr2 == 0, "CR2 %#lx", cr2);
	for (unsigned i = 0; on_margay() && i < ARRAY_SIZE(entry_regs); i++)
		check(entry_regs[i] == 0, "register %u: %#lx", i, entry_regs[i]);
	CHECK_DR(0);
	CHECK_DR(1);
	CHECK_DR(2);
	CHECK_DR(3);
	CHECK_DR(6);
	CHECK_DR(7);
	vectors();
	for (unsigned i = 0; i < ARRAY_SIZE(leak_msrs); i++)
		if (try_rdmsr(leak_msrs[i].msr, &v) == NO_TRAP)
			check(v == leak_msrs[i].reset, "MSR %#x: %#lx, not %#lx", leak_msrs[i].msr,
			      v, leak_msrs[i].reset);
	if (cpuid(7, 0).ecx & BIT(3)) {
		write_cr4(read_cr4() | CR4_PKE);
		asm volatile("rdpkru" : "=a"(pkru) : "c"(0) : "rdx");
		check(pkru == 0, "PKRU %#x", pkru);
	}
	check(apic_read(APIC_TPR) == 0 && apic_read(APIC_SVR) == 0xff, "TPR %#x, SVR %#x",
	      apic_read(APIC_TPR), apic_read(APIC_SVR));
	pending();
	timer();
	check(inb(0x3ff) == 0, "the UART's scratch register: %#x", inb(0x3ff));
}
