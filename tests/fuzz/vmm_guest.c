/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guests of fuzz_vmm.c: each byte of the input is an action of the vCPU
 * that runs (registers, memory, page tables, modes, what the world does
 * meanwhile) or an exit. What hardware would not let a guest do without an
 * exit, this guest cannot do either; all that it can, it does.
 */
#include "tests/fuzz/fuzz_vmm.h"
#include "vmm/hvm.h"
#include "vmm/vm/intc.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/node/pause.h"
#include "vmm/guest_platform.h"

/* ---- instructions ---- */

#define I(...) \
	{ \
		(u8)sizeof((const u8[]){ __VA_ARGS__ }), \
		{ \
			__VA_ARGS__ \
		} \
	}
struct bytes {
	u8 n;
	u8 b[10];
};

/* Of memory at RDI or RSI: whatever the emulator knows, and some that it does not. */
/* clang-format off */
static const struct bytes memory_insns[] = {
	I(0x8b, 0x07), I(0x89, 0x07), I(0x8a, 0x07), I(0x88, 0x07), I(0x48, 0x8b, 0x07),
	I(0x48, 0x89, 0x07), I(0x66, 0x89, 0x07),
	I(0xc7, 0x07, 0xff, 0x01, 0x00, 0x00), I(0xc6, 0x07, 0x12), I(0x0f, 0xb6, 0x07),
	I(0x0f, 0xb7, 0x07), I(0x0f, 0xbe, 0x07),
	I(0x48, 0x63, 0x07),
	I(0x87, 0x07), I(0x09, 0x07), I(0x23, 0x07), I(0x31, 0x07), I(0x01, 0x07), I(0x2b, 0x07),
	I(0x39, 0x07),
	I(0x85, 0x07), I(0x81, 0x0f, 0x00, 0x10, 0x00, 0x00), I(0x83, 0x27, 0x7f),
	I(0xf6, 0x07, 0x01), I(0x0f, 0xa3, 0x07),
	I(0x0f, 0xab, 0x07), I(0x0f, 0xb3, 0x07), I(0x0f, 0xbb, 0x07), I(0x0f, 0xba, 0x2f, 0x03),
	I(0xa5), I(0xf3, 0xa4),
	I(0xf3, 0x48, 0xa5), I(0xab), I(0xf3, 0xaa), I(0xad), I(0xac), I(0x0f, 0xc3, 0x07),
	I(0xa1, 0x30, 0x00, 0xe0, 0xfe),
	I(0x0f, 0xc1, 0x07), I(0xf0, 0x0f, 0xb1, 0x07), I(0x0f, 0xc7, 0x0f),
	I(0x48, 0x0f, 0xc7, 0x0f),
	I(0x0f, 0x11, 0x07), I(0x66, 0x0f, 0x6f, 0x07), I(0xc5, 0xfe, 0x6f, 0x07),
	I(0xc5, 0xf8, 0x11, 0x07),
	I(0xff, 0x07), I(0x0f, 0x10, 0x07), I(0xd8, 0x07), I(0x67, 0x8b, 0x07), I(0x8b, 0x47, 0x10),
	I(0x8b, 0x04, 0x77),
	I(0x64, 0x8b, 0x07), I(0x40, 0x88, 0x37), I(0x88, 0x27),
	I(0x8b, 0x05, 0x00, 0x00, 0x00, 0x00),
};
/* clang-format on */

static const struct bytes plain_insns[VMEXIT_REASONS] = {
	[VMEXIT_CPUID] = I(0x0f, 0xa2),           [VMEXIT_HLT] = I(0xf4),
	[VMEXIT_RDMSR] = I(0x0f, 0x32),           [VMEXIT_WRMSR] = I(0x0f, 0x30),
	[VMEXIT_HYPERCALL] = I(0x0f, 0x01, 0xd9), [VMEXIT_XSETBV] = I(0x0f, 0x01, 0xd1),
	[VMEXIT_WBINVD] = I(0x0f, 0x09),          [VMEXIT_IO] = I(0xee),
};

static u64 next_linear(const struct vcpu *vcpu, const struct fake_vcpu *f)
{
	return fake_hvm_64bit(f) ? vcpu->regs.rip : (u32)(f->seg[SEG_CS].base + vcpu->regs.rip);
}

