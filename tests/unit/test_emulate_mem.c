/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/emulate/emulate_mem.c vmm/memory/guest_mem.c vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c */
/*
 * Operands across the end of a page: its two pages lie anywhere, or nowhere, and a fault leaves
 * nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/fake_operand.h"
#include "tests/unit/fake_vm.h"
#include "vmm/memory/guest_mem.h"

#define GVA 0x7000ull /* two pages */
#define HOLE 0x40000000ull /* neither RAM nor a device's */
#define ABSENT (~0ull)
#define VALUE 0x8877665544332211ull

static struct vm *vm;
static struct vcpu *vcpu;
static u64 at[2]; /* where the pages are, or ABSENT */
static u64 faulted;

int guest_translate(struct vcpu *v, u64 gva, enum guest_access access, gpa_t *out,
		    struct guest_fault *fault)
{
	u64 page = at[(gva - GVA) / PAGE_SIZE];

	assert_ptr_equal(v, vcpu);
	assert_true(access == ACCESS_READ || access == ACCESS_WRITE);
	*fault = (struct guest_fault){ .cr2 = gva };
	if (page == ABSENT)
		return -EFAULT;
	*out = gpa(page + gva % PAGE_SIZE);
	return 0;
}

void vcpu_raise_page_fault(struct vcpu *, u64 cr2, u32)
{
	faulted = cr2;
}

static int setup(void **)
{
	fake_host_reset();
	vm = fake_vm_create(MIB(2));
	vcpu = vm->vcpus[0];
	faulted = 0;
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

static u8 *ram(u64 addr)
{
	return guest_ptr(vm, gpa(addr), 1);
}

/* The pages in turn, in either order, next to each other and not, and with one in the hole. */
static const u64 places[][2] = { { 0x3000, 0x9000 },
				 { 0x9000, 0x3000 },
				 { 0x3000, 0x4000 },
				 { HOLE, 0x3000 },
				 { 0x3000, HOLE } };

static void test_both_halves(void **)
{
	for (unsigned p = 0; p < ARRAY_SIZE(places); p++)
		for (unsigned size = 1; size <= 8; size *= 2)
			for (unsigned before = 0; before <= size; before++) {
				u64 gva = GVA + PAGE_SIZE - before, read = 0, want = 0;

				at[0] = places[p][0];
				at[1] = places[p][1];
				memset(ram(0), 0xee, 0x10000);
				assert_int_equal(emulate_mem_write(vcpu, gva, size, VALUE), 0);
				assert_int_equal(emulate_mem_read(vcpu, gva, size, &read), 0);
				for (unsigned i = 0; i < size; i++) {
					u64 byte = gva + i - GVA, place = at[byte / PAGE_SIZE];
					u8 stored = (u8)(VALUE >> i * 8);

					if (place != HOLE)
						assert_int_equal(*ram(place + byte % PAGE_SIZE),
								 stored);
					want |= (u64)(place == HOLE ? 0xff : stored) << i * 8;
					if (place != HOLE)
						*ram(place + byte % PAGE_SIZE) = 0xee;
				}
				assert_true(read == want);
				/* Nothing else. */
				for (unsigned i = 0; i < 0x10000; i++)
					assert_int_equal(*ram(i), 0xee);
			}
}

/* As many bytes as a vector register has: the same, whatever lies on which page. */
static void test_bytes(void **)
{
	u8 stored[32], read[32];

	for (unsigned i = 0; i < sizeof(stored); i++)
		stored[i] = (u8)(0x11 + i);
	for (unsigned p = 0; p < ARRAY_SIZE(places); p++)
		for (unsigned size = 8; size <= 32; size *= 2)
			for (unsigned before = 0; before <= size; before++) {
				u64 gva = GVA + PAGE_SIZE - before;

				at[0] = places[p][0];
				at[1] = places[p][1];
				memset(ram(0), 0xee, 0x10000);
				assert_int_equal(emulate_mem_writable(vcpu, gva, size), 0);
				assert_int_equal(emulate_mem_write_bytes(vcpu, gva, size, stored),
						 0);
				memset(read, 0xdd, sizeof(read));
				assert_int_equal(emulate_mem_read_bytes(vcpu, gva, size, read), 0);
				for (unsigned i = 0; i < sizeof(read); i++) {
					u64 byte = gva + i - GVA, place = at[byte / PAGE_SIZE];
					u8 there = place == HOLE ? 0xff : stored[i];

					assert_int_equal(read[i], i < size ? there : 0xdd);
					if (i < size && place != HOLE)
						*ram(place + byte % PAGE_SIZE) = 0xee;
				}
				/* Nothing else. */
				for (unsigned i = 0; i < 0x10000; i++)
					assert_int_equal(*ram(i), 0xee);
			}
}

static void test_fault_leaves_nothing(void **)
{
	for (unsigned absent = 0; absent < 2; absent++)
		for (unsigned before = 1; before < 8; before++) {
			u64 gva = GVA + PAGE_SIZE - before, read = VALUE;
			u8 bytes[32] = { 0 };

			at[absent] = ABSENT;
			at[!absent] = 0x3000;
			memset(ram(0), 0xee, 0x10000);
			assert_int_equal(emulate_mem_write(vcpu, gva, 8, VALUE), -EFAULT);
			assert_int_equal(faulted, absent ? GVA + PAGE_SIZE : gva);
			assert_int_equal(emulate_mem_writable(vcpu, gva, 8), -EFAULT);
			assert_int_equal(emulate_mem_read(vcpu, gva, 8, &read), -EFAULT);
			assert_int_equal(emulate_mem_read_bytes(vcpu, gva - 8, 16, bytes), -EFAULT);
			assert_int_equal(emulate_mem_write_bytes(vcpu, gva - 24, 32, bytes),
					 -EFAULT);
			for (unsigned i = 0; i < 0x10000; i++)
				assert_int_equal(*ram(i), 0xee);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_halves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fault_leaves_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
