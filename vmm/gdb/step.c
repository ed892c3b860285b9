/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One instruction by RFLAGS.TF, and what the debugger makes of exceptions.
 * While a vCPU is stepped it takes no interrupts, and all its exceptions exit:
 * the flag is the guest's again before one is delivered, and the step ends at
 * its handler. Where an instruction copies RFLAGS, the copy is put right.
 */
#include "vmm/gdb/gdb.h"
#include "vmm/hvm.h"
#include "vmm/vcpu.h"
#include "vmm/vm/debugger.h"

#define DR6_BD BIT(13)
#define DR6_BS BIT(14)
#define DR6_BT BIT(15)

/* ---- what an instruction does with TF ---- */

static bool is_prefix(u8 b, bool wide)
{
	return b == 0x66 || b == 0x67 || b == 0xf2 || b == 0xf3 || b == 0xf0 ||
	       (b & 0xe7) == 0x26 || (b & 0xfe) == 0x64 || (wide && (b & 0xf0) == 0x40);
}

/* The opcode at RIP, 0F as high byte; *next: what follows it, *length: up to there. */
static unsigned opcode(struct vcpu *vcpu, u8 *next, unsigned *length)
{
	u8 b[16] = { 0 };
	struct hvm_context c;
	unsigned i = 0, n;
	bool wide;

	hvm->get_context(vcpu, &c);
	wide = c.cs_attr & SEG_ATTR_L && c.efer & EFER_LMA;
	n = gdb_memory(vcpu, (wide ? 0 : c.cs_base) + vcpu->regs.rip, b, sizeof(b) - 2, false);
	while (i < n && is_prefix(b[i], wide))
		i++;
	*length = i + (b[i] == 0x0f ? 2 : 1);
	*next = b[*length];
	return b[i] == 0x0f ? 0x0f00u | b[i + 1] : b[i];
}

/*
 * SDM vol. 2, SYSCALL; in 64-bit mode. It clears TF by the guest's mask, so that no trap would
 * follow.
 */
static bool emulate_syscall(struct vcpu *vcpu, unsigned length)
{
	u64 star = hvm->get(vcpu, HVM_STAR) >> 32 & 0xfffc;
	struct segment cs = { .selector = (u16)star, .limit = ~0u, .attr = 0xa09b };
	struct segment ss = { .selector = (u16)(star + 8), .limit = ~0u, .attr = 0xc093 };
	struct guest_regs *r = &vcpu->regs;
	struct hvm_context c;

	hvm->get_context(vcpu, &c);
	if (!(c.efer & EFER_SCE) || !(c.efer & EFER_LMA) || !(c.cs_attr & SEG_ATTR_L))
		return false;
	r->gpr[GPR_RCX] = r->rip + length;
	r->gpr[GPR_R11] = r->rflags & ~RFLAGS_RF;
	r->rip = hvm->get(vcpu, HVM_LSTAR);
	r->rflags = (r->rflags & ~(hvm->get(vcpu, HVM_SFMASK) | RFLAGS_RF)) | RFLAGS_FIXED;
	hvm->set_segment(vcpu, SEG_CS, &cs);
	hvm->set_segment(vcpu, SEG_SS, &ss);
	return true;
}

static void flag(u64 *rflags, bool tf)
{
	*rflags = tf ? *rflags | RFLAGS_TF : *rflags & ~RFLAGS_TF;
}

