/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/report/telemetry.c tests/unit/fake_host.c */
/*
 * What an exit adds to the counters: itself once, of the sampled ones their ticks once; and the
 * line that is printed of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_host.h"
#include "vmm/exit/exit.h"
#include "vmm/vm.h"

#define AGO 100000000000ull /* ticks: far more than the test takes */

static unsigned handled;

static void handler(struct vcpu *, const struct vmexit *exit)
{
	assert_int_equal(exit->reason, VMEXIT_CPUID);
	handled++;
}

const vmexit_handler vmexit_handlers[VMEXIT_REASONS] = { [VMEXIT_CPUID] = handler };

static void test_each_once(void **)
{
	const struct vmexit exit = { .reason = VMEXIT_CPUID, .raw = 0x72 };
	static struct vcpu vcpu;
	struct exit_stat *e = &vcpu.stats.exit[VMEXIT_CPUID];

	for (unsigned i = 1; i <= 5 * TELEMETRY_SAMPLE; i++) {
		bool sampled = (i - 1) % TELEMETRY_SAMPLE == 0;
		u64 ticks = e->ticks, before = __builtin_ia32_rdtsc(), took;

		vcpu.regs.rip = i;
		vmexit_dispatch(&vcpu, &exit);
		took = __builtin_ia32_rdtsc() - before;
		assert_int_equal(handled, i);
		assert_int_equal(e->count, i);
		assert_int_equal(vcpu.stats.next, i);
		assert_int_equal(e->timed, (i - 1) / TELEMETRY_SAMPLE + 1);
		assert_in_range(e->ticks - ticks, sampled, sampled ? took : 0);
		assert_int_equal(vcpu.stats.last[(i - 1) % TELEMETRY_LAST].rip, i);
		assert_int_equal(vcpu.stats.last[(i - 1) % TELEMETRY_LAST].code, 0x72);
	}
	assert_true(e->min && e->min <= e->ticks / 5 && e->max >= e->ticks / 5);
	for (unsigned i = 0; i < VMEXIT_REASONS; i++)
		assert_true(i == VMEXIT_CPUID || !vcpu.stats.exit[i].count);
}

/* Ticks that dwarf all that the test itself takes: nothing is counted twice. */
static void test_ticks(void **)
{
	struct exit_stat e = { 0 };

	for (unsigned i = 1; i <= 10; i++) {
		telemetry_end(&e, __builtin_ia32_rdtsc() - i * AGO);
		assert_int_equal(e.timed, i);
		assert_int_equal(e.ticks / AGO, i * (i + 1) / 2);
		assert_int_equal(e.min / AGO, 1);
		assert_int_equal(e.max / AGO, i);
	}
	telemetry_end(&e, 0); /* not timed */
	assert_int_equal(e.timed, 10);
}

static void test_line(void **)
{
	static struct vm vm = { .name = "vm0" };
	static struct vcpu vcpu = { .vm = &vm, .id = 3 };

	fake_host_reset();
	vcpu.stats.exit[VMEXIT_CPUID].count = 5;
	vcpu.stats.exit[VMEXIT_IO].count = 70;
	vcpu.stats.exit[VMEXIT_KICKED].count = 1000; /* no exits */
	telemetry_injected(&vcpu.stats, 0x41);
	telemetry_injected(&vcpu.stats, 0x41);
	telemetry_given_back(&vcpu.stats, 0x41);
	telemetry_count(&vcpu.stats.unknown_msrs);
	telemetry_print(&vcpu);
	assert_string_equal(
		fake_host.log,
		"vm0: vcpu3: exits=75 cpuid=5 io=70 injected=1 unknown-msrs=1 kicked=1000\n");
	assert_int_equal(vcpu.stats.vector[0x41], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
