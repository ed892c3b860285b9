/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * XADD, CMPXCHG, CMPXCHG8B and CMPXCHG16B with an operand in memory (SDM vol. 2 for each). No
 * device's register needs LOCK: its reads and writes are the device's business one by one.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/emulate/emulate.h"

static int exchange_add(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	unsigned size = insn->opsize;
	u64 mem, sum, rflags = vcpu->regs.rflags;
	int err = emulate_mem_read(vcpu, gva, size, &mem);

	if (err)
		return err;
	sum = emulate_alu(INSN_ADD, size, mem, emulate_get_gpr(vcpu, insn->reg, size, insn->rex),
			  &rflags);
	err = emulate_mem_write(vcpu, gva, size, sum);
	if (err)
		return err;
	emulate_set_gpr(vcpu, insn->reg, size, insn->rex, mem);
	vcpu->regs.rflags = rflags;
	return 0;
}

/* What differs is written, too, as it was. */
static int compare_exchange(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	unsigned size = insn->opsize;
	u64 wanted = insn_truncate(vcpu->regs.gpr[GPR_RAX], size), mem, rflags = vcpu->regs.rflags;
	bool same;
	int err = emulate_mem_read(vcpu, gva, size, &mem);

	if (err)
		return err;
	same = mem == wanted;
	err = emulate_mem_write(vcpu, gva, size,
				same ? emulate_get_gpr(vcpu, insn->reg, size, insn->rex) : mem);
	if (err)
		return err;
	(void)emulate_alu(INSN_CMP, size, wanted, mem, &rflags);
	if (!same)
		emulate_set_gpr(vcpu, GPR_RAX, size, true, mem);
	vcpu->regs.rflags = rflags;
	return 0;
}

/* RDX:RAX with memory, which becomes RCX:RBX; in halves of 4 bytes, or 8. */
static int compare_exchange_pair(struct vcpu *vcpu, const struct insn *insn, u64 gva)
{
	unsigned half = insn->opsize / 2u;
	u64 *gpr = vcpu->regs.gpr;
	u8 bytes[16];
	u64 low = 0, high = 0;
	bool same;
	int err = emulate_mem_read_bytes(vcpu, gva, insn->opsize, bytes);

	if (err)
		return err;
	memcpy(&low, bytes, half);
	memcpy(&high, bytes + half, half);
	same = low == insn_truncate(gpr[GPR_RAX], half) &&
	       high == insn_truncate(gpr[GPR_RDX], half);
	if (same) {
		memcpy(bytes, &gpr[GPR_RBX], half);
		memcpy(bytes + half, &gpr[GPR_RCX], half);
	}
	err = emulate_mem_write_bytes(vcpu, gva, insn->opsize, bytes);
	if (err)
		return err;
	if (!same) {
		gpr[GPR_RAX] = low;
		gpr[GPR_RDX] = high;
	}
	vcpu->regs.rflags = (vcpu->regs.rflags & ~RFLAGS_ZF) | (same ? RFLAGS_ZF : 0);
	return 0;
}

int emulate_exchange(struct vcpu *vcpu, const struct insn *insn)
{
	u64 gva = emulate_operand(vcpu, insn);
	int err;

	/* The CPU would have raised #GP: another instruction has come here. */
	if (insn->opsize == 16 && !IS_ALIGNED(gva, 16))
		return -EINVAL;
	err = emulate_mem_writable(vcpu, gva, insn->opsize);
	if (err)
		return err;
	switch (insn->op) {
	case INSN_XADD: return exchange_add(vcpu, insn, gva);
	case INSN_CMPXCHG: return compare_exchange(vcpu, insn, gva);
	default: return compare_exchange_pair(vcpu, insn, gva);
	}
}
