/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/cpu/pvclock_scale.c vmm/dev/cpu/pvclock.c vmm/dev/cpu/poll_control.c vmm/memory/guest_mem.c vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c */
/* The paravirtual clock: scale arithmetic, and the MSRs as a guest uses them. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/dev/cpu/pvclock_scale.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vcpu.h"

static const u64 rates[] = { 1,       999,     1000,    50000,   999999,  1000000,   1000001,
			     2095078, 2600000, 3312000, 4200000, 8000000, 0x7fffffff };

static void test_scale(void **)
{
	for (unsigned i = 0; i < ARRAY_SIZE(rates); i++) {
		long double want = 1e6L / rates[i], got;
		u32 mul;
		s8 shift;

		pvclock_scale(rates[i], &mul, &shift);
		got = ldexpl(mul, shift - 32);
		assert_true(got <= want && got > want * (1 - 1.1L / mul));
		assert_true(shift >= 0 && (shift == 0 || mul >= 0x80000000 - 1));
		assert_true(rates[i] > 4000000 || got > want * (1 - 1.1e-9L));
	}
}

/* Linux, arch/x86/kernel/pvclock.c: what a guest takes for its TSC's rate is what was meant. */
static u64 linux_tsc_khz(u32 mul, s8 shift)
{
	u64 khz = (1000000ull << 32) / mul;

	return shift < 0 ? khz << -shift : khz >> shift;
}

static void test_linux_tsc_khz(void **)
{
	u32 mul;
	s8 shift;

	for (u64 khz = 1000; khz < 5000000; khz += khz < 1100000 ? 1 : 1237) {
		pvclock_scale(khz, &mul, &shift);
		assert_int_equal(linux_tsc_khz(mul, shift), khz);
	}
}

static void test_ns(void **)
{
	for (unsigned i = 0; i < ARRAY_SIZE(rates); i++) {
		/* a month up; at the highest rate 64 bits of TSC end soon after */
		const u64 seconds = 86400 * 30;
		u32 mul;
		s8 shift;
		long double ns;

		pvclock_scale(rates[i], &mul, &shift);
		ns = pvclock_ns(rates[i] * 1000 * seconds, mul, shift);
		assert_true(fabsl(ns / 1e9L / seconds - 1) < 1e-9L);
		assert_int_equal(pvclock_ns(0, mul, shift), 0);
	}
}

static struct vm *vm;

static int setup(void **)
{
	fake_host_reset();
	fake_host.tsc = 5 * 2000000000ull;
	fake_host.wall_ns = 1700000000123456789ull;
	vm = fake_vm_create(MIB(2));
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

/* What a guest reads at host time `tsc`. */
static u64 guest_clock(const struct pvclock_time *t, u64 tsc)
{
	return t->system_time +
	       pvclock_ns(vm_guest_tsc(vm, tsc) - t->tsc_timestamp, t->mul, t->shift);
}

static void test_system_time(void **)
{
	struct pvclock_time *t = guest_ptr(vm, gpa(0x1000), sizeof(*t));
	u64 value, before;

	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x1001), 0);
	assert_int_equal(guest_rdmsr(vm, 0x4b564d01, &value), 0);
	assert_int_equal(value, 0x1001);
	assert_true(t->version && !(t->version & 1));
	assert_int_equal(t->flags, 1);
	assert_int_equal(t->mul, 0x80000000); /* 2 GHz: half a nanosecond */
	assert_int_equal(t->shift, 0);
	before = guest_clock(t, fake_host.tsc);
	assert_int_equal(guest_clock(t, fake_host.tsc + 2000000000) - before, 1000000000);
	/* Written again elsewhere, later: the same clock. */
	fake_host.tsc += 777777;
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x3001), 0);
	before = guest_clock(t, fake_host.tsc);
	t = guest_ptr(vm, gpa(0x3000), sizeof(*t));
	assert_int_equal(guest_clock(t, fake_host.tsc), before);
	/* Switched off: memory is left alone. */
	memset(t, 0xee, sizeof(*t));
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x3000), 0);
	assert_int_equal(t->flags, 0xee);
}

