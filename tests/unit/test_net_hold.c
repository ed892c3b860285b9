/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/virtio_net.sources vmm/config/config_net.c lib/span.c @tests/unit/fake_vm.sources -O2 -mno-red-zone -fno-sanitize=all -Dmemcpy=counted_memcpy */
/*
 * How long one who sends, or a driver that receives, keeps the others from a segment: the
 * instructions of the calls that hold its lock, by the trap flag (SDM vol. 3, 18.3.1.4), beside
 * those of a plain frame of 64 KiB. A copy counts as the image's own memcpy() would: an instruction
 * for each 8 bytes.
 */
#define _GNU_SOURCE
#include <signal.h>

#define NET_GUESTS 20u
#include "tests/unit/net_guests.h"

#define MOST 128u /* entries of a ring */
#define TABLE 0x60000u /* of descriptors, in turn */
#define LARGE 65450u /* bytes of data of a large frame */

static volatile u64 steps;
static u32 table_at;

static void trap(bool on)
{
	asm volatile("pushfq\n\tandl $~0x100, (%%rsp)\n\torl %0, (%%rsp)\n\tpopfq" : : "r"(on << 8)
		     : "memory", "cc");
}

/* Not stepped through: what it takes is known. */
void *memcpy(void *to, const void *from, size_t n)
{
	bool counting = steps;

	trap(false);
	__builtin_memmove(to, from, n);
	steps += counting ? n / 8 + n % 8 : 0;
	trap(counting);
	return to;
}

static void step(int)
{
	steps++;
}

/* The instructions of a call. */
static u64 count(void (*fn)(void))
{
	u64 taken;

	steps = 1;
	trap(true);
	fn();
	trap(false);
	taken = steps;
	steps = 0;
	return taken;
}

/* ---- what is offered ---- */

/* `size` bytes from `at` on, cut into `n` buffers, as one chain: an indirect table. */
static void offer_cut(unsigned queue, u64 at, u32 size, unsigned n, u16 flags)
{
	u16 head = offered[queue] % MOST;

	for (unsigned i = 0; i < n; i++) {
		u32 from = (u32)((u64)size * i / n), to = (u32)((u64)size * (i + 1) / n);

		set_ram(TABLE + table_at + i * 16, at + from, 8);
		set_ram(TABLE + table_at + i * 16 + 8,
			(to - from) | (u64)(flags | (i + 1 < n ? NEXT : 0)) << 32 |
				(u64)(i + 1) << 48,
			8);
	}
	set_desc(queue, head, TABLE + table_at, n * 16, 4, 0);
	offer(queue, head);
	table_at = (table_at + n * 16) % 0x18000;
}

/* `n` chains of `size` bytes in `buffers` pieces to receive into. */
static void receive(unsigned n, u32 size, unsigned buffers)
{
	for (unsigned i = 0; i < n; i++)
		offer_cut(RX, RECEIVE_AT + i * 0x2000, size, buffers, WRITE);
}

/* `n` frames with so much data, in `buffers` pieces each. */
static void queue_frames(unsigned n, u64 to, u32 data, u16 mss, unsigned buffers)
{
	for (unsigned i = 0; i < n; i++)
		offer_cut(TX, make(i % 2, to, MAC(1), data, mss), HEADER + HEADERS + data, buffers,
			  0);
}

static void begin(unsigned n, u32 features)
{
	use(n);
	memset(bytes(RING(0), 0x50000), 0, 0x50000);
	memset(offered, 0, sizeof(offered));
	table_at = 0;
	drive(0, features & MQ ? 5 : 3, features | CTRL);
}

/* ---- the count ---- */

static void go_on(void)
{
	pci_virtual_go_on(vm->vcpus[0]);
}

/* The longer of the first two times that the lock is held for what was offered. */
static u64 longest(void (*fn)(void))
{
	u64 most = 0;

	for (unsigned i = 0; i < 2 && (!i || vm->vcpus[0]->unfinished); i++) {
		u64 taken = count(i ? go_on : fn);

		most = MAX(most, taken);
	}
	return most;
}

static u64 plain(void)
{
	begin(1, ALL);
	receive(43, 1536, 1);
	begin(0, ALL);
	queue_frames(1, MAC(2), LARGE, 1448, 17);
	return longest(notify);
}

static void check(const char *what, u64 got)
{
	static u64 of_plain;

	if (!of_plain)
		of_plain = plain();
	print_message("%-60s %7lu, %lu %% of %lu\n", what, got, got * 100 / of_plain, of_plain);
	assert_in_range(got, 100, 2 * of_plain);
}

/* ---- */

