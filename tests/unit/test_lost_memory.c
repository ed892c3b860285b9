/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_lost_memory.sources */
/*
 * A guest's memory is lost under the hypervisor's hands: copies, page walks, instructions,
 * operands, rings, the clock. Each access that meets the page fails, and ends that VM; one that has
 * no region of mc_table would end this program, as it would the node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/fake_vm.h"
#include "tests/unit/lost_memory.h"
#include "vmm/dev/virtio/virtqueue.h"
#include "vmm/emulate/emulate.h"
#include "vmm/hvm.h"
#include "vmm/emulate/lean.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"
#include "vmm/vm/vdev.h"

extern const struct vdev *const __start_vdevs[], *const __stop_vdevs[];

#define CODE 0x6000u
#define DATA 0x8000u
#define GVA 0x345000u /* of the code; the data is on the page behind it */
#define LOST_LINE \
	"vm0: memory that the hypervisor uses for it is lost, at GPA %#x: the machine checks before\n"

static struct vm *vm;
static struct vcpu *vcpu;
static struct hvm_context context;

static u64 no_register(struct vcpu *, enum hvm_reg)
{
	return 0;
}

static void get_context(struct vcpu *, struct hvm_context *c)
{
	*c = context;
}

static void set_register(struct vcpu *, enum hvm_reg, u64) { }

static void get_segment(struct vcpu *, enum seg, struct segment *s)
{
	*s = (struct segment){ 0 };
}

static const struct hvm_ops ops = { .get = no_register,
				    .set = set_register,
				    .get_context = get_context,
				    .get_segment = get_segment };
const struct hvm_ops *hvm = &ops;
const struct debugger *debugger;

void vcpu_raise_page_fault(struct vcpu *, u64 cr2, u32)
{
	fail_msg("#PF at %#lx", cr2);
}

void vcpu_raise_error(struct vcpu *, u8 vector, u32)
{
	fail_msg("exception %u", vector);
}

void vcpu_raise(struct vcpu *, u8 vector)
{
	fail_msg("exception %u", vector);
}

static u8 *ram(u64 at)
{
	return guest_ptr(vm, gpa(at), 1);
}

static void put(u64 at, u64 value)
{
	memcpy(ram(at), &value, sizeof(value));
}

/* The page tables of 4-level paging, each on its page. */
static const unsigned tables[] = { 0x1000, 0x2000, 0x3000, 0x4000 };

static int setup(void **)
{
	fake_host_reset();
	vm = fake_vm_create(MIB(2));
	vcpu = vm->vcpus[0];
	vm_parts(vm)->cpuid.phys_bits = 40;
	context = (struct hvm_context){ .cr0 = CR0_PG | CR0_PE | CR0_WP,
					.cr3 = 0x1000,
					.cr4 = CR4_PAE,
					.efer = EFER_LME | EFER_LMA,
					.cs_attr = SEG_ATTR_L };
	put(0x1000, 0x2000 | PTE_P | PTE_W);
	put(0x2000, 0x3000 | PTE_P | PTE_W);
	put(0x3000 + (GVA >> 21) * 8, 0x4000 | PTE_P | PTE_W);
	put(0x4000 + (GVA >> 12 & 511) * 8, CODE | PTE_P | PTE_W);
	put(0x4000 + (GVA >> 12 & 511) * 8 + 8, DATA | PTE_P | PTE_W);
	vcpu->regs.rip = GVA;
	memcpy(ram(CODE), "\x8b\x03", 2); /* mov eax, [rbx] */
	return 0;
}

static int teardown(void **)
{
	mend_memory();
	fake_vm_destroy(vm);
	return 0;
}

/* The VM is over, a line says where, and another access is no second end. */
static void expect_end(u64 at)
{
	char line[200];

	snprintf(line, sizeof(line), LOST_LINE, (unsigned)at);
	assert_true(lost_memory_met);
	assert_int_equal(vm->end, VM_END_MACHINE_CHECK);
	assert_string_equal(fake_host.log, line);
	mend_memory();
	vm->end = VM_RUNNING;
	fake_host.log[0] = 0;
}