/* Puts an instruction where RIP is, if that is RAM. */
static void place(struct vcpu *vcpu, const struct fake_vcpu *f, const u8 *bytes, unsigned n)
{
	struct guest_fault fault;
	gpa_t at;

	for (unsigned i = 0; i < n; i++)
		if (!guest_translate(vcpu, next_linear(vcpu, f) + i, ACCESS_FETCH, &at, &fault))
			(void)guest_write(vcpu->vm, at, &bytes[i], 1);
}

static void place_raw(struct vcpu *vcpu, const struct fake_vcpu *f, struct fuzz_in *in)
{
	u8 bytes[15], n = fuzz_u8(in) & 15;

	for (unsigned i = 0; i < n; i++)
		bytes[i] = fuzz_u8(in);
	place(vcpu, f, bytes, n);
}

/* ---- what the guest does without an exit ---- */

/* Around the ends of devices: what an access there has of them is cut into parts. */
static u64 edge(u8 which, struct fuzz_in *in)
{
	/* clang-format off */
	static const u64 at[] = {
		GUEST_LAPIC_BASE, GUEST_LAPIC_BASE + PAGE_SIZE, GUEST_IOAPIC_BASE,
		GUEST_IOAPIC_BASE + GUEST_IOAPIC_SIZE,
		WORLD_BAR + 0x2000, WORLD_BAR + 0x3000, WORLD_BAR + WORLD_BAR_SIZE, WORLD_SMALL_BAR,
		WORLD_SMALL_BAR + WORLD_SMALL_BAR_SIZE, 0xb0000000, 0xb0021000, 0xb0022000,
		0xc0000000, 0xa0000, 0x2000000,
		PAGE_SIZE,
	};
	/* clang-format on */

	return at[which] + (u64)(s8)fuzz_u8(in);
}

/* Where devices are, the hole, RAM's ends, page ends. */
static u64 interesting_address(struct fuzz_in *in)
{
	static const u64 base[] = {
		GUEST_LAPIC_BASE, GUEST_IOAPIC_BASE, 0xe0000000, 0x2000000, 0x9fff8,
		0x4000,           0x1ffff8,          0x90000,
	};
	u8 a = fuzz_u8(in);

	if (a >= 0xf0)
		return edge(a & 15, in);
	if (a & 0x80)
		return fuzz_number(in);
	return base[a & 7] + (a & 0x40 ? fuzz_u8(in) : (a >> 3 & 7) * 16u) * (a & 0x40 ? 16u : 1u);
}

static void load_rflags(struct vcpu *vcpu, struct fuzz_in *in)
{
	u64 v = fuzz_le(in, 3);

	vcpu->regs.rflags = (v & 0x257fd5) | RFLAGS_FIXED;
	if (!(v & RFLAGS_IF))
		vcpu->regs.shadow = 0;
}

static void load_rip(struct vcpu *vcpu, const struct fake_vcpu *f, u64 rip)
{
	vcpu->regs.rip = fake_hvm_64bit(f) ? (u64)((s64)(rip << 16) >> 16) : (u32)rip;
}

/* A far jump and a privilege level. */
static void load_cs(struct vcpu *vcpu, struct fake_vcpu *f, struct fuzz_in *in)
{
	static const u32 code[] = { SEG_ATTR_L | 0x809b, SEG_ATTR_DB | 0x809b, 0x9b,
				    SEG_ATTR_L | 0x809b };
	u8 how = fuzz_u8(in);
	u32 dpl = how & 0x10 ? 3u << SEG_ATTR_DPL_SHIFT : 0, attr = code[how & 3] | dpl;

	f->seg[SEG_CS] =
		(struct segment){ .selector = 0x10,
				  .attr = attr,
				  .limit = attr & SEG_ATTR_G ? ~0u : 0xffff,
				  .base = how & 0x20 && !fake_hvm_64bit(f) ? (u64)fuzz_u8(in) << 12
									   : 0 };
	f->seg[SEG_SS] = (struct segment){ .selector = 0x18, .attr = 0xc093 | dpl, .limit = ~0u };
	load_rip(vcpu, f, vcpu->regs.rip);
}

