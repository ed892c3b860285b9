/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 *
 * Interprocessor interrupts of all kinds (SDM vol. 3, 11.6 and 11.12.10):
 * destinations physical, logical flat and cluster, x2APIC cluster; shorthands;
 * fixed, lowest priority, NMI; modes that deliver nothing; illegal vectors;
 * INIT and SIPI; xAPIC and x2APIC mode. test_tiny.py also runs it with other
 * numbers of CPUs.
 */
#include "apic.h"
#include "tiny.h"

#define VECTOR 0x51
#define LOWEST_VECTOR 0x61
#define PATIENCE 3000000 /* reads of a count */

static unsigned n;
static volatile u32 got[MAX_CPUS], nmis[MAX_CPUS];
static volatile u32 lowest; /* all CPUs */
static volatile u32 asked[MAX_CPUS];

static void on_vector(struct trap_frame *f)
{
	(void)f;
	got[this_cpu()->id]++;
	apic_write(APIC_EOI, 0);
}

static void on_lowest(struct trap_frame *f)
{
	(void)f;
	__atomic_add_fetch(&lowest, 1, __ATOMIC_SEQ_CST);
	apic_write(APIC_EOI, 0);
}

static void on_nmi(struct trap_frame *f)
{
	(void)f;
	nmis[this_cpu()->id]++;
}

/* Runs on each other CPU: interrupts open until asked to return. */
static volatile bool stop;
static void listen(void *arg)
{
	(void)arg;
	irq_on();
	asked[this_cpu()->id] = 1;
	while (!stop)
		cpu_relax();
	irq_off();
	asked[this_cpu()->id] = 0;
}

static void listen_all(void)
{
	stop = false;
	for (unsigned i = 1; i < n; i++) {
		smp_run(i, listen, NULL);
		while (!asked[i])
			cpu_relax();
	}
	irq_on();
}

static void run_all(void (*fn)(void *arg), void *arg)
{
	stop = true;
	irq_off();
	for (unsigned i = 1; i < n; i++)
		smp_wait(i);
	fn(arg);
	for (unsigned i = 1; i < n; i++) {
		smp_run(i, fn, arg);
		smp_wait(i);
	}
	listen_all();
}

/*
 * Sends and waits until the counts of exactly the CPUs in `set` have gone up by
 * one. A marker to everybody then shows that nothing else is on its way.
 */
static void expect(const char *what, volatile u32 *counts, u32 dest, u32 icr, u32 set)
{
	u32 before[MAX_CPUS], markers[MAX_CPUS];
	bool ok = true;

	for (unsigned i = 0; i < n; i++)
		before[i] = counts[i];
	apic_ipi(dest, icr & ICR_LEVEL ? icr : icr | ICR_ASSERT);
	for (unsigned i = 0; i < n; i++)
		for (unsigned t = 0; set & BIT(i) && counts[i] == before[i] && t < PATIENCE; t++)
			cpu_relax();
	for (unsigned i = 0; i < n; i++) {
		ok = ok && counts[i] == before[i] + (set >> i & 1);
		markers[i] = got[i];
	}
	apic_ipi(0, ICR_ALL | ICR_FIXED | ICR_ASSERT | VECTOR);
	for (unsigned i = 0; i < n; i++)
		for (unsigned t = 0; got[i] == markers[i] && t < PATIENCE; t++)
			cpu_relax();
	for (unsigned i = 0; i < n; i++)
		ok = ok && got[i] == markers[i] + 1 &&
		     (counts == got || counts[i] == before[i] + (set >> i & 1));
	check(ok, "%s: CPUs %#x", what, set);
}

static void expect_lowest(const char *what, u32 dest, u32 icr)
{
	u32 before = lowest;

	apic_ipi(dest, icr | ICR_LOWEST | ICR_ASSERT | LOWEST_VECTOR);
	for (unsigned t = 0; lowest == before && t < PATIENCE; t++)
		cpu_relax();
	expect("marker", got, 0, ICR_ALL | VECTOR, (u32)BIT(n) - 1);
	check(lowest == before + 1, "%s: lowest priority is taken by %u", what, lowest - before);
}

static u32 esr(void)
{
	apic_write(APIC_ESR, 0);
	return apic_read(APIC_ESR);
}

static void in_both_modes(bool x2apic)
{
	u32 all = (u32)BIT(n) - 1, others = all & ~1u, broadcast = x2apic ? ~0u : 0xff;

	for (unsigned i = 0; i < n; i++) {
		expect("physical", got, i, VECTOR, (u32)BIT(i));
		if (i)
			expect("NMI", nmis, i, ICR_NMI, (u32)BIT(i));
	}
	expect("physical, nobody", got, n + 5, VECTOR, 0);
	expect("physical broadcast", got, broadcast, VECTOR, all);
	expect("self", got, 0, ICR_SELF | VECTOR, 1);
	expect("all", got, 0, ICR_ALL | VECTOR, all);
	expect("others", got, 0, ICR_OTHERS | VECTOR, others);
	expect("NMI to others", nmis, 0, ICR_OTHERS | ICR_NMI, others);
	expect("SMI delivers nothing here", got, n - 1, ICR_SMI, 0);
	expect("reserved mode 3", got, n - 1, 3 << 8 | VECTOR, 0);
	expect("INIT level de-assert", got, n - 1, ICR_INIT | ICR_LEVEL, 0);
	expect("SIPI to running CPUs", got, 0, ICR_OTHERS | ICR_STARTUP | 0x9f, 0);
	esr();
	for (u32 v = 0; v < 16; v++) {
		apic_ipi(n - 1, ICR_FIXED | ICR_ASSERT | v);
		check(esr() == BIT(5), "illegal vector %u is a send error", v);
	}
	check(esr() == 0, "ESR is clear again");
}

