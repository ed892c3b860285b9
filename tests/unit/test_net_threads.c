/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/virtio_net.sources vmm/config/config_net.c lib/span.c vmm/vm/devices.c vmm/vm/stages.c @tests/unit/fake_vm.sources -fno-sanitize=all -fsanitize=thread -Wno-tsan -lpthread */
/*
 * CPUs that send at once, under ThreadSanitizer: to one receiver, and to one that ends, comes back,
 * is reset, and has work of its own meanwhile. So many frames each time, however long they take.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/unit/net_guests.h"
#include "vmm/vm/vdev.h"

extern const struct vdev *const __start_vdevs[];

#define ROUNDS 500u
#define STEPS 20u
#define STEP 30u /* frames of each sender */
#define FRAME (HEADERS + 400u)
#define BUFFERS 64u

/* Of the tests' own, whose values nobody looks at. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:host_tsc\nrace:take_message\n";
}

/* Of a guest's memory, which TSan knows nothing of: the image's accesses are assembler. */
static u16 load16(const void *p)
{
	return __atomic_load_n((const u16 *)p, __ATOMIC_ACQUIRE);
}

static void store16(void *p, u16 value)
{
	__atomic_store_n((u16 *)p, value, __ATOMIC_RELEASE);
}

/* What is relaxed orders nothing for the device: TSan sees what its locks do. */
static struct job {
	struct vm *vm;
	u32 rounds;
	u32 may; /* be sent by now */
	u32 sent;
} job[2];
static pthread_t thread[2];

/*
 * One frame after the other, each full of its number. What it receives itself goes to one buffer,
 * which is offered again each time.
 */
static void *sender(void *arg)
{
	struct job *j = arg;
	u8 *ram = guest_ptr(j->vm, gpa(0), GUEST_RAM), *frame = ram + SEND_AT + HEADER;
	u64 notify_at = j->vm->virtual->bar + NOTIFY(TX);

	for (u32 i = 1; i <= j->rounds; i++) {
		while (__atomic_load_n(&j->may, __ATOMIC_RELAXED) < i)
			sched_yield();
		for (u32 at = HEADERS; at < FRAME; at += sizeof(i))
			memcpy(frame + at, &i, sizeof(i));
		store16(ram + AVAIL(RX) + 2, (u16)(load16(ram + USED(RX) + 2) + 1));
		store16(ram + AVAIL(TX) + 2, (u16)i);
		guest_store(j->vm, notify_at, 2, TX);
		while (load16(ram + USED(TX) + 2) != (u16)i)
			pci_virtual_go_on(j->vm->vcpus[0]);
		__atomic_store_n(&j->sent, i, __ATOMIC_RELAXED);
	}
	return NULL;
}

static u32 has_sent(unsigned n)
{
	return __atomic_load_n(&job[n].sent, __ATOMIC_RELAXED);
}

static void let_send(unsigned n, u32 frames)
{
	__atomic_add_fetch(&job[n].may, frames, __ATOMIC_RELAXED);
}

/* Guest n begins to send, as it is let. */
static void begin(unsigned n, u64 to, u32 rounds)
{
	struct job *j = &job[n];

	use(n);
	memset(bytes(RING(0), 0x20000), 0, 0x20000);
	drive(0, 2, ALL);
	make(0, to, MAC(n + 1), 400, 0);
	/* All entries of both rings are buffer 0. */
	set_desc(TX, 0, SEND_AT, HEADER + FRAME, 0, 0);
	set_desc(RX, 0, RECEIVE_AT, 2000, WRITE, 0);
	*j = (struct job){ .vm = vm, .rounds = rounds };
	assert_int_equal(pthread_create(&thread[n], NULL, sender, j), 0);
}

static void end(void)
{
	for (unsigned n = 0; n < 2; n++)
		pthread_join(thread[n], NULL);
}

