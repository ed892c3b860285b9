/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/rdt.c */
/*
 * Parts of caches and of memory bandwidth: by CPUID of recorded CPUs (github:
 * InstLatx64/InstLatx64; leaf 0x10.3 is none of a recording's, it is as Linux' documentation has
 * it, and so is 0x80000020.1, of which that shows 2048 for no limit), and what is stored into the
 * registers of a node of two caches. kernel/work/rdt.c is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/work/rdt.c"

struct leaf {
	u32 leaf;
	u32 subleaf;
	struct cpuid_regs regs;
};
/* eax, ebx, ecx, edx */
static const struct leaf skylake[] = {
	{ 0, 0, { 0x16, 0, 0, 0 } },
	{ 4, 0, { 0x7c004121, 0x01c0003f, 0x3f, 0 } },
	{ 4, 1, { 0x7c004122, 0x01c0003f, 0x3f, 0 } },
	{ 4, 2, { 0x7c004143, 0x03c0003f, 0x3ff, 0 } },
	{ 4, 3, { 0x7c0fc163, 0x0280003f, 0x8fff, 4 } },
	{ 0xf, 0, { 0, 0x8f, 0, 2 } },
	{ 0xf, 1, { 0, 0x1c000, 0x8f, 7 } },
	{ 0x10, 0, { 0, 0xa, 0, 0 } },
	{ 0x10, 1, { 0xa, 0x600, 4, 0xf } },
	{ 0x10, 3, { 0x59, 0, 4, 7 } },
	{ 0 },
};
static const struct leaf broadwell[] = {
	{ 0, 0, { 0x14, 0, 0, 0 } },
	{ 4, 3, { 0x3c07c163, 0x04c0003f, 0x6fff, 6 } },
	{ 0x10, 0, { 0, 2, 0, 0 } },
	{ 0x10, 1, { 0x13, 0xc0000, 4, 0xf } },
	{ 0 },
};
static const struct leaf genoa[] = {
	{ 0, 0, { 0x10, 0, 0, 0 } },
	{ 0x80000000, 0, { 0x80000028, 0, 0, 0 } },
	{ 0x8000001d, 2, { 0x4143, 0x01c0003f, 0x7ff, 2 } },
	{ 0x8000001d, 3, { 0x3c163, 0x03c0003f, 0x7fff, 1 } },
	{ 0xf, 0, { 0, 0xff, 0, 2 } },
	{ 0xf, 1, { 0, 64, 0xff, 7 } },
	{ 0x10, 0, { 0, 2, 0, 0 } },
	{ 0x10, 1, { 0xf, 0, 4, 0xf } },
	{ 0x80000020, 0, { 0, 0x1e, 0, 0 } },
	{ 0x80000020, 1, { 11, 0, 0, 0xf } },
	{ 0 },
};
/* Made up, like an Atom: four L2 caches of two cores, and no L3. */
static const struct leaf denverton[] = {
	{ 0, 0, { 0x15, 0, 0, 0 } },
	{ 4, 0, { 0x3c000121, 0x0140003f, 0x3f, 1 } },
	{ 4, 2, { 0x3c00c143, 0x03c0003f, 0x7ff, 1 } },
	{ 0x10, 0, { 0, 4, 0, 0 } },
	{ 0x10, 2, { 0xf, 0, 0, 3 } },
	{ 0 },
};
/* Made up, too: both, with fewer classes of the L2. */
static const struct leaf both[] = {
	{ 0, 0, { 0x1f, 0, 0, 0 } },   { 4, 3, { 0x7c0fc163, 0, 0, 0 } },
	{ 0x10, 0, { 0, 6, 0, 0 } },   { 0x10, 1, { 0xe, 0, 4, 0xe } },
	{ 0x10, 2, { 0xf, 0, 4, 7 } }, { 0 },
};
static const struct leaf qemu[] = { { 0, 0, { 0xd, 0, 0, 0 } },
				    { 0x10, 0, { 0, 0xa, 0, 0 } },
				    { 0 } };
static const struct leaf *cpu_is;

#define CPUS 8
enum {
	CFG = 0xc81,
	CFG_L2 = 0xc82,
	EVTSEL = 0xc8d,
	CTR = 0xc8e,
	ASSOC = 0xc8f,
	MASK = 0xc90,
	MASK_L2 = 0xd10,
	THROTTLE = 0xd50,
	AMD = 0xc0000200,
};

