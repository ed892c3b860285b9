/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/lapic.sources @tests/unit/fake_vm.sources -lcmocka */
/* FUZZ: -max_len=200 vmm/dev/apic/lapic.c vmm/dev/apic/lapic_direct.c vmm/dev/apic/lapic_regs.c vmm/dev/apic/lapic_timer.c vmm/dev/apic/lapic_ipi.c vmm/dev/apic/ioapic.c */
/*
 * Fuzzes the local APICs of up to three vCPUs and the I/O APIC together: the
 * input is what guests, devices and time do to them. Checked after each step
 * by a naive reading of SDM vol. 3, chapter 11: priorities, what is pending,
 * the highest in-service vector at EOI, legal modes, register bits that must
 * be 0, LVTs masked while disabled, no vector below 16, no timer left behind.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake_vm.h"
#include "vmm/dev/apic/lapic.h"
#include "vmm/vm/intc.h"
#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm_parts.h"

#define STEPS 48
#define LIVED_US 800

extern const struct vdev *const __start_vdevs[], *const __stop_vdevs[];

static struct vm_parts parts;
static struct vcpu vcpus[3], *by_id[3];

static bool bit(const u64 reg[4], unsigned v)
{
	return reg[v / 64] & BIT(v % 64);
}

static int highest(const u64 reg[4])
{
	for (int v = 255; v >= 0; v--) {
		if (!reg[v / 64])
			v &= ~63; /* an empty word at once */
		else if (bit(reg, (unsigned)v))
			return v;
	}
	return -1;
}

/* SDM vol. 3, 11.8.3.1 and 11.8.4. */
static int naive_pending(const struct lapic *l)
{
	int isr = highest(l->isr), irr = highest(l->irr), ppr = (int)l->tpr;

	if (isr >= 0 && (int)l->tpr >> 4 < isr >> 4)
		ppr = isr & 0xf0;
	CHECK(lapic_ppr(l) == ppr);
	return lapic_enabled(l) && irr >= 0 && irr >> 4 > ppr >> 4 ? irr : -1;
}

static void check_lapic(struct vcpu *vcpu)
{
	static const u32 lvt_bits[LAPIC_LVT_COUNT] = { 0x700ff, 0x107ff, 0x107ff,
						       0x1a7ff, 0x1a7ff, 0x100ff };
	struct lapic *l = vcpu->lapic;

	CHECK(parts.vm.intc->pending(vcpu) == naive_pending(l));
	CHECK(!(l->irr[0] & 0xffff) && !(l->isr[0] & 0xffff) && !(l->tmr[0] & 0xffff));
	CHECK((vcpu->apic_base & ~(u64)(APIC_BASE_BSP | APIC_BASE_EXTD | APIC_BASE_EN)) ==
	      GUEST_LAPIC_BASE);
	CHECK(!(vcpu->apic_base & APIC_BASE_EXTD) || vcpu->apic_base & APIC_BASE_EN);
	CHECK(!(vcpu->apic_base & APIC_BASE_BSP) == !!vcpu->id);
	CHECK(l->tpr <= 0xff && l->svr <= 0x3ff && !(l->divide & ~0xbu));
	CHECK(!(l->ldr & 0xffffff) && (l->dfr & 0xfffffff) == 0xfffffff);
	for (unsigned i = 0; i < LAPIC_LVT_COUNT; i++) {
		CHECK(!(l->lvt[i] & ~lvt_bits[i]));
		CHECK(l->svr & LAPIC_SVR_ENABLE || l->lvt[i] & LAPIC_LVT_MASKED);
	}
	CHECK(!l->timer.armed || lapic_enabled(l));
	CHECK(!l->timer.armed || l->timer_period || l->deadline);
	CHECK(lapic_enabled(l) || (highest(l->irr) < 0 && highest(l->isr) < 0));
}

static u32 indirect(u32 reg)
{
	guest_store(&parts.vm, GUEST_IOAPIC_BASE, 4, reg);
	return (u32)guest_load(&parts.vm, GUEST_IOAPIC_BASE + 0x10, 4);
}

static void check_ioapic(void)
{
	for (u32 pin = 0; pin < GUEST_IOAPIC_PINS; pin++) {
		u32 low = indirect(0x10 + 2 * pin), high = indirect(0x11 + 2 * pin);

		CHECK(!(low & 0xfffe0000) && !(high & 0xffffff));
		CHECK(!(low & BIT(14)) || low & BIT(15)); /* remote IRR of level inputs only */
	}
	CHECK(indirect(1) == (0x20 | (GUEST_IOAPIC_PINS - 1) << 16));
}

/* ---- set up and down ---- */

