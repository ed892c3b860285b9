/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves of 16 and 32 bytes between memory and vector registers, which hold the guest's values while the hypervisor runs. */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"
#include "vmm/hvm.h"

/*
 * Has the guest the register switched on (SDM vol. 2, tables 2-21 and 2-26)? The CPU has tested it, but perhaps of another
 * instruction, and what follows here executes one by the host's own CR0 and CR4, and the guest's XCR0.
 */
static bool usable(struct vcpu *vcpu, const struct insn *insn)
{
	struct hvm_context c;

	hvm->get_context(vcpu, &c);
	if (c.cr0 & CR0_TS)
		return false;
	if (!insn->vex)
		return !(c.cr0 & CR0_EM) && c.cr4 & CR4_OSFXSR;
	return c.cr0 & CR0_PE && !(vcpu->regs.rflags & RFLAGS_VM) && c.cr4 & CR4_OSXSAVE &&
	       (vcpu->xcr0 & (XCR0_SSE | XCR0_AVX)) == (XCR0_SSE | XCR0_AVX);
}

int emulate_vector(struct vcpu *vcpu, const struct insn *insn)
{
	unsigned size = insn->opsize;
	u64 gva = emulate_operand(vcpu, insn);
	u8 bytes[32];
	int err;

	/* The CPU would have raised an exception: another instruction has come here. */
	if (!usable(vcpu, insn) || (insn->aligned && !IS_ALIGNED(gva, size)))
		return -EINVAL;
	if (insn->to_mem) {
		host_vector_read(insn->reg, size, bytes);
		return emulate_mem_write_bytes(vcpu, gva, size, bytes);
	}
	err = emulate_mem_read_bytes(vcpu, gva, size, bytes);
	if (!err)
		host_vector_write(insn->reg, size, insn->vex, bytes);
	return err;
}