static void test_copies(void **)
{
	static u8 buffer[4 * PAGE_SIZE];

	/*
	 * At its beginning, in the middle, at its end; by quadwords and by the bytes behind them.
	 */
	for (unsigned page = 0; page < 3; page++) {
		lose_memory(ram(DATA + page * PAGE_SIZE));
		assert_int_equal(guest_read(vm, gpa(DATA), buffer, 2 * PAGE_SIZE + 3), -EIO);
		/* Nor a second line. */
		assert_int_equal(guest_read(vm, gpa(DATA), buffer, 2 * PAGE_SIZE + 3), -EIO);
		expect_end(DATA + page * PAGE_SIZE);
		lose_memory(ram(DATA + page * PAGE_SIZE));
		assert_int_equal(guest_write(vm, gpa(DATA), buffer, 2 * PAGE_SIZE + 3), -EIO);
		expect_end(DATA + page * PAGE_SIZE);
		lose_memory(ram(DATA + page * PAGE_SIZE));
		assert_int_equal(guest_zero(vm, gpa(DATA), 2 * PAGE_SIZE + 3), -EIO);
		expect_end(DATA + page * PAGE_SIZE);
		lose_memory(ram(DATA + page * PAGE_SIZE));
		assert_int_equal(guest_probe(vm, DATA + 3 * PAGE_SIZE), -EIO);
		expect_end(DATA + page * PAGE_SIZE);
	}
	/* What lies beside it is as ever. */
	memset(buffer, 0xab, sizeof(buffer));
	lose_memory(ram(DATA + PAGE_SIZE));
	assert_int_equal(guest_write(vm, gpa(DATA), buffer, PAGE_SIZE), 0);
	assert_int_equal(guest_zero(vm, gpa(DATA + 2 * PAGE_SIZE), 5), 0);
	assert_int_equal(guest_probe(vm, DATA + PAGE_SIZE), 0);
	assert_int_equal(guest_read(vm, gpa(DATA), buffer + PAGE_SIZE, PAGE_SIZE), 0);
	assert_true(!lost_memory_met && vm->end == VM_RUNNING);
	/* Where there is no RAM, who needs some says so. */
	mend_memory();
	assert_int_equal(guest_probe(vm, MIB(4)), 0);
}

/* A module's, a disk's: the access has failed, the VM goes on. */
static void test_not_its_own(void **)
{
	static _Alignas(PAGE_SIZE) u8 module[PAGE_SIZE];

	lose_memory(module);
	assert_int_equal(guest_write(vm, gpa(DATA), module, 100), -EIO);
	assert_int_equal(lost_memory_met, 1);
	assert_true(vm->end == VM_RUNNING && !fake_host.log[0]);
}

static void test_walk(void **)
{
	struct guest_fault f;
	gpa_t out;
	u8 byte;

	for (unsigned i = 0; i < ARRAY_SIZE(tables); i++) {
		lose_memory(ram(tables[i]));
		assert_int_equal(guest_translate(vcpu, GVA, ACCESS_READ, &out, &f), -EIO);
		expect_end(tables[i]);
		lose_memory(ram(tables[i]));
		assert_int_equal(guest_read_virt(vcpu, GVA, ACCESS_READ, &byte, 1, &f), -EIO);
		expect_end(tables[i]);
		lose_memory(ram(tables[i]));
		assert_int_equal(emulate_mem_writable(vcpu, GVA, 4), -EAGAIN);
		expect_end(tables[i]);
	}
	/* 32-bit paging, whose entries are half as large. */
	context.cr4 = context.efer = 0;
	put(0x1000, 0x4000 | PTE_P | PTE_W);
	for (unsigned i = 0; i < 4; i += 3) {
		lose_memory(ram(tables[i]));
		assert_int_equal(guest_translate(vcpu, GVA, ACCESS_WRITE, &out, &f), -EIO);
		expect_end(tables[i]);
	}
}

