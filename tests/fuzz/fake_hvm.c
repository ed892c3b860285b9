/* SPDX-License-Identifier: GPL-2.0-only */
/* See fake_hvm.h. */
#include "tests/fuzz/fake_hvm.h"

#include <margay/errno.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake_host.h"
#include "vmm/hvm.h"
#include "vmm/memory/mtrr.h"
#include "vmm/node/pause.h"
#include "vmm/vm/intc.h"
#include "vmm/vm/startup.h"

#define CR0_RESERVED (~(u64)CR0_KNOWN)
#define EFER_KNOWN \
	(EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE | EFER_SVME | EFER_LMSLE | EFER_FFXSR | \
	 EFER_TCE | EFER_AUTOIBRS)
#define RFLAGS_RESERVED (~0x3fffffull | 0x8028)

struct fake_hvm fake_hvm;

static struct fake_vcpu *fake(struct vcpu *vcpu)
{
	return vcpu->hvm;
}

static bool pae_paging(const struct fake_vcpu *f)
{
	return f->reg[HVM_CR0] & CR0_PG && f->reg[HVM_CR4] & CR4_PAE &&
	       !(f->reg[HVM_EFER] & EFER_LMA);
}

static bool pdptes_legal(const u64 pdptes[4])
{
	for (unsigned i = 0; i < 4; i++)
		if (pdptes[i] & PTE_P && pdptes[i] & (~(BIT(fake_hvm.caps.phys_bits) - 1) | 0x1e6))
			return false;
	return true;
}

bool fake_hvm_64bit(const struct fake_vcpu *f)
{
	return f->reg[HVM_EFER] & EFER_LMA && f->seg[SEG_CS].attr & SEG_ATTR_L;
}

bool fake_hvm_load_cr3(struct vcpu *vcpu, struct fake_vcpu *f, u64 cr3)
{
	u64 pdptes[4];

	if (pae_paging(f)) {
		vcpu_read_pdptes(vcpu, cr3, pdptes);
		if (!pdptes_legal(pdptes))
			return false;
		memcpy(f->pdptes, pdptes, sizeof(pdptes));
	}
	f->reg[HVM_CR3] = cr3;
	return true;
}

/* ---- the checks of an entry ---- */

static bool has_error_code(u8 vector)
{
	return vector == VEC_DF || (vector >= VEC_TS && vector <= VEC_PF) || vector == VEC_AC ||
	       vector == VEC_CP;
}

static void check_event(const struct vcpu *vcpu, const struct fake_vcpu *f)
{
	const struct hvm_event *e = &vcpu->event;
	bool protected = f->reg[HVM_CR0] & CR0_PE;

	switch (e->type) {
	case HVM_EVENT_NONE: return;
	case HVM_EVENT_INTR:
		CHECK(vcpu->regs.rflags & RFLAGS_IF && !vcpu->regs.shadow && e->vector >= 16 &&
		      !e->has_error);
		CHECK(!f->irq_window);
		break;
	case HVM_EVENT_NMI:
		CHECK(e->vector == VEC_NMI && !f->reg[HVM_NMI_BLOCKED] && !vcpu->regs.shadow &&
		      !e->has_error);
		break;
	case HVM_EVENT_EXCEPTION:
		CHECK(e->vector < 32 && e->vector != VEC_NMI);
		CHECK(e->has_error == (protected && has_error_code(e->vector)));
		CHECK(!e->has_error || !(e->error >> 16));
		break;
	default: CHECK(!"an event type");
	}
}

static void check_registers(const struct vcpu *vcpu, const struct fake_vcpu *f)
{
	u64 cr0 = f->reg[HVM_CR0], cr4 = f->reg[HVM_CR4], efer = f->reg[HVM_EFER],
	    rip = vcpu->regs.rip;
	u64 high = (u64)((s64)rip >> 48);
	bool lma = efer & EFER_LMA;

	CHECK(!(cr0 & CR0_RESERVED) && (!(cr0 & CR0_PG) || cr0 & CR0_PE) &&
	      (!(cr0 & CR0_NW) || cr0 & CR0_CD));
	CHECK(!(cr4 & ~fake_hvm.caps.cr4_allowed) && (!(cr4 & CR4_PCIDE) || lma));
	CHECK(!(efer & ~(u64)EFER_KNOWN) && lma == (efer & EFER_LME && cr0 & CR0_PG) &&
	      (!lma || cr4 & CR4_PAE));
	CHECK(!(f->reg[HVM_CR3] & ~(BIT(fake_hvm.caps.phys_bits) - 1)));
	CHECK(!pae_paging(f) || pdptes_legal(f->pdptes));
	CHECK(pat_valid(f->reg[HVM_PAT]));
	CHECK(!(f->reg[HVM_DR7] >> 32) && f->reg[HVM_DR7] & BIT(10));
	CHECK(vcpu->regs.rflags & RFLAGS_FIXED && !(vcpu->regs.rflags & RFLAGS_RESERVED));
	CHECK(!vcpu->regs.shadow || vcpu->regs.rflags & RFLAGS_IF);
	CHECK(fake_hvm_64bit(f) ? high == 0 || high == ~0ull : !(rip >> 32));
}

