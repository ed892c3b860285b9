/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_device_access.sources */
/*
 * What reaches a device of a guest's accesses to memory and ports: whatever their size and place,
 * aligned accesses within its range, of sizes that it has said it takes. All devices get all sizes
 * at all offsets, around their ends, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_operand.h"
#include "tests/unit/fake_strings.h"
#include "tests/unit/fake_vm.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm_parts.h"

#define BEYOND 16u
/*
 * A device whose registers are plain memory; it lies across the end of a page, and its own ends are
 * within pages.
 */
#define PLAIN 0xc0000ff0ull
#define PLAIN_SIZE 0x30u

static struct vm *vm;
static struct vcpu *vcpu;
static u8 plain[PLAIN_SIZE];
static unsigned accesses;

/* ---- what the emulation asks of others ---- */

int guest_translate(struct vcpu *, u64 gva, enum guest_access, gpa_t *out, struct guest_fault *)
{
	*out = gpa(gva);
	return 0;
}

void vcpu_raise_page_fault(struct vcpu *, u64, u32)
{
	fail();
}

int emulate_fetch(struct vcpu *, const struct insn **)
{
	return -EINVAL;
}

void emulate_skip_unknown(struct vcpu *) { }

void emulate_refuse(struct vcpu *, const char *)
{
	fail();
}

int vm_pause(struct vm *)
{
	return -EALREADY;
}

int vm_resume(struct vm *)
{
	return -EALREADY;
}

void vm_exit(struct vm *, u32) { }

/* ---- between the core and each device ---- */

static struct mmio_range mmio[VM_MAX_MMIO];
static struct pio_range pio[VM_MAX_PIO];

static void judge(unsigned sizes, u64 at, u64 offset, unsigned size, u64 range)
{
	accesses++;
	assert_true(size == 1 || size == 2 || size == 4 || size == 8);
	assert_true(sizes & size);
	assert_true(IS_ALIGNED(at, size));
	assert_true(offset < range && size <= range - offset);
}

static u64 mmio_read(void *dev, struct vcpu *v, u64 offset, unsigned size)
{
	const struct mmio_range *r = dev;

	judge(r->ops->sizes, r->base + offset, offset, size, r->size);
	return r->ops->read(r->dev, v, offset, size);
}

static void mmio_write(void *dev, struct vcpu *v, u64 offset, unsigned size, u64 value)
{
	const struct mmio_range *r = dev;

	judge(r->ops->sizes, r->base + offset, offset, size, r->size);
	assert_int_equal(value, insn_truncate(value, size));
	r->ops->write(r->dev, v, offset, size, value);
}

static u32 pio_read(void *dev, struct vcpu *v, u16 offset, unsigned size)
{
	const struct pio_range *r = dev;

	judge(r->ops->sizes, r->base + offset, offset, size, ALIGN_UP(r->count, 4));
	return r->ops->read(r->dev, v, offset, size);
}

static void pio_write(void *dev, struct vcpu *v, u16 offset, unsigned size, u32 value)
{
	const struct pio_range *r = dev;

	judge(r->ops->sizes, r->base + offset, offset, size, ALIGN_UP(r->count, 4));
	r->ops->write(r->dev, v, offset, size, value);
}

static struct mmio_ops mmio_judges[VM_MAX_MMIO];
static struct pio_ops pio_judges[VM_MAX_PIO];

/* Puts the judge in front of each device; it takes what the device takes. */
static void interpose(void)
{
	struct vm_ranges *all = &vm_parts(vm)->ranges;

	for (unsigned i = 0; i < all->nr_mmio; i++) {
		mmio[i] = all->mmio[i];
		mmio_judges[i] = (struct mmio_ops){ mmio[i].ops->sizes, mmio_read, mmio_write };
		all->mmio[i].ops = &mmio_judges[i];
		all->mmio[i].dev = &mmio[i];
	}
	for (unsigned i = 0; i < all->nr_pio; i++) {
		pio[i] = all->pio[i];
		pio_judges[i] = (struct pio_ops){ pio[i].ops->sizes, pio_read, pio_write };
		all->pio[i].ops = &pio_judges[i];
		all->pio[i].dev = &pio[i];
	}
}

static u64 plain_read(void *, struct vcpu *, u64 offset, unsigned size)
{
	u64 value = 0;

	memcpy(&value, plain + offset, size);
	return value;
}

static void plain_write(void *, struct vcpu *, u64 offset, unsigned size, u64 value)
{
	memcpy(plain + offset, &value, size);
}

