/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: seed=20261121 rounds=1500
 * NOT ON nested-vtx: an exit takes KVM on Bochs 76 us: timers of 20 us, which it makes, leave the guest no time between two
 *
 * The local APIC and the I/O APIC at random: every offset and width of the two
 * pages and every x2APIC MSR, with interrupts on. Only an INIT to this CPU is
 * left out, since that ends the VM. After each part the local APIC, set up
 * anew, still delivers.
 */
#include "apic.h"
#include "random.h"
#include "tiny.h"

#define IOAPIC 0xfec00000ull
#define VECTOR 0x91

static u32 seed;
static volatile unsigned delivered;

static u32 rnd(void)
{
	return random32(&seed);
}

static void on_any(struct trap_frame *f)
{
	delivered += f->vector == VECTOR;
	apic_write(APIC_EOI, 0);
}

static void on_nmi(struct trap_frame *f)
{
	(void)f;
}

/* Values that reach something: few bits, small numbers, or anything. */
static u32 value(void)
{
	switch (rnd() & 3) {
	case 0: return 1u << (rnd() & 31);
	case 1: return rnd() & 0xff;
	default: return rnd();
	}
}

/*
 * An ICR that would INIT or start this CPU becomes a fixed interrupt. The CPU's own APIC (direct=1)
 * takes vectors from 16 on from its guest, which are no exceptions then, but look like them.
 */
static u32 tame(u64 offset, u32 v)
{
	if (option_number("direct", 0) && (v & 0xff) < 32 &&
	    ((offset & ~0xfull) == APIC_ICR || (offset & ~0xfull) == APIC_SELF_IPI ||
	     (offset & ~0xfull) == APIC_LVT_TIMER))
		v |= 32;
	return (offset & ~0xfull) == APIC_ICR && (v >> 8 & 7) >= 5 ? v & ~0x700u : v;
}

static void access(u64 page, u64 offset, bool write)
{
	volatile u8 *p = (volatile u8 *)(page + offset);
	u32 v = page == LAPIC_BASE ? tame(offset, value()) : value();

	switch (rnd() & 7) {
	case 0:
		if (write)
			*p = (u8)v;
		else
			(void)*p;
		break;
	case 1:
		if (write)
			*(volatile u16 *)p = (u16)v;
		else
			(void)*(volatile u16 *)p;
		break;
	case 2: /* an 8-byte store would reach the ICR past tame() */
		if (!write)
			(void)*(volatile u64 *)p;
		break;
	default:
		if (write)
			*(volatile u32 *)p = v;
		else
			(void)*(volatile u32 *)p;
	}
}

static void still_delivers(const char *after)
{
	unsigned before;

	irq_off();
	apic_enable();
	for (unsigned lvt = APIC_LVT_TIMER; lvt <= APIC_LVT_ERROR; lvt += 0x10)
		apic_write(lvt, 0x10000);
	apic_write(APIC_TIMER_INIT, 0);
	apic_write(APIC_TPR, 0);
	for (unsigned i = 0; i < 256; i++)
		apic_write(APIC_EOI, 0);
	irq_on();
	for (unsigned i = 0; i < 1000; i++)
		cpu_relax();
	before = delivered;
	for (unsigned i = 1; i <= 10; i++) {
		apic_ipi(0, ICR_SELF | ICR_ASSERT | VECTOR);
		for (unsigned t = 0; delivered != before + i && t < 100000; t++)
			cpu_relax();
	}
	check(delivered == before + 10, "after %s: %u of 10 interrupts", after, delivered - before);
	irq_off();
}

void test_main(void)
{
	u64 rounds = option_number("rounds", 1000), v;
	unsigned faults = 0;

	seed = (u32)option_number("seed", 1);
	for (unsigned i = 32; i < 256; i++)
		trap_handlers[i] = on_any;
	trap_handlers[VEC_NMI] = on_nmi;
	apic_enable();
	irq_on();
	for (u64 i = 0; i < rounds && !x2apic_on(); i++) {
		u64 offset = rnd() & 0xff8;

		access(LAPIC_BASE, i % 4 ? offset & 0x3f0 : offset, rnd() & 1);
	}
	still_delivers("the xAPIC page");
	irq_on();
	for (u64 i = 0; i < rounds; i++) {
		u32 index = rnd() & 0x3f;

		/* Most go to registers that exist; delivery INIT would end the VM. */
		*(volatile u32 *)IOAPIC = index;
		if (i & 1)
			*(volatile u32 *)(IOAPIC + 0x10) = index & 1 ? value() : value() & ~0x700u;
		access(IOAPIC, i % 3 ? 0x40 : rnd() & 0xff0, i % 3 == 0 && (rnd() & 0xff0) > 0x40);
	}
	for (u32 pin = 0; pin < 24; pin++) {
		*(volatile u32 *)IOAPIC = 0x10 + 2 * pin;
		*(volatile u32 *)(IOAPIC + 0x10) = 0x10000;
	}
	still_delivers("the I/O APIC");
	if (!x2apic_enable())
		return;
	irq_on();
	for (u64 i = 0; i < rounds; i++) {
		u32 msr = 0x800 + (rnd() & (i & 1 ? 0x3f : 0xff));

		if (rnd() & 1)
			faults += try_rdmsr(msr, &v) != NO_TRAP;
		else
			faults += try_wrmsr(msr, tame((msr & 0xff) * 0x10, value())) != NO_TRAP;
	}
	check(faults > rounds / 4 && faults < rounds, "%u of %lu MSR accesses raised #GP", faults,
	      rounds);
	still_delivers("the x2APIC MSRs");
}