/* The bits that a walk sets, of an entry that could still be read. */
static void test_exchange(void **)
{
	u64 word = 5;
	u32 half = 7;

	assert_int_equal(mc_exchange64(&word, 4, 6), MC_OTHER);
	assert_int_equal(mc_exchange64(&word, 5, 6), MC_EXCHANGED);
	assert_int_equal(mc_exchange32(&half, 6, 8), MC_OTHER);
	assert_int_equal(mc_exchange32(&half, 7, 8), MC_EXCHANGED);
	assert_true(word == 6 && half == 8);
	lose_memory(ram(DATA));
	assert_int_equal(mc_exchange64((void *)lost_memory_page, 0, 1), MC_LOST);
	assert_int_equal(mc_exchange32((void *)lost_memory_page, 0, 1), MC_LOST);
}

static void test_instructions(void **)
{
	const struct insn *insn;

	/*
	 * With and without the path that was walked before; in one piece, and across the end of its
	 * page.
	 */
	for (unsigned known = 0; known < 2; known++)
		for (unsigned i = 0; i <= ARRAY_SIZE(tables); i++) {
			unsigned page = i < ARRAY_SIZE(tables) ? tables[i] : CODE;

			memset(&vcpu->fetched, 0, sizeof(vcpu->fetched));
			if (known)
				assert_int_equal(emulate_fetch(vcpu, &insn), 0);
			lose_memory(ram(page));
			assert_int_equal(emulate_fetch(vcpu, &insn), -EIO);
			expect_end(page);
			lose_memory(ram(page));
			assert_int_equal(emulate_peek_length(vcpu), 0);
			mend_memory();
			vm->end = VM_RUNNING;
			fake_host.log[0] = 0;
		}
	/*
	 * What looks only, may be where nothing of the CPU's own can be used: it walks no tables.
	 */
	memset(&vcpu->fetched, 0, sizeof(vcpu->fetched));
	memcpy(ram(CODE + (vcpu->regs.rip - GVA)), "\x0f\xa2\x90\x90", 4);
	assert_int_equal(emulate_peek_length(vcpu), 0);
	assert_int_equal(emulate_fetch(vcpu, &insn), 0);
	assert_int_equal(emulate_peek_length(vcpu), 2);
	memcpy(ram(CODE + PAGE_SIZE - 2), "\x8b\x83", 2);
	vcpu->regs.rip = GVA + PAGE_SIZE - 2;
	lose_memory(ram(DATA));
	assert_int_equal(emulate_fetch(vcpu, &insn), -EIO);
	expect_end(DATA);
}

/* The short way leaves it to the long one. */
static void test_lean(void **)
{
	const struct insn *insn;

	for (unsigned i = 0; i <= ARRAY_SIZE(tables); i++) {
		assert_int_equal(emulate_fetch(vcpu, &insn), 0);
		lose_memory(ram(i < ARRAY_SIZE(tables) ? tables[i] : CODE));
		assert_int_equal(lean_mmio(vcpu, gpa(0xfee00000), false), 0);
		assert_int_equal(lost_memory_met, 1);
		mend_memory();
	}
}

static void test_operands(void **)
{
	u64 value;

	for (unsigned size = 1; size <= 8; size *= 2) {
		lose_memory(ram(DATA));
		assert_int_equal(emulate_mem_write(vcpu, GVA + PAGE_SIZE, size, 1), 0);
		expect_end(DATA);
		lose_memory(ram(DATA));
		assert_int_equal(emulate_mem_read(vcpu, GVA + PAGE_SIZE, size, &value), 0);
		expect_end(DATA);
	}
}

static void test_clock(void **)
{
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, DATA | 1), 0);
	lose_memory(ram(DATA));
	assert_int_equal(guest_wrmsr(vm, 0x4b564d01, DATA | 1), -EIO);
	expect_end(DATA);
	lose_memory(ram(DATA));
	assert_int_equal(guest_wrmsr(vm, 0x4b564d00, DATA), -EIO);
	expect_end(DATA);
	for (const struct vdev *const *d = __start_vdevs; d < __stop_vdevs; d++)
		if ((*d)->vcpu_pause) {
			lose_memory(ram(DATA));
			(*d)->vcpu_pause(vcpu, vm->device[d - __start_vdevs], false);
			expect_end(DATA);
		}
}

/* ---- what is known to be lost ---- */

static unsigned used;
static u64 used_at;