static struct mmio_ops plain_ops = { 1 | 2 | 4 | 8, plain_read, plain_write };

static int setup(void **)
{
	fake_host_reset();
	vm = fake_vm_create(MIB(2));
	vcpu = vm->vcpus[0];
	assert_int_equal(vm_register_mmio(vm, gpa(PLAIN), PLAIN_SIZE, &plain_ops, NULL), 0);
	interpose();
	accesses = 0;
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

/* ---- tests ---- */

static u64 read(u64 at, unsigned size)
{
	u64 value = 0x5555555555555555;

	assert_int_equal(emulate_mem_read(vcpu, at, size, &value), 0);
	assert_int_equal(value, insn_truncate(value, size));
	return value;
}

/*
 * Sizes that no instruction has come of operands that cross a page: the first bytes of one, the
 * last of another.
 */
static void test_memory(void **)
{
	unsigned before;

	for (unsigned i = 0; i < vm_parts(vm)->ranges.nr_mmio; i++) {
		const struct mmio_range *r = &mmio[i];

		before = accesses;
		for (u64 at = r->base - BEYOND; at < r->base + MIN(r->size, 0x1000u) + BEYOND; at++)
			for (unsigned size = 1; size <= 8; size *= 2) {
				(void)read(at, size);
				assert_int_equal(
					emulate_mem_write(vcpu, at, size, 0x0102030405060708), 0);
			}
		assert_true(accesses > before);
	}
}

static void io(u16 port, unsigned size, bool in)
{
	const struct vmexit exit = { .io = { .port = port, .size = (u8)size, .in = in },
				     .insn_len = 1 };

	emulate_io(vcpu, &exit);
}

static void test_ports(void **)
{
	for (unsigned i = 0; i < vm_parts(vm)->ranges.nr_pio; i++) {
		unsigned before = accesses;

		for (u64 port = pio[i].base - MIN(BEYOND, pio[i].base);
		     port < pio[i].base + pio[i].count + BEYOND; port++)
			for (unsigned size = 1; size <= 4; size *= 2) {
				io((u16)port, size, true);
				/* RAX is what the IN before has left there: not all zeros. */
				io((u16)port, size, false);
			}
		assert_true(accesses > before);
	}
	/* The last port there is. */
	io(0xffff, 4, true);
	assert_int_equal((u32)vcpu->regs.gpr[GPR_RAX], ~0u);
}

/*
 * Registers that are memory read and write as memory does, byte by byte; what lies beside them is
 * ones.
 */
static void test_parts(void **)
{
	u8 model[PLAIN_SIZE + 2 * BEYOND];

	for (unsigned i = 0; i < PLAIN_SIZE; i++)
		plain[i] = (u8)(i * 37 + 1);
	memset(model, 0xff, sizeof(model));
	memcpy(model + BEYOND, plain, PLAIN_SIZE);
	for (unsigned at = 0; at + 8 <= sizeof(model); at++)
		for (unsigned size = 1; size <= 8; size *= 2) {
			u64 want = 0, value = 0x1122334455667788ull * (at + size);

			memcpy(&want, model + at, size);
			assert_int_equal(read(PLAIN - BEYOND + at, size), want);
			assert_int_equal(emulate_mem_write(vcpu, PLAIN - BEYOND + at, size, value),
					 0);
			for (unsigned n = 0; n < size; n++)
				if (at + n >= BEYOND && at + n < BEYOND + PLAIN_SIZE)
					model[at + n] = (u8)(value >> n * 8);
			assert_memory_equal(plain, model + BEYOND, PLAIN_SIZE);
		}
}

/* What a device does not take is nobody's: ones, and nothing is changed. */
static void test_sizes(void **)
{
	memset(plain, 0x11, sizeof(plain));
	for (unsigned sizes = 0; sizes < 16; sizes++) {
		plain_ops.sizes = mmio_judges[vm_parts(vm)->ranges.nr_mmio - 1].sizes = (u8)sizes;
		for (unsigned size = 1; size <= 8; size *= 2) {
			u64 ones = insn_truncate(~0ull, size);

			assert_int_equal(read(PLAIN, size),
					 sizes & size ? ones / 0xff * 0x11 : ones);
			assert_int_equal(
				emulate_mem_write(vcpu, PLAIN + 8, size, 0x2222222222222222), 0);
			assert_int_equal(plain[8], sizes & size ? 0x22 : 0x11);
			memset(plain, 0x11, sizeof(plain));
		}
	}
	plain_ops.sizes = 15;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
