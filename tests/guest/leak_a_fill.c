/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Fills every register that a guest can reach with a value of its own, and
 * ends. leak_b_read.c, the next VM on the same CPU, must find none of it.
 */
#include "apic.h"
#include "leak.h"
#include "tiny.h"

void test_main(void)
{
	static u8 area[64] __attribute__((aligned(64)));
	u64 v = LEAK_VALUE;

	for (unsigned i = 0; i < sizeof(area); i++)
		area[i] = 0xa5;
	write_cr4(read_cr4() | CR4_OSFXSR);
	if (cpuid(1, 0).ecx & BIT(26)) {
		write_cr4(read_cr4() | CR4_OSXSAVE);
		check(TRY("xsetbv", , O("c"(0), "a"(cpuid(0xd, 0).eax & 7), "d"(0))) == NO_TRAP,
		      "XCR0");
		if (cpuid(0xd, 0).eax & 4) {
			asm volatile(
				"vmovups (%0), %%ymm0; vmovups (%0), %%ymm7; vmovups (%0), %%ymm8; vmovups (%0), %%ymm15"
				: : "r"(area) : "memory");
		}
	}
	asm volatile("movups (%0), %%xmm0; movups (%0), %%xmm7" : : "r"(area) : "memory");
	asm volatile("fninit; fldpi; fldpi; fldpi" : : : "memory");
	asm volatile("ldmxcsr %0" : : "m"((u32){ 0x1fbf }));
	asm volatile("mov %0, %%dr0; mov %0, %%dr1; mov %0, %%dr2; mov %0, %%dr3" : : "r"(v));
	write_cr2(v);
	for (unsigned i = 0; i < ARRAY_SIZE(leak_msrs); i++) {
		u64 old;

		if (try_rdmsr(leak_msrs[i].msr, &old) != NO_TRAP)
			continue;
		check(try_wrmsr(leak_msrs[i].msr, leak_msrs[i].value) == NO_TRAP, "WRMSR %#x",
		      leak_msrs[i].msr);
		check(try_rdmsr(leak_msrs[i].msr, &old) == NO_TRAP && old == leak_msrs[i].value,
		      "MSR %#x: %#lx", leak_msrs[i].msr, old);
	}
	if (cpuid(7, 0).ecx & BIT(3)) {
		write_cr4(read_cr4() | CR4_PKE);
		asm volatile("wrpkru" : : "a"(0xa5a5a5a4), "c"(0), "d"(0));
	}
	/* Pending and masked for the next one to find, if anything stayed. */
	apic_enable();
	apic_write(APIC_TPR, 0xf0);
	apic_ipi(0, ICR_SELF | ICR_ASSERT | 0x71);
	check(apic_read(APIC_IRR + 0x30) & BIT(0x11), "an interrupt waits");
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, 0x72);
	apic_write(APIC_TIMER_INIT, LEAK_TIMER);
	outb(0x3ff, 0xa5);
}
