/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/cpuid/cpuid_topology.c vmm/memory/gpa_map.c arch/x86_64/stage2/stage2.c arch/x86_64/stage2/formats.c tests/unit/fake_host.c */
/*
 * Pages that the machine has lost leave the second-level tables of the VM that has them, and of no
 * other; which VMs look, what follows a use, and how often it is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/string.h>

#include "tests/unit/fake_events.h"
#include "tests/unit/fake_host.h"
#include "tests/unit/fake_stage.h"
#include "tests/unit/stage2_walk.h"
#include "vmm/memory/lost_memory.c"
#include "vmm/memory/shootdown.h"
#include "vmm/slots/slot.h"
#include "vmm/vm/devices.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

static struct vm_parts parts;
static struct vcpu vcpu, *vcpus[] = { &vcpu };
static unsigned locks, kicks, unmapped;
static int budget; /* tables */
static bool told_by_mc;
static u64 mc_page;

struct spinlock monitor_lock;
struct slot monitor_slots[MONITOR_MAX_VMS];
unsigned monitor_nr_slots;
extern void (*const __start_monitor_services[])(void);

static void *table(int)
{
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

void vm_stage2_lock(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	locks++;
}

void vm_stage2_unlock(struct vm *)
{
	locks--;
}

int vm_unmap_for_cpus(struct vcpu *v, gpa_t at, u64 size)
{
	assert_true(v == &vcpu && locks == 1 && size == PAGE_SIZE);
	unmapped++;
	return stage2_unmap(&parts.stage2, at.v, size);
}

void vcpu_kick(struct vcpu *v)
{
	assert_ptr_equal(v, &vcpu);
	kicks++;
}

bool vm_end(struct vm *vm, enum vm_end why)
{
	vm->end = why;
	return true;
}

bool vcpu_machine_check(struct vcpu *, u64 page)
{
	mc_page = page;
	return told_by_mc;
}

static void lose(u64 page)
{
	fake_host.lost[fake_host.nr_lost++] = page;
}

static int setup(void **)
{
	fake_host_reset();
	budget = 100;
	unmapped = kicks = 0;
	told_by_mc = false;
	memset(&parts, 0, sizeof(parts));
	memset(&vcpu, 0, sizeof(vcpu));
	memset(monitor_slots, 0, sizeof(monitor_slots));
	strcpy(parts.vm.name, "vm0");
	parts.vm.vcpus = vcpus;
	parts.vm.nr_vcpus = 1;
	vcpu.vm = &parts.vm;
	parts.map.count = 2;
	parts.map.region[0] = (struct gpa_region){ .gpa = 0, .size = MIB(64), .hpa = GIB(4) };
	parts.map.region[1] = (struct gpa_region){ .gpa = GIB(4), .size = MIB(4), .hpa = GIB(2) };
	assert_int_equal(stage2_init(&parts.stage2, &ept_format, &mem, LEAF_2M, -1), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct gpa_region *r = &parts.map.region[i];

		assert_int_equal(stage2_map(&parts.stage2, r->gpa, r->hpa, r->size, STAGE2_RWX,
					    MEMTYPE_WB),
				 0);
	}
	return 0;
}

static int teardown(void **)
{
	assert_int_equal(locks, 0);
	stage2_destroy(&parts.stage2);
	return 0;
}

static bool mapped(u64 at)
{
	struct stage2_mapping m;

	return !stage2_lookup(&parts.stage2, at, &m);
}

/* In its loop, which has been told. */
static void look(void)
{
	vcpu.lost_pages = true;
	assert_false(fake_look(LOOK_LOST, &vcpu));
	assert_false(vcpu.lost_pages);
}

static void test_drop(void **)
{
	/* Of another VM's, or nobody's; the last of the first piece, the first of the second. */
	lose(GIB(4) + MIB(64));
	lose(GIB(4) + MIB(64) - PAGE_SIZE);
	look();
	assert_true(!mapped(MIB(64) - PAGE_SIZE) && mapped(MIB(64) - 2 * PAGE_SIZE) &&
		    mapped(GIB(4)));
	assert_int_equal(vm_own(&parts.vm, lost_seen), 2);
	assert_string_equal(fake_host.log,
			    "vm0: memory at GPA 0x3fff000 is lost: the guest has it no longer\n");
	assert_string_equal(event_told, "0 memory-lost GPA 0x3fff000");
	lose(GIB(2));
	look();
	assert_true(!mapped(GIB(4)) && mapped(GIB(4) + PAGE_SIZE));
	/* Each once; and who was told of nothing does not look. */
	look();
	lose(GIB(2) + PAGE_SIZE);
	assert_false(fake_look(LOOK_LOST, &vcpu));
	assert_int_equal(unmapped, 2);
}

/* A large page cannot be split: it stays, and that is said; nobody tries again for ever. */
static void test_no_memory(void **)
{
	budget = 0;
	lose(GIB(4) + PAGE_SIZE);
	look();
	assert_true(mapped(PAGE_SIZE) && vm_own(&parts.vm, lost_seen) == 1);
	assert_non_null(strstr(fake_host.log, "vm0: "));
	assert_null(strstr(fake_host.log, "no longer"));
}

/* Every VM that runs looks, as soon as the machine says so. */
static void test_who_looks(void **)
{
	__start_monitor_services[0]();
	assert_non_null(fake_host.on_memory_lost);
	monitor_nr_slots = 3;
	fake_host.on_memory_lost();
	assert_int_equal(kicks, 0);
	monitor_slots[2].vm = &parts.vm;
	fake_host.on_memory_lost();
	assert_int_equal(kicks, 1);
	assert_true(vcpu.lost_pages);
	/* One that begins has been told of nothing. */
	vcpu.lost_pages = false;
	fake_vcpu_stage(VCPU_LOST)->on[VCPU_STARTS](&vcpu);
	assert_true(vcpu.lost_pages);
	assert_true(spin_trylock(&monitor_lock));
	spin_unlock(&monitor_lock);
}

static void test_use(void **)
{
	/* A fault: what was to be done can be done once more. */
	vcpu_lost_access(&vcpu, gpa(GIB(4) + 0x5678));
	assert_int_equal(mc_page, (GIB(2) + 0x5000) | MCG_STATUS_RIPV | MCG_STATUS_EIPV);
	assert_int_equal(parts.vm.end, VM_END_MACHINE_CHECK);
	assert_string_equal(
		fake_host.log,
		"vm0: vcpu0: has used memory that the machine has lost: the machine checks before\n");
	parts.vm.end = VM_RUNNING;
	told_by_mc = true;
	vcpu_lost_access(&vcpu, gpa(GIB(4)));
	assert_true(parts.vm.end == VM_RUNNING);
}

static void test_told_once(void **)
{
	lose(0x1000);
	lose(0x5000);
	assert_true(vm_tells_lost(&parts.vm, 0x5000));
	assert_true(vm_tells_lost(&parts.vm, 0x1000));
	lose(0x7000);
	assert_true(vm_tells_lost(&parts.vm, 0x7000));
	assert_false(vm_tells_lost(&parts.vm, 0x5000) || vm_tells_lost(&parts.vm, 0x1000));
	/* One that is one too many to be kept in mind. */
	assert_false(vm_tells_lost(&parts.vm, 0x9000));
}

/*
 * Whose threads of a core are, by APIC ID, where CPUID's leaf 0xB says that the lowest bit tells
 * them apart.
 */
static void leaf_b(u32 leaf, u32, struct cpuid_regs *r)
{
	*r = (struct cpuid_regs){ .eax = leaf ? 1 : 0xb, .ebx = 2, .ecx = 1 << 8 };
}

static void test_core(void **)
{
	static struct vcpu sibling = { .cpu = 2 };
	static struct vcpu *both[] = { &vcpu, &sibling };

	fake_host.cpuid = leaf_b;
	fake_host.nr_cpus = 3;
	for (unsigned i = 0; i < 3; i++)
		fake_host.cpus[i].online = true;
	fake_host.cpus[0].apic_id = 4;
	fake_host.cpus[1].apic_id = 6;
	fake_host.cpus[2].apic_id = 5;
	vcpu.in_guest = true;
	/* The other thread has no guest of this VM. */
	assert_false(vcpu_core_is_vms(&vcpu.work));
	parts.vm.vcpus = both;
	parts.vm.nr_vcpus = 2;
	sibling.in_guest = false;
	sibling.lost_used = 0;
	assert_false(vcpu_core_is_vms(&vcpu.work));
	sibling.in_guest = true;
	assert_true(vcpu_core_is_vms(&vcpu.work));
	fake_host.cpus[2].online = false;
	assert_false(vcpu_core_is_vms(&vcpu.work));
	fake_host.cpus[2].online = true;
	/* It was, until the same error brought it out, a second ago at most. */
	sibling.in_guest = false;
	sibling.lost_used = fake_host.tsc + 1;
	fake_host.tsc += 1999999999;
	assert_true(vcpu_core_is_vms(&vcpu.work));
	fake_host.tsc += 2;
	assert_false(vcpu_core_is_vms(&vcpu.work));
	/* Another core is none of its business. */
	fake_host.cpus[2].apic_id = 8;
	assert_true(vcpu_core_is_vms(&vcpu.work));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_drop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_who_looks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_use, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_core, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
