/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of string instructions and the emulator's ways out, for tests of other instructions. */
#ifndef TESTS_FAKE_STRINGS_H
#define TESTS_FAKE_STRINGS_H

#include "vmm/emulate/emulate.h"

u64 emulate_string_operand(struct vcpu *, const struct insn *insn, enum gpr)
{
	fail_msg("%u is taken for a string instruction", insn->op);
	return 0;
}

bool emulate_string_more(const struct vcpu *, const struct insn *insn)
{
	fail_msg("%u is taken for a string instruction", insn->op);
	return false;
}

bool emulate_string_pause(struct vcpu *v, const struct insn *insn, unsigned)
{
	return emulate_string_more(v, insn);
}

void emulate_string_advance(struct vcpu *v, const struct insn *insn, bool, bool)
{
	(void)emulate_string_more(v, insn);
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
