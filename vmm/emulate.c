/* SPDX-License-Identifier: GPL-2.0-only */
/* What all emulated instructions share: fetch, step, registers, operand addresses and accesses. */
#include "vmm/emulate.h"

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/hvm.h"

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

int emulate_fetch(struct vcpu *vcpu, struct insn *insn)
{
	struct hvm_context c;
	u8 bytes[INSN_MAX];
	unsigned have = 0;
	u64 addr;

	hvm->get_context(vcpu, &c);
	addr = code_address(vcpu, &c);
	/* First what lies on this page: the next one need not be mapped. */
	while (have < INSN_MAX) {
		unsigned want = (unsigned)MIN(INSN_MAX - have, PAGE_SIZE - ((addr + have) & (PAGE_SIZE - 1)));
		const u8 *code;
		int err = fetch(vcpu, &c, addr + have, &code);

		if (err)
			return err;
		memcpy(bytes + have, code, want);
		have += want;
		err = insn_decode(bytes, have, mode(&c), insn);
		if (err != -EAGAIN)
			return err;
	}
	return -EINVAL;
}

void emulate_watch(struct vcpu *vcpu, u64 addr, unsigned size, unsigned watch)
{
	static const u8 bytes[] = { 1, 2, 8, 4 };
	u64 dr7 = hvm->get(vcpu, HVM_DR7);

	/* A debugger's are not looked for here, nor the guest's while it has the registers. */
	if (likely(!(dr7 & DR7_ENABLED)) || (IS_ENABLED(CONFIG_GDB) && vcpu->debug.own))
		return;
	if (watch == WATCH_IO && !(hvm->get(vcpu, HVM_CR4) & CR4_DE))
		return;
	for (unsigned n = 0; n < 4; n++) {
		u64 len = bytes[DR7_LEN(dr7, n)], at = hvm->get(vcpu, HVM_DR0 + n) & ~(len - 1);

		if (dr7 >> n * 2 & 3 && watch >> DR7_RW(dr7, n) & 1 && addr < at + len && at < addr + size)
			vcpu->watched |= (u8)BIT(n);
	}
}

/* The instruction, or one repetition of it, is done: the shadow ends, the trap of a step or breakpoint comes. */
static void retire(struct vcpu *vcpu)
{
	u64 traps = vcpu->watched | (vcpu->regs.rflags & RFLAGS_TF ? DR6_BS : 0);

	vcpu->retries = 0;
	/* An exit by a stage-2 fault has set it; it covers one instruction (SDM vol. 3, 18.3.1.1). */
	vcpu->regs.rflags &= ~RFLAGS_RF;
	if (hvm->get(vcpu, HVM_INTR_SHADOW))
		hvm->set(vcpu, HVM_INTR_SHADOW, 0);
	if (IS_ENABLED(CONFIG_GDB) && vcpu->debug.step != STEP_NONE) {
		vcpu->debug.retired = true;
	} else if (unlikely(traps)) {
		hvm->set(vcpu, HVM_DR6, hvm->get(vcpu, HVM_DR6) | DR6_ACTIVE_LOW | traps);
		vcpu_raise(vcpu, VEC_DB);
	}
}

void emulate_skip(struct vcpu *vcpu, unsigned len)
{
	u64 rip = vcpu->regs.rip + len;

	/* Outside 64-bit mode EIP wraps; an entry with more bits would fail (SDM vol. 3, 27.3.1.4). */
	if (unlikely((rip ^ vcpu->regs.rip) >> 32)) {
		struct hvm_context c;

		hvm->get_context(vcpu, &c);
		if (mode(&c) != MODE_64)
			rip = (u32)rip;
	}
	vcpu->regs.rip = rip;
	retire(vcpu);
}

/* Length of the instructions that exit most, when they stand there without a prefix; 0: decode. */
static unsigned plain_length(u32 bytes)
{
	switch (bytes & 0xffff) {
	case 0xa20f: /* CPUID */
	case 0x300f: /* WRMSR */
	case 0x320f: /* RDMSR */
		return 2;
	case 0x010f:
		return (bytes >> 16 & 0xff) == 0xd9 ? 3 : 0; /* VMMCALL */
	}
	return (bytes & 0xff) == 0xf4; /* HLT */
}

