/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The VT-x backend's instructions on the build host, for a test that includes
 * the file it tests behind this: a VMCS in memory, whose fields are named by
 * the numbers of SDM vol. 3, appendix B, and instructions that succeed.
 */
#ifndef TESTS_FAKE_VMCS_H
#define TESTS_FAKE_VMCS_H

#include "tests/unit/fake_insn.h"

#include "vmm/vmx/vmx.h"

/* The flags say success: neither CF nor ZF. */
asm(".macro vmclear operand:vararg\n\ttest %rsp, %rsp\n.endm\n"
    ".macro vmptrld operand:vararg\n\ttest %rsp, %rsp\n.endm\n"
    ".macro vmxon operand:vararg\n\ttest %rsp, %rsp\n.endm\n"
    ".macro invept operand:vararg\n\ttest %rsp, %rsp\n.endm\n"
    ".macro invvpid operand:vararg\n\ttest %rsp, %rsp\n.endm\n"
    ".macro vmxoff\n.endm");

static u64 vmcs[0x7000];
static unsigned vmcs_writes[0x7000];

static inline u64 fake_vmread(unsigned long field)
{
	assert_true(field < ARRAY_SIZE(vmcs));
	return vmcs[field];
}

static inline void fake_vmwrite(unsigned long field, u64 v)
{
	assert_true(field < ARRAY_SIZE(vmcs));
	vmcs[field] = v;
	vmcs_writes[field]++;
}

static inline void fake_vmcs_reset(void)
{
	memset(&fake_cpu, 0, sizeof(fake_cpu));
	memset(vmcs, 0, sizeof(vmcs));
	memset(vmcs_writes, 0, sizeof(vmcs_writes));
}

#define vmread fake_vmread
#define vmwrite fake_vmwrite
#define vmwrite_rip(v) fake_vmwrite(VMCS_GUEST_RIP, v)

#endif