static void create(struct fuzz_in *in)
{
	static const struct vm_config config[] = { { .clock = VM_CLOCK_FOLLOW },
						   { .clock = VM_CLOCK_FREEZE } };
	u8 shape = fuzz_u8(in);

	fake_host_reset();
	fake_host.tsc = BIT(40);
	fake_host.nr_cpus = 3;
	fake_host.tsc_khz = shape & 0x80 ? 1 + fuzz_u32(in) % (BIT(24) - 1) : 2000000;
	memset(&parts, 0, sizeof(parts));
	memset(vcpus, 0, sizeof(vcpus));
	parts.vm.config = &config[shape >> 5 & 1];
	parts.vm.device = calloc((size_t)(__stop_vdevs - __start_vdevs), sizeof(*parts.vm.device));
	CHECK(parts.vm.device);
	parts.vm.nr_vcpus = 1 + shape % 3;
	parts.vm.vcpus = by_id;
	parts.vm.tsc_offset = -(s64)fake_host.tsc;
	for (unsigned i = 0; i < parts.vm.nr_vcpus; i++) {
		by_id[i] = &vcpus[i];
		vcpus[i].vm = &parts.vm;
		vcpus[i].id = vcpus[i].cpu = i;
		vcpus[i].tsc_offset = parts.vm.tsc_offset;
		vcpus[i].apic_id = shape & 0x40 ? fuzz_u32(in) : i;
	}
	for (const struct vdev *const *d = __start_vdevs; d != __stop_vdevs;
	     d++, parts.vm.nr_devices++)
		CHECK(!(*d)->create(&parts.vm, &parts.vm.device[parts.vm.nr_devices]));
}

static void destroy(void)
{
	for (unsigned i = 0; i < parts.vm.nr_devices; i++)
		for (unsigned k = 0; k < parts.vm.nr_vcpus; k++) {
			fake_host.this_cpu = vcpus[k].cpu;
			if (__start_vdevs[i]->vcpu_stop)
				__start_vdevs[i]->vcpu_stop(&vcpus[k], parts.vm.device[i]);
		}
	CHECK(!fake_host.timers);
	while (parts.vm.nr_devices--)
		if (__start_vdevs[parts.vm.nr_devices]->destroy)
			__start_vdevs[parts.vm.nr_devices]->destroy(
				&parts.vm, parts.vm.device[parts.vm.nr_devices]);
	free(parts.vm.device);
	CHECK(!fake_host.pages_in_use);
}

/* ---- one step ---- */

/* The range of the running vCPU, as the core would call it. */
static void mmio(struct vcpu *vcpu, const struct mmio_range *r, u64 offset, unsigned size,
		 bool write, u64 value)
{
	if (offset + size > r->size)
		return;
	if (write)
		r->ops->write(r->dev, vcpu, offset, size, value);
	else
		r->ops->read(r->dev, vcpu, offset, size);
}

static void msr(struct vcpu *vcpu, u32 number, bool write, u64 value)
{
	struct lapic before = *vcpu->lapic;

	for (unsigned i = 0; i < parts.ranges.nr_msr; i++) {
		const struct msr_range *r = &parts.ranges.msr[i];
		int err;

		if (number < r->first || number > r->last)
			continue;
		err = write ? r->ops->write(r->dev, vcpu, number, value)
			    : r->ops->read(r->dev, vcpu, number, &value);
		/* A refused access changes nothing. */
		if (err)
			CHECK(!memcmp(&before, vcpu->lapic, sizeof(before)));
	}
}

/* The vCPU takes its interrupt; perhaps its delivery is cut short. */
static void take(struct vcpu *vcpu, bool cut)
{
	int v = parts.vm.intc->pending(vcpu);

	if (v < 0)
		return;
	parts.vm.intc->accept(vcpu, (u8)v);
	CHECK(bit(vcpu->lapic->isr, (unsigned)v) && !bit(vcpu->lapic->irr, (unsigned)v));
	CHECK(highest(vcpu->lapic->isr) == v);
	if (!cut)
		return;
	parts.vm.intc->unaccept(vcpu, (u8)v);
	CHECK(parts.vm.intc->pending(vcpu) == v);
}

static void eoi(struct vcpu *vcpu)
{
	struct lapic before = *vcpu->lapic;
	int v = highest(before.isr);

	lapic_eoi(vcpu->lapic);
	if (v >= 0)
		before.isr[v / 64] &= ~BIT(v % 64);
	CHECK(!memcmp(before.isr, vcpu->lapic->isr, sizeof(before.isr)));
}

static void fire_late(void)
{
	for (unsigned i = 0; i < parts.vm.nr_vcpus; i++) {
		fake_host.this_cpu = i;
		fake_host_window();
	}
}

/* Time passes: period by period for a while; longer, and the CPUs come late. */
static void pass(u64 ticks)
{
	u64 lived = MIN(ticks, 1 + fake_host.tsc_khz * LIVED_US / 1000);

	fake_host_advance(fake_host.tsc + lived);
	fake_host.tsc += ticks - lived;
	fire_late();
}

/*
 * The VM is paused for so long, as vmm/node/pause.c does it. Where its clock stands still no count
 * has gone on.
 */