/* TF is the guest's again. done: the instruction has run. */
static void restore(struct vcpu *vcpu, bool done)
{
	struct vcpu_debug *d = &vcpu->debug;
	u64 top = vcpu->regs.gpr[GPR_RSP] + 1;
	struct segment ss;
	u8 byte;

	if (d->step != STEP_ON)
		return;
	if (!done || !d->loads_tf)
		flag(&vcpu->regs.rflags, d->guest_tf);
	if (d->opcode == 0x0f07)
		flag(&vcpu->regs.gpr[GPR_R11], d->guest_tf);
	if (!done || d->opcode != 0x9c)
		return;
	hvm->get_segment(vcpu, SEG_SS, &ss);
	top += hvm->get(vcpu, HVM_EFER) & EFER_LMA ? 0 : ss.base;
	if (gdb_memory(vcpu, top, &byte, 1, false)) {
		byte = d->guest_tf ? byte | 1 : byte & 0xfe; /* bit 8 of the image */
		gdb_memory(vcpu, top, &byte, 1, true);
	}
}

/* ---- a step from begin to end ---- */

static void finish(struct vcpu *vcpu)
{
	vcpu->debug.step = STEP_NONE;
	vcpu->debug.retired = false;
	gdb_arm(vcpu);
	gdb_stop(vcpu, GDB_SINGLE, 0);
}

/*
 * The step ends where this vector's handler begins (SDM vol. 3, 6.14.1); or here, where that is not
 * known.
 */
static void land(struct vcpu *vcpu, u8 vector)
{
	struct vcpu_debug *d = &vcpu->debug;
	struct desc_table idt;
	u8 gate[16];

	restore(vcpu, false);
	d->step = STEP_LANDING;
	hvm->get_desc_table(vcpu, true, &idt);
	if (!(hvm->get(vcpu, HVM_EFER) & EFER_LMA) || !gdb_hard_free(&d->landing_dr) ||
	    idt.limit < 16u * vector + 15 ||
	    gdb_memory(vcpu, idt.base + 16u * vector, gate, sizeof(gate), false) != sizeof(gate)) {
		finish(vcpu);
		return;
	}
	d->landing = gate[0] | (u64)gate[1] << 8;
	for (unsigned i = 0; i < 6; i++)
		d->landing |= (u64)gate[6 + i] << (16 + 8 * i);
	gdb_arm(vcpu);
}

static void begin(struct vcpu *vcpu)
{
	struct vcpu_debug *d = &vcpu->debug;
	unsigned length;
	u8 next;

	d->retired = false;
	vcpu->halted = false;
	if (vcpu->event.type == HVM_EVENT_EXCEPTION) {
		d->step = STEP_LANDING;
		land(vcpu, vcpu->event.vector);
		return;
	}
	d->opcode = (u16)opcode(vcpu, &next, &length);
	if (d->opcode == 0x0f05 && emulate_syscall(vcpu, length)) {
		finish(vcpu);
		return;
	}
	d->loads_tf = d->opcode == 0x9d || d->opcode == 0xcf;
	d->guest_tf = vcpu->regs.rflags & RFLAGS_TF;
	if (d->opcode == 0xcd) { /* INT n */
		d->step = STEP_LANDING;
		land(vcpu, next);
		return;
	}
	if (d->opcode == 0x0f07) { /* SYSRET loads RFLAGS from R11, and traps by what it loads */
		d->guest_tf = vcpu->regs.gpr[GPR_R11] & RFLAGS_TF;
		flag(&vcpu->regs.gpr[GPR_R11], true);
	}
	flag(&vcpu->regs.rflags, true);
	d->step = STEP_ON;
	gdb_arm(vcpu);
}

void gdb_step_abort(struct vcpu *vcpu)
{
	restore(vcpu, false);
	vcpu->debug.step = STEP_NONE;
	vcpu->debug.retired = false;
}

bool gdb_enter(struct vcpu *vcpu)
{
	struct vcpu_debug *d = &vcpu->debug;
	bool stepped = d->step != STEP_NONE;

	if (d->sync) {
		gdb_step_abort(vcpu);
		d->sync = false;
		stepped = d->step_wanted;
		d->step_wanted = false;
		if (stepped)
			begin(vcpu);
		else
			gdb_arm(vcpu);
	} else if (d->step == STEP_ON && vcpu->event.type == HVM_EVENT_EXCEPTION) {
		land(vcpu, vcpu->event.vector); /* the monitor has raised it */
	}
	d->work = d->step != STEP_NONE;
	if (d->work)
		vcpu_put_back_event(vcpu);
	return !stepped || d->work;
}

