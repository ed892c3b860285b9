/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC's two register interfaces: the xAPIC page (SDM vol. 3,
 * 11.4.1) and the x2APIC MSRs (11.12.1), over one set of registers.
 */
#include <margay/errno.h>
#include "vmm/dev/apic/lapic.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"

#define LAPIC_ICR_LOW_MASK 0x000ccfffu /* vector, modes, level, trigger, shorthand */
#define LAPIC_DFR_ONES 0x0fffffffu

/* Writable bits of each LVT entry (figure 11-8). */
static const u32 lvt_mask[LAPIC_LVT_COUNT] = {
	[LAPIC_LVT(LAPIC_LVT_TIMER)] = 0x700ff, [LAPIC_LVT(LAPIC_LVT_THERMAL)] = 0x107ff,
	[LAPIC_LVT(LAPIC_LVT_PERF)] = 0x107ff,  [LAPIC_LVT(LAPIC_LVT_LINT0)] = 0x1a7ff,
	[LAPIC_LVT(LAPIC_LVT_LINT1)] = 0x1a7ff, [LAPIC_LVT(LAPIC_LVT_ERROR)] = 0x100ff,
};

/*
 * Registers that are 32 bits of struct lapic, and read as they are: which of these, or 0. A switch
 * would be a dozen compares, as the image has no jump tables (thunks.asm).
 */
#define AT(field) (u8)(offsetof(struct lapic, field) / 4)
#define SIX_AT(field) \
	AT(field), AT(field) + 1, AT(field) + 2, AT(field) + 3, AT(field) + 4, AT(field) + 5
#define EIGHT_AT(field) SIX_AT(field), AT(field) + 6, AT(field) + 7
static const u8 stored[] = {
	[LAPIC_VERSION] = AT(version),
	[LAPIC_TPR] = AT(tpr),
	[LAPIC_SVR] = AT(svr),
	[LAPIC_ISR] = EIGHT_AT(isr),
	[LAPIC_TMR] = EIGHT_AT(tmr),
	[LAPIC_IRR] = EIGHT_AT(irr),
	[LAPIC_ESR] = AT(esr),
	[LAPIC_LVT_TIMER] = SIX_AT(lvt),
	[LAPIC_TIMER_INITIAL] = AT(initial_count),
	[LAPIC_TIMER_DIVIDE] = AT(divide),
};

static u32 read_ldr(const struct lapic *l)
{
	u32 id = l->vcpu->apic_id;

	return lapic_x2apic(l) ? id >> 4 << 16 | 1u << (id & 15) : l->ldr;
}

/* The others. False: there is none of that number. */
static bool read_computed(const struct lapic *l, u32 reg, u32 *value)
{
	switch (reg) {
	case LAPIC_PPR: *value = lapic_ppr(l); break;
	case LAPIC_LDR: *value = read_ldr(l); break;
	case LAPIC_TIMER_CURRENT: *value = lapic_timer_current(l); break;
	default: return false;
	}
	return true;
}

/* Registers that both modes read alike. */
static inline bool read_common(const struct lapic *l, u32 reg, u32 *value)
{
	if (reg >= ARRAY_SIZE(stored) || !stored[reg])
		return read_computed(l, reg, value);
	*value = __atomic_load_n((const u32 *)l + stored[reg], __ATOMIC_RELAXED);
	return true;
}

static void write_lvt(struct lapic *l, u32 reg, u32 value)
{
	value &= lvt_mask[LAPIC_LVT(reg)];
	/* While the APIC is disabled by software its LVTs stay masked (11.4.7.2). */
	if (!(l->svr & LAPIC_SVR_ENABLE))
		value |= LAPIC_LVT_MASKED;
	if (reg == LAPIC_LVT_TIMER)
		lapic_timer_set_lvt(l, value);
	else
		__atomic_store_n(&l->lvt[LAPIC_LVT(reg)], value, __ATOMIC_RELAXED);
}

static void write_svr(struct lapic *l, u32 value)
{
	l->svr = value & 0x3ff;
	if (l->svr & LAPIC_SVR_ENABLE) {
		l->was_on = true;
		return;
	}
	for (u32 reg = LAPIC_LVT_TIMER; reg <= LAPIC_LVT_ERROR; reg++)
		write_lvt(l, reg, l->lvt[LAPIC_LVT(reg)]);
}

/*
 * Registers that both modes write alike. False: there is none of that number, or it is read-only.
 */
static bool write_common(struct lapic *l, u32 reg, u32 value)
{
	switch (reg) {
	case LAPIC_TPR: l->tpr = value & 0xff; break;
	case LAPIC_EOI: lapic_eoi(l); break;
	case LAPIC_SVR: write_svr(l, value); break;
	case LAPIC_ESR:
		/* A write shows what came since the last one (11.5.3). */
		l->esr = __atomic_exchange_n(&l->esr_pending, 0, __ATOMIC_ACQ_REL);
		break;
	case LAPIC_LVT_TIMER ... LAPIC_LVT_ERROR: write_lvt(l, reg, value); break;
	case LAPIC_TIMER_INITIAL: lapic_timer_set_initial(l, value); break;
	case LAPIC_TIMER_DIVIDE: lapic_timer_set_divide(l, value & 0xb); break;
	default: return false;
	}
	return true;
}

