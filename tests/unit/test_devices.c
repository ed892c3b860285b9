/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/vm/devices.c */
/*
 * The devices of a VM: made in order and unmade the other way round, those that were begun and no
 * others; told of its vCPUs; and a machine check goes to the first that can tell the guest of it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/devices.h"

static char done[128];
static int fails; /* what the second says */
static bool tells;
static int own[3];
static void *instances[3];
static struct vm vm = { .device = instances };
static struct vcpu vcpu = { .vm = &vm };

static void note(const char *what, const void *instance)
{
	size_t n = strlen(done);

	snprintf(done + n, sizeof(done) - n, "%s%d ", what,
		 instance ? (int)((const int *)instance - own) : -1);
}

static void expect(const char *what)
{
	assert_string_equal(done, what);
	done[0] = 0;
}

void host_pages_free(void *page, unsigned)
{
	note("free", page);
}

static int first_create(struct vm *, void **instance)
{
	*instance = &own[0];
	note("create", *instance);
	return 0;
}

static int second_create(struct vm *, void **instance)
{
	*instance = &own[1];
	note("create", *instance);
	return fails;
}

static void second_destroy(struct vm *, void *instance)
{
	note("destroy", instance);
}

static void second_start(struct vcpu *v, void *instance)
{
	assert_ptr_equal(v, &vcpu);
	note("start", instance);
}

static void second_stop(struct vcpu *v, void *instance)
{
	assert_ptr_equal(v, &vcpu);
	note("stop", instance);
}

static void second_pause(struct vcpu *v, void *instance, bool paused)
{
	assert_ptr_equal(v, &vcpu);
	note(paused ? "pause" : "resume", instance);
}

static bool third_tell(struct vcpu *v, u64 page)
{
	assert_true(v == &vcpu && page == 0x5003);
	note("tell", NULL);
	return tells;
}

static const struct vdev first = { .create = first_create };
static const struct vdev second = {
	.create = second_create,
	.destroy = second_destroy,
	.vcpu_start = second_start,
	.vcpu_stop = second_stop,
	.vcpu_pause = second_pause,
};
static const struct vdev_calls third_calls = { .machine_check = third_tell };
static const struct vdev third = { .calls = &third_calls };
/* In this order: the compiler keeps none among entries of one file. */
static const struct vdev *const entries[] __used __section("vdevs") = { &first, &second, &third };

static void test_life(void **)
{
	assert_int_equal(devices_count(), 3);
	assert_int_equal(fake_stage(STAGE_DEVICES)->create(&vm), 0);
	expect("create0 create1 ");
	fake_vcpu_stage(VCPU_DEVICES)->on[VCPU_STARTS](&vcpu);
	devices_vcpu_pause(&vcpu, true);
	devices_vcpu_pause(&vcpu, false);
	fake_vcpu_stage(VCPU_DEVICES)->on[VCPU_STOPS](&vcpu);
	expect("start1 pause1 resume1 stop1 ");
	fake_stage(STAGE_DEVICES)->destroy(&vm);
	expect("free-1 destroy1 free0 ");
	fake_stage(STAGE_DEVICES)->destroy(&vm);
	expect("");
}

static void test_fails(void **)
{
	memset(instances, 0, sizeof(instances));
	fails = -ENOMEM;
	assert_int_equal(fake_stage(STAGE_DEVICES)->create(&vm), -ENOMEM);
	fake_stage(STAGE_DEVICES)->destroy(&vm);
	expect("create0 create1 destroy1 free0 ");
	fails = 0;
}

static void test_machine_check(void **)
{
	tells = false;
	assert_false(vcpu_machine_check(&vcpu, 0x5003));
	tells = true;
	assert_true(vcpu_machine_check(&vcpu, 0x5003));
	expect("tell-1 tell-1 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_machine_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