static void load_segment(struct fake_vcpu *f, struct fuzz_in *in)
{
	static const u8 which[] = { SEG_ES, SEG_DS, SEG_FS, SEG_GS };
	u8 how = fuzz_u8(in), seg = which[how & 3];
	u64 base = fuzz_number(in);

	f->seg[seg] = (struct segment){ .selector = 0x18,
					.attr = how & 4 ? SEG_ATTR_UNUSABLE : 0xc093,
					.limit = ~0u,
					.base = seg >= SEG_FS ? (u64)((s64)(base << 16) >> 16)
							      : (u32)base };
}

static void write_memory(struct vcpu *vcpu, struct fuzz_in *in)
{
	u64 at = interesting_address(in), value = fuzz_number(in);

	(void)guest_write(vcpu->vm, gpa(at), &value, 8);
}

/* An entry of the tables that CR3 names, at a level of its own. */
static void write_entry(struct vcpu *vcpu, const struct fake_vcpu *f, struct fuzz_in *in)
{
	u8 index = fuzz_u8(in), flags = fuzz_u8(in), level = fuzz_u8(in);
	u64 target = level & 0x80 ? interesting_address(in) : 0x4000 + (level & 7) * PAGE_SIZE;
	u64 entry = (target & PTE_ADDR) | (flags & 0x1e7) | (level & 0x40 ? PTE_NX : 0);
	u64 table =
		level & 8 ? f->reg[HVM_CR3] & 0xfffff000 : 0x4000 + (level >> 4 & 3) * PAGE_SIZE;

	(void)guest_write(vcpu->vm, gpa(table + index * 8u), &entry, 8);
}

static void load_register(struct vcpu *vcpu, struct fake_vcpu *f, struct fuzz_in *in)
{
	u8 which = fuzz_u8(in);

	switch (which & 0x70) {
	case 0x00:
	case 0x10: vcpu->regs.gpr[which & 15] = fuzz_number(in); break;
	case 0x20: vcpu->regs.gpr[which & 1 ? GPR_RDI : GPR_RSI] = interesting_address(in); break;
	case 0x30: load_rip(vcpu, f, fuzz_number(in)); break;
	case 0x40:
		(void)fake_hvm_load_cr3(vcpu, f,
					fuzz_number(in) & (BIT(fake_hvm.caps.phys_bits) - 1) &
						~(f->reg[HVM_EFER] & EFER_LMA ? 0ull
									      : ~0xffffffffull));
		break;
	case 0x50:
		f->reg[HVM_DR7] = (fuzz_u32(in) & 0xffff2fff) | 0x400;
		f->reg[HVM_DR6] = (fuzz_u32(in) & 0xe00f) | 0xffff0ff0;
		break;
	case 0x60: vcpu->regs.gpr[GPR_RCX] = which & 15; break;
	default: /* IRET and STI */
		if (which & 1)
			f->reg[HVM_NMI_BLOCKED] = 0;
		else if (vcpu->regs.rflags & RFLAGS_IF)
			vcpu->regs.shadow = 1;
	}
}

/* ---- what happens meanwhile ---- */

static void happen(struct vcpu *vcpu, struct fuzz_in *in)
{
	struct vm *vm = vcpu->vm;
	u8 what = fuzz_u8(in);

	switch (what & 15) {
	case 0:
	case 1: fake_host.tsc += fuzz_number(in) >> 24; break;
	case 2: /* typed */
		if (fake_host.console)
			for (unsigned i = 0; i <= what >> 4; i++)
				fake_host.console->rx(fake_host.console, (u8)i);
		break;
	case 3:
		fake_host.output_len = 0;
		fake_host_drain((what >> 4) * 8u);
		break;
	case 4:
		vm->intc->msi(vm, 0xfee00000 | (u64)fuzz_u8(in) << 12, fuzz_u32(in) & 0xffff);
		break;
	case 5: vm->intc->line(vm, what >> 4, fuzz_u8(in) & 1); break;
	case 6: (void)(what & 0x10 ? vm_pause(vm) : vm_resume(vm)); break;
	case 7: host_cpu_kick((what >> 4) % fake_host.nr_cpus); break;
	default: world_yield();
	}
}

/* ---- exits ---- */

