/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arch/x86_64/cpu/insn.h on the build host, for a test that includes the file it tests behind this:
 * a CPU whose MSRs, control and debug registers are plain memory, and CPUID what the test says.
 */
#ifndef TESTS_FAKE_INSN_H
#define TESTS_FAKE_INSN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/insn.h"

static struct {
	u64 msr[3][0x2000]; /* from 0, 0xc0000000 and 0xc0010000 on */
	u64 cr[5];
	u64 dr[7];
	struct cpuid_regs (*cpuid)(u32 leaf, u32 subleaf); /* NULL: zeros */
} fake_cpu;

static inline u64 *fake_msr(u32 msr)
{
	unsigned range = msr >> 16 == 0xc001 ? 2 : msr >> 16 == 0xc000;

	assert_true(msr == (range ? 0xbfff0000 + (range << 16) : 0) + (msr & 0x1fff));
	return &fake_cpu.msr[range][msr & 0x1fff];
}

static inline u64 fake_rdmsr(u32 msr)
{
	return *fake_msr(msr);
}

static inline void fake_wrmsr(u32 msr, u64 value)
{
	*fake_msr(msr) = value;
}

static inline void fake_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	*out = fake_cpu.cpuid ? fake_cpu.cpuid(leaf, subleaf) : (struct cpuid_regs){ 0 };
}

#define rdmsr fake_rdmsr
#define wrmsr fake_wrmsr
#define cpuid(leaf, subleaf, out) fake_cpuid(leaf, subleaf, out)
#define read_cr0() fake_cpu.cr[0]
#define read_cr2() fake_cpu.cr[2]
#define read_cr3() fake_cpu.cr[3]
#define read_cr4() fake_cpu.cr[4]
#define write_cr0(v) (fake_cpu.cr[0] = (v))
#define write_cr2(v) (fake_cpu.cr[2] = (v))
#define write_cr4(v) (fake_cpu.cr[4] = (v))
#define read_dr(i) fake_cpu.dr[i]
#define write_dr(i, v) (fake_cpu.dr[i] = (v))
#define read_dr6() fake_cpu.dr[6]
#define write_dr6(v) (fake_cpu.dr[6] = (v))

#endif
