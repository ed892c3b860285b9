/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The software local APIC: life cycle, APIC_BASE, and the interrupt state
 * IRR/ISR/TMR/PPR with what the core asks of it (SDM vol. 3, 11.4 and 11.8).
 */
#include <margay/errno.h>
#include "vmm/dev/apic/lapic.h"
#include "vmm/dev/apic/without_kvm.h"
#include "vmm/vm/intc.h"
#include "vmm/guest_platform.h"
#include "vmm/vm/ranges.h"
#include "vmm/vcpu.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm.h"

/* The highest vector that is set, or -1. */
static int highest(const u64 reg[4])
{
	for (int i = 3; i >= 0; i--) {
		u64 word = __atomic_load_n(&reg[i], __ATOMIC_RELAXED);
		if (word)
			return i * 64 + 63 - __builtin_clzll(word);
	}
	return -1;
}

static void set_bit(u64 reg[4], u8 vector)
{
	__atomic_fetch_or(&reg[vector / 64], BIT(vector % 64), __ATOMIC_ACQ_REL);
}

static void clear_bit(u64 reg[4], u8 vector)
{
	__atomic_fetch_and(&reg[vector / 64], ~BIT(vector % 64), __ATOMIC_ACQ_REL);
}

static bool bit_set(const u64 reg[4], u8 vector)
{
	return __atomic_load_n(&reg[vector / 64], __ATOMIC_RELAXED) & BIT(vector % 64);
}

void lapic_set_irr(struct lapic *l, u8 vector, bool level)
{
	/* The trigger mode first: whoever sees the request finds it right. */
	if (vm_direct(l->vcpu->vm))
		return lapic_direct_send(l, vector);
	if (level)
		set_bit(l->tmr, vector);
	else if (unlikely(bit_set(l->tmr, vector)))
		clear_bit(l->tmr, vector);
	set_bit(l->irr, vector);
	vcpu_kick(l->vcpu);
}

void lapic_error(struct lapic *l, u32 esr_bits)
{
	u32 old = __atomic_fetch_or(&l->esr_pending, esr_bits, __ATOMIC_ACQ_REL);

	/*
	 * Only for a new error: an error LVT with an illegal vector would else raise itself for
	 * ever.
	 */
	if (esr_bits & ~old)
		lapic_lvt_deliver(l, LAPIC_LVT_ERROR);
}

void lapic_lvt_deliver(struct lapic *l, enum lapic_reg lvt)
{
	u32 entry = __atomic_load_n(&l->lvt[LAPIC_LVT(lvt)], __ATOMIC_RELAXED);
	u8 vector = (u8)entry;

	if (!lapic_enabled(l) || entry & LAPIC_LVT_MASKED)
		return;
	if (lapic_lvt_is_nmi(lvt, entry))
		lapic_nmi(l);
	else if (vector < LAPIC_FIRST_VECTOR)
		lapic_error(l, LAPIC_ESR_RECEIVE_ILLEGAL);
	else
		lapic_set_irr(l, vector, false);
}

u8 lapic_ppr(const struct lapic *l)
{
	int in_service = highest(l->isr);
	u8 isr_class = in_service < 0 ? 0 : in_service & 0xf0;

	return (l->tpr & 0xf0) >= isr_class ? (u8)l->tpr : isr_class;
}

void lapic_eoi(struct lapic *l)
{
	int vector = highest(l->isr);

	if (vector < 0)
		return;
	l->isr[vector / 64] &= ~BIT(vector % 64);
	if (bit_set(l->tmr, (u8)vector))
		ioapic_eoi(l->vcpu->vm, vector);
}

