/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What operands in memory ask of the rest and tests of them do not look at: no breakpoint is armed,
 * and nothing raises #GP.
 */
#ifndef TESTS_FAKE_OPERAND_H
#define TESTS_FAKE_OPERAND_H

#include "vmm/emulate/emulate.h"

static u64 no_register(struct vcpu *, enum hvm_reg)
{
	return 0;
}

static const struct hvm_ops operand_ops = { .get = no_register };
const struct hvm_ops *hvm = &operand_ops;

void vcpu_raise_error(struct vcpu *, u8 vector, u32)
{
	fail_msg("exception %u", vector);
}

void emulate_watch_armed(struct vcpu *, u64 addr, unsigned, unsigned)
{
	fail_msg("a breakpoint at %#lx", addr);
}

#endif
