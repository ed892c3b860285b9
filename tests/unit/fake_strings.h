/* SPDX-License-Identifier: GPL-2.0-only */
/* String instructions and the emulator's ways out, for tests of other instructions. */
#ifndef TESTS_FAKE_STRINGS_H
#define TESTS_FAKE_STRINGS_H

#include "vmm/emulate/emulate.h"

int emulate_string(struct vcpu *, const struct insn *insn, u16)
{
	fail_msg("%u is taken for a string instruction", insn->op);
	return -EINVAL;
}

void emulate_skip_slowly(struct vcpu *v, u64 rip)
{
	v->regs.rip = rip;
}

bool emulate_again(struct vcpu *)
{
	return false;
}

#endif