/* clang-format off */
static const u32 msrs[] = {
	MSR_TSC, MSR_APIC_BASE, MSR_TSC_ADJUST, MSR_PAT, MSR_EFER, MSR_MTRR_DEF_TYPE, MSR_MTRRCAP,
	MSR_TSC_DEADLINE, MSR_XSS,
	MSR_DEBUGCTL, MSR_MISC_ENABLE, MSR_FEATURE_CONTROL, MSR_ARCH_CAPABILITIES, MSR_PLATFORM_ID,
	MSR_BIOS_SIGN_ID,
	MSR_BIOS_UPDT_TRIG, MSR_MCG_CAP, MSR_MTRR_PHYSBASE0, MSR_MTRR_FIX64K_00000,
	MSR_MTRR_FIX16K_80000, MSR_MTRR_FIX4K_C0000,
	MSR_KVM_WALL_CLOCK, MSR_KVM_SYSTEM_TIME, MSR_AMD_SYSCFG, MSR_AMD_HWCR, MSR_AMD_DE_CFG,
	MSR_AMD_LS_CFG,
	MSR_X2APIC_FIRST + 0x30, MSR_X2APIC_FIRST + 0xf, MSR_X2APIC_FIRST + 0x3f,
	MSR_X2APIC_FIRST + 0xb, MSR_X2APIC_FIRST + 0x32,
};
/* clang-format on */

static void exit_msr(struct vcpu *vcpu, struct fuzz_in *in)
{
	u8 which = fuzz_u8(in);
	u64 value = which & 0x40 ? fuzz_number(in) : vcpu->regs.gpr[GPR_RAX];

	vcpu->regs.gpr[GPR_RCX] = which & 0x80 ? fuzz_u32(in) : msrs[which % ARRAY_SIZE(msrs)];
	if (which & 0x20)
		value = (which & 0x80 ? 0 : GUEST_LAPIC_BASE) | (u64)fuzz_u8(in) << 8;
	vcpu->regs.gpr[GPR_RAX] = (u32)value;
	vcpu->regs.gpr[GPR_RDX] = value >> 32;
}

static void exit_io(struct vcpu *vcpu, const struct fake_vcpu *f, struct vmexit *exit,
		    struct fuzz_in *in)
{
	/* clang-format off */
	static const u16 ports[] = { GUEST_UART_PORT, 0x64, 0xcf9, GUEST_SLEEP_CONTROL_PORT, 0xf4,
		0x80, 0xfff8, 0x5f0,
				     0x70, GUEST_PVPANIC_PORT, GUEST_WATCHDOG_PORT, 0xcf8, 0xcfc,
				0x70, GUEST_WATCHDOG_PORT, 0x71 };
	/* clang-format on */

	static const struct bytes strings[] = { I(0x6c),       I(0x6d),       I(0x6e),
						I(0x6f),       I(0xf3, 0x6c), I(0xf3, 0x6d),
						I(0xf3, 0x6e), I(0x66, 0x6f) };
	u8 how = fuzz_u8(in), more = fuzz_u8(in);

	exit->io.port = how & 0x80 ? (u16)(more << 8 | fuzz_u8(in))
				   : (u16)(ports[(how & 7) | (how >> 3 & 8)] + (more & 7));
	exit->io.size = (u8)(1u << (more >> 3 & 3) % 3);
	exit->io.in = how & 8;
	exit->io.string = how & 16;
	exit->io.rep = how & 32;
	if (exit->io.string && more & 0x20) {
		const struct bytes *s = &strings[more & 7];
		u8 opcode = s->b[s->n - 1];
		bool wide = f->seg[SEG_CS].attr & (SEG_ATTR_L | SEG_ATTR_DB);

		/* Mostly the exit that it makes in this mode: another one is not carried out. */
		if (!(how & 0x40)) {
			exit->io.in = opcode < 0x6e;
			exit->io.size = (s->b[0] == 0x66) == wide ? 2 : 4;
			if (!(opcode & 1))
				exit->io.size = 1;
		}
		place(vcpu, f, s->b, s->n);
	} else if (more & 0x40)
		vcpu->regs.gpr[GPR_RAX] = fuzz_u8(in);
}

