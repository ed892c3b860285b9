/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power-on values of a vCPU, the same on both vendors' CPUs (SDM vol. 3, table 10-1; APM vol. 2,
 * table 14-1).
 */
#include "vmm/vm/power_on.h"

#include "vmm/hvm.h"
#include "vmm/vcpu.h"

#define DATA { .limit = 0xffff, .attr = 0x93 }

static const struct segment segment[SEG_COUNT] = {
	[SEG_CS] = { .selector = 0xf000, .base = 0xffff0000, .limit = 0xffff, .attr = 0x9b },
	[SEG_DS] = DATA,
	[SEG_ES] = DATA,
	[SEG_FS] = DATA,
	[SEG_GS] = DATA,
	[SEG_SS] = DATA,
	[SEG_LDTR] = { .limit = 0xffff, .attr = 0x82 },
	[SEG_TR] = { .limit = 0xffff, .attr = 0x8b },
};

/* 0: whatever is not here. */
static const u64 value[HVM_REGS] = {
	[HVM_CR0] = CR0_CD | CR0_NW | CR0_ET,
	[HVM_PAT] = PAT_RESET,
	[HVM_DR6] = DR6_NONE,
	[HVM_DR7] = DR7_FIXED,
};

void vcpu_power_on(struct vcpu *vcpu)
{
	static const struct desc_table table = { .limit = 0xffff };

	vcpu->regs = (struct guest_regs){ .rip = 0xfff0, .rflags = RFLAGS_FIXED };
	for (enum seg seg = 0; seg < SEG_COUNT; seg++)
		hvm->set_segment(vcpu, seg, &segment[seg]);
	hvm->set_desc_table(vcpu, false, &table);
	hvm->set_desc_table(vcpu, true, &table);
	for (enum hvm_reg reg = 0; reg < HVM_REGS; reg++)
		if (reg != HVM_TSC_AUX)
			hvm->set(vcpu, reg, value[reg]);
	hvm->vcpu_reset(vcpu);
}