static void set_logical(void *arg)
{
	u32 dfr = *(u32 *)arg;
	unsigned id = this_cpu()->id;

	apic_write(APIC_DFR, dfr);
	/* Flat: a bit each. Cluster: two CPUs in each cluster. */
	apic_write(APIC_LDR, (u32)(dfr >> 28 == 0xf ? BIT(id) : (id / 2) << 4 | BIT(id % 2)) << 24);
}

static void logical_xapic(void)
{
	u32 flat = ~0u, cluster = 0x0fffffff, all = (u32)BIT(n) - 1;

	/* A flat destination names eight at most. */
	if (n <= 8) {
		run_all(set_logical, &flat);
		for (u32 set = 0; set <= all; set++)
			expect("flat", got, set, ICR_LOGICAL | VECTOR, set);
		expect("flat, everybody", got, 0xff, ICR_LOGICAL | VECTOR, all);
		expect_lowest("flat", all, ICR_LOGICAL);
	}
	run_all(set_logical, &cluster);
	for (u32 c = 0; c < 3; c++)
		for (u32 set = 0; set < 4; set++)
			expect("cluster", got, c << 4 | set, ICR_LOGICAL | VECTOR,
			       set << c * 2 & all);
	expect("all clusters", got, 0xff, ICR_LOGICAL | VECTOR, all);
	expect_lowest("cluster", 3, ICR_LOGICAL);
	run_all(set_logical, &flat);
}

static void logical_x2apic(void)
{
	u32 all = (u32)BIT(n) - 1;

	check(apic_read(APIC_LDR) == 1, "x2APIC logical ID %#x", apic_read(APIC_LDR));
	for (u32 set = 0; set <= all; set += n > 4 ? 37 : 1)
		expect("x2APIC cluster", got, set, ICR_LOGICAL | VECTOR, set);
	expect("x2APIC, another cluster", got, 1 << 16 | all, ICR_LOGICAL | VECTOR, 0);
	expect("x2APIC logical broadcast", got, ~0u, ICR_LOGICAL | VECTOR, all);
	expect_lowest("x2APIC", all, ICR_LOGICAL);
	esr();
	wrmsr(0x83f, VECTOR);
	for (unsigned t = 0; t < PATIENCE && rdmsr(0x820 + VECTOR / 32) & BIT(VECTOR % 32); t++)
		cpu_relax();
	/*
	 * With interrupts = direct this register is the CPU's own, the ESR is not, and QEMU does
	 * not know reserved bits.
	 */
	if (!option_number("direct", 0)) {
		wrmsr(0x83f, 3);
		check(esr() == BIT(5), "SELF IPI of an illegal vector");
		check(try_wrmsr(0x83f, 0x100) == VEC_GP, "SELF IPI's reserved bits");
	}
	check(try_wrmsr(0x830, BIT(20)) == VEC_GP, "the ICR's reserved bits");
}

static void to_x2apic(void *arg)
{
	(void)arg;
	x2apic_enable();
}

/* INIT stops a CPU wherever it is; the first SIPI starts it, later ones do nothing. */
static void init_and_sipi(void)
{
	stop = true;
	irq_off();
	for (unsigned i = 1; i < n; i++)
		smp_wait(i);
	for (unsigned round = 0; round < 20; round++)
		for (unsigned i = 1; i < n; i++) {
			/*
			 * A storm: INITs and SIPIs in any number, the last INIT before the last
			 * SIPI.
			 */
			for (unsigned k = 0; k < round; k++)
				apic_ipi(i, (k % 3 ? ICR_STARTUP | 0x8 : ICR_INIT) | ICR_ASSERT);
			smp_restart(i);
			for (unsigned k = 0; k < round; k++)
				apic_ipi(i, ICR_STARTUP | ICR_ASSERT | 0xff);
			smp_run(i, x2apic_on() ? to_x2apic : listen, NULL);
			stop = true;
			smp_wait(i);
		}
	check(true, "INIT and SIPI");
}

void test_main(void)
{
	n = smp_start();
	trap_handlers[VECTOR] = on_vector;
	trap_handlers[LOWEST_VECTOR] = on_lowest;
	trap_handlers[VEC_NMI] = on_nmi;
	listen_all();
	if (!x2apic_on()) {
		in_both_modes(false);
		logical_xapic();
	}
	if (cpuid(1, 0).ecx & BIT(21)) {
		run_all(to_x2apic, NULL);
		in_both_modes(true);
		logical_x2apic();
	}
	init_and_sipi();
}
