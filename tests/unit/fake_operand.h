/* SPDX-License-Identifier: GPL-2.0-only */
/* What operands in memory ask of the rest and tests of them do not look at: no breakpoint is armed, and nothing raises #GP. */
#ifndef TESTS_FAKE_OPERAND_H
#define TESTS_FAKE_OPERAND_H

#include "vmm/emulate/emulate.h"

static u64 no_register(struct vcpu *v, enum hvm_reg reg)
{
	(void)v;
	(void)reg;
	return 0;
}

static const struct hvm_ops operand_ops = { .get = no_register };
const struct hvm_ops *hvm = &operand_ops;

void vcpu_raise_error(struct vcpu *v, u8 vector, u32 error)
{
	(void)v;
	(void)error;
	fail_msg("exception %u", vector);
}

void emulate_watch_armed(struct vcpu *v, u64 addr, unsigned size, unsigned watch)
{
	(void)v;
	(void)size;
	(void)watch;
	fail_msg("a breakpoint at %#llx", (unsigned long long)addr);
}

#endif
