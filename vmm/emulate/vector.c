/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves of 16, 32 and 64 bytes between memory and vector registers, which hold the guest's values
 * while the hypervisor runs.
 */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"
#include "vmm/hvm.h"

/*
 * Has the guest the register switched on (SDM vol. 2, tables 2-18 to 2-27)? The CPU has tested it,
 * but perhaps of another instruction, and what follows here executes one by the host's own CR0 and
 * CR4, and the guest's XCR0.
 */
static bool usable(struct vcpu *vcpu, const struct insn *insn)
{
	u64 wanted = insn->evex ? XCR0_SSE | XCR0_AVX | XCR0_OPMASK | XCR0_ZMM_HI256 | XCR0_HI16_ZMM
				: XCR0_SSE | XCR0_AVX;
	struct hvm_context c;

	hvm->get_context(vcpu, &c);
	if (c.cr0 & CR0_TS)
		return false;
	if (!insn->vex && !insn->evex)
		return !(c.cr0 & CR0_EM) && c.cr4 & CR4_OSFXSR;
	return c.cr0 & CR0_PE && !(vcpu->regs.rflags & RFLAGS_VM) && c.cr4 & CR4_OSXSAVE &&
	       (vcpu->xcr0 & wanted) == wanted;
}

static int store(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	u8 bytes[64];

	if (insn->evex)
		host_vector_read_zmm(insn->reg, bytes);
	else
		host_vector_read(insn->reg, insn->opsize, bytes);
	return emulate_mem_write_bytes(vcpu, gva, insn->opsize, bytes);
}

/* By EVEX all that lies above is cleared. */
static int load(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	u8 bytes[64] = { 0 };
	int err = emulate_mem_read_bytes(vcpu, gva, insn->opsize, bytes);

	if (err)
		return err;
	if (insn->evex)
		host_vector_write_zmm(insn->reg, bytes);
	else
		host_vector_write(insn->reg, insn->opsize, insn->vex, bytes);
	return 0;
}

int emulate_vector(struct vcpu *vcpu, const struct insn *insn)
{
	u64 gva = emulate_operand(vcpu, insn);

	/* The CPU would have raised an exception: another instruction has come here. */
	if (!usable(vcpu, insn) || (insn->aligned && !IS_ALIGNED(gva, insn->opsize)))
		return -EINVAL;
	return insn->to_mem ? store(vcpu, insn, gva) : load(vcpu, insn, gva);
}
