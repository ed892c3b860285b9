/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/split.c arch/x86_64/stage2/stage2.c arch/x86_64/stage2/formats.c tests/unit/fake_host.c */
/*
 * Large leaves that are not executable: for which VMs, and what an instruction fetch makes of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/string.h>

#include "tests/unit/fake_host.h"
#include "tests/unit/stage2_walk.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/memory/shootdown.h"
#include "vmm/memory/split.h"
#include "vmm/vm_parts.h"

static struct vm_parts parts;
static struct vm_config config;
static struct vcpu vcpu;
static u16 host_cpu[2];
static unsigned locks, flushes;
static int budget; /* tables */

static int node; /* asked for last */

static void *table(int on)
{
	node = on;
	return budget-- > 0 ? memset(aligned_alloc(4096, 4096), 0, 4096) : NULL;
}

static u64 to_hpa(const void *page)
{
	return (u64)(uintptr_t)page;
}

static void *to_virt(u64 pa)
{
	return (void *)(uintptr_t)pa;
}

static const struct stage2_mem mem = { table, free, to_hpa, to_virt };

/* 16 MiB are RAM; what is behind them is a device's. */
void *guest_ptr(struct vm *, gpa_t gpa, u64)
{
	return gpa.v < MIB(16) ? &parts : NULL;
}

void vm_stage2_lock(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	locks++;
}

void vm_stage2_unlock(struct vm *)
{
	locks--;
}

void shootdown_flush(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	flushes++;
}

static int setup(void **)
{
	budget = 100;
	flushes = 0;
	fake_host.mitigations.flags = 0;
	fake_host.nr_cpus = 2;
	memset(&parts, 0, sizeof(parts));
	config.trusted = false;
	parts.vm.config = &config;
	parts.vm.nr_host_cpus = 2;
	parts.vm.host_cpu = host_cpu;
	vcpu.vm = &parts.vm;
	assert_int_equal(stage2_init(&parts.stage2, &ept_format, &mem, LEAF_2M, -1), 0);
	parts.stage2.small_exec = true;
	assert_int_equal(stage2_map(&parts.stage2, 0, GIB(4), MIB(16), STAGE2_RWX, MEMTYPE_WB), 0);
	assert_int_equal(stage2_map(&parts.stage2, MIB(16), GIB(5), MIB(4), STAGE2_R | STAGE2_W,
				    MEMTYPE_UC),
			 0);
	return 0;
}

static int teardown(void **)
{
	assert_int_equal(locks, 0);
	stage2_destroy(&parts.stage2);
	return 0;
}

static void test_whose(void **)
{
	assert_false(vm_splits(&parts.vm));
	fake_host.mitigations.flags = MIT_SPLIT;
	assert_true(vm_splits(&parts.vm));
	config.trusted = true;
	assert_false(vm_splits(&parts.vm));
}

static bool may_execute(u64 at)
{
	struct stage2_mapping m;

	assert_int_equal(stage2_lookup(&parts.stage2, at, &m), 0);
	return m.prot & STAGE2_X;
}

static void test_fetch(void **)
{
	assert_false(may_execute(MIB(4)));
	fake_host.cpus[1].node = 2;
	vcpu.cpu = 1;
	assert_true(vm_execute(&vcpu, gpa(MIB(4) + 0x1234)));
	/* Who fetches there walks it. */
	assert_int_equal(node, 2);
	assert_true(may_execute(MIB(4)) && may_execute(MIB(6) - 1));
	assert_false(may_execute(MIB(6)) || may_execute(MIB(4) - 1));
	assert_int_equal(flushes, 1);
	/* Another vCPU with the old leaf. */
	assert_true(vm_execute(&vcpu, gpa(MIB(4))));
	assert_int_equal(flushes, 2);
}

static void test_not(void **)
{
	assert_false(vm_execute(&vcpu, gpa(MIB(16))));
	assert_false(may_execute(MIB(16)));
	/* RAM that is taken away. */
	assert_int_equal(stage2_unmap(&parts.stage2, MIB(2), MIB(2)), 0);
	assert_false(vm_execute(&vcpu, gpa(MIB(2))));
	budget = 0;
	assert_false(vm_execute(&vcpu, gpa(MIB(8))));
	parts.stage2.small_exec = false;
	budget = 100;
	assert_false(vm_execute(&vcpu, gpa(MIB(8))));
	assert_false(may_execute(MIB(8)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whose, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fetch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