static struct {
	u64 cfg;
	u64 cfg_l2;
	u64 assoc[CPUS / 2];
	u64 mask[16];
	u64 mask_l2[16];
	u64 throttle[8];
	u64 amd[16];
} cache[2];
static u64 selected, counter[4]; /* by event */
static unsigned on;
static unsigned writes;

void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ 0 };
	for (const struct leaf *l = cpu_is; l->leaf || l->regs.eax; l++)
		if (l->leaf == leaf && l->subleaf == subleaf)
			*out = l->regs;
}

unsigned host_cpu_this(void)
{
	return on;
}

/* Four CPUs in each of two packages of 64 IDs. */
const struct host_cpu_info *host_cpu_info(unsigned cpu)
{
	static struct host_cpu_info info;

	info.apic_id = cpu / 4 * 64 + cpu % 4;
	return &info;
}

int host_wrmsr(u32 msr, u64 value)
{
	unsigned c = on / 4;

	writes++;
	if (msr == CFG)
		cache[c].cfg = value;
	else if (msr == ASSOC)
		cache[c].assoc[on % 4] = value;
	else if (msr >= MASK && msr < MASK + 16)
		cache[c].mask[msr - MASK] = value;
	else if (msr >= THROTTLE && msr < THROTTLE + 8)
		cache[c].throttle[msr - THROTTLE] = value;
	else if (msr == CFG_L2)
		cache[c].cfg_l2 = value;
	else if (msr >= MASK_L2 && msr < MASK_L2 + 16)
		cache[c].mask_l2[msr - MASK_L2] = value;
	else if (msr >= AMD && msr < AMD + 16)
		cache[c].amd[msr - AMD] = value;
	else if (msr == EVTSEL)
		selected = value;
	else
		fail_msg("write to %#x", msr);
	return 0;
}

int host_rdmsr(u32 msr, u64 *value)
{
	assert_int_equal(msr, CTR);
	*value = counter[selected & 3];
	return 0;
}

static int reset(void **)
{
	memset(cache, 0xff, sizeof(cache));
	memset(share, 0, sizeof(share));
	memset(counted, 0, sizeof(counted));
	cpu_is = skylake;
	writes = 0;
	return 0;
}

static void test_capabilities(void **)
{
	struct rdt_caps c;

	cpu_is = skylake;
	rdt_read(host_cpuid, &c);
	assert_true(c.ways == 11 && c.devices == 0x600 && c.cdp[0] && !c.cdp[1] &&
		    c.classes == 16 && c.id_shift == 6);
	assert_true(c.throttle_max == 90 && c.bandwidth_classes == 8 && !c.limit_bits &&
		    c.level == 3 && c.masks == MASK);
	assert_true(c.ids == 0x8f && c.events == 0xe && c.unit == 0x1c000 && c.counter_bits == 24);
	cpu_is = broadwell;
	rdt_read(host_cpuid, &c);
	assert_true(c.ways == 20 && c.devices == 0xc0000 && c.classes == 16 && c.id_shift == 5 &&
		    !c.throttle_max && !c.ids);
	cpu_is = genoa;
	rdt_read(host_cpuid, &c);
	assert_true(c.ways == 16 && !c.devices && c.classes == 16 && c.id_shift == 4 &&
		    !c.throttle_max);
	assert_true(c.limit_bits == 11 && c.bandwidth_classes == 16 && c.ids == 0xff &&
		    c.unit == 64 && c.counter_bits == 44);
	cpu_is = denverton;
	rdt_read(host_cpuid, &c);
	assert_true(c.level == 2 && c.ways == 16 && c.masks == MASK_L2 && c.classes == 4 &&
		    !c.cdp[1] && c.id_shift == 2);
	cpu_is = both;
	rdt_read(host_cpuid, &c);
	assert_true(c.level == 3 && c.ways == 15 && c.masks == MASK && c.classes == 8 && c.cdp[0] &&
		    c.cdp[1] && c.id_shift == 6);
	cpu_is = qemu;
	rdt_read(host_cpuid, &c);
	assert_true(!c.ways && !c.throttle_max && !c.id_shift);
}