/* One frame, as the sender and the receiver have it in pieces. */
static void test_pieces(void **)
{
	static const struct {
		unsigned sender;
		unsigned chains;
		unsigned size;
		unsigned buffers;
		const char *what;
	} one[] = {
		{ 64, 64, 1025, 1, "a frame in as many buffers as may be, into as many" },
		{ 64, 1, 65600, 64, "the same, into one chain" },
		{ 64, 63, 1030, 1, "the same, into one too few" },
		{ 1024, 64, 1025, 1, "a frame in 1,024 buffers" },
		{ 17, 1, 65600, 1024, "into a chain of 1,024" },
		{ 17, 60, 1025, 64, "into 60 chains of 64 buffers each" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(one); i++) {
		begin(1, ALL);
		receive(one[i].chains, one[i].size, one[i].buffers);
		begin(0, ALL);
		queue_frames(1, MAC(2), LARGE, 1448, one[i].sender);
		check(one[i].what, longest(notify));
	}
}

/* Many small ones. */
static void test_small(void **)
{
	begin(1, ALL);
	receive(MOST, 1536, 1);
	begin(0, ALL);
	queue_frames(100, MAC(2), 10, 0, 1);
	check("100 frames of 64 bytes", longest(notify));
	begin(1, ALL);
	receive(MOST, 2, 1);
	receive(1, HEADER, 1);
	begin(0, ALL);
	queue_frames(100, MAC(2), 10, 0, 1);
	check("100 frames, into chains of two bytes", longest(notify));
	begin(1, 0);
	receive(MOST, 1526, 64);
	begin(0, ALL);
	queue_frames(60, MAC(2), 1460, 0, 64);
	check("60 frames, in 64 buffers each, into as many", longest(notify));
	begin(0, ALL);
	for (unsigned i = 0; i < 90; i++)
		offer_cut(TX, SEND_AT, 70000, 64, 0);
	check("90 chains that are no frames", longest(notify));
}

/* What the switch does in the receiver's stead. */
static void test_cut(void **)
{
	for (unsigned i = 0; i < 2; i++) {
		begin(1, 0);
		receive(MOST, 1526, i ? 64 : 1);
		begin(0, ALL);
		queue_frames(1, MAC(2), LARGE, 1448, 64);
		check(i ? "a large frame, cut, into chains of 64 buffers" : "a large frame, cut",
		      longest(notify));
	}
	begin(1, 0);
	receive(MOST, 1526, 1);
	begin(0, ALL);
	queue_frames(1, MAC(2), LARGE, NET_MSS_MIN, 17);
	check("a large frame, cut into pieces of 48 bytes", longest(notify));
	queue_frames(40, MAC(2), 1440, 1448, 1);
	begin(1, 0);
	receive(MOST, 1526, 1);
	begin(0, ALL);
	for (unsigned i = 0; i < 40; i++) {
		queue_frames(1, MAC(2), 1440, 1, 1);
		bytes(SEND_AT, HEADER)[1] = 0;
	}
	check("40 frames whose checksum is to be filled in", longest(notify));
}

/* To all, of whom each has a table of addresses. */
static void test_all(void **)
{
	for (unsigned n = 0; n < NET_GUESTS; n++)
		stop(n);
	fake_vm_config.net[0].bridge = true;
	for (unsigned n = 0; n < NET_GUESTS; n++)
		start(n);
	fake_vm_config.net[0].bridge = false;
	for (unsigned n = 1; n < NET_GUESTS; n++) {
		begin(n, ALL);
		receive(60, 1536, 1);
	}
	begin(0, ALL);
	queue_frames(50, 0x100000000002, 10, 0, 1);
	check("50 frames to an address that nobody has, to 19 bridges", longest(notify));
	begin(0, ALL);
	queue_frames(1, BROADCAST, LARGE, 1448, 17);
	check("a large frame to 19", longest(notify));
}

/* Frames to nobody that are taken at once, where each of the others is a bridge, or none is. */
static unsigned taken(bool bridges)
{
	for (unsigned n = 0; n < NET_GUESTS; n++)
		stop(n);
	fake_vm_config.net[0].bridge = bridges;
	for (unsigned n = 0; n < NET_GUESTS; n++)
		start(n);
	fake_vm_config.net[0].bridge = false;
	begin(0, ALL);
	queue_frames(50, 0x100000000002, 10, 0, 1);
	notify();
	return used(TX);
}

/* The tables of bridges that an address is looked up in count as work. */
static void test_bridges_cost(void **)
{
	unsigned without = taken(false);

	assert_in_range(without, 10, 49);
	assert_in_range(taken(true), 1, without / 2);
}

/* Puts a tag of VLAN 20 into the frame at `at`. */
static void tag(u64 at)
{
	struct net_header *h = (void *)bytes(at, HEADER);
	u8 *p = bytes(at + HEADER, 0x18000);

	memmove(p + 16, p + 12, 0x17000);
	__builtin_memcpy(p + 12, (u8[]){ 0x81, 0, 0, 20 }, 4);
	h->csum_start += 4;
}

/* Frames whose tag is taken away for each of those that get them; of large pieces, too. */
static void test_tags(void **)
{
	for (unsigned n = 0; n < NET_GUESTS; n++)
		stop(n);
	for (unsigned n = 0; n < NET_GUESTS; n++) {
		fake_vm_config.net[0] = (struct vm_config_net){ .segment = "lan0",
								.mtu = 9000,
								.pvid = n ? 20 : 0,
								.nr_trunk = 1,
								.trunk = { { 20, 20 } } };
		start(n);
	}
	for (unsigned n = 1; n < NET_GUESTS; n++) {
		begin(n, ALL);
		receive(60, 1536, 1);
	}
	begin(0, ALL);
	tag(make(0, BROADCAST, MAC(1), 10, 0));
	bytes(SEND_AT, HEADER)[0] = 0;
	for (unsigned i = 0; i < 50; i++)
		offer_cut(TX, SEND_AT, HEADER + HEADERS + 14, 1, 0);
	check("50 frames with a tag to 19 that want none", longest(notify));
	begin(1, MRG);
	receive(MOST, 1536, 1);
	begin(0, ALL);
	tag(make(0, MAC(2), MAC(1), LARGE, 8900));
	offer_cut(TX, SEND_AT, HEADER + HEADERS + 4 + LARGE, 64, 0);
	check("a large frame with a tag, cut into pieces of 8,900 bytes", longest(notify));
	assert_true(finish() > 0 && used(TX) == 1);
	use(1);
	assert_int_equal(used(RX), (LARGE / 8900) * 6 + 3);
}

/*
 * How many get small frames to all while the lock is held once. The frames come with a tag that is
 * to be taken away, or have none.
 */
static unsigned served(bool tagged)
{
	unsigned all = 0;

	for (unsigned n = 0; n < NET_GUESTS; n++)
		stop(n);
	for (unsigned n = 0; n < NET_GUESTS; n++) {
		fake_vm_config.net[0] = (struct vm_config_net){ .segment = "lan0",
								.pvid = n || !tagged ? 20 : 0,
								.nr_trunk = 1,
								.trunk = { { 20, 20 } } };
		start(n);
	}
	for (unsigned n = 1; n < NET_GUESTS; n++) {
		begin(n, ALL);
		receive(60, 1536, 1);
	}
	begin(0, ALL);
	make(0, BROADCAST, MAC(1), 14, 0);
	if (tagged)
		tag(SEND_AT);
	bytes(SEND_AT, HEADER)[0] = 0;
	for (unsigned i = 0; i < 50; i++)
		offer_cut(TX, SEND_AT, HEADER + HEADERS + 14, 1, 0);
	notify();
	for (unsigned n = 1; n < NET_GUESTS; n++) {
		use(n);
		all += used(RX);
	}
	return all;
}

/* A tag's work counts. */
static void test_tags_cost(void **)
{
	unsigned without = served(false);

	assert_true(without > 1);
	assert_in_range(served(true), 1, without - 1);
}

static void notify_control(void)
{
	put(0, NOTIFY(2), 2, 2);
}

/* By the other queues: commands; and what both pairs and these have left, when its turn comes. */
static void test_queues(void **)
{
	begin(0, ALL);
	for (unsigned i = 0; i < 90; i++)
		offer_cut(2, SEND_AT, 70000, 64, 0);
	check("90 commands", longest(notify_control));
	stop(0);
	fake_vm_vcpus = 2;
	start(0);
	fake_vm_vcpus = 0;
	begin(1, ALL);
	receive(MOST, 1536, 1);
	begin(0, ALL | MQ);
	for (unsigned i = 0; i < 100; i++) {
		queue_frames(1, MAC(2), 10, 0, 1);
		offer_cut(3, make(1, MAC(2), MAC(1), 10, 0), HEADER + HEADERS + 10, 1, 0);
		if (i < 40)
			offer_cut(4, SEND_AT, 70000, 64, 0);
	}
	for (unsigned queue = 1; queue < 5; queue++)
		put(0, NOTIFY(queue), 2, queue);
	check("what two pairs and commands have left", longest(go_on));
	assert_true(finish() > 6 && used(TX) == 100 && used(3) == 100 && used(4) == 40);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_pieces), TEST(test_small), TEST(test_cut),       TEST(test_all),
		TEST(test_queues), TEST(test_tags),  TEST(test_tags_cost), TEST(test_bridges_cost),
	};
	struct sigaction action = { .sa_handler = step };

	sigaction(SIGTRAP, &action, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