void vcpu_lost_access(struct vcpu *v, gpa_t addr)
{
	assert_ptr_equal(v, vcpu);
	used_at = addr.v;
	used++;
}

/* Nobody looks whether it is. */
static void known(u64 at)
{
	lose_memory(ram(at));
	fake_host.lost[0] = lost_memory_page;
	fake_host.nr_lost = 1;
	used = 0;
}

static void expect_untouched(unsigned accesses, u64 page)
{
	assert_int_equal(used, accesses);
	assert_true(!accesses || (used_at & ~(PAGE_SIZE - 1)) == page);
	assert_true(!lost_memory_met && vm->end == VM_RUNNING && !fake_host.log[0]);
	fake_host.nr_lost = 0;
	mend_memory();
}

/*
 * It is refused to whoever copies or keeps a pointer; on the page before and the one behind all is
 * well.
 */
static void test_refused(void **)
{
	u8 buffer[2 * PAGE_SIZE];

	known(DATA);
	assert_true(guest_is_lost(vm, gpa(DATA)) && guest_is_lost(vm, gpa(DATA + PAGE_SIZE - 1)));
	assert_false(guest_is_lost(vm, gpa(DATA - 1)) || guest_is_lost(vm, gpa(DATA + PAGE_SIZE)));
	assert_false(guest_is_lost(vm, gpa(MIB(2))));
	assert_null(guest_ptr(vm, gpa(DATA), 1));
	assert_null(guest_ptr(vm, gpa(DATA + PAGE_SIZE - 1), 2));
	assert_null(guest_ptr(vm, gpa(DATA - 1), 2));
	assert_non_null(guest_ptr(vm, gpa(DATA - 1), 1));
	assert_non_null(guest_ptr(vm, gpa(DATA + PAGE_SIZE), 1));
	assert_int_equal(guest_read(vm, gpa(DATA + 5), buffer, 1), -EFAULT);
	assert_int_equal(guest_write(vm, gpa(DATA - PAGE_SIZE), buffer, PAGE_SIZE + 1), -EFAULT);
	assert_int_equal(guest_zero(vm, gpa(DATA + PAGE_SIZE - 1), 2), -EFAULT);
	assert_int_equal(guest_read(vm, gpa(DATA + PAGE_SIZE), buffer, PAGE_SIZE), 0);
	expect_untouched(0, 0);
}

/*
 * What the hypervisor does in the CPU's stead is the guest's use of it; a debugger's look is none.
 */
static void test_used(void **)
{
	const struct insn *insn;
	struct guest_fault f;
	gpa_t out;
	u64 value;

	for (unsigned i = 0; i < ARRAY_SIZE(tables); i++) {
		known(tables[i]);
		assert_int_equal(guest_translate(vcpu, GVA, ACCESS_READ, &out, &f), -EIO);
		expect_untouched(1, tables[i]);
		known(tables[i]);
		assert_int_equal(guest_translate(vcpu, GVA, ACCESS_DEBUG, &out, &f), -EIO);
		expect_untouched(0, 0);
	}
	known(CODE);
	assert_int_equal(emulate_fetch(vcpu, &insn), -EIO);
	expect_untouched(1, CODE);
	known(DATA);
	value = 0x1122;
	assert_int_equal(emulate_mem_read(vcpu, GVA + PAGE_SIZE, 4, &value), -EAGAIN);
	assert_int_equal(value, 0x1122);
	expect_untouched(1, DATA);
	known(DATA);
	assert_int_equal(emulate_mem_write(vcpu, GVA + PAGE_SIZE + 8, 8, value), -EAGAIN);
	expect_untouched(1, DATA);
	/*
	 * Before INS has taken from the port what would not come back, and once though it is half
	 * of the operand.
	 */
	known(DATA);
	assert_int_equal(emulate_mem_writable(vcpu, GVA + PAGE_SIZE - 2, 4), -EAGAIN);
	expect_untouched(1, DATA);
}

/*
 * It gets known at any moment of an access: that is a use of it, and none of a device that is not
 * there.
 */