static void exit_cr(struct vcpu *vcpu, const struct fake_vcpu *f, struct vmexit *exit,
		    struct fuzz_in *in)
{
	static const u8 crs[] = { 0, 4, 8, 3 };
	u8 how = fuzz_u8(in), gpr = fuzz_u8(in) & 15;
	u8 mov[] = { 0x0f, how & 4 ? 0x22 : 0x20, (u8)(0xc0 | crs[how & 3] % 8 << 3 | (gpr & 7)) };
	static const struct bytes other[] = { I(0x0f, 0x06), I(0x0f, 0x01, 0xf0),
					      I(0x0f, 0x01, 0x37) };

	exit->cr.cr = crs[how & 3];
	exit->cr.write = how & 4;
	exit->cr.gpr = gpr;
	exit->cr.kind = how & 0x20 ? CR_CLTS : CR_LMSW;
	if (how & 0x18)
		exit->cr.kind = CR_MOV;
	exit->cr.lmsw = (u16)gpr;
	exit->cr.decoded = fake_hvm.caps.insn_len;
	/* Half of the values change a bit or two of what is there. */
	if (how & 0x40)
		vcpu->regs.gpr[gpr] =
			f->reg[exit->cr.cr == 4 ? HVM_CR4 : HVM_CR0] ^ BIT(fuzz_u8(in) & 31);
	else if (how & 0x80)
		vcpu->regs.gpr[gpr] = fuzz_number(in);
	if (exit->cr.kind == CR_MOV)
		place(vcpu, f, mov, sizeof(mov));
	else
		place(vcpu, f, other[gpr % ARRAY_SIZE(other)].b, other[gpr % ARRAY_SIZE(other)].n);
}

static void exit_stage2(struct vcpu *vcpu, const struct fake_vcpu *f, struct vmexit *exit,
			struct fuzz_in *in)
{
	u8 how = fuzz_u8(in), insn = fuzz_u8(in);

	exit->stage2.gpa = gpa(interesting_address(in) & (BIT(fake_hvm.caps.phys_bits) - 1));
	exit->stage2.write = how & 1;
	exit->stage2.exec = (how & 0xe) == 0xe;
	exit->stage2.walk = (how & 0x70) == 0x70;
	/* Mostly an access to that place by an instruction that does it. */
	if (how & 0x80) {
		vcpu->regs.gpr[GPR_RDI] = exit->stage2.gpa.v;
		place(vcpu, f, memory_insns[insn % ARRAY_SIZE(memory_insns)].b,
		      memory_insns[insn % ARRAY_SIZE(memory_insns)].n);
	} else if (insn & 1) {
		place_raw(vcpu, f, in);
	}
}

/*
 * The delivery of what was entered, or of an exception of the guest's own, is cut short by this
 * exit.
 */
static void cut_delivery(struct vcpu *vcpu, struct fake_vcpu *f, u8 how)
{
	static const u8 faults[] = { VEC_DE, VEC_DF, VEC_TS, VEC_NP, VEC_SS, VEC_GP,
				     VEC_PF, VEC_AC, VEC_UD, VEC_NM, VEC_MF, VEC_XM };
	struct hvm_event *e = &vcpu->event;

	if (f->entered.type == HVM_EVENT_INTR || f->entered.type == HVM_EVENT_NMI) {
		*e = f->entered;
		if (e->type == HVM_EVENT_NMI)
			f->reg[HVM_NMI_BLOCKED] = 0;
		return;
	}
	*e = (struct hvm_event){ .type = HVM_EVENT_EXCEPTION,
				 .vector = faults[how % ARRAY_SIZE(faults)] };
	e->has_error = f->reg[HVM_CR0] & CR0_PE &&
		       (e->vector == VEC_DF || (e->vector >= VEC_TS && e->vector <= VEC_PF) ||
			e->vector == VEC_AC);
	e->error = e->has_error ? how : 0;
}

static void exit_exception(struct vcpu *vcpu, struct fake_vcpu *f, struct vmexit *exit,
			   struct fuzz_in *in)
{
	u8 how = fuzz_u8(in);

	exit->exception.vector = how & 1 ? VEC_DB : VEC_AC;
	exit->exception.has_error = !(how & 1);
	exit->exception.qualification = how & 1 ? how & 0xe : 0;
	if (how & 0x80)
		cut_delivery(vcpu, f, how >> 1 & 15);
}