void lapic_reset(struct vcpu *vcpu)
{
	struct lapic *l = vcpu->lapic;

	lapic_timer_stop(l);
	for (unsigned i = 0; i < 4; i++) {
		__atomic_store_n(&l->irr[i], 0, __ATOMIC_RELAXED);
		__atomic_store_n(&l->tmr[i], 0, __ATOMIC_RELAXED);
		l->isr[i] = 0;
	}
	l->tpr = l->ldr = l->esr = 0;
	__atomic_store_n(&l->esr_pending, 0, __ATOMIC_RELAXED);
	l->dfr = ~0u;
	l->svr = 0xff;
	l->version = LAPIC_VERSION_VALUE;
	l->icr = l->initial_count = l->divide = 0;
	for (unsigned i = 0; i < LAPIC_LVT_COUNT; i++)
		l->lvt[i] = LAPIC_LVT_MASKED;
}

static bool waiting(struct vcpu *vcpu)
{
	const u64 *irr = vcpu->lapic->irr;

	return __atomic_load_n(&irr[0], __ATOMIC_RELAXED) |
	       __atomic_load_n(&irr[1], __ATOMIC_RELAXED) |
	       __atomic_load_n(&irr[2], __ATOMIC_RELAXED) |
	       __atomic_load_n(&irr[3], __ATOMIC_RELAXED);
}

static int pending(struct vcpu *vcpu)
{
	struct lapic *l = vcpu->lapic;
	int vector;

	if (!waiting(vcpu) || !lapic_enabled(l))
		return -1;
	vector = highest(l->irr);
	/*
	 * Of a CPU's own APIC IRR holds only what was in service there and could not be delivered.
	 */
	return vm_direct(vcpu->vm) || (vector & 0xf0) > (lapic_ppr(l) & 0xf0) ? vector : -1;
}

static void accept(struct vcpu *vcpu, u8 vector)
{
	clear_bit(vcpu->lapic->irr, vector);
	vcpu->lapic->isr[vector / 64] |= BIT(vector % 64);
}

static void unaccept(struct vcpu *vcpu, u8 vector)
{
	vcpu->lapic->isr[vector / 64] &= ~BIT(vector % 64);
	set_bit(vcpu->lapic->irr, vector);
}

/* Where the APIC is the CPU's own, CR8 exits only beside another intercept. */
static u64 get_cr8(struct vcpu *vcpu)
{
	u64 tpr = vcpu->lapic->tpr;

	if (vm_direct(vcpu->vm))
		host_rdmsr(MSR_X2APIC_FIRST + LAPIC_TPR, &tpr);
	return tpr >> 4;
}

static void set_cr8(struct vcpu *vcpu, u64 value)
{
	vcpu->lapic->tpr = (value & 0xf) << 4;
	if (vm_direct(vcpu->vm))
		host_wrmsr(MSR_X2APIC_FIRST + LAPIC_TPR, vcpu->lapic->tpr);
}

static const struct intc_ops lapic_intc_ops = {
	.init = lapic_direct_init,
	.pending = pending,
	.waiting = waiting,
	.accept = accept,
	.unaccept = unaccept,
	.get_cr8 = get_cr8,
	.set_cr8 = set_cr8,
	.msi = lapic_msi,
	.msi_vcpu = IS_ENABLED(CONFIG_PASSTHROUGH) ? lapic_msi_vcpu : NULL,
	.line = ioapic_line,
};

static int base_msr_read(void *, struct vcpu *vcpu, u32, u64 *value)
{
	*value = vcpu->apic_base;
	return 0;
}

/* A guest that moves the page goes on with #GP, or not at all. */
static void tell_move(struct vcpu *vcpu, u64 value)
{
	vm_log(vcpu->vm, "vcpu%u: IA32_APIC_BASE = %#lx: #GP, for the local APIC stays at %#lx%s",
	       vcpu->id, value, GUEST_LAPIC_BASE, vm_direct(vcpu->vm) ? " in x2APIC mode" : "");
}

/*
 * The legal mode changes: SDM vol. 3, figure 11-27. The page stays where it is; BSP is hardware's
 * to say. A CPU's own APIC stays as it is, too: a kick between the two halves of an xAPIC's ICR
 * would change the guest's.
 */
