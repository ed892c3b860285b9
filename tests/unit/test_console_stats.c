/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/console/stats.c vmm/console/cache_use.c */
/*
 * The command stats: shares, rates and times of known counts, of a VM, of a vCPU, and since the
 * last time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_say.h"

#include <margay/host.h>
#include <margay/host_rdt.h>
#include "vmm/console/monitor_console.h"
#include "vmm/hvm_ops.h"
#include "vmm/monitor.h"
#include "vmm/report/telemetry.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

#define KHZ 2500000ull
#define SECOND (KHZ * 1000)

static u64 now;
static struct vcpu vcpu[2], *by_id[] = { &vcpu[0], &vcpu[1] };
/* Its guest has the CPU's TSC, which the VM's start is not the beginning of. */
static struct vm vm = { .name = "vm0", .nr_vcpus = 2, .vcpus = by_id, .started_at = 60 * SECOND };
static bool runs;
static unsigned starts;

void console_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

u64 host_tsc(void)
{
	return now;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

const char *vmexit_name(enum vmexit_reason reason)
{
	if (reason == VMEXIT_CPUID)
		return "cpuid";
	return reason == VMEXIT_IO ? "io" : "other";
}

unsigned monitor_vm_count(void)
{
	return 1;
}

const char *monitor_vm_name(unsigned i)
{
	return i ? NULL : "vm0";
}

void monitor_vm_info(unsigned i, struct monitor_vm *out)
{
	*out = (struct monitor_vm){ .file = "vm0.conf", .starts = starts };
	assert_int_equal(i, 0);
}

struct vm *monitor_vm_hold(unsigned i)
{
	assert_int_equal(i, 0);
	return runs ? &vm : NULL;
}

void monitor_vm_release(void) { }

/*
 * Two caches. How often vCPUs have been asked; `counting`, whether there is anything; `deaf`, a
 * vCPU that cannot be called.
 */
static unsigned asked[2], answered;
static bool counting, is_later;
static const struct vcpu *deaf;
static struct host_timer *timers[2];
static u64 used[3]; /* held, counts */

u32 host_rdt_cache(unsigned cpu)
{
	return cpu / 4;
}

static unsigned calling = 2; /* vCPU */

bool host_rdt_use(const void *owner, const struct host_rdt_use *before, struct host_rdt_use *use)
{
	assert_ptr_equal(owner, &vm);
	if (calling < 2)
		asked[calling]++;
	*use = (struct host_rdt_use){ .held = used[0],
				      .traffic = before ? used[1] - before->counts[0]
							: HOST_RDT_UNKNOWN,
				      .local = HOST_RDT_UNKNOWN,
				      .counts = { used[1], used[2] } };
	return counting;
}

int vcpu_call(struct vcpu *v, void (*fn)(struct vcpu *vcpu))
{
	if (v == deaf)
		return -1;
	calling = (unsigned)(v - vcpu);
	fn(v);
	calling = 2;
	return 0;
}

void host_timer_arm(struct host_timer *timer, u64 deadline)
{
	assert_int_equal(deadline, now + KHZ * 100);
	timers[calling] = timer;
}

void console_answer_later(bool yes)
{
	is_later = yes;
}

void console_answered(void)
{
	assert_true(is_later);
	answered++;
}

static void has(const char *line)
{
	if (!strstr(said, line))
		fail_msg("no \"%s\" in:\n%s", line, said);
}

static void stats(bool has_vcpu, u32 number)
{
	const struct command_args args = {
		.vm = 0, .has_vm = true, .has_number = has_vcpu, .number = number
	};

	said[0] = 0;
	command_stats(&args);
}

static int reset(void **)
{
	memset(vcpu, 0, sizeof(vcpu));
	runs = true;
	starts++;
	now = 160 * SECOND;
	vcpu[0].stats.exit[VMEXIT_CPUID] = (struct exit_stat){
		.count = 600, .timed = 10, .ticks = 10 * 5000, .min = 2500, .max = 25000000
	};
	vcpu[1].stats.exit[VMEXIT_CPUID] = (struct exit_stat){
		.count = 150, .timed = 5, .ticks = 5 * 11000, .min = 1250, .max = 7500
	};
	vcpu[1].stats.exit[VMEXIT_IO] = (struct exit_stat){
		.count = 250, .timed = 250, .ticks = 10 * SECOND, .min = SECOND / 100, .max = SECOND
	};
	vcpu[0].stats.vector[0x30] = 7;
	vcpu[1].stats.vector[0x30] = 2;
	vcpu[1].stats.vector[0xec] = 5;
	vcpu[1].stats.injected = 14;
	vcpu[0].stats.unknown_msrs = 3;
	return 0;
}

static void test_all(void **)
{
	stats(false, 0);
	has("vm0: all vCPUs, 2 vCPUs, up 100 s; rates over the last 100000 ms\n");
	has("cpuid                 750   75.0%          7.5        500       2800   10000000\n");
	has("io                    250   25.0%          2.5   10000000   40000000 1000000000\n");
	has("all                  1000; 10002 ms were spent on them\n");
	has("interrupts 14, unknown MSRs 3; by vector:\n  0x30: 9  0xec: 5\n");
}

static void test_not_timed_yet(void **)
{
	vcpu[0].stats.exit[VMEXIT_HLT] = (struct exit_stat){ .count = 3 };
	stats(false, 0);
	/* Two reasons have names here. */
	has("other                   3    0.2%          0.0          -          -          -\n");
	has("all                  1003; 10002 ms were spent on them\n");
	vcpu[0].stats.exit[VMEXIT_HLT] = (struct exit_stat){ 0 };
}

static void test_one_vcpu(void **)
{
	stats(true, 0);
	has("vm0: one vCPU, 2 vCPUs, up 100 s");
	has("cpuid                 600  100.0%          6.0       1000       2000   10000000\n");
	has("  0x30: 7\n");
	assert_null(strstr(said, "io  "));
	stats(true, 2);
	has("vm0 has vCPUs 0-1\n");
}

/* Rates are of the time since the same was asked for, in this run of the VM. */
static void test_again(void **)
{
	stats(false, 0);
	now += 4 * SECOND;
	vcpu[1].stats.exit[VMEXIT_IO].count += 10;
	stats(false, 0);
	has("up 104 s; rates over the last 4000 ms\n");
	has("io                    260   25.7%          2.5 ");
	has("cpuid                 750   74.2%          0.0 ");
	stats(true, 1);
	has("rates over the last 104000 ms\n");
	stats(false, 0);
	has("rates over the last 104000 ms\n");
	starts++;
	stats(false, 0);
	has("rates over the last 104000 ms\n");
	/* No time has passed: no rate. */
	stats(false, 0);
	has("rates over the last 0 ms\n");
	has("io                    260   25.7%          0.0 ");
}

static void test_many_vectors(void **)
{
	for (unsigned v = 0; v < 256; v++)
		vcpu[0].stats.vector[v] = ~0u;
	stats(false, 0);
	has("  0x4: 4294967295  0x5: 4294967295  0x6: 4294967295  0x7: 4294967295\n");
	has("  0xff: 4294967295\n");
}

static void expect_use(const char *text)
{
	assert_string_equal(strstr(said, "vm0: cache") ? strstr(said, "vm0: cache") : "", text);
}

/*
 * One vCPU of each cache reads twice, and its guest goes on meanwhile; the last one's line ends the
 * answer.
 */
static void test_cache_use(void **)
{
	counting = true;
	vcpu[0].cpu = 1;
	vcpu[1].cpu = 5;
	used[0] = 3 << 20;
	used[1] = 1000;
	stats(false, 0);
	expect_use("");
	assert_true(is_later && !answered && asked[0] == 1 && asked[1] == 1);
	now += KHZ * 200;
	used[1] += 500000000;
	timers[1]->fn(timers[1]);
	expect_use(
		"vm0: cache of CPU 5: held 3072 KiB, memory traffic 2500 MB/s, of it with this node's unknown\n");
	assert_int_equal(answered, 0);
	said[0] = 0;
	timers[0]->fn(timers[0]);
	expect_use(
		"vm0: cache of CPU 1: held 3072 KiB, memory traffic 2500 MB/s, of it with this node's unknown\n");
	assert_int_equal(answered, 1);
	/* Of two vCPUs on one cache the first is asked; it has ended when its timer comes. */
	vcpu[1].cpu = 2;
	stats(false, 0);
	assert_true(asked[0] == 2 && asked[1] == 1);
	counting = false;
	timers[0]->fn(timers[0]);
	expect_use("");
	assert_int_equal(answered, 2);
	/* Nobody is asked of one vCPU, and where nothing is counted. */
	is_later = false;
	stats(false, 0);
	counting = true;
	stats(true, 0);
	assert_true(asked[0] == 2 && !is_later);
	deaf = &vcpu[0];
	stats(false, 0);
	assert_true(asked[0] == 2 && !is_later && answered == 2);
	counting = false;
}

static void test_nothing_runs(void **)
{
	runs = false;
	stats(false, 0);
	assert_string_equal(said, "vm0 does not run\n");
	said[0] = 0;
	command_stats(&(struct command_args){ 0 });
	assert_string_equal(said, "no VM runs\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all, reset),
		cmocka_unit_test_setup(test_not_timed_yet, reset),
		cmocka_unit_test_setup(test_one_vcpu, reset),
		cmocka_unit_test_setup(test_again, reset),
		cmocka_unit_test_setup(test_many_vectors, reset),
		cmocka_unit_test_setup(test_nothing_runs, reset),
		cmocka_unit_test_setup(test_cache_use, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
