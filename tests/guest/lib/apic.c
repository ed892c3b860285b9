/* SPDX-License-Identifier: GPL-2.0-only */
/* The local APIC; see apic.h. */
#include "apic.h"

#define APIC_BASE_EXTD BIT(10)

bool x2apic_on(void)
{
	return rdmsr(MSR_APIC_BASE) & APIC_BASE_EXTD;
}

u32 apic_read(unsigned reg)
{
	if (x2apic_on())
		return (u32)rdmsr(0x800 + reg / 16);
	return *(volatile u32 *)(LAPIC_BASE + reg);
}

void apic_write(unsigned reg, u32 v)
{
	if (x2apic_on())
		wrmsr(0x800 + reg / 16, v);
	else
		*(volatile u32 *)(LAPIC_BASE + reg) = v;
}

void apic_ipi(u32 dest, u32 icr)
{
	if (x2apic_on()) {
		wrmsr(0x830, (u64)dest << 32 | icr);
		return;
	}
	apic_write(APIC_ICR2, dest << 24);
	apic_write(APIC_ICR, icr);
	while (apic_read(APIC_ICR) & ICR_BUSY)
		cpu_relax();
}

void apic_enable(void)
{
	apic_write(APIC_SVR, 0x1ff);
}

bool x2apic_enable(void)
{
	if (!(cpuid(1, 0).ecx & BIT(21)))
		return false;
	wrmsr(MSR_APIC_BASE, rdmsr(MSR_APIC_BASE) | APIC_BASE_EXTD);
	return true;
}