/* What has come, whole, the next of its sender, who may send one more. */
static void check_frame(const u8 *p, u32 size, u32 last[2])
{
	const struct net_header *h = (const void *)p;
	const u8 *frame = p + HEADER;
	unsigned from = frame[11] - 1u;
	u32 word;

	assert_int_equal(size, HEADER + FRAME);
	assert_int_equal(h->num_buffers, 1);
	assert_in_range(from, 0, 1);
	++last[from];
	for (u32 i = HEADERS; i < FRAME; i += sizeof(word)) {
		memcpy(&word, frame + i, sizeof(word));
		assert_int_equal(word, last[from]);
	}
}

/* Two to one, whose driver gives back what it has got: nothing is mixed, lost or out of order. */
static void test_two_senders(void **)
{
	u32 last[2] = { 0 };
	struct net_counts c;
	u8 *ram;

	use(2);
	drive(0, 2, ALL);
	for (unsigned i = 0; i < BUFFERS; i++)
		offer_buffer(2000);
	ram = guest_ptr(vm, gpa(0), GUEST_RAM);
	for (unsigned n = 0; n < 2; n++) {
		begin(n, MAC(3), ROUNDS);
		let_send(n, BUFFERS / 2);
	}
	use(2);
	for (u32 all = 0; all < 2 * ROUNDS; all++) {
		u32 entry[2], before = last[0];

		while (load16(ram + USED(RX) + 2) == (u16)all)
			sched_yield();
		memcpy(entry, ram + USED(RX) + 4 + all % 128 * 8, sizeof(entry));
		check_frame(ram + RECEIVE_AT + entry[0] * 0x2000ul, entry[1], last);
		memcpy(ram + AVAIL(RX) + 4 + offered[RX] % 128u * 2, entry, 2);
		store16(ram + AVAIL(RX) + 2, ++offered[RX]);
		let_send(last[0] == before, 1);
		/* Another vCPU of one that sends. */
		if (all % 8 == 0)
			guest_store(guest[0].vm, guest[0].vm->virtual->bar + NOTIFY(TX), 2, TX);
	}
	end();
	assert_true(vm_net_counts(vm, 0, &c));
	assert_int_equal(c.got.frames, 2 * ROUNDS);
	assert_int_equal(c.got.bytes, 2 * ROUNDS * FRAME);
	assert_int_equal(c.drop[NET_DROP_NO_BUFFER], 0);
}

/* A step of both senders begins, behind the last one; they are in the middle of it. */
static void step(void)
{
	for (unsigned n = 0; n < 2; n++)
		while (has_sent(n) < job[n].may)
			sched_yield();
	for (unsigned n = 0; n < 2; n++)
		let_send(n, STEP);
	for (unsigned n = 0; n < 2; n++)
		while (has_sent(n) < job[n].may - STEP + 3)
			sched_yield();
}

static void receive_anew(unsigned n)
{
	use(n);
	memset(bytes(RING(0), 0x20000), 0, 0x20000);
	offered[RX] = 0;
	drive(0, 2, ALL);
	for (unsigned i = 0; i < BUFFERS; i++)
		offer_buffer(2000);
}

/* What its driver has given back is full of this from here on. */
static void fill_used(void)
{
	memset(bytes(USED(RX), 1024), 0xa5, 1024);
}

static void assert_nothing_used(void)
{
	for (u64 at = USED(RX); at < USED(RX) + 1024; at += 8)
		assert_int_equal(ram(at, 8), 0xa5a5a5a5a5a5a5a5);
}

/* The first vCPU of guest n leaves. */
static void leave(unsigned n)
{
	for (unsigned i = 0; i < guest[n].vm->nr_devices; i++)
		if (__start_vdevs[i]->vcpu_stop)
			__start_vdevs[i]->vcpu_stop(guest[n].vm->vcpus[0], guest[n].vm->device[i]);
}

/*
 * Two that send to each other, and to one that ends and comes back: nobody writes to what was its,
 * memory or port.
 */
static void test_receiver_ends(void **)
{
	for (unsigned n = 0; n < 2; n++)
		begin(n, BROADCAST, 2 * STEPS * STEP);
	for (unsigned i = 0; i < STEPS; i++) {
		receive_anew(2);
		step();
		assert_true(used(RX) > 0);
		leave(2);
		fill_used();
		sched_yield();
		assert_nothing_used();
		now = NULL;
		stop(2);
		/* Its memory is not there any more. */
		step();
		start(2);
	}
	end();
}

