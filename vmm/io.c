/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Port I/O: IN, OUT, INS and OUTS. A port that no device registered reads as
 * ones and swallows writes. Privilege (IOPL, I/O permission map) was checked
 * by the CPU before the exit.
 */
#include <margay/errno.h>

#include "vmm/emulate.h"

#define STRING_BATCH 256 /* elements per exit, as in mmio.c */

static bool has_port(const struct pio_range *r, u16 port)
{
	return (u16)(port - r->base) < r->count;
}

/* Mostly the range of the access before. */
static const struct pio_range *find_pio(struct vcpu *vcpu, u16 port)
{
	const struct vm *vm = vcpu->vm;

	if (likely(has_port(&vm->pio[vcpu->pio_last], port)))
		return &vm->pio[vcpu->pio_last];
	for (unsigned i = 0; i < vm->nr_pio; i++)
		if (has_port(&vm->pio[i], port)) {
			vcpu->pio_last = (u8)i;
			return &vm->pio[i];
		}
	return NULL;
}

static u32 port_in(struct vcpu *vcpu, u16 port, unsigned size)
{
	const struct pio_range *r = find_pio(vcpu, port);

	return r ? r->ops->read(r->dev, vcpu, port - r->base, size) : 0xffffffff;
}

static void port_out(struct vcpu *vcpu, u16 port, unsigned size, u32 value)
{
	const struct pio_range *r = find_pio(vcpu, port);

	if (r)
		r->ops->write(r->dev, vcpu, port - r->base, size, value);
}

static int string_io(struct vcpu *vcpu, const struct insn *insn, u16 port, bool in)
{
	for (unsigned i = 0; emulate_string_more(vcpu, insn); i++) {
		u64 v;
		int err;

		if (i == STRING_BATCH)
			return -EAGAIN;
		emulate_watch(vcpu, port, insn->opsize, WATCH_IO);
		if (in) {
			u64 gva = emulate_string_operand(vcpu, insn, GPR_RDI);

			/* The port is read once, so the destination must be known to be writable before. */
			err = emulate_mem_writable(vcpu, gva, insn->opsize);
			if (!err)
				err = emulate_mem_write(vcpu, gva, insn->opsize, port_in(vcpu, port, insn->opsize));
		} else {
			err = emulate_mem_read(vcpu, emulate_string_operand(vcpu, insn, GPR_RSI), insn->opsize, &v);
			if (!err)
				port_out(vcpu, port, insn->opsize, (u32)v);
		}
		if (err)
			return err;
		emulate_string_advance(vcpu, insn, !in, in);
		if (!(insn->rep || insn->repne))
			break;
		if (emulate_string_pause(vcpu, insn))
			return -EAGAIN;
	}
	return 0;
}

void emulate_io(struct vcpu *vcpu, const struct vmexit *exit)
{
	unsigned size = exit->io.size;
	u16 port = exit->io.port;

	if (exit->io.string) {
		struct insn insn;
		int err = emulate_fetch(vcpu, &insn);

		if (!err && (!IS_ENABLED(CONFIG_VM_EMULATE_ALL) || (insn.op != INSN_INS && insn.op != INSN_OUTS)))
			err = -EINVAL;
		if (IS_ENABLED(CONFIG_VM_EMULATE_ALL) && !err)
			err = string_io(vcpu, &insn, port, exit->io.in);
		if (!err)
			emulate_skip(vcpu, insn.len);
		else if (err != -EFAULT && err != -EAGAIN && !emulate_again(vcpu))
			emulate_give_up(vcpu, "cannot emulate the string I/O instruction");
		return;
	}
	emulate_watch(vcpu, port, size, WATCH_IO);
	if (exit->io.in)
		emulate_set_gpr(vcpu, GPR_RAX, size, true, emulate_truncate(port_in(vcpu, port, size), size));
	else
		port_out(vcpu, port, size, (u32)emulate_truncate(vcpu->regs.gpr[GPR_RAX], size));
	emulate_skip_exit(vcpu, exit);
}
