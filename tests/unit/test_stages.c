/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/vm/abandon.c vmm/vm/looks.c */
/*
 * The stages of a VM's and a vCPU's life: by their places, whatever the linker's order; unmade the
 * other way round as far as they came; and who has a say before an entry.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/stages.c"

static char done[128];
static int fails; /* what the tables say */
static struct vm vm;

static int note(const char *what)
{
	size_t n = strlen(done);

	snprintf(done + n, sizeof(done) - n, "%s ", what);
	return 0;
}

static void expect(const char *what)
{
	assert_string_equal(done, what);
	done[0] = 0;
	assert_int_equal(vm_own(&vm, nr_begun), 0);
}

static int place(struct vm *v)
{
	assert_ptr_equal(v, &vm);
	return note("place");
}

static void unplace(struct vm *v)
{
	assert_ptr_equal(v, &vm);
	note("unplace");
}

static int tables(struct vm *)
{
	note("tables");
	return fails;
}

static void no_tables(struct vm *)
{
	note("no-tables");
}

static void give_up(struct vm *v)
{
	assert_ptr_equal(v, &vm);
	note("give-up");
}

static void tell(struct vm *)
{
	note("tell");
}

/* In the wrong order: the compiler keeps none of its own. */
static const struct vm_abandon last_step = { .at = ABANDON_CPUS, .abandon = give_up };
static const struct vm_abandon first_step = { .at = ABANDON_DEBUGGER, .abandon = tell };
static const struct vm_abandon *const steps[] __used
__section("vm_abandons") = { &last_step, &first_step };

static int image(struct vm *)
{
	return note("image");
}

static void keep(struct vm *)
{
	note("keep");
}

static const struct vm_stage image_stage = { .at = STAGE_IMAGE, .create = image };
static const struct vm_stage place_stage = { .at = STAGE_PLACE,
					     .create = place,
					     .destroy = unplace };
static void settle(struct vm *v)
{
	assert_ptr_equal(v, &vm);
	note("settle");
}

static const struct vm_stage keep_stage = { .at = STAGE_KEEP, .destroy = keep };
VM_ON_PAUSE(settle);
static const struct vm_stage tables_stage = { .at = STAGE_TABLES,
					      .create = tables,
					      .destroy = no_tables };
/* Behind another one at the same place, whose error it does not hide. */
static int more(struct vm *)
{
	return note("more");
}

static const struct vm_stage more_stage = { .at = STAGE_TABLES, .create = more };
static const struct vm_stage *const entries[] __used __section("vm_stages") = {
	&image_stage, &tables_stage, &more_stage, &place_stage, &keep_stage,
};

static struct vcpu vcpu = { .vm = &vm };
static bool again; /* what the first says */

static void early(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	note("early");
}

static void late(struct vcpu *)
{
	note("late");
}

static bool first_look(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	note("first");
	return again;
}

static bool second_look(struct vcpu *)
{
	note("second");
	return false;
}

static const struct vcpu_stage late_stage = { .at = VCPU_TELEMETRY,
					      .on = { [VCPU_STARTS] = late, [VCPU_STOPS] = late } };
static const struct vcpu_stage early_stage = {
	.at = VCPU_RDT, .on = { [VCPU_ENTERS] = early, [VCPU_STARTS] = early }
};
static const struct vcpu_look second = { .at = LOOK_VIRTUAL,
					 .look = second_look,
					 .while_paused = true };
static const struct vcpu_look first = { .at = LOOK_LOST, .look = first_look };
static const struct vcpu_look *const looks[] __used __section("vcpu_looks") = { &second, &first };
static const struct vcpu_stage *const vcpu_entries[] __used __section("vcpu_stages") = {
	&late_stage,
	&early_stage,
};

static void test_events(void **)
{
	stages_vcpu(&vcpu, VCPU_ENTERS);
	expect("early ");
	stages_vcpu(&vcpu, VCPU_STARTS);
	expect("early late ");
	stages_vcpu(&vcpu, VCPU_STOPS);
	expect("late ");
}

/* Until one says that all is to be looked at anew; what is not for a pause is left out of it. */
static void test_looks(void **)
{
	again = false;
	assert_false(vcpu_looks(&vcpu, false));
	expect("first second ");
	again = true;
	assert_true(vcpu_looks(&vcpu, false));
	expect("first ");
	assert_false(vcpu_looks(&vcpu, true));
	expect("second ");
}

static void test_pause(void **)
{
	stages_pause(&vm);
	expect("settle ");
}

static void test_life(void **)
{
	assert_int_equal(stages_create(&vm), 0);
	assert_int_equal(vm_own(&vm, nr_begun), VM_STAGES);
	stages_destroy(&vm);
	expect("place tables more image no-tables keep unplace ");
}

/* What has failed is undone, too; what was not begun is not. */
static void test_fails(void **)
{
	fails = -ENOMEM;
	assert_int_equal(stages_create(&vm), -ENOMEM);
	fails = 0;
	stages_destroy(&vm);
	expect("place tables no-tables keep unplace ");
	stages_destroy(&vm);
	expect("");
}

/* Where it lies: in the VM, in no other member, as its type wants. */
static void test_own(void **)
{
	static struct vm other;
	const u8 *at = (const u8 *)&vm_own(&other, nr_begun);

	assert_true(at >= other.own && at + sizeof(nr_begun) <= other.own + VM_OWN_SIZE &&
		    !((uintptr_t)at % sizeof(nr_begun)));
	vm_own(&other, nr_begun) = 7;
	assert_int_equal(vm_own(&vm, nr_begun), 0);
}

static void test_abandoned(void **)
{
	vm_abandon(&vm);
	expect("tell give-up ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),      cmocka_unit_test(test_fails),
		cmocka_unit_test(test_abandoned), cmocka_unit_test(test_pause),
		cmocka_unit_test(test_events),    cmocka_unit_test(test_looks),
		cmocka_unit_test(test_own),
	};

	looks_sort();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