static void test_throttle(void **)
{
	struct rdt_caps c = { .throttle_max = 90 };

	assert_int_equal(rdt_throttle(&c, 50), 50);
	assert_int_equal(rdt_throttle(&c, 55), 40);
	assert_int_equal(rdt_throttle(&c, 99), 0);
	assert_int_equal(rdt_throttle(&c, 1), 90);
	c.throttle_max = 95;
	assert_int_equal(rdt_throttle(&c, 1), 95);
	assert_int_equal(rdt_throttle(&c, 51), 45);
}

static void test_limit(void **)
{
	struct rdt_caps c = { .limit_bits = 11, .counter_bits = 24, .unit = 0x1c000 };

	assert_int_equal(rdt_limit(&c, 0), 2048);
	assert_int_equal(rdt_limit(&c, 20), 160);
	assert_int_equal(rdt_traffic(&c, 100, 300), 200 * 0x1c000);
	assert_int_equal(rdt_traffic(&c, 0xfffffe, 2), 4 * 0x1c000);
	c.limit_bits = 0;
	assert_int_equal(rdt_limit(&c, 0), 0);
}

static char vm[3];

static void expect_find(const struct rdt_caps *c, const struct rdt_share *s, unsigned count,
			unsigned ways, u32 want, unsigned as)
{
	u32 mask = 1;
	unsigned class = 99;

	assert_int_equal(rdt_find(c, s, count, 7, ways, &mask, &class), want || !ways);
	assert_int_equal(mask, want);
	if (want)
		assert_int_equal(class, as);
}

static void test_find(void **)
{
	struct rdt_caps c = { .ways = 11, .devices = 0x600, .classes = 4 };
	struct rdt_share s[3] = {
		{ .owner = vm, .cache = 7, .mask = 0x1c, .class = 1 },
		{ .owner = vm, .cache = 8, .mask = 0x7ff, .class = 2 },
		{ .cache = 7, .mask = 0x7ff, .class = 2 },
	};

	/* The lowest that fit; devices' only where nothing else does; never all; adjoining. */
	expect_find(&c, s, 0, 9, 0x1ff, 1);
	expect_find(&c, s, 0, 10, 0x3ff, 1);
	expect_find(&c, s, 0, 11, 0, 0);
	expect_find(&c, s, 3, 2, 0x3, 2);
	expect_find(&c, s, 3, 3, 0xe0, 2);
	expect_find(&c, s, 3, 4, 0x1e0, 2);
	expect_find(&c, s, 3, 5, 0x3e0, 2);
	expect_find(&c, s, 3, 6, 0x7e0, 2);
	expect_find(&c, s, 3, 7, 0, 0);
	/* Nothing would be left for others. */
	s[1] = (struct rdt_share){ .owner = vm, .cache = 7, .mask = 0x3, .class = 3 };
	expect_find(&c, s, 3, 6, 0, 0);
	expect_find(&c, s, 3, 5, 0x3e0, 2);
	assert_int_equal(rdt_rest(&c, s, 3, 7), 0x7e0);
	assert_int_equal(rdt_rest(&c, s, 3, 8), 0x7ff);
	/* No class is left: one more share, or fewer classes of the other kind. */
	s[2].owner = vm;
	s[2].mask = 0;
	expect_find(&c, s, 3, 1, 0, 0);
	s[2].owner = NULL;
	c.throttle_max = 90;
	c.bandwidth_classes = 2;
	expect_find(&c, s, 3, 1, 0, 0);
}

static bool take(unsigned n, struct host_rdt_wish wish, unsigned first, unsigned last,
		 const char *why)
{
	char text[HOST_RDT_TEXT] = "";
	u16 cpu[CPUS];
	bool done;

	for (unsigned i = first; i <= last; i++)
		cpu[i - first] = (u16)i;
	done = host_rdt_take(&vm[n], &wish, cpu, last - first + 1, text);
	assert_string_equal(text, why);
	return done;
}

static void enter(unsigned n, unsigned cpu)
{
	on = cpu;
	host_rdt_enter(&vm[n]);
}

static void leave(unsigned n, unsigned cpu)
{
	on = cpu;
	host_rdt_leave(&vm[n]);
}

