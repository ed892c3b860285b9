/* SPDX-License-Identifier: GPL-2.0-only */
/* String instructions: their operands, repetitions, and those that move between memory and RAX (SDM vol. 1, 7.3.9). */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"

/* Elements that one exit moves: a long REP gives interrupts a chance in between. */
#define STRING_BATCH 256

u64 emulate_string_operand(struct vcpu *vcpu, const struct insn *insn, enum gpr pointer)
{
	return emulate_linear(vcpu, insn, pointer == GPR_RDI ? SEG_ES : insn->seg, vcpu->regs.gpr[pointer]);
}

bool emulate_string_more(const struct vcpu *vcpu, const struct insn *insn)
{
	return !(insn->rep || insn->repne) || emulate_truncate(vcpu->regs.gpr[GPR_RCX], insn->addrsize);
}

bool emulate_string_pause(struct vcpu *vcpu, const struct insn *insn, unsigned done)
{
	if (likely(done < STRING_BATCH && !(vcpu->regs.rflags & RFLAGS_TF) && !vcpu->watched) || !emulate_string_more(vcpu, insn))
		return false;
	emulate_retire(vcpu);
	/* What comes now, trap or interrupt, returns to the rest of it: no second instruction breakpoint (SDM vol. 3, 18.3.1.1). */
	vcpu->regs.rflags |= RFLAGS_RF;
	return true;
}

void emulate_string_advance(struct vcpu *vcpu, const struct insn *insn, bool si, bool di)
{
	u64 step = vcpu->regs.rflags & RFLAGS_DF ? -(u64)insn->opsize : insn->opsize;
	u64 *gpr = vcpu->regs.gpr;

	if (si)
		emulate_set_gpr(vcpu, GPR_RSI, insn->addrsize, true, gpr[GPR_RSI] + step);
	if (di)
		emulate_set_gpr(vcpu, GPR_RDI, insn->addrsize, true, gpr[GPR_RDI] + step);
	if (insn->rep || insn->repne)
		emulate_set_gpr(vcpu, GPR_RCX, insn->addrsize, true, gpr[GPR_RCX] - 1);
}

int emulate_string_move(struct vcpu *vcpu, const struct insn *insn)
{
	bool si = insn->op != INSN_STOS, di = insn->op != INSN_LODS;
	unsigned done = 0;

	while (emulate_string_more(vcpu, insn)) {
		u64 v = emulate_get_gpr(vcpu, GPR_RAX, insn->opsize, true);
		int err = 0;

		if (si)
			err = emulate_mem_read(vcpu, emulate_string_operand(vcpu, insn, GPR_RSI), insn->opsize, &v);
		if (!err && di)
			err = emulate_mem_write(vcpu, emulate_string_operand(vcpu, insn, GPR_RDI), insn->opsize, v);
		if (err)
			return err;
		if (!di)
			emulate_set_gpr(vcpu, GPR_RAX, insn->opsize, true, v);
		emulate_string_advance(vcpu, insn, si, di);
		if (!(insn->rep || insn->repne))
			break;
		if (emulate_string_pause(vcpu, insn, ++done))
			return -EAGAIN;
	}
	return 0;
}
