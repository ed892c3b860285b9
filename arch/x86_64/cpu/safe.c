/* SPDX-License-Identifier: GPL-2.0-only */
/* MSR and XCR accesses whose faults become return values, by the exception table. */
#include <margay/errno.h>
#include "arch/x86_64/cpu/extable.h"
#include "arch/x86_64/cpu/safe.h"

int rdmsr_safe(u32 msr, u64 *value)
{
	u32 lo, hi;

	asm goto volatile("1:\trdmsr\n\t" EX_TABLE("1b", "%l[fault]")
			  : "=a"(lo), "=d"(hi)
			  : "c"(msr)
			  :
			  : fault);
	*value = (u64)hi << 32 | lo;
	return 0;
fault:
	*value = 0;
	return -EFAULT;
}

int wrmsr_safe(u32 msr, u64 value)
{
	asm goto volatile("1:\twrmsr\n\t" EX_TABLE("1b", "%l[fault]")
			  :
			  : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32))
			  : "memory"
			  : fault);
	return 0;
fault:
	return -EFAULT;
}

int xsetbv_safe(u32 xcr, u64 value)
{
	asm goto volatile("1:\txsetbv\n\t" EX_TABLE("1b", "%l[fault]")
			  :
			  : "c"(xcr), "a"((u32)value), "d"((u32)(value >> 32))
			  : "memory"
			  : fault);
	return 0;
fault:
	return -EFAULT;
}