static void make_exit(struct vcpu *vcpu, struct fake_vcpu *f, struct vmexit *exit, u8 op,
		      struct fuzz_in *in)
{
	bool can_take = vcpu->regs.rflags & RFLAGS_IF && !vcpu->regs.shadow;

	exit->reason = op == 0x9f ? VMEXIT_BUS_LOCK : op % VMEXIT_BUS_LOCK;
	exit->raw = op;
	switch (exit->reason) {
	case VMEXIT_IRQ_WINDOW:
		if (!f->irq_window || !can_take)
			exit->reason = VMEXIT_EXTINT;
		break;
	case VMEXIT_NMI_WINDOW:
		if (!f->nmi_window || f->reg[HVM_NMI_BLOCKED] || vcpu->regs.shadow)
			exit->reason = VMEXIT_EXTINT;
		else
			f->nmi_window = false;
		break;
	case VMEXIT_EXCEPTION: exit_exception(vcpu, f, exit, in); break;
	case VMEXIT_CPUID:
		vcpu->regs.gpr[GPR_RAX] =
			fuzz_u8(in) | (op & 0x20 ? 0x80000000u : 0) | (op & 0x40 ? 0x40000000u : 0);
		vcpu->regs.gpr[GPR_RCX] = fuzz_u8(in);
		break;
	case VMEXIT_XSETBV:
		vcpu->regs.gpr[GPR_RCX] = op & 0x40 ? 1 : 0;
		vcpu->regs.gpr[GPR_RAX] = fuzz_u32(in);
		vcpu->regs.gpr[GPR_RDX] = 0;
		break;
	case VMEXIT_RDMSR:
	case VMEXIT_WRMSR: exit_msr(vcpu, in); break;
	case VMEXIT_IO: exit_io(vcpu, f, exit, in); break;
	case VMEXIT_CR: exit_cr(vcpu, f, exit, in); break;
	case VMEXIT_STAGE2:
		exit_stage2(vcpu, f, exit, in);
		if (fuzz_u8(in) == 0xff)
			cut_delivery(vcpu, f, op);
		break;
	default: break;
	}
	if (plain_insns[exit->reason].n && !exit->io.string)
		place(vcpu, f, plain_insns[exit->reason].b, plain_insns[exit->reason].n);
	if (fake_hvm.caps.insn_len)
		exit->insn_len =
			(u8)MAX(plain_insns[exit->reason].n, exit->reason == VMEXIT_CR ? 3 : 1);
}

void vmm_guest(struct vcpu *vcpu, struct fake_vcpu *f, struct vmexit *exit)
{
	struct fuzz_in *in = &world.in;

	/* A delivered interrupt's handler runs with interrupts off until its IRET. */
	for (;;) {
		u8 op = fuzz_u8(in);

		if (!in->left) {
			world_finish();
			exit->reason = VMEXIT_EXTINT;
			return;
		}
		/* What ends guest mode whatever the guest does. */
		if (fake_host.kick_word[fake_host.this_cpu]) {
			exit->reason = VMEXIT_NMI;
			return;
		}
		if (fake_host_timer_due(fake_host.this_cpu)) {
			exit->reason = VMEXIT_EXTINT;
			return;
		}
		if (f->irq_window && vcpu->regs.rflags & RFLAGS_IF && !vcpu->regs.shadow &&
		    f->entered.type != HVM_EVENT_INTR) {
			exit->reason = VMEXIT_IRQ_WINDOW;
			return;
		}
		if (op < 0xa0) {
			make_exit(vcpu, f, exit, op, in);
			return;
		}
		/* Whatever it does now, its delivery is over. */
		f->entered.type = HVM_EVENT_NONE;
		switch (op >> 2 & 7) {
		case 0:
		case 1: load_register(vcpu, f, in); break;
		case 2: load_rflags(vcpu, in); break;
		case 3: write_memory(vcpu, in); break;
		case 4: write_entry(vcpu, f, in); break;
		case 5:
			if (op & 1)
				load_cs(vcpu, f, in);
			else
				load_segment(f, in);
			break;
		default: happen(vcpu, in);
		}
	}
}