static void check_segments(const struct fake_vcpu *f)
{
	const struct segment *tr = &f->seg[SEG_TR], *cs = &f->seg[SEG_CS];
	bool lma = f->reg[HVM_EFER] & EFER_LMA;

	CHECK(!(tr->attr & SEG_ATTR_UNUSABLE) && tr->attr & SEG_ATTR_P && !(tr->attr & SEG_ATTR_S));
	CHECK((tr->attr & SEG_ATTR_TYPE) == 11 || (!lma && (tr->attr & SEG_ATTR_TYPE) == 3));
	CHECK(!(cs->attr & SEG_ATTR_UNUSABLE) && cs->attr & SEG_ATTR_P && cs->attr & SEG_ATTR_S &&
	      cs->attr & 1);
	CHECK(!(lma && cs->attr & SEG_ATTR_L && cs->attr & SEG_ATTR_DB));
	for (unsigned i = 0; i < SEG_COUNT; i++) {
		const struct segment *s = &f->seg[i];
		bool fine = !(s->limit & 0xfff) || (s->limit & 0xfff) == 0xfff;

		CHECK(!(s->attr & 0xfffe0f00));
		if (s->attr & SEG_ATTR_UNUSABLE)
			continue;
		/* SDM vol. 3, 27.3.1.2: G against the limit. */
		CHECK((s->limit & 0xfff) == 0xfff || !(s->attr & SEG_ATTR_G));
		CHECK(!(s->limit >> 20) || s->attr & SEG_ATTR_G || !fine);
		CHECK(i == SEG_FS || i == SEG_GS || i == SEG_TR || i == SEG_LDTR ||
		      !(s->base >> 32));
	}
}

/*
 * Nothing that the guest could take now is left to chance: it is delivered, or a window is asked
 * for.
 */
static void check_windows(struct vcpu *vcpu, const struct fake_vcpu *f)
{
	CHECK(vcpu->irq_window == f->irq_window);
	CHECK(vcpu->vm->intc->pending(vcpu) < 0 || f->irq_window);
	CHECK(!vcpu->nmi_pending || f->nmi_window);
}

/* A vCPU that nobody has kicked has nothing left to do outside of the guest. */
static void check_may_enter(const struct vcpu *vcpu, const struct fake_vcpu *f)
{
	const struct vm *vm = vcpu->vm;

	CHECK(vm->end == VM_RUNNING && !vm_paused(vm) && vcpu->startup == STARTUP_RUN &&
	      !vcpu->halted && !vcpu->call);
	CHECK(vcpu->stage2_seen == vm->stage2_count);
	/* Behind a bus lock: it has asked whether it may, since, and been told so. */
	CHECK(!vcpu->bus_locked && vcpu->disturb_after >= f->disturb_from);
}

/* ---- the operations ---- */

static struct hvm_ops fake_ops;

static int probe(struct hvm_caps *caps, void (*tell)(const struct hvm_feature *f))
{
	tell(&(struct hvm_feature){ "fake", "all of it", "nowhere", !fake_hvm.probe_error, true });
	*caps = fake_hvm.caps;
	fake_ops.stage2_format = fake_hvm.format;
	return fake_hvm.probe_error;
}

static int cpu_on(void)
{
	if (fake_hvm.cpu_on_fails)
		return -EIO;
	fake_hvm.cpus_on++;
	return 0;
}

static void cpu_off(void)
{
	CHECK(fake_hvm.cpus_on);
	fake_hvm.cpus_on--;
}

static int vcpu_create_(struct vcpu *vcpu)
{
	static_assert(sizeof(struct fake_vcpu) <= PAGE_SIZE, "one page");
	vcpu->hvm = host_pages_alloc(1, -1);
	return vcpu->hvm ? 0 : -ENOMEM;
}

static void vcpu_destroy_(struct vcpu *vcpu)
{
	fake_hvm.vcpu[vcpu->cpu] = NULL;
	host_pages_free(vcpu->hvm, 1);
	vcpu->hvm = NULL;
}

static void vcpu_reset(struct vcpu *vcpu)
{
	CHECK(vcpu->cpu == fake_host.this_cpu);
}

static void vcpu_load(struct vcpu *vcpu)
{
	CHECK(vcpu->cpu == fake_host.this_cpu && !fake_hvm.vcpu[vcpu->cpu]);
	fake_hvm.vcpu[vcpu->cpu] = vcpu;
}