static void test_unstable(void **)
{
	struct pvclock_time *t = guest_ptr(vm, gpa(0x1000), sizeof(*t));

	fake_host.tsc_stable = false;
	fake_host.tsc += 2000000;
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x1001), 0);
	assert_int_equal(t->flags, 0);
	assert_int_equal(t->tsc_timestamp, vm_guest_tsc(vm, fake_host.tsc));
	assert_int_equal(guest_clock(t, fake_host.tsc),
			 pvclock_ns(vm_guest_tsc(vm, fake_host.tsc), t->mul, t->shift));
}

static void test_wall_clock(void **)
{
	struct pvclock_wall *w = guest_ptr(vm, gpa(0x2000), sizeof(*w));
	struct pvclock_time *t = guest_ptr(vm, gpa(0x1000), sizeof(*t));
	u64 tsc, now;

	fake_host.tsc += 123456;
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x1001), 0);
	assert_int_equal(guest_wrmsr(vm, 0x4b564d00, 0x2000), 0);
	assert_true(w->version && !(w->version & 1));
	now = host_wall_clock(&tsc);
	assert_int_equal(w->sec * 1000000000ull + w->nsec + guest_clock(t, tsc), now);
	/* What the MSR held at first may be written back: nothing lies at 0. */
	w = guest_ptr(vm, gpa(0), sizeof(*w));
	memset(w, 0xee, sizeof(*w));
	assert_int_equal(guest_wrmsr(vm, 0x4b564d00, 0), 0);
	assert_int_equal(w->version, 0xeeeeeeee);
}

static void test_hostile(void **)
{
	static const u64 bad[] = {
		0x1003, 0x200001, 0x1ffff1, 0xfffffffffffffffdull, 0x8000000000000001ull, 0xfee00001
	};
	static const u64 bad_wall[] = {
		0x1001, 0x1002, 0x1ffff8, 0x200000, 0xfffffffffffffffcull, 0x8000000000000000ull
	};
	u64 value;

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(guest_wrmsr(vm, 0x4b564d01, bad[i]), -EFAULT);
	for (unsigned i = 0; i < ARRAY_SIZE(bad_wall); i++)
		assert_int_equal(guest_wrmsr(vm, 0x4b564d00, bad_wall[i]), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x4b564d00, 0x1ffff4), 0); /* the last that fits */
	assert_int_equal(guest_rdmsr(vm, 0x4b564d01, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x1fffe1), 0); /* the last that fits */
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, 0x1fffe5), -EFAULT);
}

/* Of each vCPU its own bit, set at first; nothing but that bit can be written. */
static void test_poll_control(void **)
{
	struct vcpu second = { .vm = vm, .id = 1 }, *first = vm->vcpus[0];
	u64 value;

	assert_int_equal(guest_rdmsr(vm, 0x4b564d05, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(guest_wrmsr(vm, 0x4b564d05, 2), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x4b564d05, 1ull << 32), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x4b564d05, 0), 0);
	assert_int_equal(guest_rdmsr(vm, 0x4b564d05, &value), 0);
	assert_int_equal(value, 0);
	vm->vcpus[0] = &second;
	assert_int_equal(guest_rdmsr(vm, 0x4b564d05, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(guest_wrmsr(vm, 0x4b564d05, 0), 0);
	vm->vcpus[0] = first;
	assert_int_equal(guest_wrmsr(vm, 0x4b564d05, 1), 0);
	assert_int_equal(guest_rdmsr(vm, 0x4b564d05, &value), 0);
	assert_int_equal(value, 1);
	vm->vcpus[0] = &second;
	assert_int_equal(guest_rdmsr(vm, 0x4b564d05, &value), 0);
	assert_int_equal(value, 0);
	vm->vcpus[0] = first;
	fake_vm_destroy(vm);
	vm = fake_vm_create(MIB(2));
	vm->vcpus[0]->id = 1;
	assert_int_equal(guest_rdmsr(vm, 0x4b564d05, &value), 0);
	assert_int_equal(value, 1);
	vm->vcpus[0]->id = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_linux_tsc_khz),
		cmocka_unit_test(test_ns),
		cmocka_unit_test_setup_teardown(test_system_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unstable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wall_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_poll_control, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
