/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instruction emulation: fetching and stepping over, and memory or port operands that devices own.
 */
#ifndef VMM_EMULATE_H
#define VMM_EMULATE_H

#include <margay/errno.h>

#include "vmm/emulate/decode.h"
#include "vmm/hvm.h"
#include "vmm/vcpu.h"

/*
 * Fetches and decodes the instruction at CS:RIP. 0 and *insn, which is valid until the next fetch;
 * -EFAULT with a #PF already raised when the guest's mapping has gone meanwhile; -EINVAL when the
 * bytes are no instruction that the decoder knows; -EIO when they are not in RAM.
 */
int emulate_fetch(struct vcpu *vcpu, const struct insn **insn);

/* emulate_skip() where RIP leaves its 4 GiB, a trap comes, or size matters. */
void emulate_skip_slowly(struct vcpu *vcpu, u64 rip);

/* Moves RIP past an instruction of `len` bytes; ends the interrupt shadow, honours single-step. */
static inline void emulate_skip(struct vcpu *vcpu, unsigned len)
{
	struct guest_regs *r = &vcpu->regs;
	u64 rip = r->rip + len;

	if (IS_ENABLED(CONFIG_OPTIMIZE_SIZE) ||
	    unlikely((rip ^ r->rip) >> 32 | (r->rflags & RFLAGS_TF) | vcpu->watched ||
		     vcpu_is_stepped(vcpu))) {
		emulate_skip_slowly(vcpu, rip);
		return;
	}
	r->rip = rip;
	vcpu->retries = 0;
	/*
	 * An exit by a stage-2 fault has set it; it covers one instruction (SDM vol. 3, 18.3.1.1).
	 */
	r->rflags &= ~RFLAGS_RF;
	r->shadow = 0;
}

/*
 * The same for the instruction that made this exit, whose length the CPU did not tell: decodes it.
 */
void emulate_skip_unknown(struct vcpu *vcpu);
/*
 * The length of the instruction at CS:RIP when it is one of those that exit most, without a prefix;
 * 0 where it needs decoding.
 */
unsigned emulate_peek_length(struct vcpu *vcpu);

static inline void emulate_skip_exit(struct vcpu *vcpu, const struct vmexit *exit)
{
	if (exit->insn_len)
		emulate_skip(vcpu, exit->insn_len);
	else
		emulate_skip_unknown(vcpu);
}

/*
 * A register operand of 1, 2, 4 or 8 bytes, with the partial-register rules of SDM vol. 1, 3.4.1.1.
 */
u64 emulate_get_gpr(const struct vcpu *vcpu, u8 reg, unsigned size, bool rex);
void emulate_set_gpr(struct vcpu *vcpu, u8 reg, unsigned size, bool rex, u64 value);

/*
 * Operand access at a linear address: RAM, a device, or nothing (reads as ones, writes vanish).
 * size 1, 2, 4 or 8; a value to write may have more bits. 0; -EFAULT with #PF or #GP raised;
 * -EAGAIN: the machine has lost a page of it, which the guest has been told, or its VM has ended:
 * nothing of the instruction is carried out.
 */
int emulate_mem_read(struct vcpu *vcpu, u64 gva, unsigned size, u64 *value);
int emulate_mem_write(struct vcpu *vcpu, u64 gva, unsigned size, u64 value);
/*
 * Would a write do it, of up to a page? As above. Before the read of an instruction that writes
 * there, too, for a device's register may change by being read.
 */
int emulate_mem_writable(struct vcpu *vcpu, u64 gva, unsigned size);
/* The same for up to 64 bytes. A device gets them by 8 at a time, from the lowest address on. */
int emulate_mem_read_bytes(struct vcpu *vcpu, u64 gva, unsigned size, void *bytes);
int emulate_mem_write_bytes(struct vcpu *vcpu, u64 gva, unsigned size, const void *bytes);

/* What a breakpoint waits for, by the bits R/W of DR7 that do. */
enum { WATCH_WRITE = BIT(1) | BIT(3), WATCH_IO = BIT(2), WATCH_READ = BIT(3) };
/*
 * The instruction in hand accesses this address or port: the breakpoints
 * (DR0-DR3) that it meets make a #DB behind it.
 */
