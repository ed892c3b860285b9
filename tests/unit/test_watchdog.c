/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: -D_GNU_SOURCE vmm/dev/board/watchdog.c @tests/unit/acpi_devices.sources vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c */
/* The watchdog, driven by what WDAT says of it and nothing else, as a guest's driver does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/acpi/acpi_build.h"
#include "vmm/acpi/aml_build.h"
#include "vmm/vcpu.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm_parts.h"

#define MS 2000000ull /* TSC of the fake host */

extern const struct vdev *const __start_vdevs[];

/*
 * Microsoft, "Hardware Watchdog Timers Design Specification"; Linux reads it in
 * drivers/acpi/acpi_watchdog.c.
 */
static struct {
	u32 header_length;
	u16 segment;
	u8 bus;
	u8 device;
	u8 function;
	u8 reserved[3];
	u32 period_ms;
	u32 max_count;
	u32 min_count;
	u8 flags;
	u8 reserved2[3];
	u32 entries;
	struct entry {
		u8 action;
		u8 instruction;
		u16 reserved;
		u8 space;
		u8 bit_width;
		u8 bit_offset;
		u8 access;
		u64 address;
		u32 value;
		u32 mask;
	} __packed entry[16];
} __packed wdat;

static struct vm *vm;
static struct vcpu second;

/*
 * Does an action on a vCPU: what it reads, or whether that is the value that the entry names; a
 * write gives 0.
 */
static u32 act(struct vcpu *vcpu, u8 action, u32 parameter)
{
	const struct entry *e = wdat.entry;
	const struct pio_range *r;
	unsigned size;
	u32 x;

	while (e < wdat.entry + wdat.entries && e->action != action)
		e++;
	assert_true(e < wdat.entry + wdat.entries);
	assert_int_equal(e->space, 1);
	assert_int_equal(e->bit_offset, 0);
	assert_true(e->access == 1 || e->access == 2);
	size = e->access;
	assert_int_equal(e->bit_width, size * 8);
	r = pio_find(vm, (u16)e->address);
	assert_non_null(r);
	assert_true(r->ops->sizes & size);
	if (e->instruction < 2) {
		x = r->ops->read(r->dev, vcpu, (u16)(e->address - r->base), size) & e->mask;
		return e->instruction == 0 ? x == e->value : x;
	}
	assert_in_range(e->instruction, 2, 3);
	x = (e->instruction == 2 ? e->value : parameter) & e->mask;
	r->ops->write(r->dev, vcpu, (u16)(e->address - r->base), size, x);
	return 0;
}

enum {
	RESET = 1,
	LEFT = 4,
	COUNT = 5,
	SET_COUNT = 6,
	RUNS = 8,
	START = 9,
	STOPPED = 10,
	STOP = 11,
	STATUS = 32,
	CLEAR = 33
};

