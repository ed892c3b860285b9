/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/plan/place_abandon.c tests/unit/fake_host.c */
/*
 * What a VM has of the machine when something of it was not to be had at first, and what is left
 * when it is over. place.c is included, with plans of this file's own making.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/fake_host.h"
#include "tests/unit/fake_stage.h"
#include "vmm/plan/place.c"

#define CPUS 1000 /* whose arrays take three pages */

struct hvm_caps hvm_caps;
static struct vm_config config = { .file = "a.conf", .name = "a" };
static unsigned plans;
struct slot monitor_slots[MONITOR_MAX_VMS];
static bool online[FAKE_CPUS]; /* as the last plan saw them */

static int refuses; /* what each plan says */

/* Each plan finds what the one before has not taken. */
int plan_vm(struct plan_host *h, const struct vm_config *, struct plan *p, struct config_error *e)
{
	if (refuses) {
		strcpy(e->text, "that is why");
		return refuses;
	}
	memset(p, 0, sizeof(*p));
	p->nr_cpus = CPUS;
	for (unsigned i = 0; i < CPUS; i++)
		p->cpu[i] = (u16)(CPUS - i);
	p->nr_extents = 1;
	p->extent[0] =
		(struct plan_extent){ .base = FAKE_RAM_BASE + MIB(2 + 32 * fake_host.nr_extents),
				      .size = MIB(2) };
	p->map.region[0].hpa = p->extent[0].base;
	for (unsigned i = 0; i < h->nr_cpus; i++)
		online[i] = h->cpu[i].online;
	plans++;
	return 0;
}

unsigned cpuid_smt_shift(cpuid_host_fn, void *)
{
	return 0;
}

int vm_config_error(struct config_error *, const char *, unsigned, const char *, ...)
{
	return -EINVAL;
}

static struct vm *new_vm(void)
{
	static struct vm_parts parts;

	fake_host_reset();
	memset(&parts, 0, sizeof(parts));
	plans = 0;
	parts.vm.config = &config;
	return &parts.vm;
}

/*
 * The scratch memory is the first that it asks for, the arrays are the second, and then there is
 * some again.
 */
static void test_second_try(void **)
{
	struct vm *vm = new_vm();

	fake_host.pages_until_fail = 2;
	assert_int_equal(place_vm(vm), 0);
	assert_int_equal(plans, 2);
	assert_true(vm->nr_extents == 1 && fake_host.nr_extents == 1);
	assert_true(vm_parts(vm)->map.region[0].hpa == vm->extent[0].base.v &&
		    fake_host.extent[0].base.v == vm->extent[0].base.v);
	assert_int_equal(fake_host.pages_in_use, 3);
	for (unsigned i = 0; i < CPUS; i++)
		assert_true(vm->host_cpu[i] == CPUS - i && !vm->vcpus[i] &&
			    place_owners[CPUS - i] == vm);
	unplace_vm(vm);
	assert_true(!fake_host.pages_in_use && !fake_host.nr_extents && !place_owners[1] &&
		    !place_owners[CPUS]);
}

/* A VM that the management VM has made gets CPUs that it may hand out. */
static void test_handed_out(void **)
{
	static const u8 handed_out[VM_CPUS_MAX / 8] = { BIT(1) };

	for (unsigned made = 0; made < 2; made++) {
		struct vm *vm = new_vm();

		fake_host.nr_cpus = FAKE_CPUS;
		for (unsigned i = 0; i < FAKE_CPUS; i++)
			fake_host.cpus[i].online = true;
		config.let_cpus = made ? handed_out : NULL;
		assert_int_equal(place_vm(vm), 0);
		for (unsigned i = 0; i < FAKE_CPUS; i++)
			assert_int_equal(online[i], !made || i == 1);
		unplace_vm(vm);
	}
	config.let_cpus = NULL;
}

/* It is never there. */
static void test_no_memory(void **)
{
	struct vm *vm = new_vm();

	fake_host.ram[0].size = MIB(1);
	assert_int_equal(place_vm(vm), -EAGAIN);
	assert_true(plans == TRIES && !fake_host.pages_in_use && !fake_host.nr_extents &&
		    !place_owners[1]);
	unplace_vm(vm);
	assert_int_equal(fake_host.pages_in_use, 0);
}

/*
 * It is given up with a CPU that does not answer: that one stays its own, and so do all from which
 * its guest might send.
 */
static void test_abandoned(void **)
{
	for (unsigned sends = 0; sends < 2; sends++) {
		u16 host_cpu[] = { 0, 1, 2 };
		struct vm vm = { .nr_host_cpus = 3,
				 .host_cpu = host_cpu,
				 .direct = sends,
				 .still_sends = sends };

		fake_host_reset();
		fake_host.nr_cpus = 3;
		for (unsigned i = 0; i < 3; i++) {
			fake_host.cpus[i].online = i != 1;
			place_owners[i] = &vm;
		}
		fake_abandon(ABANDON_CPUS, &vm);
		for (unsigned i = 0; i < 3; i++) {
			assert_ptr_equal(place_owners[i], i == 1 || sends ? &vm : NULL);
			place_owners[i] = NULL;
		}
	}
}

/*
 * Of a VM that is over its functions may still write some: who lacks memory, and nothing else,
 * waits for it, and the log says so. Then it is others', or lost for good.
 */
static void test_kept(void **)
{
	const struct host_extent_request want = { .size = MIB(2), .node = -1 };
	struct host_extent e[2];
	struct vm *vm = new_vm();
	bool *lacks = &monitor_slots[0].lacks_memory;

	assert_true(!host_extent_alloc(&want, &e[0]) && !host_extent_alloc(&want, &e[1]));
	*lacks = true;
	refuses = -ENOMEM;
	assert_int_equal(place_vm(vm), -ENOMEM);
	assert_false(*lacks);
	vm_keep_extents(e, 2);
	assert_int_equal(place_vm(vm), -ENOMEM);
	assert_true(*lacks);
	assert_string_equal(
		fake_host.log,
		": that is why\n: that is why\n"
		": memory: 4M are kept until functions of VMs that are over have been reset: it waits for that\n");
	refuses = -EINVAL;
	assert_int_equal(place_vm(vm), -EINVAL);
	assert_false(*lacks);
	/* One goes to others, the other to nobody. */
	vm_let_extents(&e[0], 1, true);
	assert_int_equal(fake_host.nr_extents, 1);
	refuses = -ENOMEM;
	assert_true(place_vm(vm) && *lacks);
	vm_let_extents(&e[1], 1, false);
	assert_true(place_vm(vm) && !*lacks);
	assert_int_equal(fake_host.nr_extents, 1);
	host_extent_free(&e[1]);
	/* What was free has been taken under its hands, and what is kept might have done. */
	refuses = 0;
	vm_keep_extents(e, 1);
	fake_host.ram[0].size = MIB(1);
	assert_true(place_vm(vm) == -EAGAIN && *lacks);
	vm_let_extents(e, 1, false);
	new_vm();
	assert_true(!place_vm(vm) && !*lacks);
	unplace_vm(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_second_try), cmocka_unit_test(test_handed_out),
		cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