void gdb_retired(struct vcpu *vcpu)
{
	struct vcpu_debug *d = &vcpu->debug;
	bool trap = d->step == STEP_ON && d->guest_tf;

	restore(vcpu, true);
	if (trap) {
		d->dr6 = dr6_after(d->dr6, DR6_BS);
		vcpu_raise(vcpu, VEC_DB);
	}
	finish(vcpu);
}

/* ---- exceptions ---- */

static bool exception_db(struct vcpu *vcpu, const struct vmexit *exit)
{
	struct vcpu_debug *d = &vcpu->debug;
	u64 bits = (hvm->get(vcpu, HVM_DR6) | exit->exception.qualification) &
		   (0xf | DR6_BD | DR6_BS | DR6_BT),
	    ours, rest;
	bool stepped = d->step == STEP_ON && bits & DR6_BS, landed;
	enum gdb_break kind = GDB_EXEC;
	u64 address = 0;

	if (!d->own)
		return false;
	hvm->set(vcpu, HVM_DR6, DR6_NONE);
	ours = gdb_hard_hit(bits, &kind, &address);
	landed = d->step == STEP_LANDING && bits & BIT(d->landing_dr) &&
		 vcpu->regs.rip == d->landing;
	rest = bits & ~ours & ~(landed ? BIT(d->landing_dr) : 0) &
	       ~(stepped && !d->guest_tf ? DR6_BS : 0);
	for (unsigned i = 0; i < DEBUG_REGISTERS; i++)
		if (!(d->dr7 >> 2 * i & 3))
			rest &= ~BIT(i);
	if (stepped) {
		restore(vcpu, true);
		d->step = STEP_NONE;
	}
	/* Its own, or INT1, which sets no bit. */
	if (rest || !bits) {
		restore(vcpu, false);
		if (rest)
			d->dr6 = dr6_after(d->dr6, rest);
		d->dr7 &= ~BIT(13); /* GD */
		vcpu_raise(vcpu, VEC_DB);
	}
	if (ours) {
		gdb_step_abort(vcpu);
		gdb_arm(vcpu);
		gdb_stop(vcpu, kind, address);
	} else if (stepped || landed) {
		finish(vcpu);
	} else if (d->step != STEP_NONE && (rest || !bits)) {
		d->step = STEP_LANDING;
		land(vcpu, vcpu->event.vector);
	}
	return true;
}

bool gdb_exception(struct vcpu *vcpu, const struct vmexit *exit)
{
	struct vcpu_debug *d = &vcpu->debug;
	u8 vector = exit->exception.vector, next;
	unsigned length;

	if (vector == VEC_DB)
		return exception_db(vcpu, exit);
	if (vector == VEC_BP) {
		if (gdb_soft_at_rip(vcpu)) {
			gdb_step_abort(vcpu);
			gdb_stop(vcpu, GDB_SOFT, 0);
			return true;
		}
		/*
		 * The guest's own: a trap, behind the instruction. TCG's exits do not tell INT n
		 * from INT3.
		 */
		if (opcode(vcpu, &next, &length) == 0xcd) {
			vector = next;
			length++;
		}
		vcpu->regs.rip += length;
	} else if (d->step == STEP_NONE) {
		return false;
	}
	if (vector == VEC_PF)
		vcpu_raise_page_fault(vcpu, exit->exception.qualification, exit->exception.error);
	else if (exit->exception.has_error)
		vcpu_raise_error(vcpu, vector, exit->exception.error);
	else
		vcpu_raise(vcpu, vector);
	if (d->step != STEP_NONE && vcpu->event.type == HVM_EVENT_EXCEPTION)
		land(vcpu, vcpu->event.vector);
	return true;
}