static void test_used_meanwhile(void **)
{
	u8 bytes[24];
	u64 value;

	for (unsigned way = 0; way < 5; way++) {
		unsigned n = 0, page = way == 4 ? CODE : DATA;

		do {
			int err;

			known(page);
			fake_host.nr_lost = 0;
			fake_host.lost_in = ++n;
			mend_memory();
			value = 0;
			if (way == 0)
				err = emulate_mem_read(vcpu, GVA + PAGE_SIZE, 4, &value);
			else if (way == 1)
				err = emulate_mem_write(vcpu, GVA + PAGE_SIZE, 8, value);
			else if (way == 3)
				err = emulate_mem_read_bytes(vcpu, GVA + PAGE_SIZE, sizeof(bytes),
							     bytes);
			else
				err = emulate_mem_read(vcpu, GVA + PAGE_SIZE - 2, 4, &value);
			if (fake_host.lost_in)
				break;
			if (err)
				assert_true(err == -EAGAIN && used == 1 &&
					    used_at >> 12 == page >> 12);
			else
				assert_int_equal(used, 0);
			assert_true(err || way == 1 || way == 3 ||
				    value != insn_truncate(~0ull, 4));
			fake_host.nr_lost = 0;
		} while (true);
		assert_in_range(n, 4, 100);
		fake_host.lost_in = 0;
	}
}

/* ---- rings ---- */

enum { DESC = 0x10000, AVAIL = 0x11000, USED = 0x12000, INDIRECT = 0x13000 };

static unsigned told;

static void lost(void *guest)
{
	assert_ptr_equal(guest, vm);
	told++;
	guest_lost(guest);
}

static bool memory(void *guest, u64 at, struct gpa_window *w)
{
	return guest_window(guest, gpa(at), w);
}

static void enable(struct virtq *q)
{
	*q = (struct virtq){ .area = { DESC, AVAIL, USED }, .size = 8, .event_index = true };
	assert_int_equal(virtq_enable(q, memory, lost, vm), 0);
	told = 0;
}

/* Nothing of it is touched again, and it is no driver that has broken it. */
static void expect_dead(struct virtq *q, u64 page)
{
	static struct virtq_chain chain;

	assert_int_equal(told, 1);
	assert_int_equal(lost_memory_met, 1);
	assert_int_equal(virtq_next(q, &chain), 0);
	virtq_done(q, 0, 0);
	virtq_interrupts(q);
	assert_int_equal(lost_memory_met, 1);
	expect_end(page);
}

static void test_rings(void **)
{
	static struct virtq_chain chain;
	struct virtq q;

	/* Descriptor 0 is a table of one buffer; entries 0 and 1 of the ring are that one. */
	put(DESC, INDIRECT);
	put(DESC + 8, 16 | 4ull << 32);
	put(INDIRECT, DATA);
	put(INDIRECT + 8, 8);
	put(AVAIL, 2 << 16);
	for (u64 page = DESC; page <= INDIRECT; page += PAGE_SIZE) {
		enable(&q);
		lose_memory(ram(page));
		if (page == USED) {
			/* It gives back what it has taken; and asks to be notified of the next. */
			assert_int_equal(virtq_next(&q, &chain), 1);
			virtq_done(&q, 0, 5);
			expect_dead(&q, page);
			enable(&q);
			q.next_avail = 2;
			lose_memory(ram(page));
		}
		assert_int_equal(virtq_next(&q, &chain), 0);
		expect_dead(&q, page);
	}
	/* Interrupts are asked for where there is something to tell of. */
	for (unsigned event = 0; event < 2; event++) {
		enable(&q);
		q.event_index = event;
		virtq_done(&q, 0, 5);
		lose_memory(ram(AVAIL));
		virtq_interrupts(&q);
		expect_dead(&q, AVAIL);
	}
	/* A quiet one says so as it is enabled. */
	q = (struct virtq){ .area = { DESC, AVAIL, USED }, .size = 8, .quiet = true };
	told = 0;
	lose_memory(ram(USED));
	assert_int_equal(virtq_enable(&q, memory, lost, vm), 0);
	expect_dead(&q, USED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_walk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exchange, setup, teardown),
		cmocka_unit_test_setup_teardown(test_instructions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lean, setup, teardown),
		cmocka_unit_test_setup_teardown(test_operands, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used_meanwhile, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