static void stand(u64 ticks)
{
	bool freeze = parts.vm.config->clock == VM_CLOCK_FREEZE;
	u32 left[ARRAY_SIZE(vcpus)];

	for (unsigned i = 0; i < parts.vm.nr_vcpus; i++) {
		fake_host.this_cpu = i;
		left[i] = lapic_timer_current(vcpus[i].lapic);
		lapic_timer_pause(&vcpus[i], NULL, true);
	}
	fake_host.tsc += ticks;
	parts.vm.tsc_offset -= freeze ? (s64)ticks : 0;
	for (unsigned i = 0; i < parts.vm.nr_vcpus; i++) {
		fake_host.this_cpu = i;
		lapic_timer_pause(&vcpus[i], NULL, false);
		vcpus[i].tsc_offset = parts.vm.tsc_offset;
		CHECK(!freeze || lapic_timer_current(vcpus[i].lapic) == left[i]);
	}
	fire_late();
}

static void message(u64 address, u32 data)
{
	const struct vcpu *taker = parts.vm.intc->msi_vcpu(&parts.vm, address, data);

	CHECK(!taker || (address >> 20 == 0xfee && (u8)data >= 16));
	parts.vm.intc->msi(&parts.vm, address, data);
	/* Fixed delivery is to all that it names, but for APICs that software has disabled. */
	CHECK(!taker || data & 0x700 || !(taker->lapic->svr & LAPIC_SVR_ENABLE) ||
	      bit(taker->lapic->irr, (u8)data));
}

static void step(struct fuzz_in *in)
{
	static const u8 size[4] = { 4, 4, 1, 8 };
	u8 op = fuzz_u8(in), how = fuzz_u8(in);
	struct vcpu *vcpu = &vcpus[(how >> 6) % parts.vm.nr_vcpus];
	bool write = op & 0x10;
	u64 number;

	fake_host.this_cpu = vcpu->cpu;
	switch (op & 0xf) {
	case 0:
	case 1: /* a local APIC register, as a kernel would; seldom odd */
		mmio(vcpu, &parts.ranges.mmio[0], (how & 63) * 16u + (op & 0x80 ? fuzz_u8(in) : 0),
		     size[op >> 5 & 3], write, write ? fuzz_number(in) : 0);
		break;
	case 2:
	case 3:
		msr(vcpu, MSR_X2APIC_FIRST + (how & 63) + (op & 0x80 ? fuzz_u8(in) : 0), write,
		    write ? fuzz_number(in) : 0);
		break;
	case 4:
		msr(vcpu, how & 1 ? MSR_APIC_BASE : MSR_TSC_DEADLINE, write,
		    how & 2 ? GUEST_LAPIC_BASE | (u64)(fuzz_u8(in) & 0xf) << 8 : fuzz_number(in));
		break;
	case 5: /* an I/O APIC register by its number */
		mmio(vcpu, &parts.ranges.mmio[1], 0, 4, true, how & 63);
		mmio(vcpu, &parts.ranges.mmio[1], 0x10, 4, write, fuzz_u32(in));
		break;
	case 6:
		mmio(vcpu, &parts.ranges.mmio[1], how & 0x30 ? (how & 0x30) << 1 : fuzz_u8(in),
		     size[op >> 5 & 3], write, fuzz_u8(in));
		break;
	case 7: parts.vm.intc->line(&parts.vm, how & 31, write); break;
	case 8:
		number = how & 1 ? 0xfee00000 | (u64)(fuzz_u32(in) & 0xfffff) : fuzz_number(in);
		message(number, fuzz_u32(in));
		break;
	case 9: pass(fuzz_number(in) % BIT(44)); break;
	case 10: take(vcpu, write); break;
	case 11: eoi(vcpu); break;
	case 12:
		if (op & 0x80)
			stand(fuzz_number(in) % BIT(44));
		if (write)
			parts.vm.intc->set_cr8(vcpu, how & 15);
		CHECK(parts.vm.intc->get_cr8(vcpu) == vcpu->lapic->tpr >> 4);
		break;
	case 13:
		parts.vm.intc->init(vcpu);
		CHECK(highest(vcpu->lapic->irr) < 0 && highest(vcpu->lapic->isr) < 0 &&
		      !vcpu->lapic->timer.armed);
		break;
	case 14: /* a whole ICR in xAPIC mode, or x2APIC's */
		mmio(vcpu, &parts.ranges.mmio[0], LAPIC_ICR_HIGH * 16, 4, true, (u64)how << 24);
		mmio(vcpu, &parts.ranges.mmio[0], LAPIC_ICR * 16, 4, true, fuzz_u32(in));
		break;
	default: /* what a kernel does first: enables it, sets the timer's mode */
		mmio(vcpu, &parts.ranges.mmio[0], LAPIC_SVR * 16, 4, true, 0x1ff);
		msr(vcpu, MSR_X2APIC_FIRST + LAPIC_SVR, true, 0x1ff);
		mmio(vcpu, &parts.ranges.mmio[0], LAPIC_LVT_TIMER * 16, 4, true,
		     (how & 3) << 17 | 0x40);
		msr(vcpu, MSR_X2APIC_FIRST + LAPIC_LVT_TIMER, true, (how & 3) << 17 | 0x40);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };

	create(&in);
	for (unsigned i = 0; in.left && i < STEPS; i++) {
		step(&in);
		for (unsigned k = 0; k < parts.vm.nr_vcpus; k++)
			check_lapic(&vcpus[k]);
	}
	check_ioapic();
	destroy();
	return 0;
}
