/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * The host's own local APIC in xAPIC mode, on a model of each CPU's: while it is off its entries
 * are masked, and stay so whatever is written (SDM vol. 3, 11.4.7.2).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/upcall.h"

#define MASKED 0x10000u
#define CPUS 2

enum { VERSION = 0x30, SVR = 0xf0, TIMER = 0x320, THERMAL = 0x330, ERROR = 0x370 };

static u8 page_of_regs[0x1000];
static u32 regs[CPUS][0x400];
static unsigned cpu, nmis;

static bool is_lvt(size_t at)
{
	return at >= TIMER && at <= ERROR;
}

static u32 fake_mmio_read32(const volatile void *p)
{
	return regs[cpu][(size_t)((const volatile u8 *)p - page_of_regs)];
}

static void fake_mmio_write32(volatile void *p, u32 value)
{
	size_t at = (size_t)((volatile u8 *)p - page_of_regs);

	regs[cpu][at] = value | (is_lvt(at) && !(regs[cpu][SVR] & BIT(8)) ? MASKED : 0);
}

static u64 fake_rdmsr(u32 msr)
{
	assert_int_equal(msr, MSR_APIC_BASE);
	return 0xfee00000;
}

static void fake_wrmsr(u32 msr, u64 value)
{
	assert_true(msr == MSR_APIC_BASE && value == (0xfee00000 | APIC_BASE_EN));
}

static void fake_outb(u16, u8) { }

#define mmio_read32 fake_mmio_read32
#define mmio_write32 fake_mmio_write32
#define rdmsr fake_rdmsr
#define wrmsr fake_wrmsr
#define outb fake_outb
#include "arch/x86_64/cpu/apic.c"

struct cpu_features cpu_features;
bool apic_mixed;

void *mmio_map_type(u64 pa, u64 size, bool)
{
	assert_true(pa == 0xfee00000 && size == PAGE_SIZE);
	return page_of_regs;
}

void upcall_local_nmis(void)
{
	nmis++;
}

void upcall_panic(const char *, ...)
{
	fail();
	__builtin_unreachable();
}

/* The boot CPU as firmware left it, and one that INIT has just reset, of so many entries. */
static void start(unsigned max_lvt, u32 thermal)
{
	memset(regs, 0, sizeof(regs));
	for (cpu = 0; cpu < CPUS; cpu++) {
		regs[cpu][VERSION] = 0x15 | max_lvt << 16;
		regs[cpu][SVR] = cpu ? 0xff : 0x1ff;
		for (size_t at = TIMER; at <= ERROR; at += 16)
			regs[cpu][at] = MASKED;
	}
	regs[0][THERMAL] = thermal;
	apic_thermal = nmis = 0;
	cpu = 0;
	assert_int_equal(apic_init(1, false), 0);
	cpu = 1;
	apic_init_cpu();
	assert_int_equal(nmis, CPUS);
	for (unsigned i = 0; i < CPUS; i++)
		assert_true(regs[i][SVR] & BIT(8) && regs[i][TIMER] & MASKED);
}

/* An SMI of firmware's goes on, on all CPUs; nothing else does. */
static void test_thermal(void **)
{
	static const u32 others[] = { MASKED, MASKED | 0x200, 0x400, 0x0f0 };

	start(5, 0x200);
	assert_int_equal(apic_thermal, 0x200);
	assert_int_equal(regs[0][THERMAL], 0x200);
	assert_int_equal(regs[1][THERMAL], 0x200);
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		start(5, others[i]);
		assert_int_equal(regs[0][THERMAL], MASKED);
		assert_int_equal(regs[1][THERMAL], MASKED);
	}
	/* Without such an entry nothing is written there. */
	start(4, 0x200);
	assert_int_equal(regs[0][THERMAL], 0x200);
	assert_int_equal(regs[1][THERMAL], MASKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_thermal) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