/* One VM on both packages, another on one: each cache is divided by itself, by a CPU of its own. */
static void test_registers(void **)
{
	assert_true(take(0, (struct host_rdt_wish){ 4, 11, 50, 0 }, 2, 5, ""));
	assert_true(take(1, (struct host_rdt_wish){ 3, 11, 0, 0 }, 0, 1, ""));
	assert_int_equal(writes, 0);
	enter(0, 2);
	assert_true(!cache[0].cfg && cache[0].mask[0] == 0x780 && cache[0].mask[1] == 0xf &&
		    cache[0].mask[2] == 0x70);
	assert_true(!cache[0].throttle[0] && cache[0].throttle[1] == 50 && !cache[0].throttle[2]);
	assert_true(cache[0].assoc[2] == (1ull << 32 | 1) && cache[0].assoc[0] == ~0ull &&
		    cache[1].mask[0] == ~0ull);
	enter(1, 1);
	assert_true(cache[0].assoc[1] == (2ull << 32 | 2));
	enter(0, 4);
	assert_true(cache[1].mask[0] == 0x7f0 && cache[1].mask[1] == 0xf &&
		    cache[1].assoc[0] == (1ull << 32 | 1));
	enter(0, 3);
	/* The last of a cache gives its part back. */
	leave(0, 2);
	assert_true(!cache[0].assoc[2] && cache[0].mask[0] == 0x780);
	leave(0, 3);
	assert_true(!cache[0].assoc[3] && cache[0].mask[0] == 0x78f && cache[1].mask[0] == 0x7f0);
	/* What was never entered is free all the same. */
	host_rdt_free(&vm[0]);
	assert_true(take(2, (struct host_rdt_wish){ 10, 11, 0, 0 }, 6, 7, ""));
	leave(1, 1);
	leave(1, 0);
	assert_true(cache[0].mask[0] == 0x7ff);
}

/* Bandwidth alone: the ways are everybody's, as they change. */
static void test_bandwidth(void **)
{
	assert_true(take(0, (struct host_rdt_wish){ 0, 0, 30, 0 }, 0, 0, ""));
	enter(0, 0);
	assert_true(cache[0].mask[1] == 0x7ff && cache[0].throttle[1] == 70);
	assert_true(take(1, (struct host_rdt_wish){ 2, 11, 0, 0 }, 1, 1, ""));
	enter(1, 1);
	assert_true(cache[0].mask[0] == 0x7fc && cache[0].mask[1] == 0x7fc &&
		    cache[0].mask[2] == 3);
	leave(1, 1);
	assert_true(cache[0].mask[0] == 0x7ff && cache[0].mask[1] == 0x7ff);
}

/* AMD: GB/s, and none for whoever wants none. */
static void test_gigabytes(void **)
{
	cpu_is = genoa;
	assert_true(take(0, (struct host_rdt_wish){ 0, 0, 0, 20 }, 0, 0, ""));
	assert_true(take(1, (struct host_rdt_wish){ 2, 16, 0, 0 }, 1, 1, ""));
	enter(0, 0);
	enter(1, 1);
	assert_true(cache[0].amd[0] == 2048 && cache[0].amd[1] == 160 && cache[0].amd[2] == 2048 &&
		    cache[0].amd[3] == ~0ull);
	assert_true(cache[0].mask[2] == 3 && cache[0].mask[1] == 0xfffc &&
		    cache[0].throttle[0] == ~0ull);
	leave(0, 0);
	leave(1, 1);
	assert_true(cache[0].amd[0] == 2048 && cache[0].mask[0] == 0xffff && !cache[0].assoc[0] &&
		    !cache[0].assoc[1]);
}

/*
 * Where there is no L3 cache to divide, the L2; what code and data may have of their own is
 * switched off in both.
 */
static void test_l2(void **)
{
	cpu_is = denverton;
	assert_true(take(0, (struct host_rdt_wish){ 4, 16, 0, 0 }, 0, 0, ""));
	enter(0, 0);
	assert_true(cache[0].mask_l2[0] == 0xfff0 && cache[0].mask_l2[1] == 0xf &&
		    cache[0].mask[0] == ~0ull);
	assert_true(cache[0].cfg == ~0ull && cache[0].cfg_l2 == ~0ull &&
		    cache[0].assoc[0] == 1ull << 32);
	leave(0, 0);
	reset(NULL);
	cpu_is = both;
	assert_true(take(0, (struct host_rdt_wish){ 4, 15, 0, 0 }, 0, 0, ""));
	enter(0, 0);
	assert_true(!cache[0].cfg && !cache[0].cfg_l2 && cache[0].mask[1] == 0xf &&
		    cache[0].mask_l2[1] == ~0ull);
}

/*
 * Without a wish a VM is counted all the same, by a number of its own until it has ended; where
 * CPUs do not count, nothing is.
 */
