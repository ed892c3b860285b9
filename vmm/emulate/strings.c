/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * String instructions, which move between memory, RAX and ports: their operands and repetitions
 * (SDM vol. 1, 7.3.9).
 */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"

/* Elements that one exit moves: a long REP gives interrupts a chance in between. */
#define STRING_BATCH 256

/* Linear address of the operand at rSI (seg) or rDI (ES). */
static u64 operand(struct vcpu *vcpu, const struct insn *insn, enum gpr pointer)
{
	return emulate_linear(vcpu, insn, pointer == GPR_RDI ? SEG_ES : insn->seg,
			      vcpu->regs.gpr[pointer]);
}

/* False when a REP instruction has nothing left to do. */
static bool more(const struct vcpu *vcpu, const struct insn *insn)
{
	return !(insn->rep || insn->repne) ||
	       insn_truncate(vcpu->regs.gpr[GPR_RCX], insn->addrsize);
}

/*
 * Between two repetitions: true when one exit has done enough of them, or the guest single-steps or
 * the one that is done met a breakpoint, and its trap has been raised; RIP stays on the
 * instruction.
 */
static bool pause(struct vcpu *vcpu, const struct insn *insn, unsigned done)
{
	if (likely(done < STRING_BATCH && !(vcpu->regs.rflags & RFLAGS_TF) && !vcpu->watched) ||
	    !more(vcpu, insn))
		return false;
	emulate_retire(vcpu);
	/*
	 * What comes now, trap or interrupt, returns to the rest of it: no second instruction
	 * breakpoint (SDM vol. 3, 18.3.1.1).
	 */
	vcpu->regs.rflags |= RFLAGS_RF;
	return true;
}

/* One element is done: rSI and/or rDI step on, rCX counts. */
static void advance(struct vcpu *vcpu, const struct insn *insn, bool si, bool di)
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

/* One element: from memory, a port or RAX to memory, a port or RAX. */
static int move(struct vcpu *vcpu, const struct insn *insn, u16 port, bool si, bool di)
{
	u64 v = emulate_get_gpr(vcpu, GPR_RAX, insn->opsize, true),
	    to = di ? operand(vcpu, insn, GPR_RDI) : 0;
	int err = 0;

	if (insn->op == INSN_INS || insn->op == INSN_OUTS)
		emulate_watch(vcpu, port, insn->opsize, WATCH_IO);
	if (si)
		err = emulate_mem_read(vcpu, operand(vcpu, insn, GPR_RSI), insn->opsize, &v);
	/* The port is read once, so the destination must be known to be writable before. */
	if (insn->op == INSN_INS)
		err = emulate_mem_writable(vcpu, to, insn->opsize);
	if (!err && insn->op == INSN_INS)
		emulate_port(vcpu, port, insn->opsize, true, &v);
	if (!err && di)
		err = emulate_mem_write(vcpu, to, insn->opsize, v);
	if (!err && insn->op == INSN_OUTS)
		emulate_port(vcpu, port, insn->opsize, false, &v);
	if (!err && insn->op == INSN_LODS)
		emulate_set_gpr(vcpu, GPR_RAX, insn->opsize, true, v);
	return err;
}

int emulate_string(struct vcpu *vcpu, const struct insn *insn, u16 port)
{
	bool si = insn->op == INSN_MOVS || insn->op == INSN_LODS || insn->op == INSN_OUTS;
	bool di = insn->op == INSN_MOVS || insn->op == INSN_STOS || insn->op == INSN_INS;
	unsigned done = 0;

	while (more(vcpu, insn)) {
		int err = move(vcpu, insn, port, si, di);

		if (err)
			return err;
		advance(vcpu, insn, si, di);
		if (!(insn->rep || insn->repne))
			break;
		if (pause(vcpu, insn, ++done))
			return -EAGAIN;
	}
	return 0;
}