/* What a test before has left there is nothing to this one. */
static int setup(void **)
{
	struct aml a;

	fake_host_reset();
	vm = fake_vm_create(0);
	second = (struct vcpu){ .vm = vm, .id = 1 };
	memset(&wdat, 0xee, sizeof(wdat));
	aml_init(&a, &wdat, sizeof(wdat));
	acpi_put_wdat(&a, NULL);
	assert_int_equal(aml_error(&a), 0);
	assert_int_equal(a.len,
			 offsetof(typeof(wdat), entry) + wdat.entries * sizeof(struct entry));
	act(vm->vcpus[0], CLEAR, 0);
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

static void test_table(void **)
{
	assert_int_equal(wdat.header_length, 32);
	assert_int_equal(wdat.segment, 0xff);
	assert_true(wdat.bus == 0xff && wdat.device == 0xff && wdat.function == 0xff);
	assert_int_equal(wdat.flags, 1);
	assert_int_equal(wdat.period_ms, 100);
	assert_int_equal(wdat.max_count, 65535);
	assert_int_equal(wdat.min_count, 1);
	assert_true(!wdat.reserved[0] && !wdat.reserved2[0]);
}

static void test_bites(void **)
{
	struct vcpu *vcpu = vm->vcpus[0];

	assert_true(act(vcpu, STOPPED, 0) && !act(vcpu, RUNS, 0) && !act(vcpu, LEFT, 0) &&
		    !act(vcpu, STATUS, 0));
	act(vcpu, SET_COUNT, 50);
	act(vcpu, RESET, 0);
	assert_null(fake_host.timers); /* it does not run */
	act(vcpu, START, 0);
	assert_true(act(vcpu, RUNS, 0) && !act(vcpu, STOPPED, 0));
	assert_int_equal(act(vcpu, COUNT, 0), 50);
	assert_int_equal(act(vcpu, LEFT, 0), 50);
	fake_host_advance(4950 * MS);
	assert_int_equal(act(vcpu, LEFT, 0), 0);
	/* Its time is over, and its timer has not fired yet. */
	fake_host.tsc += 1000 * MS;
	assert_int_equal(act(vcpu, LEFT, 0), 0);
	fake_host.tsc -= 1000 * MS;
	act(vcpu, RESET, 0);
	fake_host_advance(4950 * MS + 4999 * MS);
	assert_int_equal(vm->end, VM_RUNNING);
	assert_false(act(vcpu, STATUS, 0));
	fake_host_advance(4950 * MS + 5000 * MS);
	assert_int_equal(vm->end, VM_END_WATCHDOG);
	assert_true(vcpu->died);
	assert_non_null(strstr(fake_host.log, "vm0: its watchdog was not fed for 5.0 s\n"));
}

/*
 * The guest that is started again learns why, until it has taken note of it. Its watchdog does not
 * run.
 */
static void test_next_start(void **)
{
	test_bites(NULL);
	for (unsigned i = 0; i < 2; i++) {
		fake_vm_destroy(vm);
		vm = fake_vm_create(0);
		assert_true(act(vm->vcpus[0], STATUS, 0) && act(vm->vcpus[0], STOPPED, 0));
	}
	guest_out(vm, 0x616, 1, 2);
	assert_true(act(vm->vcpus[0], STATUS, 0));
	act(vm->vcpus[0], CLEAR, 0);
	assert_false(act(vm->vcpus[0], STATUS, 0));
}

static void test_stopped(void **)
{
	struct vcpu *vcpu = vm->vcpus[0];

	act(vcpu, SET_COUNT, 10);
	act(vcpu, START, 0);
	act(vcpu, STOP, 0);
	act(vcpu, RESET, 0);
	fake_host_advance(10000 * MS);
	assert_int_equal(vm->end, VM_RUNNING);
	assert_true(act(vcpu, STOPPED, 0));
	/* A count of nothing is the least. */
	act(vcpu, SET_COUNT, 0);
	assert_int_equal(act(vcpu, COUNT, 0), 1);
}

/* Whichever vCPU feeds it: the last feeding counts, and a shorter time holds at once. */
static void test_two_vcpus(void **)
{
	struct vcpu *first = vm->vcpus[0];

	act(first, SET_COUNT, 1000);
	assert_int_equal(act(&second, COUNT, 0), 1000);
	act(first, SET_COUNT, 100);
	act(first, START, 0);
	fake_host_advance(9000 * MS);
	act(&second, RESET, 0);
	/* A timer is its CPU's: each vCPU has one. */
	assert_true(fake_host.timers && fake_host.timers->next);
	fake_host_advance(18000 * MS);
	assert_int_equal(vm->end, VM_RUNNING);
	act(first, RESET, 0);
	act(&second, SET_COUNT, 10);
	fake_host_advance(18999 * MS);
	assert_int_equal(vm->end, VM_RUNNING);
	fake_host_advance(19000 * MS);
	assert_int_equal(vm->end, VM_END_WATCHDOG);
	assert_true(second.died && !first->died);
	__start_vdevs[0]->vcpu_stop(&second, vm->device[0]);
}

static void test_pause(void **)
{
	struct vcpu *vcpu = vm->vcpus[0];
	const struct vdev *dev = __start_vdevs[0];

	dev->vcpu_pause(vcpu, vm->device[0], true);
	dev->vcpu_pause(vcpu, vm->device[0], false);
	assert_null(fake_host.timers); /* it did not run */
	act(vcpu, SET_COUNT, 100);
	act(vcpu, START, 0);
	fake_host_advance(9999 * MS);
	dev->vcpu_pause(vcpu, vm->device[0], true);
	fake_host_advance(50000 * MS);
	assert_int_equal(vm->end, VM_RUNNING);
	dev->vcpu_pause(vcpu, vm->device[0], false);
	fake_host_advance(59999 * MS);
	assert_int_equal(vm->end, VM_RUNNING);
	fake_host_advance(60000 * MS);
	assert_int_equal(vm->end, VM_END_WATCHDOG);
}

/* What ends otherwise just then is not said to have been bitten. */
static void test_ends_first(void **)
{
	act(vm->vcpus[0], SET_COUNT, 10);
	act(vm->vcpus[0], START, 0);
	vm->end = VM_END_POWEROFF;
	fake_host_advance(2000 * MS);
	assert_false(vm->vcpus[0]->died || act(vm->vcpus[0], STATUS, 0));
	assert_string_equal(fake_host.log, "");
}

/* Accesses that no driver makes. */
static void test_odd_accesses(void **)
{
	guest_out(vm, 0x610, 2, 0x100);
	guest_out(vm, 0x612, 1, 7);
	guest_out(vm, 0x613, 1, 7);
	guest_out(vm, 0x616, 1, 0xfe);
	guest_out(vm, 0x617, 1, 1);
	assert_null(fake_host.timers);
	assert_int_equal(guest_in(vm, 0x612, 2), 65535);
	assert_int_equal(guest_in(vm, 0x611, 1), 0);
	guest_out(vm, 0x610, 1, 1);
	guest_out(vm, 0x612, 2, 65535);
	assert_int_equal(guest_in(vm, 0x614, 2), 65535);
}

/*
 * Whose CPUs' timers are the guest's has one where the node has an alarm, else none, and nothing
 * that pauses or ends it minds.
 */
static void test_direct(void **)
{
	const struct vdev *d = __start_vdevs[0];

	fake_vm_destroy(vm);
	fake_vm_direct = true;
	vm = fake_vm_create(0);
	assert_non_null(pio_find(vm, 0x610));
	assert_null(strstr(fake_host.log, "HPET"));
	fake_vm_destroy(vm);
	fake_host.no_alarm = true;
	vm = fake_vm_create(0);
	fake_vm_direct = false;
	assert_null(pio_find(vm, 0x610));
	assert_non_null(
		strstr(fake_host.log,
		       "vm0: its watchdog needs an HPET that interrupts (watchdog = no)\n"));
	d->vcpu_pause(vm->vcpus[0], vm->device[0], true);
	d->vcpu_pause(vm->vcpus[0], vm->device[0], false);
	d->vcpu_stop(vm->vcpus[0], vm->device[0]);
	/* With the monitor's APIC it needs none. */
	fake_vm_destroy(vm);
	vm = fake_vm_create(0);
	assert_non_null(pio_find(vm, 0x610));
}

/* Nor has one whose VM file says so. */
static void test_none(void **)
{
	struct vm_config none = { .no_watchdog = true };
	void *instance = NULL;

	fake_vm_destroy(vm);
	vm = fake_vm_create(0);
	vm_parts(vm)->ranges = (struct vm_ranges){ 0 };
	vm->config = &none;
	assert_int_equal(__start_vdevs[0]->create(vm, &instance), 0);
	assert_true(!instance && !pio_find(vm, 0x610));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bites, setup, teardown),
		cmocka_unit_test_setup_teardown(test_next_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_vcpus, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_accesses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_direct, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
