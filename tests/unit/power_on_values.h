/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a backend has of a vCPU after power-on (SDM vol. 3, table 10-1; APM vol. 2, table 14-1),
 * whatever was there before.
 */
#ifndef TESTS_POWER_ON_VALUES_H
#define TESTS_POWER_ON_VALUES_H

#include "vmm/hvm.h"
#include "vmm/vm/power_on.h"

static void assert_segment(struct vcpu *vcpu, enum seg seg, u16 selector, u64 base, u32 attr)
{
	struct segment s;

	hvm->get_segment(vcpu, seg, &s);
	assert_true(s.selector == selector && s.base == base && s.limit == 0xffff &&
		    s.attr == attr);
}

static u64 power_on_value(enum hvm_reg reg)
{
	switch (reg) {
	case HVM_CR0: return 0x60000010;
	case HVM_DR6: return 0xffff0ff0;
	case HVM_DR7: return 0x400;
	case HVM_PAT: return 0x0007040600070406ull;
	case HVM_TSC_AUX: return 0x1111;
	default: return 0;
	}
}

static void assert_power_on(struct vcpu *vcpu)
{
	static const enum seg data[] = { SEG_ES, SEG_SS, SEG_DS, SEG_FS, SEG_GS };
	const struct segment garbage = {
		.selector = 0x1234, .base = 0x12340000, .limit = ~0u, .attr = 0xa0fb
	};
	const struct desc_table garbage_table = { .base = 0x1000, .limit = 0x7f };

	memset(&vcpu->regs, 0xa5, sizeof(vcpu->regs));
	for (enum seg seg = 0; seg < SEG_COUNT; seg++)
		hvm->set_segment(vcpu, seg, &garbage);
	for (enum hvm_reg reg = 0; reg < HVM_REGS; reg++)
		hvm->set(vcpu, reg, 0x1111);
	for (int idt = 0; idt < 2; idt++)
		hvm->set_desc_table(vcpu, idt, &garbage_table);
	vcpu_power_on(vcpu);
	assert_true(vcpu->regs.rip == 0xfff0 && vcpu->regs.rflags == 2 && !vcpu->regs.shadow);
	for (unsigned i = 0; i < GPR_COUNT; i++)
		assert_int_equal(vcpu->regs.gpr[i], 0);
	for (enum hvm_reg reg = 0; reg < HVM_REGS; reg++) {
		assert_int_equal(hvm->get(vcpu, reg), power_on_value(reg));
	}
	assert_segment(vcpu, SEG_CS, 0xf000, 0xffff0000, 0x9b);
	for (unsigned i = 0; i < ARRAY_SIZE(data); i++)
		assert_segment(vcpu, data[i], 0, 0, 0x93);
	assert_segment(vcpu, SEG_LDTR, 0, 0, 0x82);
	assert_segment(vcpu, SEG_TR, 0, 0, 0x8b);
	for (int idt = 0; idt < 2; idt++) {
		struct desc_table table;

		hvm->get_desc_table(vcpu, idt, &table);
		assert_true(table.base == 0 && table.limit == 0xffff);
	}
}

#endif
