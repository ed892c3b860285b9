/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * CMDLINE: events=1000
 * NOT ON qemu: TCG has no #AC, natively neither
 * NOT ON nested-vtx: its NMIs, as nmi.c
 *
 * Interrupts whose delivery an exit cuts: by #AC, which the hypervisor has
 * intercepted, when the CPU has acknowledged the interrupt and pushes (cut.asm).
 * Of events= that CPU 0 sends itself, those of its timer, and those that CPU 1
 * sends meanwhile, each is cut at least once and comes once, while it is in
 * service, those that waited together in the order of their priorities; and NMIs
 * of CPU 1 get in between. test_direct.py runs it with interrupts = direct, and
 * with a million.
 */
#include "apic.h"
#include "random.h"
#include "tiny.h"

#define EXTRA 0xd1 /* sent while another waits after its cut */
#define TIMER 0x61
#define HIGH 0xe1  /* CPU 1's */
#define LOW 0x21
#define PATIENCE 5000000
#define PLAN 4096

struct gate32 {
	u16 offset0;
	u16 selector;
	u16 attr;
	u16 offset1;
} cut_ring3[256], cut_ring0[256];
static struct {
	u32 link;
	u32 esp0;
	u32 ss0;
	u32 others[22];
	u16 trap;
	u16 iomap;
} task;
static u8 stack0[4096] __attribute__((aligned(16)));

/* One of an exception's number, and two of one class. The last is not among a round's. */
const u8 cut_vectors[9] = { 18, 0x31, 0x41, 0x51, 0x52, 0x71, 0x91, 0xb1, EXTRA };
/*
 * By rounds: which of these are sent (bits 7:0), whether the timer is started (8) and the extra one
 * sent (9).
 */
u32 cut_plan[PLAN], cut_rounds;
/* what CPU 1 does: 0, it sends (1), it shall end (2) */
volatile u32 cut_sent[256], cut_came[256], cut_partner;
u8 cut_ordered[256];
extern volatile u32 cut_cuts, cut_wrong, cut_disorder, cut_not_served, cut_nmis, cut_spin,
	cut_timer;
extern const u8 cut_stubs[], cut_uncut[], cut_ac[], cut_nmi[], cut_back[];
void cut_main(void);

static struct gate32 gate(const u8 *to, u16 selector, unsigned dpl)
{
	u32 at = (u32)(u64)to;

	return (struct gate32){ (u16)at, selector, (u16)(0x8e00 | dpl << 13), (u16)(at >> 16) };
}

static void tables(void)
{
	u64 base = (u64)&task;

	task.esp0 = (u32)(u64)(stack0 + sizeof(stack0));
	task.ss0 = SEL_DATA;
	task.iomap = sizeof(task);
	gdt[SEL_FREE / 8] = (sizeof(task) - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 |
			    (base >> 24 & 0xff) << 56;
	for (unsigned v = 0; v < 256; v++) {
		cut_ring0[v] = gate(cut_stubs + 16 * v, SEL_CODE32, 0);
		cut_ring3[v] = gate(cut_uncut, SEL_USER_CODE32 | 3, 0);
	}
	cut_ring3[VEC_AC] = gate(cut_ac, SEL_CODE32, 0);
	cut_ring3[VEC_NMI] = cut_ring0[VEC_NMI] = gate(cut_nmi, SEL_CODE32, 0);
	cut_ring3[0x80] = cut_ring0[0x80] = gate(cut_back, SEL_CODE32, 3);
}

/* The interrupts that CPU 0 sends itself in these rounds, at least as many as are wanted. */
static u32 plan(u64 events)
{
	u32 seed = 1, sent = 0;

	for (unsigned i = 0; i < PLAN; i++)
		cut_plan[i] = random32(&seed) & 0x3ff;
	for (unsigned i = 0; i < 8; i++)
		cut_ordered[cut_vectors[i]] = 1;
	for (; sent < events; cut_rounds++)
		for (unsigned bit = 0; bit < 8; bit++)
			sent += cut_plan[cut_rounds % PLAN] >> bit & 1;
	return sent;
}

static u32 nmis;

static void sender(void *)
{
	u32 seed = 2;

	x2apic_enable();
	for (bool good = true; good && cut_partner == 1;) {
		for (unsigned i = 0; i < 3 && good; i++) {
			u32 vector = i ? LOW : HIGH;

			/* CPU 0 shall come to something else, too. */
			for (u32 n = random32(&seed) % 2048; n; n--)
				cpu_relax();
			cut_sent[vector]++;
			apic_ipi(0, vector | ICR_ASSERT);
			good = reaches(&cut_came[vector], cut_sent[vector], PATIENCE);
		}
		if (good) {
			apic_ipi(0, ICR_NMI | ICR_ASSERT);
			good = reaches(&cut_nmis, ++nmis, PATIENCE);
		}
	}
	cut_partner = 0;
}

void test_main(void)
{
	u32 sent = plan(option_number("events", 1000)), all = 0, rounds;

	x2apic_enable();
	apic_enable();
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, TIMER);
	cut_timer = 500;
	cut_spin = 30;
	tables();
	cut_partner = 1;
	if (smp_start() > 1)
		smp_run(1, sender, NULL);
	else
		cut_partner = 0;
	rounds = legacy_call(cut_main);
	check(rounds == cut_rounds && !cut_partner, "came to an end in round %u of %u, CPU 1: %u",
	      rounds, cut_rounds, cut_partner);
	for (unsigned v = 0; v < 256; v++)
		if (cut_sent[v] || cut_came[v]) {
			check(cut_came[v] == cut_sent[v], "vector %#x: %u sent, %u came", v,
			      cut_sent[v], cut_came[v]);
			all += cut_came[v];
			sent -= cut_ordered[v] ? cut_came[v] : 0;
		}
	check(!sent, "%u were not sent", sent);
	check(cut_nmis == nmis, "%u NMIs, %u came", nmis, cut_nmis);
	check(!cut_wrong, "%u were not cut", cut_wrong);
	check(!cut_disorder, "%u came before one of a higher priority", cut_disorder);
	check(!cut_not_served, "%u were not in service", cut_not_served);
	/* One that comes between another's cut and its coming is not. */
	check(cut_cuts >= all - cut_came[EXTRA] - cut_came[HIGH], "%u cuts of %u interrupts",
	      cut_cuts, all);
	print("cut: interrupts=%u cuts=%u timer=%u others=%u nmis=%u", all, cut_cuts,
	      cut_came[TIMER], cut_came[HIGH] + cut_came[LOW], cut_nmis);
}
