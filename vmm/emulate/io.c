/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Port I/O: IN, OUT, INS and OUTS. A port that no device registered reads as
 * ones and swallows writes. Privilege (IOPL, I/O permission map) was checked
 * by the CPU before the exit.
 */
#include <margay/errno.h>

#include "vmm/emulate/emulate.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm_parts.h"

/* What of RAX an IN replaces and an OUT takes, by the size of the operand; 32 bits replace all. */
static const u64 operand_mask[8] = { [1] = 0xff, [2] = 0xffff, [4] = ~0ull };

/* The device that has the port and takes such an access. */
static const struct pio_range *port_owner(const struct vm *vm, u16 port, unsigned size)
{
	const struct pio_range *r = pio_find(vm, port);

	return r && r->ops->sizes & size && IS_ALIGNED(port, size) ? r : NULL;
}

static u32 port_in(struct vcpu *vcpu, u16 port, unsigned size)
{
	const struct pio_range *r = port_owner(vcpu->vm, port, size);

	return r ? r->ops->read(r->dev, vcpu, port - r->base, size) : 0xffffffff;
}

static void port_out(struct vcpu *vcpu, u16 port, unsigned size, u32 value)
{
	const struct pio_range *r = port_owner(vcpu->vm, port, size);

	if (r)
		r->ops->write(r->dev, vcpu, port - r->base, size, value);
}

/*
 * The CPU has checked the ports of its own instruction. Another vCPU may have put one there that
 * reaches more of them.
 */
static bool is_that_of(const struct vmexit *exit, const struct insn *insn)
{
	return insn->op == (exit->io.in ? INSN_INS : INSN_OUTS) && insn->opsize == exit->io.size;
}

static noinline void emulate_string_io(struct vcpu *vcpu, const struct vmexit *exit)
{
	const struct insn *insn;
	int err = emulate_fetch(vcpu, &insn);

	if (!err && !is_that_of(exit, insn))
		err = -EINVAL;
	if (!err)
		err = emulate_string(vcpu, insn, exit->io.port);
	if (!err)
		emulate_skip(vcpu, insn->len);
	else if (err != -EFAULT && err != -EAGAIN && !emulate_again(vcpu))
		emulate_refuse(vcpu, "cannot emulate the string I/O instruction");
}

void emulate_port(struct vcpu *vcpu, u16 port, unsigned size, bool in, u64 *rax)
{
	u64 mask = operand_mask[size];

	if (in)
		*rax = (*rax & ~mask) | (port_in(vcpu, port, size) & mask);
	else
		port_out(vcpu, port, size, (u32)(*rax & mask));
}

void emulate_io(struct vcpu *vcpu, const struct vmexit *exit)
{
	if (unlikely(exit->io.string)) {
		emulate_string_io(vcpu, exit);
		return;
	}
	emulate_watch(vcpu, exit->io.port, exit->io.size, WATCH_IO);
	emulate_port(vcpu, exit->io.port, exit->io.size, exit->io.in, &vcpu->regs.gpr[GPR_RAX]);
	emulate_skip_exit(vcpu, exit);
}
