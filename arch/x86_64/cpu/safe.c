/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses to MSRs, XCRs and device registers whose faults become return values, by the exception
 * table.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/extable.h"
#include "arch/x86_64/cpu/upcall.h"

int host_rdmsr(u32 msr, u64 *value)
{
	u32 lo, hi;

	asm goto volatile("1:\trdmsr\n\t" EX_TABLE("1b", "%l[fault]") : "=a"(lo), "=d"(hi)
			  : "c"(msr) : : fault);
	*value = (u64)hi << 32 | lo;
	return 0;
fault:
	*value = 0;
	return -EFAULT;
}

#define WRITE(insn) \
	asm goto volatile("1:\t" insn "\n\t" EX_TABLE("1b", "%l[fault]") : \
			  : "c"(reg), "a"((u32)value), "d"((u32)(value >> 32)) : "memory" : fault)

int host_wrmsr(u32 reg, u64 value)
{
	WRITE("wrmsr");
	return 0;
fault:
	return -EFAULT;
}

int host_xsetbv(u32 reg, u64 value)
{
	WRITE("xsetbv");
	return 0;
fault:
	return -EFAULT;
}

/*
 * By way of RAX, as AMD's processors want it of configuration space (PPR, "MMIO Configuration
 * Coding Requirements").
 */
#define LOAD(mov) \
	asm goto volatile("1:\t" mov "\n\t" EX_TABLE("1b", "%l[fault]") : "=a"(value) : "r"(reg) \
			  : "memory" : fault)
#define STORE(mov) \
	asm goto volatile("1:\t" mov "\n\t" EX_TABLE("1b", "%l[fault]") : : "r"(reg), "a"(value) \
			  : "memory" : fault)

u64 host_mmio_read(const volatile void *reg, unsigned size)
{
	u64 value;

	switch (size) {
	case 1: LOAD("movzbl (%1), %k0"); break;
	case 2: LOAD("movzwl (%1), %k0"); break;
	case 4: LOAD("movl (%1), %k0"); break;
	default: LOAD("movq (%1), %0");
	}
	return value;
fault:
	upcall_device_fault(reg);
	return ~0ull;
}

void host_mmio_write(volatile void *reg, unsigned size, u64 value)
{
	switch (size) {
	case 1: STORE("movb %b1, (%0)"); break;
	case 2: STORE("movw %w1, (%0)"); break;
	case 4: STORE("movl %k1, (%0)"); break;
	default: STORE("movq %1, (%0)");
	}
	return;
fault:
	upcall_device_fault(reg);
}