static void run(struct vcpu *vcpu, struct vmexit *exit)
{
	struct fake_vcpu *f = fake(vcpu);

	CHECK(fake_hvm.vcpu[fake_host.this_cpu] == vcpu && fake_hvm.cpus_on);
	*exit = (struct vmexit){ .reason = VMEXIT_KICKED };
	if (*host_cpu_kick_word())
		return;
	exit->reason = VMEXIT_NMI;
	check_event(vcpu, f);
	check_registers(vcpu, f);
	check_segments(f);
	check_windows(vcpu, f);
	check_may_enter(vcpu, f);
	f->entered = vcpu->event;
	vcpu->event.type = HVM_EVENT_NONE;
	if (f->entered.type == HVM_EVENT_NMI)
		f->reg[HVM_NMI_BLOCKED] = 1;
	fake_hvm.guest(vcpu, f, exit);
	CHECK(fake_hvm.vcpu[fake_host.this_cpu] == vcpu && exit->reason < VMEXIT_REASONS);
	if (exit->reason == VMEXIT_BUS_LOCK)
		f->disturb_from = vcpu->disturb_after + 1;
}

static u64 get(struct vcpu *vcpu, enum hvm_reg reg)
{
	CHECK(reg < HVM_REGS && vcpu->cpu == fake_host.this_cpu);
	return fake(vcpu)->reg[reg];
}

static void set(struct vcpu *vcpu, enum hvm_reg reg, u64 value)
{
	CHECK(reg < HVM_REGS && vcpu->cpu == fake_host.this_cpu);
	fake(vcpu)->reg[reg] = value;
}

static void set_pdptes(struct vcpu *vcpu, const u64 pdptes[4])
{
	memcpy(fake(vcpu)->pdptes, pdptes, sizeof(fake(vcpu)->pdptes));
}

static void get_segment(struct vcpu *vcpu, enum seg seg, struct segment *out)
{
	*out = fake(vcpu)->seg[seg];
}

static void get_context(struct vcpu *vcpu, struct hvm_context *out)
{
	const struct fake_vcpu *f = fake(vcpu);

	*out = (struct hvm_context){
		.cr0 = f->reg[HVM_CR0],
		.cr3 = f->reg[HVM_CR3],
		.cr4 = f->reg[HVM_CR4],
		.efer = f->reg[HVM_EFER],
		.cs_base = f->seg[SEG_CS].base,
		.cs_attr = f->seg[SEG_CS].attr,
		.cpl = f->seg[SEG_SS].attr >> SEG_ATTR_DPL_SHIFT & 3,
	};
}

static void set_segment(struct vcpu *vcpu, enum seg seg, const struct segment *in)
{
	fake(vcpu)->seg[seg] = *in;
}

static void set_desc_table(struct vcpu *vcpu, bool idt, const struct desc_table *in)
{
	fake(vcpu)->table[idt] = *in;
}

static void request_irq_window(struct vcpu *vcpu, bool on)
{
	fake(vcpu)->irq_window = on;
}

static void request_nmi_window(struct vcpu *vcpu)
{
	fake(vcpu)->nmi_window = true;
}

static void intercept_msr(struct vcpu *vcpu, u32, bool, bool)
{
	CHECK(vcpu->cpu == fake_host.this_cpu);
}

static void intercept_io(struct vcpu *vcpu, u16, unsigned count, bool)
{
	CHECK(vcpu->cpu == fake_host.this_cpu && count);
}

static void set_tsc_offset(struct vcpu *vcpu, s64 offset)
{
	CHECK(vcpu->cpu == fake_host.this_cpu && offset == vcpu->vm->tsc_offset);
}

static void flush_stage2(struct vcpu *vcpu)
{
	CHECK(vcpu->cpu == fake_host.this_cpu);
}

static void dump(struct vcpu *vcpu)
{
	vm_log(vcpu->vm, "fake: CR0 %#lx", get(vcpu, HVM_CR0));
}

static struct hvm_ops fake_ops = {
	.name = "fake",
	.probe = probe,
	.cpu_on = cpu_on,
	.cpu_off = cpu_off,
	.vcpu_create = vcpu_create_,
	.vcpu_destroy = vcpu_destroy_,
	.vcpu_reset = vcpu_reset,
	.vcpu_load = vcpu_load,
	.run = run,
	.get = get,
	.set = set,
	.set_pdptes = set_pdptes,
	.get_segment = get_segment,
	.get_context = get_context,
	.set_segment = set_segment,
	.set_desc_table = set_desc_table,
	.request_irq_window = request_irq_window,
	.request_nmi_window = request_nmi_window,
	.intercept_msr = intercept_msr,
	.intercept_io = intercept_io,
	.set_tsc_offset = set_tsc_offset,
	.flush_stage2 = flush_stage2,
	.dump = dump,
};
HVM_BACKEND(fake_ops);
