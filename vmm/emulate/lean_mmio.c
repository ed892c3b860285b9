/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory-mapped access the short way (vmm/emulate/lean.h): a MOV of 32 bits in 64-bit mode between
 * a general register, or from a constant, and a device, that was decoded before and stands
 * unchanged where it stood.
 */
#include "vmm/emulate/lean.h"
#include "vmm/memory/guest_fetched.h"

static bool plain(const struct insn *i)
{
	return i->op == INSN_MOV && i->mem && i->opsize == 4 && i->addrsize == 8 && !i->has_index &&
	       !i->rip_relative && i->seg != SEG_FS && i->seg != SEG_GS && i->reg != GPR_RSP &&
	       !(i->has_base && i->base == GPR_RSP);
}

unsigned lean_mmio(struct vcpu *vcpu, gpa_t addr, bool write)
{
	u64 rip = vcpu->regs.rip, in_page = rip & (PAGE_SIZE - 1), word[2], made, offset,
	    *gpr = vcpu->regs.gpr;
	const struct guest_path *path = &vcpu->fetched;
	struct decoded *d = &vcpu->decoded[rip % INSNS_DECODED];
	const struct insn *i = &d->insn;
	const struct mmio_range *r;

	asm("" : "+r"(d), "+r"(i)); /* or the compiler computes them anew at each use */
	if (!path->page || path->gva != rip - in_page || in_page > PAGE_SIZE - INSN_MAX ||
	    !guest_path_holds(path))
		return 0;
	/* The guest may change the bytes at any time: none is looked at twice. */
	if (!guest_code(path->page + in_page, word) ||
	    (word[0] ^ d->key.word[0]) | ((word[1] | (MODE_64 + 1ull) << 56) ^ d->key.word[1]))
		return 0;
	if (unlikely(d->plain != PLAIN_MOV)) {
		if (d->plain == PLAIN_UNKNOWN)
			d->plain = plain(i) ? PLAIN_MOV : PLAIN_NOT;
		if (d->plain != PLAIN_MOV)
			return 0;
	}
	/*
	 * The bytes may have changed since the CPU made the access: no other one is made in its
	 * place.
	 */
	made = (u64)i->disp + (i->has_base ? gpr[i->base] : 0);
	if (i->to_mem != write || (made ^ addr.v) & (PAGE_SIZE - 1))
		return 0;
	r = mmio_find(vcpu->vm, addr.v, 4, &offset);
	if (!r || !(r->ops->sizes & 4) || !IS_ALIGNED(addr.v, 4))
		return 0;
	if (write)
		r->ops->write(r->dev, vcpu, offset, 4, (u32)(i->has_imm ? i->imm : gpr[i->reg]));
	else
		gpr[i->reg] = (u32)r->ops->read(r->dev, vcpu, offset, 4);
	return i->len;
}