/* On, and its registers in memory. */
static bool in_xapic(const struct vcpu *vcpu)
{
	return (vcpu->apic_base & (APIC_BASE_EN | APIC_BASE_EXTD)) == APIC_BASE_EN;
}

/* The xAPIC page answers in xAPIC mode only; aligned 32-bit accesses only are defined. */
static u64 mmio_read(void *, struct vcpu *vcpu, u64 offset, unsigned)
{
	struct lapic *l = vcpu->lapic;
	u32 value = 0;

	if (!in_xapic(vcpu))
		return ~0ull;
	if (offset % 16)
		return 0;
	if (read_common(l, offset / 16, &value))
		return value;
	switch (offset / 16) {
	case LAPIC_ID: return vcpu->apic_id << 24;
	case LAPIC_APR:
	case LAPIC_RRD:
	case LAPIC_EOI: return 0;
	case LAPIC_DFR: return l->dfr;
	case LAPIC_ICR: return (u32)l->icr;
	case LAPIC_ICR_HIGH: return l->icr >> 32;
	}
	lapic_error(l, LAPIC_ESR_ILLEGAL_REGISTER);
	return 0;
}

static bool xapic_read_only(u64 reg)
{
	switch (reg) {
	case LAPIC_ID:
	case LAPIC_VERSION:
	case LAPIC_APR:
	case LAPIC_PPR:
	case LAPIC_RRD:
	case LAPIC_ISR ... LAPIC_IRR + 7:
	case LAPIC_TIMER_CURRENT: return true;
	default: return false;
	}
}

static void mmio_write(void *, struct vcpu *vcpu, u64 offset, unsigned, u64 value64)
{
	struct lapic *l = vcpu->lapic;
	u32 value = (u32)value64;

	if (!in_xapic(vcpu) || offset % 16)
		return;
	switch (offset / 16) {
	case LAPIC_LDR: l->ldr = value & 0xff000000; return;
	case LAPIC_DFR: l->dfr = value | LAPIC_DFR_ONES; return;
	case LAPIC_ICR:
		l->icr = (l->icr & 0xff00000000000000ull) | (value & LAPIC_ICR_LOW_MASK);
		lapic_send_icr(l, l->icr);
		return;
	case LAPIC_ICR_HIGH: l->icr = (u64)(value & 0xff000000) << 32 | (u32)l->icr; return;
	}
	if (!write_common(l, offset / 16, value) && !xapic_read_only(offset / 16))
		lapic_error(l, LAPIC_ESR_ILLEGAL_REGISTER);
}

const struct mmio_ops lapic_mmio_ops = { .sizes = 4, .read = mmio_read, .write = mmio_write };

static int x2apic_read(void *, struct vcpu *vcpu, u32 msr, u64 *value)
{
	struct lapic *l = vcpu->lapic;
	u32 reg = msr - MSR_X2APIC_FIRST, low = 0;

	if (!lapic_x2apic(l))
		return -EFAULT;
	switch (reg) {
	case LAPIC_ID: *value = vcpu->apic_id; return 0;
	case LAPIC_ICR: *value = l->icr; return 0;
	}
	if (!read_common(l, reg, &low))
		return -EFAULT;
	*value = low;
	return 0;
}

/*
 * Bits that a WRMSR may set; the others, and all of a read-only register's, raise #GP (11.12.1.2).
 */
static int x2apic_writable(u32 reg, u64 *mask)
{
	switch (reg) {
	case LAPIC_TPR: *mask = 0xff; return 0;
	case LAPIC_EOI:
	case LAPIC_ESR: *mask = 0; return 0;
	case LAPIC_SVR: *mask = 0x3ff; return 0;
	case LAPIC_ICR:
		/* 12 was delivery status: ignored */
		*mask = 0xffffffff00000000ull | LAPIC_ICR_LOW_MASK | BIT(12);
		return 0;
	case LAPIC_LVT_TIMER ... LAPIC_LVT_ERROR:
		*mask = lvt_mask[LAPIC_LVT(reg)] | BIT(12); /* read-only delivery status */
		if (reg == LAPIC_LVT_LINT0 || reg == LAPIC_LVT_LINT1)
			*mask |= BIT(14); /* read-only remote IRR */
		return 0;
	case LAPIC_TIMER_INITIAL: *mask = 0xffffffff; return 0;
	case LAPIC_TIMER_DIVIDE: *mask = 0xb; return 0;
	case LAPIC_SELF_IPI: *mask = 0xff; return 0;
	default: return -EFAULT;
	}
}

static int x2apic_write(void *, struct vcpu *vcpu, u32 msr, u64 value)
{
	struct lapic *l = vcpu->lapic;
	u32 reg = msr - MSR_X2APIC_FIRST;
	u64 mask;

	if (!lapic_x2apic(l) || x2apic_writable(reg, &mask) || value & ~mask)
		return -EFAULT;
	if (vm_direct(vcpu->vm) && lapic_direct_write(vcpu, reg, value))
		return -EFAULT;
	switch (reg) {
	case LAPIC_ICR:
		l->icr = value & (0xffffffff00000000ull | LAPIC_ICR_LOW_MASK);
		lapic_send_icr(l, l->icr);
		break;
	case LAPIC_SELF_IPI: lapic_self_ipi(l, (u8)value); break;
	default: write_common(l, reg, (u32)value); break;
	}
	return 0;
}

const struct msr_ops lapic_x2apic_ops = { .read = x2apic_read, .write = x2apic_write };