/*
 * The same with one that resets itself, moves and takes off its interrupts, and reads its registers
 * in both ways; each when others have been there since it had the second lock last.
 */
static void test_receiver_resets(void **)
{
	for (unsigned n = 0; n < 2; n++)
		begin(n, BROADCAST, 4 * STEPS * STEP);
	for (unsigned i = 0; i < STEPS; i++) {
		u16 window;

		receive_anew(2);
		window = (u16)function(0)->window;
		config_write(0, window + 8, 4, 0x800);
		config_write(0, window + 12, 4, 1);
		step();
		assert_true(used(RX) > 0);
		set_vector(0, RX + 1, 0x50);
		step();
		config_read(0, window + 16, 1);
		step();
		config_write(0, PCI_HEADER_END + PCI_MSIX_CONTROL, 2, 0);
		get(0, 0x800, 1);
		put(0, STATUS, 1, 0);
		fill_used();
		step();
		assert_nothing_used();
	}
	end();
}

/*
 * The same with one that breaks a queue, the one that others fill or its own, and asks meanwhile
 * for its own to be looked at: it gets nothing more, though it mends that, until it is reset.
 */
static void test_receiver_breaks(void **)
{
	for (unsigned n = 0; n < 2; n++)
		begin(n, BROADCAST, 3 * STEPS * STEP);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned queue = i % 2 ? TX : RX;

		receive_anew(2);
		step();
		store16(bytes(AVAIL(queue) + 2, 2), 0x8000);
		for (unsigned k = 0; k < STEP; k++)
			put(0, NOTIFY(TX), 2, TX);
		step();
		assert_true(get(0, STATUS, 1) & 0x40);
		fill_used();
		store16(bytes(AVAIL(RX) + 2, 2), (u16)(BUFFERS + 1));
		step();
		assert_nothing_used();
	}
	end();
}

/*
 * The same with one that gives commands meanwhile, and sends: its control queue is its own CPU's,
 * where a second pair could be (5.1.2), and behind that.
 */
static void test_receiver_commands(void **)
{
	for (unsigned pairs = 1; pairs <= 2; pairs++) {
		unsigned control = 2 * pairs;

		stop(2);
		fake_vm_vcpus = pairs;
		start(2);
		fake_vm_vcpus = 0;
		memset(bytes(RING(0), 0x50000), 0, 0x50000);
		drive(0, control + 1, ALL | CTRL | (pairs > 1 ? MQ : 0));
		for (unsigned n = 0; n < 2; n++)
			begin(n, BROADCAST, 2 * STEPS * STEP);
		use(2);
		for (u16 i = 0; i < BUFFERS; i++) {
			set_desc(2, i, RECEIVE_AT + i * 0x2000ul, 2000, WRITE, 0);
			offer_buffer(2000);
			if (pairs > 1)
				offer(2, i);
		}
		make(0, MAC(9), MAC(3), 400, 0);
		set_desc(control - 1, 0, SEND_AT, HEADER + FRAME, 0, 0);
		set_desc(control, 0, SEND_AT + SLOT, 4, NEXT, 1);
		set_desc(control, 1, SEND_AT + SLOT + 8, 1, WRITE, 0);
		for (unsigned i = 0; i < STEPS; i++) {
			memcpy(bytes(SEND_AT + SLOT, 4), (u8[]){ 4, 0, (u8)(2 - i % 2), 0 }, 4);
			for (unsigned queue = control - 1; queue <= control; queue++) {
				step();
				offer(queue, 0);
				put(0, NOTIFY(queue), 2, queue);
				assert_int_equal(used(queue), i + 1);
			}
			assert_int_equal(ram(SEND_AT + SLOT + 8, 1), pairs == 1);
		}
		end();
		assert_true(used(RX) > 0);
	}
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_two_senders),       TEST(test_receiver_ends),
		TEST(test_receiver_resets),   TEST(test_receiver_breaks),
		TEST(test_receiver_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
