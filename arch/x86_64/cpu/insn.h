/* SPDX-License-Identifier: GPL-2.0-only */
/* Single privileged instructions as inline functions, and nothing more. */
#ifndef ARCH_CPU_INSN_H
#define ARCH_CPU_INSN_H

#include <margay/x86.h>

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;
	asm volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (u64)hi << 32 | lo;
}

static inline void wrmsr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

static inline void cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *r)
{
	asm volatile("cpuid" : "=a"(r->eax), "=b"(r->ebx), "=c"(r->ecx),
			       "=d"(r->edx) : "0"(leaf), "2"(subleaf));
}

static inline u64 rdtsc(void)
{
	u32 lo, hi;
	asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (u64)hi << 32 | lo;
}

/*
 * The TSC between what comes before and what comes after in program order (SDM vol. 2, RDTSC and
 * LFENCE).
 */
static inline u64 rdtsc_ordered(void)
{
	u32 lo, hi;
	asm volatile("lfence; rdtsc; lfence" : "=a"(lo), "=d"(hi) : : "memory");
	return (u64)hi << 32 | lo;
}

#define MARGAY_CR(n) \
	static inline u64 read_cr##n(void) \
	{ \
		u64 v; \
		asm volatile("mov %%cr" #n ", %0" : "=r"(v)); \
		return v; \
	} \
	static inline void write_cr##n(u64 v) \
	{ \
		asm volatile("mov %0, %%cr" #n : : "r"(v) : "memory"); \
	}
MARGAY_CR(0)
MARGAY_CR(2)
MARGAY_CR(3)
MARGAY_CR(4)
#undef MARGAY_CR

/* Breakpoint address i, 0 to 3. */
static inline u64 read_dr(unsigned i)
{
	u64 v;

	switch (i) {
	case 0: asm volatile("mov %%dr0, %0" : "=r"(v)); break;
	case 1: asm volatile("mov %%dr1, %0" : "=r"(v)); break;
	case 2: asm volatile("mov %%dr2, %0" : "=r"(v)); break;
	default: asm volatile("mov %%dr3, %0" : "=r"(v)); break;
	}
	return v;
}

static inline void write_dr(unsigned i, u64 v)
{
	switch (i) {
	case 0: asm volatile("mov %0, %%dr0" : : "r"(v)); break;
	case 1: asm volatile("mov %0, %%dr1" : : "r"(v)); break;
	case 2: asm volatile("mov %0, %%dr2" : : "r"(v)); break;
	default: asm volatile("mov %0, %%dr3" : : "r"(v)); break;
	}
}

static inline u64 read_dr6(void)
{
	u64 v;
	asm volatile("mov %%dr6, %0" : "=r"(v));
	return v;
}

static inline void write_dr6(u64 v)
{
	asm volatile("mov %0, %%dr6" : : "r"(v));
}

static inline u8 inb(u16 port)
{
	u8 v;
	asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline u16 inw(u16 port)
{
	u16 v;
	asm volatile("inw %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline u32 inl(u16 port)
{
	u32 v;
	asm volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline void outb(u16 port, u8 v)
{
	asm volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void outw(u16 port, u16 v)
{
	asm volatile("outw %0, %1" : : "a"(v), "Nd"(port));
}

static inline void outl(u16 port, u32 v)
{
	asm volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline void cpu_cli(void)
{
	asm volatile("cli" : : : "memory");
}

static inline void cpu_hlt(void)
{
	asm volatile("hlt" : : : "memory");
}

static inline void cpu_wbinvd(void)
{
	asm volatile("wbinvd" : : : "memory");
}

static inline void cpu_clflush(const void *p)
{
	asm volatile("clflush %0" : : "m"(*(const u8 *)p) : "memory");
}

static inline void cpu_pause(void)
{
	asm volatile("pause" : : : "memory");
}

static inline void invlpg(const void *va)
{
	asm volatile("invlpg (%0)" : : "r"(va) : "memory");
}

static inline u64 xgetbv(u32 xcr)
{
	u32 lo, hi;
	asm volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(xcr));
	return (u64)hi << 32 | lo;
}

/* MMIO accessors: one access of exactly this width, in program order. */
static inline u8 mmio_read8(const volatile void *p)
{
	return *(const volatile u8 *)p;
}

static inline u32 mmio_read32(const volatile void *p)
{
	return *(const volatile u32 *)p;
}

static inline u64 mmio_read64(const volatile void *p)
{
	return *(const volatile u64 *)p;
}

static inline void mmio_write8(volatile void *p, u8 v)
{
	*(volatile u8 *)p = v;
}

static inline void mmio_write32(volatile void *p, u32 v)
{
	*(volatile u32 *)p = v;
}

static inline void mmio_write64(volatile void *p, u64 v)
{
	*(volatile u64 *)p = v;
}

#endif