static int base_msr_write(void *, struct vcpu *vcpu, u32, u64 value)
{
	const u64 mode = APIC_BASE_EN | APIC_BASE_EXTD;
	u64 from = vcpu->apic_base & mode, to = value & mode;

	if (vm_direct(vcpu->vm) && !(to & APIC_BASE_EXTD) && without_kvm_leaves_x2apic(vcpu))
		return 0;
	if ((value & ~(mode | APIC_BASE_BSP)) != GUEST_LAPIC_BASE ||
	    (vm_direct(vcpu->vm) && to != mode)) {
		if (IS_ENABLED(CONFIG_DUMPS) &&
		    (vm_direct(vcpu->vm) || (value & ~(PAGE_SIZE - 1)) != GUEST_LAPIC_BASE))
			tell_move(vcpu, value);
		return -EFAULT;
	}
	if (to == APIC_BASE_EXTD || (from == 0 && to == mode) ||
	    (from == mode && to == APIC_BASE_EN))
		return -EFAULT;
	if (to == 0)
		lapic_reset(vcpu);
	vcpu->apic_base = (vcpu->apic_base & ~mode) | to;
	return 0;
}

static const struct msr_ops base_msr_ops = { .read = base_msr_read, .write = base_msr_write };

static void lapic_destroy(struct vm *vm, void *)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		struct vcpu *vcpu = vm->vcpus[i];

		if (vcpu && vcpu->lapic) {
			host_pages_free(vcpu->lapic, 1);
			vcpu->lapic = NULL;
		}
	}
}

static_assert(sizeof(struct lapic) <= PAGE_SIZE, "one page per vCPU");

static int lapic_create(struct vm *vm, void **)
{
	bool direct = vm_direct(vm);
	int err;

	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		struct vcpu *vcpu = vm->vcpus[i];
		struct lapic *l = host_pages_alloc(1, host_cpu_info(vcpu->cpu)->node);

		if (!l) {
			err = host_no_memory(vm->name);
			goto fail;
		}
		l->vcpu = vcpu;
		vcpu->lapic = l;
		vcpu->apic_base = GUEST_LAPIC_BASE | APIC_BASE_EN | (i == 0 ? APIC_BASE_BSP : 0);
		/*
		 * With one ID that xAPIC mode cannot hold all are handed over in x2APIC mode, as
		 * firmware does.
		 */
		vcpu->apic_base |= vm->wide_ids || direct ? APIC_BASE_EXTD : 0;
		lapic_timer_init(l);
		lapic_reset(vcpu);
	}
	err = vm_register_mmio(vm, gpa(GUEST_LAPIC_BASE), GUEST_LAPIC_SIZE, &lapic_mmio_ops, NULL);
	/* What is used most is registered, and found, first. */
	if (!err && !direct)
		err = vm_register_msr(vm, MSR_TSC_DEADLINE, MSR_TSC_DEADLINE, &lapic_deadline_ops,
				      NULL);
	if (!err)
		err = vm_register_msr(vm, MSR_APIC_BASE, MSR_APIC_BASE, &base_msr_ops, NULL);
	if (!err)
		err = vm_register_msr(vm, MSR_X2APIC_FIRST, MSR_X2APIC_LAST, &lapic_x2apic_ops,
				      NULL);
	if (err)
		goto fail;
	vm->intc = &lapic_intc_ops;
	return lapic_direct_check(vm);
fail:
	lapic_destroy(vm, NULL);
	return err;
}

static void lapic_vcpu_stop(struct vcpu *vcpu, void *)
{
	lapic_timer_stop(vcpu->lapic);
	if (vm_direct(vcpu->vm))
		lapic_direct_stop(vcpu);
}

static const struct vdev lapic_vdev = {
	.create = lapic_create,
	.destroy = lapic_destroy,
	.vcpu_start = lapic_direct_start,
	.vcpu_stop = lapic_vcpu_stop,
	.vcpu_pause = VDEV_PAUSE(lapic_timer_pause),
};
VDEV(lapic_vdev);