/* The same of the instruction at CS:RIP; 0 also where the decoder must say what is wrong. */
static unsigned peek_length(struct vcpu *vcpu)
{
	struct hvm_context c;
	struct guest_fault f;
	const u8 *code;
	u32 bytes;
	u64 addr;

	hvm->get_context(vcpu, &c);
	addr = code_address(vcpu, &c);
	if ((addr & (PAGE_SIZE - 1)) > PAGE_SIZE - sizeof(u32) || guest_fetch(vcpu, &c, addr, &code, &f))
		return 0;
	__builtin_memcpy(&bytes, code, sizeof(bytes)); /* one load: it need not be aligned */
	return plain_length(bytes);
}

void emulate_skip_exit(struct vcpu *vcpu, const struct vmexit *exit)
{
	unsigned len = exit->insn_len ? exit->insn_len : peek_length(vcpu);
	struct insn insn;

	if (len) {
		emulate_skip(vcpu, len);
		return;
	}
	switch (emulate_fetch(vcpu, &insn)) {
	case 0:
		emulate_skip(vcpu, insn.len);
		break;
	case -EFAULT: /* #PF raised: the guest comes back to it */
		break;
	default:
		if (!emulate_again(vcpu))
			emulate_give_up(vcpu, "cannot decode an instruction to step over");
	}
}

u64 emulate_get_gpr(const struct vcpu *vcpu, u8 reg, unsigned size, bool rex)
{
	const u64 *gpr = vcpu->regs.gpr;

	switch (size) {
	case 1:
		return reg >= 4 && reg < 8 && !rex ? gpr[reg - 4] >> 8 & 0xff : gpr[reg] & 0xff;
	case 2:
		return gpr[reg] & 0xffff;
	case 4:
		return gpr[reg] & 0xffffffff;
	default:
		return gpr[reg];
	}
}

void emulate_set_gpr(struct vcpu *vcpu, u8 reg, unsigned size, bool rex, u64 value)
{
	u64 *gpr = vcpu->regs.gpr;

	switch (size) {
	case 1:
		if (reg >= 4 && reg < 8 && !rex)
			gpr[reg - 4] = (gpr[reg - 4] & ~0xff00ull) | (value & 0xff) << 8;
		else
			gpr[reg] = (gpr[reg] & ~0xffull) | (value & 0xff);
		break;
	case 2:
		gpr[reg] = (gpr[reg] & ~0xffffull) | (value & 0xffff);
		break;
	case 4:
		gpr[reg] = value & 0xffffffff;
		break;
	default:
		gpr[reg] = value;
	}
}

static u64 mask_size(u64 value, unsigned size)
{
	return size == 8 ? value : value & (BIT(size * 8) - 1);
}

static u64 linear(struct vcpu *vcpu, enum seg seg, unsigned addrsize, u64 offset)
{
	struct segment s;

	offset = mask_size(offset, addrsize);
	hvm->get_segment(vcpu, seg, &s);
	if (hvm->get(vcpu, HVM_EFER) & EFER_LMA) {
		struct segment cs;

		hvm->get_segment(vcpu, SEG_CS, &cs);
		if (cs.attr & SEG_ATTR_L)
			return seg == SEG_FS || seg == SEG_GS ? s.base + offset : offset;
	}
	return (u32)(s.base + offset);
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
	return linear(vcpu, insn->seg, insn->addrsize, ea);
}

u64 emulate_string_operand(struct vcpu *vcpu, const struct insn *insn, enum gpr pointer)
{
	return linear(vcpu, pointer == GPR_RDI ? SEG_ES : insn->seg, insn->addrsize, vcpu->regs.gpr[pointer]);
}

bool emulate_string_more(const struct vcpu *vcpu, const struct insn *insn)
{
	return !(insn->rep || insn->repne) || mask_size(vcpu->regs.gpr[GPR_RCX], insn->addrsize);
}

bool emulate_string_pause(struct vcpu *vcpu, const struct insn *insn)
{
	if (likely(!(vcpu->regs.rflags & RFLAGS_TF) && !vcpu->watched) || !emulate_string_more(vcpu, insn))
		return false;
	retire(vcpu);
	return true;
}

void emulate_string_advance(struct vcpu *vcpu, const struct insn *insn, bool si, bool di)
{
	u64 step = vcpu->regs.rflags & RFLAGS_DF ? -(u64)insn->opsize : insn->opsize;
	u64 *gpr = vcpu->regs.gpr;

	if (si)
		emulate_set_gpr(vcpu, GPR_RSI, insn->addrsize, true, gpr[GPR_RSI] + step);
	if (di)
		emulate_set_gpr(vcpu, GPR_RDI, insn->addrsize, true, gpr[GPR_RDI] + step);
	if (insn->rep || insn->repne)
		emulate_set_gpr(vcpu, GPR_RCX, insn->addrsize, true, gpr[GPR_RCX] - 1);
}

