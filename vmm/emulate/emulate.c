/* SPDX-License-Identifier: GPL-2.0-only */
/* What all emulated instructions share: fetch, step, registers, operand addresses. */
#include "vmm/emulate/emulate.h"

#include <margay/errno.h>
#include <margay/mc_access.h>

#include "vmm/hvm.h"
#include "vmm/memory/guest_fetched.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vm.h"

/* Exits in a row whose instruction cannot be found before the VM is given up. */
#define RETRIES_MAX 1000

static enum insn_mode mode(const struct hvm_context *c)
{
	if (c->cs_attr & SEG_ATTR_L && c->efer & EFER_LMA)
		return MODE_64;
	return c->cs_attr & SEG_ATTR_DB ? MODE_32 : MODE_16;
}

/* Linear address of the instruction at CS:RIP. */
static u64 code_address(const struct vcpu *vcpu, const struct hvm_context *c)
{
	return mode(c) == MODE_64 ? vcpu->regs.rip : (u32)(c->cs_base + vcpu->regs.rip);
}

/* guest_fetch(), with the #PF raised. */
static int fetch(struct vcpu *vcpu, const struct hvm_context *c, u64 addr, const u8 **code)
{
	struct guest_fault f;
	int err = guest_fetch(vcpu, c, addr, code, &f);

	if (err == -EFAULT)
		vcpu_raise_page_fault(vcpu, f.cr2, f.error);
	return err;
}

/*
 * An instruction that may reach into the next page, which need not be mapped: first what lies on
 * this one.
 */
static noinline int fetch_parts(struct vcpu *vcpu, const struct hvm_context *c, u64 addr,
				struct insn *insn)
{
	u8 bytes[INSN_MAX];
	unsigned have = 0;

	while (have < INSN_MAX) {
		unsigned want = (unsigned)MIN(INSN_MAX - have,
					      PAGE_SIZE - ((addr + have) & (PAGE_SIZE - 1)));
		const u8 *code;
		int err = fetch(vcpu, c, addr + have, &code);

		if (err)
			return err;
		if (!mc_copy(bytes + have, code, want))
			return guest_lost(vcpu->vm);
		have += want;
		err = insn_decode(bytes, have, mode(c), insn);
		if (err != -EAGAIN)
			return err;
	}
	return -EINVAL;
}

static noinline int decode_anew(struct decoded *d, const union insn_key *key, enum insn_mode mode)
{
	int err = insn_decode(key->bytes, INSN_MAX, mode, &d->insn);

	d->plain = PLAIN_UNKNOWN;
	d->key = err ? (union insn_key){ 0 } : *key;
	return err;
}

int emulate_fetch(struct vcpu *vcpu, const struct insn **insn)
{
	struct hvm_context c;
	union insn_key key;
	struct decoded *d;
	const u8 *code;
	u64 addr;
	int err;

	hvm->get_context(vcpu, &c);
	addr = code_address(vcpu, &c);
	d = &vcpu->decoded[addr % INSNS_DECODED];
	*insn = &d->insn;
	if (IS_ENABLED(CONFIG_OPTIMIZE_SIZE) ||
	    unlikely((addr & (PAGE_SIZE - 1)) > PAGE_SIZE - INSN_MAX)) {
		d->key = (union insn_key){ 0 };
		return fetch_parts(vcpu, &c, addr, &d->insn);
	}
	err = fetch(vcpu, &c, addr, &code);
	if (err)
		return err;
	/* The guest may change the bytes at any time: they are read once. */
	if (unlikely(!guest_code(code, key.word)))
		return guest_lost(vcpu->vm);
	key.mode = (u8)(mode(&c) + 1);
	if (likely(!((key.word[0] ^ d->key.word[0]) | (key.word[1] ^ d->key.word[1]))))
		return 0;
	return decode_anew(d, &key, mode(&c));
}

void emulate_watch_armed(struct vcpu *vcpu, u64 addr, unsigned size, unsigned watch)
{
	static const u8 bytes[] = { 1, 2, 8, 4 };
	u64 dr7 = hvm->get(vcpu, HVM_DR7);

	/* A debugger's are not looked for here, nor the guest's while it has the registers. */
	if (vcpu_is_debugged(vcpu))
		return;
	if (watch == WATCH_IO && !(hvm->get(vcpu, HVM_CR4) & CR4_DE))
		return;
	for (unsigned n = 0; n < 4; n++) {
		u64 len = bytes[DR7_LEN(dr7, n)], at = hvm->get(vcpu, HVM_DR0 + n) & ~(len - 1);

		if (dr7 >> n * 2 & 3 && watch >> DR7_RW(dr7, n) & 1 && addr < at + len &&
		    at < addr + size)
			vcpu->watched |= (u8)BIT(n);
	}
}

void emulate_retire(struct vcpu *vcpu)
{
	u64 traps = vcpu->watched | (vcpu->regs.rflags & RFLAGS_TF ? DR6_BS : 0);

	vcpu->retries = 0;
	vcpu->regs.rflags &= ~RFLAGS_RF;
	vcpu->regs.shadow = 0;
	if (vcpu_is_stepped(vcpu)) {
		vcpu->debug.retired = true;
	} else if (traps) {
		hvm->set(vcpu, HVM_DR6, dr6_after(hvm->get(vcpu, HVM_DR6), traps));
		vcpu_raise(vcpu, VEC_DB);
	}
}

void emulate_skip_slowly(struct vcpu *vcpu, u64 rip)
{
	struct hvm_context c;

	/*
	 * Outside 64-bit mode EIP wraps; an entry with more bits would fail (SDM vol. 3, 27.3.1.4).
	 */
	hvm->get_context(vcpu, &c);
	vcpu->regs.rip = mode(&c) == MODE_64 ? rip : (u32)rip;
	emulate_retire(vcpu);
}