static void test_counted(void **)
{
	struct host_rdt_use before, use;

	assert_true(take(0, (struct host_rdt_wish){ 0 }, 0, 7, ""));
	enter(0, 0);
	enter(1, 1);
	enter(0, 5);
	assert_true(cache[0].assoc[0] == 1 && cache[0].assoc[1] == 2 && cache[1].assoc[1] == 1 &&
		    cache[0].mask[0] == ~0ull);
	counter[1] = 10;
	counter[2] = 0xffffff;
	counter[3] = BIT(62);
	on = 1;
	assert_true(host_rdt_use(&vm[1], NULL, &before));
	assert_int_equal(selected >> 32, 2);
	assert_true(before.held == 10 * 0x1c000 && before.traffic == HOST_RDT_UNKNOWN &&
		    before.local == HOST_RDT_UNKNOWN);
	counter[2] = 1;
	counter[3] = 7;
	assert_true(host_rdt_use(&vm[1], &before, &use));
	assert_true(use.traffic == 2 * 0x1c000 && use.local == HOST_RDT_UNKNOWN &&
		    use.counts[1] == 7);
	leave(1, 1);
	assert_false(cache[0].assoc[1]);
	host_rdt_free(&vm[1]);
	assert_false(host_rdt_use(&vm[1], NULL, &use));
	enter(2, 2);
	assert_int_equal(cache[0].assoc[2], 2);
	cpu_is = qemu;
	writes = 0;
	enter(1, 3);
	leave(1, 3);
	assert_false(host_rdt_use(&vm[0], NULL, &use));
	assert_int_equal(writes, 0);
	assert_true(host_rdt_cache(3) == 3 && host_rdt_cache(4) == 64);
}

static void test_refused(void **)
{
	assert_false(take(0, (struct host_rdt_wish){ 4, 20, 0, 0 }, 0, 0,
			  "cache: the L3 cache has 11 ways"));
	/* It fits into the first package only: nothing of it is kept. */
	assert_true(take(1, (struct host_rdt_wish){ 8, 11, 0, 0 }, 4, 7, ""));
	assert_false(take(0, (struct host_rdt_wish){ 8, 11, 0, 0 }, 0, 7,
			  "cache: no such part of the cache of CPU 4 is free"));
	assert_true(take(2, (struct host_rdt_wish){ 10, 11, 0, 0 }, 0, 3, ""));
	for (unsigned i = 0; i < 6; i++)
		share[i + 2] = (struct rdt_share){ .owner = &share[i], .cache = 0, .class = i + 2 };
	assert_false(take(0, (struct host_rdt_wish){ 0, 0, 50, 0 }, 2, 2,
			  "bandwidth: others have all classes of service of CPU 2"));
	assert_false(take(0, (struct host_rdt_wish){ 0, 0, 0, 20 }, 0, 0,
			  "bandwidth: these CPUs divide it by percents: expected that, like 50%"));
	cpu_is = genoa;
	assert_false(take(0, (struct host_rdt_wish){ 4, 16, 50, 0 }, 0, 0,
			  "bandwidth: these CPUs divide it by GB/s: expected that, like 20G"));
	assert_false(take(0, (struct host_rdt_wish){ 4, 16, 0, 256 }, 0, 0,
			  "bandwidth: expected less than 256G on these CPUs"));
	cpu_is = denverton;
	assert_false(take(0, (struct host_rdt_wish){ 4, 20, 0, 0 }, 0, 0,
			  "cache: the L2 cache has 16 ways"));
	assert_false(take(0, (struct host_rdt_wish){ 0, 0, 50, 0 }, 0, 0,
			  "bandwidth: these CPUs cannot divide memory bandwidth"));
	cpu_is = qemu;
	assert_false(take(0, (struct host_rdt_wish){ 4, 20, 0, 0 }, 0, 0,
			  "cache: these CPUs cannot divide their caches"));
	assert_int_equal(writes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_find),
		cmocka_unit_test_setup(test_registers, reset),
		cmocka_unit_test_setup(test_bandwidth, reset),
		cmocka_unit_test_setup(test_counted, reset),
		cmocka_unit_test_setup(test_gigabytes, reset),
		cmocka_unit_test_setup(test_l2, reset),
		cmocka_unit_test(test_limit),
		cmocka_unit_test_setup(test_refused, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