/* The range that holds all of the access, and where in it. Another vCPU may move it by vm_set_mmio(): each field is read once. */
static const struct mmio_range *find_mmio(const struct vm *vm, u64 addr, unsigned size, u64 *offset)
{
	for (const struct mmio_range *r = vm->mmio; r < vm->mmio + vm->nr_mmio; r++) {
		u64 length = __atomic_load_n(&r->size, __ATOMIC_ACQUIRE);

		*offset = addr - __atomic_load_n(&r->base, __ATOMIC_ACQUIRE);
		if (*offset < length)
			return size <= length - *offset ? r : NULL;
	}
	return NULL;
}

/* One access within a page: RAM, a device range that holds all of it, or nothing. */
static void access_page(struct vcpu *vcpu, gpa_t addr, unsigned size, bool write, u64 *value)
{
	void *ram = guest_ptr(vcpu->vm, addr, size);
	const struct mmio_range *r;
	u64 offset;

	if (ram) {
		if (write)
			memcpy(ram, value, size);
		else
			memcpy(value, ram, size);
		return;
	}
	r = find_mmio(vcpu->vm, addr.v, size, &offset);
	if (r && write)
		r->ops->write(r->dev, vcpu, offset, size, *value);
	else if (!write)
		*value = mask_size(r ? r->ops->read(r->dev, vcpu, offset, size) : ~0ull, size);
}

static bool canonical(u64 gva)
{
	return (u64)((s64)(gva << 16) >> 16) == gva;
}

/* Bytes of the operand on its first page. */
static unsigned first_part(u64 gva, unsigned size)
{
	return (unsigned)MIN(size, PAGE_SIZE - (gva & (PAGE_SIZE - 1)));
}

/*
 * All pages of the operand are translated before the first byte moves, so a
 * fault leaves no half of the access behind.
 */
static int translate(struct vcpu *vcpu, u64 gva, unsigned size, bool write, gpa_t page[2])
{
	unsigned first = first_part(gva, size);
	enum guest_access access = write ? ACCESS_WRITE : ACCESS_READ;
	struct guest_fault f;
	int err;

	/* The CPU has not looked at the operands of INS and OUTS, nor at the second one of MOVS. */
	if (unlikely(!canonical(gva) || !canonical(gva + size - 1))) {
		vcpu_raise_error(vcpu, VEC_GP, 0);
		return -EFAULT;
	}
	err = guest_translate(vcpu, gva, access, &page[0], &f);
	if (!err && first < size)
		err = guest_translate(vcpu, gva + first, access, &page[1], &f);
	if (err)
		vcpu_raise_page_fault(vcpu, f.cr2, f.error);
	return err;
}

static int access_virt(struct vcpu *vcpu, u64 gva, unsigned size, bool write, u64 *value)
{
	unsigned first = first_part(gva, size);
	gpa_t page[2];
	u64 part = 0;
	int err = translate(vcpu, gva, size, write, page);

	if (err)
		return err;
	emulate_watch(vcpu, gva, size, write ? WATCH_WRITE : WATCH_READ);
	if (!write)
		*value = 0;
	access_page(vcpu, page[0], first, write, value);
	if (first < size) {
		part = *value >> first * 8;
		access_page(vcpu, page[1], size - first, write, &part);
		if (!write)
			*value |= part << first * 8;
	}
	return 0;
}

int emulate_mem_read(struct vcpu *vcpu, u64 gva, unsigned size, u64 *value)
{
	return access_virt(vcpu, gva, size, false, value);
}

int emulate_mem_write(struct vcpu *vcpu, u64 gva, unsigned size, u64 value)
{
	return access_virt(vcpu, gva, size, true, &value);
}

int emulate_mem_writable(struct vcpu *vcpu, u64 gva, unsigned size)
{
	gpa_t page[2];

	return translate(vcpu, gva, size, true, page);
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

	hvm->get_segment(vcpu, SEG_CS, &cs);
	(void)guest_read_virt(vcpu, cs.base + vcpu->regs.rip, ACCESS_READ, b, sizeof(b), &f);
	vm_log(vcpu->vm, "vcpu%u: %s at RIP %#llx (bytes %02x %02x %02x %02x %02x %02x %02x %02x)", vcpu->id, why,
	       (unsigned long long)vcpu->regs.rip, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]);
	vcpu_die(vcpu, VM_END_CRASH);
}