void emulate_watch_armed(struct vcpu *vcpu, u64 addr, unsigned size, unsigned watch);

static inline void emulate_watch(struct vcpu *vcpu, u64 addr, unsigned size, unsigned watch)
{
	if (IS_ENABLED(CONFIG_VM_EMULATE_ALL) && unlikely(hvm->get(vcpu, HVM_DR7) & DR7_ENABLED))
		emulate_watch_armed(vcpu, addr, size, watch);
}

/* Linear address of an offset in a segment, and of the instruction's memory operand. */
u64 emulate_linear(struct vcpu *vcpu, const struct insn *insn, enum seg seg, u64 offset);
u64 emulate_operand(struct vcpu *vcpu, const struct insn *insn);

/*
 * The instruction, or one repetition of it, is done: the shadow ends, the trap of a step or
 * breakpoint comes.
 */
void emulate_retire(struct vcpu *vcpu);

#if IS_ENABLED(CONFIG_VM_EMULATE_ALL)
/*
 * arithmetic.c, exchange.c, vector.c and strings.c. All carry the instruction out but for RIP: 0;
 * -EFAULT with an exception raised; -EINVAL: not one of theirs; -EAGAIN: come back to the same RIP,
 * for memory is lost, or a string has more repetitions.
 */
int emulate_arithmetic(struct vcpu *vcpu, const struct insn *insn);
int emulate_exchange(struct vcpu *vcpu, const struct insn *insn);
int emulate_vector(struct vcpu *vcpu, const struct insn *insn);
/* port: of INS and OUTS. */
int emulate_string(struct vcpu *vcpu, const struct insn *insn, u16 port);

/* Is it one of these that accesses memory? */
static inline bool emulate_is_string(const struct insn *insn)
{
	return insn->op == INSN_MOVS || insn->op == INSN_STOS || insn->op == INSN_LODS;
}
#else
static inline int emulate_arithmetic(struct vcpu *, const struct insn *)
{
	return -EINVAL;
}

static inline int emulate_exchange(struct vcpu *, const struct insn *)
{
	return -EINVAL;
}

static inline int emulate_vector(struct vcpu *, const struct insn *)
{
	return -EINVAL;
}

static inline int emulate_string(struct vcpu *, const struct insn *, u16)
{
	return -EINVAL;
}

static inline bool emulate_is_string(const struct insn *)
{
	return false;
}
#endif

/* The value of `a op b`, ADD to CMP or TEST, and the flags that it leaves (SDM vol. 1, 3.4.3.1). */
u64 emulate_alu(enum insn_op op, unsigned size, u64 a, u64 b, u64 *rflags);

/* Performs the memory access that caused a stage-2 exit. Ends the VM when that is impossible. */
void emulate_mmio(struct vcpu *vcpu, const struct vmexit *exit);

/* IN or OUT at a port; *rax is the guest's. */
void emulate_port(struct vcpu *vcpu, u16 port, unsigned size, bool in, u64 *rax);

/* Performs IN, OUT, INS or OUTS. */
void emulate_io(struct vcpu *vcpu, const struct vmexit *exit);

/*
 * The bytes at RIP are not of the kind that made this exit, or not known. Other
 * CPUs may have changed them since: true, let the guest run again. False when
 * that has been tried often, without an instruction done in between.
 */
bool emulate_again(struct vcpu *vcpu);

/*
 * Ends the VM as crashed, with the reason, RIP and the bytes there: its kernel has arranged what
 * cannot go on.
 */
void emulate_give_up(struct vcpu *vcpu, const char *why);

/*
 * The instruction at RIP is not emulated, nor fetched where there is no RAM. A program of the
 * guest's may choose any, and map what its kernel lets it have: at CPL 3 it gets #UD, and the VM
 * lives on: true. False in the guest's kernel.
 */
bool emulate_refuse_program(struct vcpu *vcpu);
/* The same, or emulate_give_up(). */
void emulate_refuse(struct vcpu *vcpu, const char *why);

#endif