/* Length of the instructions that exit most, when they stand there without a prefix; 0: decode. */
static unsigned plain_length(u32 bytes)
{
	switch (bytes & 0xffff) {
	case 0xa20f: /* CPUID */
	case 0x300f: /* WRMSR */
	case 0x320f: /* RDMSR */ return 2;
	case 0x010f: return (bytes >> 16 & 0xff) == 0xd9 ? 3 : 0; /* VMMCALL */
	}
	return (bytes & 0xff) == 0xf4; /* HLT */
}

unsigned emulate_peek_length(struct vcpu *vcpu)
{
	struct hvm_context c;
	const u8 *code;
	u32 bytes;
	u64 addr;

	hvm->get_context(vcpu, &c);
	addr = code_address(vcpu, &c);
	if ((addr & (PAGE_SIZE - 1)) > PAGE_SIZE - sizeof(u32))
		return 0;
	code = guest_fetched(vcpu, &c, addr);
	/* Lost: whoever decodes then says so. */
	return code && mc_load32(code, &bytes) ? plain_length(bytes) : 0;
}

void emulate_skip_unknown(struct vcpu *vcpu)
{
	unsigned len = IS_ENABLED(CONFIG_OPTIMIZE_SIZE) ? 0 : emulate_peek_length(vcpu);
	const struct insn *insn;

	if (len) {
		emulate_skip(vcpu, len);
		return;
	}
	switch (emulate_fetch(vcpu, &insn)) {
	case 0: emulate_skip(vcpu, insn->len); break;
	case -EFAULT: /* #PF raised: the guest comes back to it */ break;
	default:
		if (!emulate_again(vcpu))
			emulate_refuse(vcpu, "cannot decode an instruction to step over");
	}
}

/* AH, CH, DH or BH, where there is no REX prefix. */
static bool is_high_byte(u8 reg, unsigned size, bool rex)
{
	return size == 1 && reg >= 4 && reg < 8 && !rex;
}

u64 emulate_get_gpr(const struct vcpu *vcpu, u8 reg, unsigned size, bool rex)
{
	const u64 *gpr = vcpu->regs.gpr;

	return is_high_byte(reg, size, rex) ? gpr[reg - 4] >> 8 & 0xff
					    : insn_truncate(gpr[reg], size);
}

void emulate_set_gpr(struct vcpu *vcpu, u8 reg, unsigned size, bool rex, u64 value)
{
	u64 *gpr = vcpu->regs.gpr;
	u64 low = insn_truncate(value, size);

	if (is_high_byte(reg, size, rex))
		gpr[reg - 4] = (gpr[reg - 4] & ~0xff00ull) | low << 8;
	else if (size < 4)
		gpr[reg] = (gpr[reg] & ~insn_truncate(~0ull, size)) | low;
	else
		gpr[reg] = low;
}

static noinline u64 segmented(struct vcpu *vcpu, const struct insn *insn, enum seg seg, u64 offset)
{
	struct segment s;

	hvm->get_segment(vcpu, seg, &s);
	return insn->mode == MODE_64 ? s.base + offset : (u32)(s.base + offset);
}

u64 emulate_linear(struct vcpu *vcpu, const struct insn *insn, enum seg seg, u64 offset)
{
	offset = insn_truncate(offset, insn->addrsize);
	if (likely(insn->mode == MODE_64 && seg != SEG_FS && seg != SEG_GS))
		return offset;
	return segmented(vcpu, insn, seg, offset);
}

u64 emulate_operand(struct vcpu *vcpu, const struct insn *insn)
{
	u64 ea = (u64)insn->disp;

	if (insn->rip_relative)
		ea += vcpu->regs.rip + insn->len;
	if (insn->has_base)
		ea += vcpu->regs.gpr[insn->base];
	if (insn->has_index)
		ea += vcpu->regs.gpr[insn->index] * insn->scale;
	return emulate_linear(vcpu, insn, insn->seg, ea);
}

bool emulate_again(struct vcpu *vcpu)
{
	return ++vcpu->retries < RETRIES_MAX;
}

void emulate_give_up(struct vcpu *vcpu, const char *why)
{
	struct segment cs;
	u8 b[8] = { 0 };
	struct guest_fault f;

	if (!IS_ENABLED(CONFIG_DUMPS)) {
		vm_tell(vcpu->vm, "vcpu%u: %s at RIP %#lx", vcpu->id, why, vcpu->regs.rip);
		vcpu_die(vcpu, VM_END_CRASH);
		return;
	}
	hvm->get_segment(vcpu, SEG_CS, &cs);
	(void)guest_read_virt(vcpu, cs.base + vcpu->regs.rip, ACCESS_DEBUG, b, sizeof(b), &f);
	vm_tell(vcpu->vm, "vcpu%u: %s at RIP %#lx (bytes %02x %02x %02x %02x %02x %02x %02x %02x)",
		vcpu->id, why, vcpu->regs.rip, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]);
	vcpu_die(vcpu, VM_END_CRASH);
}

bool emulate_refuse_program(struct vcpu *vcpu)
{
	struct hvm_context c;

	hvm->get_context(vcpu, &c);
	if (c.cpl < 3)
		return false;
	vcpu->retries = 0;
	vcpu_raise(vcpu, VEC_UD);
	return true;
}

void emulate_refuse(struct vcpu *vcpu, const char *why)
{
	if (!emulate_refuse_program(vcpu))
		emulate_give_up(vcpu, why);
}
