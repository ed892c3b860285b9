/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory-mapped access by emulation: what the instruction behind a stage-2 exit
 * does (SDM vol. 2 for each). decode.c decodes it; emulate_mem.c gives it its
 * operand, of RAM or of the device that it calls.
 */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"
#include "vmm/hvm.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/memory/split.h"
#include "vmm/vm.h"

/* MOV, MOVNTI, MOVZX, MOVSX, XCHG. */
static int move(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	u64 reg = insn->has_imm ? insn->imm
				: emulate_get_gpr(vcpu, insn->reg, insn->opsize, insn->rex),
	    mem;
	int err;

	if ((insn->op == INSN_MOV && insn->to_mem) || insn->op == INSN_MOVNTI)
		return emulate_mem_write(vcpu, gva, insn->opsize, reg);
	err = insn->op == INSN_XCHG ? emulate_mem_writable(vcpu, gva, insn->opsize) : 0;
	if (!err)
		err = emulate_mem_read(vcpu, gva, insn->opsize, &mem);
	if (err)
		return err;
	switch (insn->op) {
	case INSN_MOVZX: emulate_set_gpr(vcpu, insn->reg, insn->dstsize, true, mem); return 0;
	case INSN_MOVSX:
		emulate_set_gpr(vcpu, insn->reg, insn->dstsize, true,
				insn_truncate(insn_sign_extend(mem, insn->opsize), insn->dstsize));
		return 0;
	case INSN_XCHG:
		err = emulate_mem_write(vcpu, gva, insn->opsize, reg);
		if (err)
			return err;
		break;
	default: break;
	}
	emulate_set_gpr(vcpu, insn->reg, insn->opsize, insn->rex, mem);
	return 0;
}

static int perform(struct vcpu *vcpu, const struct insn *insn)
{
	switch (insn->op) {
	case INSN_MOV:
	case INSN_MOVNTI:
	case INSN_MOVZX:
	case INSN_MOVSX:
	case INSN_XCHG: return move(vcpu, insn, emulate_operand(vcpu, insn));
	case INSN_XADD:
	case INSN_CMPXCHG:
	case INSN_CMPXCHG8B: return emulate_exchange(vcpu, insn);
	case INSN_VECTOR: return emulate_vector(vcpu, insn);
	default: return emulate_arithmetic(vcpu, insn);
	}
}

static int carry_out(struct vcpu *vcpu, const struct insn *insn, const struct vmexit *exit)
{
	int err;

	if (emulate_is_string(insn))
		return emulate_string(vcpu, insn, 0);
	if (!insn->mem)
		return -EINVAL;
	vcpu->access = (struct exit_access){ .valid = true,
					     .write = exit->stage2.write,
					     .gpa = exit->stage2.gpa };
	err = perform(vcpu, insn);
	vcpu->access.valid = false;
	return err;
}

void emulate_mmio(struct vcpu *vcpu, const struct vmexit *exit)
{
	const struct insn *insn;
	int err;

	if (exit->stage2.exec && !exit->stage2.walk && vm_execute(vcpu, exit->stage2.gpa))
		return;
	/*
	 * Behind that: what it could not do for a page that was lost at this moment is no page
	 * without RAM.
	 */
	if (unlikely(guest_is_lost(vcpu->vm, exit->stage2.gpa))) {
		vcpu_lost_access(vcpu, exit->stage2.gpa);
		return;
	}
	if (exit->stage2.exec && !exit->stage2.walk && emulate_refuse_program(vcpu))
		return;
	if (exit->stage2.exec || exit->stage2.walk) {
		vm_tell(vcpu->vm, "vcpu%u: %s at GPA %#lx, where there is no RAM", vcpu->id,
			exit->stage2.exec ? "instruction fetch" : "page table", exit->stage2.gpa.v);
		emulate_give_up(vcpu, "the guest cannot go on");
		return;
	}
	/* Not the instruction at RIP accessed it: it must not be carried out, perhaps for ever. */
	if (vcpu->event.type != HVM_EVENT_NONE) {
		vm_tell(vcpu->vm,
			"vcpu%u: delivery of vector %u accessed GPA %#lx, where there is no RAM",
			vcpu->id, vcpu->event.vector, exit->stage2.gpa.v);
		emulate_give_up(vcpu, "the guest cannot go on");
		return;
	}
	err = emulate_fetch(vcpu, &insn);
	if (!err)
		err = carry_out(vcpu, insn, exit);
	if (!err)
		emulate_skip(vcpu, insn->len);
	else if (err != -EFAULT && err != -EAGAIN && !emulate_again(vcpu))
		emulate_refuse(vcpu, "cannot emulate the memory-mapped access");
}
