/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/virtio_net.sources vmm/config/config_net.c lib/span.c vmm/vm/devices.c vmm/vm/looks.c vmm/vm/stages.c vmm/node/pause.c @tests/unit/fake_vm.sources -lpthread */
/*
 * Frames between VMs: what drivers that keep the rules of virtio 1.2 (5.1) see of it, and what
 * those that do not make of it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "tests/unit/lost_memory.h"
#include "tests/unit/net_guests.h"
#include "vmm/dev/virtio/virtio_net.h"
#include "vmm/memory/shootdown.h"
#include "vmm/node/pause.h"
#include "vmm/stage.h"
#include "vmm/vm/devices.h"
#include "vmm/vm/vdev.h"

extern const struct vdev *const __start_vdevs[], *const __stop_vdevs[];

/* No mapping is taken from these. */
void shootdown_leave(struct vcpu *) { }

void shootdown_join(struct vcpu *) { }

/* Of the only frame that guest n got: as it was sent, by one buffer. */
static void check_got(unsigned n, u64 frame, u32 size)
{
	u8 *was = bytes(frame + HEADER, size);
	u64 at;

	use(n);
	assert_int_equal(used(RX), 1);
	assert_int_equal(got(0, &at), HEADER + size);
	assert_memory_equal(bytes(at + HEADER, size), was, size);
	assert_int_equal(ram(at + offsetof(struct net_header, num_buffers), 2), 1);
}

static char counts[900];

static void hear_counts(const char *text)
{
	size_t n = strlen(counts);

	snprintf(counts + n, sizeof(counts) - n, "%s\n", text);
}

/* By the line at its end, which it comes to. */
static const char *last_line(unsigned n, char line[300])
{
	const char *from;

	use(n);
	fake_host.log[0] = 0;
	for (const struct vdev *const *d = __start_vdevs; d < __stop_vdevs; d++)
		if ((*d)->vcpu_stop)
			(*d)->vcpu_stop(vm->vcpus[0], vm->device[d - __start_vdevs]);
	from = strstr(fake_host.log, "net0:");
	assert_non_null(from);
	snprintf(line, 300, "%.*s", (int)strcspn(from, "\n"), from);
	return line;
}

/* ---- */

static void test_device(void **)
{
	use(0);
	assert_int_equal(config_read(0, 2, 2), 0x1041);
	config_write(0, PCI_REG_COMMAND, 2, 6);
	assert_int_equal(get(0, QUEUES, 2), 3);
	assert_int_equal(get(0, DEVICE_CONFIG, 4), 0x02);
	assert_int_equal(get(0, DEVICE_CONFIG + 4, 4), 0x10100);
	assert_int_equal(get(0, DEVICE_CONFIG + 8, 4), 1 | MTU << 16);
	put(0, FEATURE_SELECT, 4, 0);
	assert_int_equal(get(0, FEATURE, 4), 0x3003bbab);
	stop(2);
	fake_vm_config.net[0].plain = true;
	fake_vm_vcpus = 2;
	start(2);
	fake_vm_vcpus = 0;
	config_write(0, PCI_REG_COMMAND, 2, 6);
	assert_int_equal(get(0, QUEUES, 2), 5);
	put(0, FEATURE_SELECT, 4, 0);
	assert_int_equal(get(0, FEATURE, 4),
			 BIT(3) | BIT(5) | MRG | BIT(16) | CTRL | MQ | BIT(28) | EVENT_INDEX);
}

static void test_frame(void **)
{
	u64 frame;

	for (unsigned n = 0; n < 3; n++) {
		use(n);
		drive(0, 2, ALL);
		offer_buffer(2000);
	}
	use(0);
	frame = make(0, MAC(2), MAC(1), 100, 0);
	queue_frame(frame, HEADERS + 100);
	sent.count = 0;
	notify();
	/* Sender and receiver have one interrupt each, and the third has nothing. */
	assert_int_equal(used(TX), 1);
	assert_int_equal(ram(USED(TX) + 8, 4), 0);
	assert_int_equal(sent.count, 2);
	assert_ptr_equal(sent.to, guest[1].vm);
	assert_int_equal(sent.data, 0x40);
	memcpy(guest_ptr(guest[1].vm, gpa(frame), 300), guest_ptr(guest[0].vm, gpa(frame), 300),
	       300);
	check_got(1, frame, HEADERS + 100);
	use(2);
	assert_int_equal(used(RX), 0);
	/* All but the sender. */
	use(1);
	offer_buffer(2000);
	use(0);
	send(BROADCAST, 10, 0);
	assert_int_equal(used(RX), 0);
	use(1);
	assert_int_equal(used(RX), 2);
	use(2);
	assert_int_equal(used(RX), 1);
}

/* The driver need not notify of buffers to receive into, but of all else. */
static void test_notifications(void **)
{
	use(0);
	memset(bytes(RING(0), 0x50000), 0, 0x50000);
	drive(0, 3, ALL | CTRL);
	assert_int_equal(ram(USED(RX), 2), 1);
	assert_int_equal(ram(USED(TX), 2), 0);
	assert_int_equal(ram(USED(2), 2), 0);
	/* By event index: nothing is asked for, though it was empty. */
	use(1);
	drive(0, 2, ALL | EVENT_INDEX);
	set_ram(USED(RX) + 4 + 8 * 128, 0x7777, 2);
	use(0);
	send(MAC(2), 10, 0);
	use(1);
	assert_int_equal(ram(USED(RX) + 4 + 8 * 128, 2), 0x7777);
}

static void test_merged(void **)
{
	char line[300];
	u64 frame, at;
	u32 total = 0;

	use(1);
	drive(0, 2, ALL);
	for (unsigned i = 0; i < 8; i++)
		offer_buffer(4096);
	use(0);
	drive(0, 2, ALL);
	frame = make(0, MAC(2), MAC(1), 30000, 1400);
	queue_frame(frame, HEADERS + 30000);
	sent.count = 0;
	notify();
	assert_int_equal(sent.count, 2);
	use(1);
	assert_int_equal(used(RX), 8);
	for (unsigned i = 0; i < 8; i++) {
		u32 skip = i ? 0 : HEADER, n = got(i, &at) - skip;

		assert_memory_equal(bytes(at + skip, n),
				    guest_ptr(guest[0].vm, gpa(frame + HEADER + total), n), n);
		total += n;
	}
	assert_int_equal(total, HEADERS + 30000);
	got(0, &at);
	assert_memory_equal(bytes(at, HEADER),
			    (&(struct net_header){ 1, NET_GSO_TCPV4, HEADERS, 1400, 34, 16, 8 }),
			    HEADER);
	/* One buffer too few: none is taken, and the next frame has them all. */
	for (unsigned i = 0; i < 3; i++)
		offer_buffer(1000);
	use(0);
	send(MAC(2), 3000, 1400);
	use(1);
	assert_int_equal(used(RX), 8);
	use(0);
	send(MAC(2), 2900, 1400);
	use(1);
	assert_int_equal(used(RX), 11);
	counts[0] = 0;
	vm_device_counts(guest[1].vm, hear_counts);
	assert_string_equal(
		counts, "net=0\tsegment=lan0\t"
			"sent=0\tsent_bytes=0\treceived=2\treceived_bytes=33008\tdropped=1\tbad=0\n"
			"net=0\tsegment=lan0\treason=no_buffer\tframes=1\n"
			"net=0\tsegment=lan0\treason=paused\tframes=0\n"
			"net=0\tsegment=lan0\treason=malformed\tframes=0\n"
			"net=0\tsegment=lan0\treason=too_large\tframes=0\n"
			"net=0\tsegment=lan0\treason=wrong_address\tframes=0\n"
			"net=0\tsegment=lan0\treason=wrong_vlan\tframes=0\n");
	counts[0] = 0;
	vm_device_counts(guest[0].vm, hear_counts);
	assert_non_null(strstr(
		counts,
		"net=0\tsegment=lan0\t"
		"sent=3\tsent_bytes=36062\treceived=0\treceived_bytes=0\tdropped=0\tbad=0\n"));
	assert_string_equal(
		last_line(1, line),
		"net0: sent=0 large=0 bytes=0 received=2 large=2 bytes=33008 dropped=1 bad=0");
	assert_string_equal(
		last_line(0, line),
		"net0: sent=3 large=3 bytes=36062 received=0 large=0 bytes=0 dropped=0 bad=0");
}

/* A frame that is cut finds one buffer for its three pieces: each of the others is one lost. */
static void test_cut_short(void **)
{
	use(1);
	drive(0, 2, MRG);
	offer_buffer(2000);
	use(0);
	drive(0, 2, ALL);
	send(MAC(2), 3000, 1000);
	finish();
	use(1);
	assert_int_equal(used(RX), 1);
	assert_int_equal(dropped(1, NET_DROP_NO_BUFFER), 2);
}

/*
 * num_buffers lies in two buffers, one byte each; and a driver that offers nothing but empty ones.
 */
static void test_shapes(void **)
{
	u64 at = RECEIVE_AT;

	use(1);
	drive(0, 2, ALL);
	set_desc(RX, 0, at, 11, NEXT | WRITE, 1);
	set_desc(RX, 1, at + 0x2000, 0, NEXT | WRITE, 2);
	set_desc(RX, 2, at + 0x4000, 100, WRITE, 0);
	offer(RX, 0);
	set_desc(RX, 3, at + 0x6000, 2000, WRITE, 0);
	offer(RX, 3);
	set_ram(at + 11, 0x55, 1);
	use(0);
	drive(0, 2, ALL);
	send(MAC(2), 400, 0);
	use(1);
	assert_int_equal(used(RX), 2);
	assert_int_equal(ram(at + 10, 2), 0x5502);
	assert_int_equal(ram(at + 0x4000, 1), 0);
	for (unsigned i = 4; i < 120; i++) {
		set_desc(RX, i, at, i == 4 ? HEADER : 0, WRITE, 0);
		offer(RX, (u16)i);
	}
	use(0);
	send(MAC(2), 400, 0);
	use(1);
	assert_int_equal(used(RX), 2);
	/* Or one with buffers without end. */
	put(0, STATUS, 1, 0);
	memset(bytes(RING(0), 0x10000), 0, 0x10000);
	memset(offered, 0, sizeof(offered));
	drive(0, 2, ALL);
	for (unsigned i = 0; i < 300; i++) {
		set_ram(0x70000 + i * 16, at + i * 8, 8);
		set_ram(0x70008 + i * 16, 8 | (u64)(NEXT | WRITE) << 32 | (u64)(i + 1) << 48, 8);
	}
	set_ram(0x70008 + 64 * 16, 8 | (u64)WRITE << 32, 8);
	set_desc(RX, 0, 0x70000, 65 * 16, 4, 0);
	offer(RX, 0);
	use(0);
	send(MAC(2), 40, 0);
	use(1);
	assert_int_equal(used(RX), 0);
	set_ram(0x70008 + 63 * 16, 8 | (u64)WRITE << 32, 8);
	use(0);
	send(MAC(2), 400, 0);
	use(1);
	assert_int_equal(used(RX), 1);
}

/* Buffers, the sender's and the receiver's, that end nowhere together: each byte has its place. */
static void test_scattered(void **)
{
	static const u32 cut[] = { 5, 20, 0, 140, 1, 700, 2200 }, room[] = { 11, 3, 400 };
	u32 done = 0, size = HEADER + HEADERS + 3000;
	u64 frame;

	use(1);
	drive(0, 2, ALL);
	for (unsigned i = 0; i < 30; i++) {
		set_desc(RX, i, RECEIVE_AT + i * 0x1000, room[i % 3],
			 (u16)(WRITE | (i % 3 < 2 ? NEXT : 0)), (u16)(i + 1));
		if (i % 3 == 0)
			offer(RX, (u16)i);
	}
	use(0);
	drive(0, 2, ALL);
	frame = make(0, MAC(2), MAC(1), 3000, 1400);
	for (unsigned i = 0; i < ARRAY_SIZE(cut); i++) {
		set_desc(TX, i, frame + done, cut[i], i + 1 < ARRAY_SIZE(cut) ? NEXT : 0,
			 (u16)(i + 1));
		done += cut[i];
	}
	assert_int_equal(done, size);
	offer(TX, 0);
	notify();
	memcpy(bytes(frame, HEADER),
	       (&(struct net_header){ 1, NET_GSO_TCPV4, HEADERS, 1400, 34, 16, 8 }), HEADER);
	use(1);
	assert_int_equal(used(RX), 8);
	done = 0;
	for (unsigned i = 0; i < 24; i++) {
		u32 n = MIN(room[i % 3], size - done);

		assert_memory_equal(bytes(RECEIVE_AT + i * 0x1000, n),
				    guest_ptr(guest[0].vm, gpa(frame + done), n), n);
		done += n;
		if (i % 3 == 2)
			assert_int_equal(ram(USED(RX) + 4 + i / 3 * 8, 8),
					 (i - 2) | (u64)(i < 23 ? 414 : size - 7 * 414) << 32);
	}
	assert_int_equal(done, size);
}

/* `n` buffers of so many bytes each, as one chain of an indirect table, to receive into. */
static void offer_cut(u64 at, unsigned n, u32 size)
{
	u64 table = 0x70000 + offered[RX] % 16u * 0x800;

	for (unsigned i = 0; i < n; i++) {
		set_ram(table + i * 16, at, 8);
		set_ram(table + i * 16 + 8,
			size | (u64)(WRITE | (i + 1 < n ? NEXT : 0)) << 32 | (u64)(i + 1) << 48, 8);
	}
	set_desc(RX, offered[RX] % 128u, table, n * 16, 4, 0);
	offer(RX, offered[RX] % 128u);
}

/* With a page that may be lost, in the second guest. */
static void start_over(void)
{
	fake_host.nr_lost = 0;
	teardown(NULL);
	setup(NULL);
	use(1);
	drive(0, 2, ALL);
	fake_host.lost[0] = guest[1].vm->extent[0].base.v + RECEIVE_AT + PAGE_SIZE;
}

/* Of a frame's room: in the first chain the header's, and so many buffers, and pieces, in all. */
static void test_room(void **)
{
	static const struct {
		u64 at;
		u32 first;
		u32 size;
		unsigned buffers; /* of each of two chains */
		bool fits;
	} table[] = {
		{ RECEIVE_AT, HEADER - 1, 2000, 1, false },
		{ RECEIVE_AT, HEADER, 2000, 1, true },
		{ RECEIVE_AT, 20, 20, 32, true },
		{ RECEIVE_AT, 20, 20, 33, false },
		/* Up to a page that is lost; half in it, and all. */
		{ RECEIVE_AT + PAGE_SIZE - 20, 20, 20, 32, true },
		{ RECEIVE_AT + PAGE_SIZE - 10, 20, 20, 32, false },
		{ RECEIVE_AT + PAGE_SIZE + 100, 2000, 2000, 1, false },
	};
	static const u32 large = 800;

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		start_over();
		fake_host.nr_lost = i > 3;
		offer_cut(table[i].at, table[i].buffers, table[i].first);
		offer_cut(table[i].at, table[i].buffers, table[i].size);
		use(0);
		drive(0, 2, ALL);
		send(MAC(2), 700, 0);
		use(1);
		assert_int_equal(used(RX), table[i].fits ? 2 : 0);
		assert_int_equal(dropped(1, NET_DROP_NO_BUFFER), !table[i].fits);
	}
	/* Behind what a frame needs as many pieces as there may be, or more: two each. */
	for (unsigned n = 48; n < 50; n++) {
		start_over();
		fake_host.nr_lost = 1;
		offer_cut(RECEIVE_AT + PAGE_SIZE - 10, n + 1, 20);
		set_ram(0x70000, RECEIVE_AT, 8);
		set_ram(0x70008, large, 4);
		use(0);
		drive(0, 2, ALL);
		send(MAC(2), 700, 0);
		use(1);
		assert_int_equal(used(RX), n == 48);
	}
	fake_host.nr_lost = 0;
}

/* What is to be cut or summed cannot be read: the sender's fault. */
static void test_not_all_there(void **)
{
	use(1);
	drive(0, 2, 0);
	offer_buffer(2000);
	use(0);
	drive(0, 2, ALL);
	for (unsigned large = 0; large < 2; large++) {
		u8 *p = bytes(make(0, MAC(2), MAC(1), 1000, large ? 900 : 1), 300);

		p[1] = large ? NET_GSO_TCPV4 : 0;
		memcpy(bytes(GUEST_RAM - 300, 300), p, 300);
		queue_frame(GUEST_RAM - 300, HEADERS + 1000);
		notify();
		finish();
		assert_int_equal(used(TX), large + 1);
		assert_int_equal(dropped(0, NET_DROP_MALFORMED), large + 1);
	}
	use(1);
	assert_int_equal(used(RX), 0);
}

/*
 * A driver that takes neither large frames nor unfinished checksums, with mergeable buffers and
 * without.
 */
static void test_made_plain(void **)
{
	for (unsigned merged = 0; merged < 2; merged++) {
		u32 first = merged ? 6 : 0, total = 0;

		use(1);
		drive(0, 2, merged ? MRG : 0);
		memset(bytes(RING(0), 0x20000), 0, 0x20000);
		memset(offered, 0, sizeof(offered));
		drive(0, 2, merged ? MRG : 0);
		for (unsigned i = 0; i < 4; i++)
			offer_buffer(1526);
		use(0);
		memset(bytes(RING(0), 0x20000), 0, 0x20000);
		memset(offered, 0, sizeof(offered));
		drive(0, 2, ALL);
		send(MAC(2), 2500 + first, 1000);
		/* Unfinished. */
		make(0, MAC(2), MAC(1), 99, 1);
		bytes(SEND_AT, HEADER)[1] = 0;
		queue_frame(SEND_AT, HEADERS + 99);
		notify();
		use(1);
		assert_int_equal(used(RX), 4);
		for (unsigned i = 0; i < 4; i++) {
			u64 at;
			u32 size = got(i, &at) - (u32)HEADER;
			const u8 *p = bytes(at + HEADER, size);

			assert_memory_equal(bytes(at, HEADER),
					    (&(struct net_header){ .num_buffers = 1 }), HEADER);
			assert_int_equal(sum(sum(6 + size - 34, p + 26, 8), p + 34, size - 34),
					 0xffff);
			total += size - HEADERS;
		}
		assert_int_equal(total, 2500 + first + 99);
	}
}

/* What is no frame, or asks for what was not negotiated: nobody gets it, and it comes back. */
static void test_bad(void **)
{
	char line[300];
	unsigned n = 0;

	use(1);
	drive(0, 2, ALL);
	for (unsigned i = 0; i < 60; i++)
		offer_buffer(4096);
	use(0);
	drive(0, 2, MRG);
	send(MAC(2), 3000, 1400), n++;
	make(0, MAC(2), MAC(1), 99, 1);
	bytes(SEND_AT, HEADER)[1] = 0;
	queue_frame(SEND_AT, HEADERS + 99), n++;
	make(1, MAC(2), MAC(1), 3000, 0);
	queue_frame(SEND_AT + SLOT, 13), n++;
	queue_frame(SEND_AT + SLOT, 14 + MTU + 1), n++;
	queue_frame(SEND_AT + SLOT, 0x1000000), n++;
	queue_frame(GUEST_RAM - 100, 1000), n++;
	queue_frame(0xfee00000, 1000), n++;
	/* In 65 buffers. */
	for (unsigned i = 0; i < 65; i++) {
		set_ram(0x70000 + i * 16, SEND_AT + SLOT + i * 16, 8);
		set_ram(0x70008 + i * 16, 16 | (u64)(i < 64) << 32 | (u64)(i + 1) << 48, 8);
	}
	set_desc(TX, 127, 0x70000, 65 * 16, 4, 0);
	offer(TX, 127), n++;
	/* Only its header can be read, and its first bytes. */
	make(1, MAC(2), MAC(1), 1000, 0);
	memcpy(bytes(GUEST_RAM - 300, 300), bytes(SEND_AT + SLOT, 300), 300);
	queue_frame(GUEST_RAM - 300, 1000);
	notify();
	finish();
	assert_int_equal(used(TX), n + 1);
	use(1);
	assert_int_equal(used(RX), 0);
	assert_string_equal(
		last_line(1, line),
		"net0: sent=0 large=0 bytes=0 received=0 large=0 bytes=0 dropped=1 bad=0");
	use(0);
	assert_int_equal(n, 8);
	assert_int_equal(dropped(1, NET_DROP_NO_BUFFER), 1);
	assert_int_equal(dropped(0, NET_DROP_TOO_LARGE), 2);
	assert_int_equal(dropped(0, NET_DROP_MALFORMED), 6);
	assert_string_equal(
		last_line(0, line),
		"net0: sent=1 large=0 bytes=1000 received=0 large=0 bytes=0 dropped=0 bad=8");
}

/*
 * From an address that is not the interface's nobody gets a frame, but by one that says `bridge`.
 */
static void test_one_address(void **)
{
	char line[300];

	for (unsigned n = 0; n < 3; n++) {
		use(n);
		drive(0, 2, ALL);
		offer_buffer(2000);
		offer_buffer(2000);
	}
	use(0);
	queue_frame(make(0, MAC(3), MAC(2), 10, 0), HEADERS + 10);
	queue_frame(make(1, BROADCAST, MAC(50), 10, 0), HEADERS + 10);
	notify();
	assert_int_equal(used(TX), 2);
	use(2);
	assert_int_equal(used(RX), 0);
	assert_string_equal(
		last_line(0, line),
		"net0: sent=0 large=0 bytes=0 received=0 large=0 bytes=0 dropped=0 bad=2");
	assert_int_equal(dropped(0, NET_DROP_ADDRESS), 2);
	stop(0);
	fake_vm_config.net[0].bridge = true;
	start(0);
	drive(0, 2, ALL);
	offer_buffer(2000);
	queue_frame(make(1, BROADCAST, MAC(50), 10, 0), HEADERS + 10);
	notify();
	use(2);
	assert_int_equal(used(RX), 1);
	/* Its answer goes to the bridge alone. */
	send(MAC(50), 10, 0);
	use(1);
	assert_int_equal(used(RX), 1);
	use(0);
	assert_int_equal(used(RX), 1);
}

/* One exit does what a frame of 64 KiB takes, whatever is offered, and to whomever it goes. */
static void test_bound(void **)
{
	for (unsigned n = 1; n < 3; n++) {
		use(n);
		drive(0, 2, ALL);
		for (unsigned i = 0; i < 128; i++)
			offer_buffer(2000);
	}
	use(0);
	drive(0, 2, ALL);
	for (unsigned i = 0; i < 3; i++)
		queue_frame(make(i, MAC(2), MAC(1), 60000, 1400), HEADERS + 60000);
	notify();
	assert_int_equal(used(TX), 1);
	assert_int_equal(finish(), 2);
	assert_int_equal(used(TX), 3);
	use(1);
	assert_int_equal(used(RX), 3 * 31);
	/* To all: first to one, then to the other. */
	use(0);
	send(BROADCAST, 60000, 1400);
	assert_int_equal(used(TX), 3);
	use(1);
	assert_int_equal(used(RX), 4 * 31);
	for (unsigned i = 0; i < 100; i++)
		offer_buffer(2000);
	use(2);
	assert_int_equal(used(RX), 0);
	use(0);
	assert_int_equal(finish(), 1);
	assert_int_equal(used(TX), 4);
	use(1);
	assert_int_equal(used(RX), 4 * 31);
	use(2);
	assert_int_equal(used(RX), 31);
	/* Reset in between: no frame is half way any more. */
	use(0);
	send(BROADCAST, 60000, 1400);
	memset(bytes(RING(0), 0x20000), 0, 0x20000);
	memset(offered, 0, sizeof(offered));
	drive(0, 2, ALL);
	finish();
	send(BROADCAST, 10, 0);
	use(1);
	assert_int_equal(used(RX), 5 * 31 + 1);
}

static u32 sequence(u64 at)
{
	return __builtin_bswap32((u32)ram(at + HEADER + 38, 4));
}

/*
 * A large frame that is cut for its receiver comes in several goes, each piece once; and a frame is
 * counted once.
 */
static void test_cut_in_goes(void **)
{
	char line[300];

	for (unsigned n = 0; n < 2; n++) {
		use(n);
		drive(0, 2, 0);
		for (unsigned i = 0; i < 120; i++)
			offer_buffer(1526);
	}
	use(2);
	drive(0, 2, ALL);
	queue_frame(make(0, BROADCAST, MAC(3), 60000, 1000), HEADERS + 60000);
	notify();
	assert_int_equal(used(TX), 0);
	use(0);
	assert_in_range(used(RX), 2, 50);
	use(2);
	assert_in_range(finish(), 2, 40);
	assert_int_equal(used(TX), 1);
	use(1);
	assert_int_equal(used(RX), 60);
	use(0);
	assert_int_equal(used(RX), 60);
	for (unsigned i = 0; i < 60; i++) {
		u64 at;

		assert_int_equal(got(i, &at), HEADER + HEADERS + 1000);
		assert_int_equal(sequence(at) - sequence(RECEIVE_AT), i * 1000);
		assert_memory_equal(bytes(at + HEADER + HEADERS, 1000),
				    guest_ptr(guest[2].vm,
					      gpa(SEND_AT + HEADER + HEADERS + i * 1000), 1000),
				    1000);
	}
	assert_string_equal(
		last_line(2, line),
		"net0: sent=1 large=1 bytes=60054 received=0 large=0 bytes=0 dropped=0 bad=0");
}

/*
 * One that waits for the rest of its way: its guest puts another sender's address, or nonsense, in
 * its place.
 */
static void test_other_frame_meanwhile(void **)
{
	char line[300];

	for (unsigned n = 0; n < 2; n++) {
		use(n);
		drive(0, 2, 0);
		for (unsigned i = 0; i < 120; i++)
			offer_buffer(1526);
	}
	use(2);
	drive(0, 2, ALL);
	queue_frame(make(0, BROADCAST, MAC(3), 60000, 1000), HEADERS + 60000);
	notify();
	assert_int_equal(used(TX), 0);
	use(0);
	assert_in_range(used(RX), 2, 50);
	memcpy(guest_ptr(guest[2].vm, gpa(SEND_AT + HEADER + 6), 6), (u8[]){ 2, 0, 0, 0, 0, 2 }, 6);
	use(2);
	finish();
	assert_int_equal(used(TX), 1);
	use(0);
	assert_in_range(used(RX), 2, 50);
	use(1);
	assert_int_equal(used(RX), 0);
	assert_string_equal(
		last_line(2, line),
		"net0: sent=1 large=1 bytes=60054 received=0 large=0 bytes=0 dropped=0 bad=1");
}

/* Receivers that are reset, that may reach no memory, whose vCPU has left, and that are gone. */
static void test_gone(void **)
{
	char line[300];

	use(0);
	drive(0, 2, ALL);
	use(1);
	drive(0, 2, ALL);
	offer_buffer(2000);
	config_write(0, PCI_REG_COMMAND, 2, PCI_COMMAND_MEMORY);
	use(0);
	send(MAC(2), 10, 0);
	use(1);
	assert_int_equal(used(RX), 0);
	config_write(0, PCI_REG_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	put(0, STATUS, 1, 0);
	use(0);
	send(MAC(2), 10, 0);
	use(1);
	drive(0, 2, ALL);
	assert_int_equal(used(RX), 0);
	assert_string_equal(
		last_line(1, line),
		"net0: sent=0 large=0 bytes=0 received=0 large=0 bytes=0 dropped=0 bad=0");
	use(0);
	sent.count = 0;
	send(MAC(2), 10, 0);
	assert_int_equal(sent.count, 1);
	use(1);
	assert_int_equal(used(RX), 0);
	stop(1);
	use(0);
	send(MAC(2), 10, 0);
	send(BROADCAST, 10, 0);
	assert_int_equal(used(TX), 5);
	/* It comes back. */
	start(1);
	drive(0, 2, ALL);
	offer_buffer(2000);
	use(0);
	send(MAC(2), 10, 0);
	use(1);
	assert_int_equal(used(RX), 1);
}

/*
 * The memory of a VM that is paused stays as it is, though others send to it, and one is in the
 * middle of a frame.
 */
static void test_paused(void **)
{
	static u8 before[GUEST_RAM];
	char line[300];

	for (unsigned n = 0; n < 3; n++) {
		use(n);
		drive(0, 2, n == 1 ? 0 : ALL);
		for (unsigned i = 0; i < 100; i++)
			offer_buffer(2000);
	}
	use(0);
	queue_frame(make(0, MAC(2), MAC(1), 60000, 1000), HEADERS + 60000);
	notify();
	assert_int_equal(used(TX), 0);
	assert_int_equal(vm_pause(guest[1].vm), 0);
	use(1);
	assert_in_range(used(RX), 2, 50);
	memcpy(before, bytes(0, GUEST_RAM), GUEST_RAM);
	use(0);
	finish();
	send(MAC(2), 10, 0);
	send(BROADCAST, 10, 0);
	assert_int_equal(used(TX), 3);
	assert_memory_equal(before, guest_ptr(guest[1].vm, gpa(0), GUEST_RAM), GUEST_RAM);
	use(2);
	assert_int_equal(used(RX), 1);
	assert_int_equal(vm_resume(guest[1].vm), 0);
	use(0);
	send(MAC(2), 10, 0);
	use(1);
	assert_memory_not_equal(before, bytes(0, GUEST_RAM), GUEST_RAM);
	assert_non_null(strstr(last_line(1, line), "dropped=3 "));
	assert_int_equal(dropped(1, NET_DROP_PAUSED), 3);
}

extern const struct vdev *const __start_vdevs[];
static unsigned to_others; /* messages to others than the sender */

static void stop_third(void)
{
	struct vm *third = guest[2].vm;

	to_others = sent.count;
	for (unsigned i = 0; i < third->nr_devices; i++)
		if (__start_vdevs[i]->vcpu_stop)
			__start_vdevs[i]->vcpu_stop(third->vcpus[0], third->device[i]);
}

static void third_is_no_master(void)
{
	use(2);
	config_write(0, PCI_REG_COMMAND, 2, PCI_COMMAND_MEMORY);
	use(0);
}

/*
 * A batch ends with one interrupt for each receiver, and none for one that may reach no memory any
 * more, or has stopped, since it got its frames.
 */
static void test_stopped_meanwhile(void **)
{
	static void (*const then[])(void) = { NULL, third_is_no_master, stop_third };

	for (unsigned i = 0; i < ARRAY_SIZE(then); i++) {
		for (unsigned n = 1; n < 3; n++) {
			use(n);
			drive(0, 2, ALL);
			for (unsigned k = 0; k < 8; k++)
				offer_buffer(2000);
		}
		use(0);
		drive(0, 2, ALL);
		for (unsigned k = 0; k < 3; k++)
			queue_frame(make(k, BROADCAST, MAC(1), 10, 0), HEADERS + 10);
		set_ram(AVAIL(TX), 1, 2); /* it wants none itself */
		sent.count = 0;
		on_message = then[i];
		notify();
		assert_int_equal(used(TX), 3);
		assert_int_equal(sent.count, i ? 1 : 2);
		use(2);
		assert_int_equal(used(RX), 3);
		for (unsigned n = 0; n < 3; n++) {
			use(n);
			memset(bytes(RING(0), 0x20000), 0, 0x20000);
			memset(offered, 0, sizeof(offered));
		}
	}
	assert_int_equal(to_others, 1);
}

/* What a receiver's driver lets be read only, before what may be written, is no room: of each. */
static void test_read_only(void **)
{
	const unsigned first = 40 - HEADER, rest = HEADERS + 100 - first;
	const u8 *was;

	use(1);
	drive(0, 2, ALL);
	memset(bytes(RECEIVE_AT, 0x8000), 0x5a, 0x8000);
	/* One before in many pieces, of which nothing is to be left in the list. */
	for (u16 i = 8; i < 16; i++)
		set_desc(RX, i, RECEIVE_AT + 0x1000ul * i, 40, i < 15 ? NEXT | WRITE : WRITE,
			 i + 1);
	offer(RX, 8);
	for (u16 i = 0; i < 4; i += 2) {
		u64 at = RECEIVE_AT + i * 0x2000ul;

		set_desc(RX, i, at, 50, NEXT, i + 1);
		set_desc(RX, i + 1u, at + 0x2000, i ? 2000 : 40, WRITE, 0);
		offer(RX, i);
	}
	use(0);
	drive(0, 2, ALL);
	send(MAC(2), 100, 0);
	send(MAC(2), 100, 0);
	was = bytes(SEND_AT + HEADER, HEADERS + 100);
	use(1);
	assert_int_equal(used(RX), 3);
	for (unsigned k = 0; k < 50; k++)
		assert_true(ram(RECEIVE_AT + k, 1) == 0x5a &&
			    ram(RECEIVE_AT + 0x4000 + k, 1) == 0x5a);
	assert_memory_equal(bytes(RECEIVE_AT + 0x2000 + HEADER, first), was, first);
	assert_memory_equal(bytes(RECEIVE_AT + 0x6000, rest), was + first, rest);
	assert_int_equal(ram(RECEIVE_AT + 0x6000 + rest, 1), 0x5a);
}

/* Where a driver takes no frame in several buffers it comes in one, or is lost. */
static void test_one_chain(void **)
{
	use(1);
	drive(0, 2, ALL & ~MRG);
	offer_buffer(100);
	offer_buffer(100);
	use(0);
	drive(0, 2, ALL);
	send(MAC(2), 60, 0);
	use(1);
	assert_int_equal(used(RX), 0);
	assert_int_equal(dropped(1, NET_DROP_NO_BUFFER), 1);
	use(0);
	send(MAC(2), 10, 0);
	use(1);
	assert_int_equal(used(RX), 1);
}

/* An interface that is isolated gets frames of those only that are not, whomever they are for. */
static void test_isolated(void **)
{
	fake_vm_config.net[0].isolated = true;
	for (unsigned n = 0; n < 2; n++) {
		stop(n);
		start(n);
	}
	fake_vm_config.net[0].isolated = false;
	for (unsigned n = 0; n < 3; n++) {
		use(n);
		drive(0, 2, ALL);
		for (unsigned i = 0; i < 4; i++)
			offer_buffer(2000);
	}
	use(0);
	send(BROADCAST, 10, 0);
	send(MAC(2), 10, 0);
	use(1);
	assert_int_equal(used(RX), 0);
	use(2);
	assert_int_equal(used(RX), 1);
	send(MAC(2), 10, 0);
	use(1);
	assert_int_equal(used(RX), 1);
}

static u64 held;

static struct port *port_of(unsigned n)
{
	return container_of(guest[n].vm->virtual, struct port, virtio.pci);
}

static void look_at_held(void)
{
	held = port_of(0)->held;
}

/* Who has got a frame of a batch is held until its end. */
static void test_held(void **)
{
	use(0);
	drive(0, 2, ALL);
	for (unsigned n = 1; n < 3; n++)
		queue_frame(make(n, MAC(n + 1), MAC(1), 10, 0), HEADERS + 10);
	on_message = look_at_held;
	notify();
	assert_int_equal(held, BIT(1) | BIT(2));
	look_at_held();
	assert_int_equal(held, 0);
}

static bool has_ended;

static void *ender(void *)
{
	stop(2);
	__atomic_store_n(&has_ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* One that ends is found by nobody while it waits for who has looked it up, and keeps none. */
static void test_hides(void **)
{
	const u64 *taken = &port_of(0)->segment->net.taken;
	pthread_t thread;

	use(1);
	drive(0, 2, ALL);
	__atomic_store_n(&port_of(0)->held, BIT(2), __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(&thread, NULL, ender, NULL), 0);
	while (__atomic_load_n(taken, __ATOMIC_ACQUIRE) & BIT(2))
		sched_yield();
	send(BROADCAST, 10, 0);
	assert_int_equal(used(TX), 1);
	assert_false(__atomic_load_n(&has_ended, __ATOMIC_ACQUIRE));
	__atomic_store_n(&port_of(0)->held, 0, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_true(has_ended);
}

static void end_third(void)
{
	stop(2);
}

/* One that ends waits for those who have looked it up, and for nobody else. */
static void test_ends_meanwhile(void **)
{
	use(1);
	drive(0, 2, ALL);
	offer_buffer(2000);
	use(0);
	drive(0, 2, ALL);
	on_message = end_third;
	send(MAC(2), 10, 0);
	assert_null(guest[2].vm);
	assert_int_equal(used(TX), 1);
}

static bool sender_done, paused_early;

/*
 * One that has the receiver in hand until another waits for it: who draws a ticket is the second
 * one of two. Or until nobody has.
 */
static void *slow_sender(void *arg)
{
	struct spinlock *lock = arg;

	while ((u16)(__atomic_load_n(&lock->next, __ATOMIC_ACQUIRE) - lock->owner) < 2 &&
	       !__atomic_load_n(&paused_early, __ATOMIC_ACQUIRE))
		;
	__atomic_store_n(&sender_done, true, __ATOMIC_RELEASE);
	spin_unlock(lock);
	return NULL;
}

/* A pause, and a vCPU that stops for one, wait for a sender that has begun before. */
static void test_pause_waits(void **)
{
	struct vm *paused = guest[1].vm;
	pthread_t thread;

	for (unsigned i = 0; i < 2; i++) {
		struct spinlock *lock = &paused->virtual->others_lock;

		sender_done = paused_early = false;
		spin_lock(lock);
		assert_int_equal(pthread_create(&thread, NULL, slow_sender, lock), 0);
		if (i) {
			/* It leaves at once: its VM has ended. */
			paused->end = VM_END_STOPPED;
			vcpu_stay_paused(paused->vcpus[0]);
			paused->end = VM_RUNNING;
		} else {
			assert_int_equal(vm_pause(paused), 0);
		}
		__atomic_store_n(&paused_early, !__atomic_load_n(&sender_done, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
		assert_false(paused_early);
	}
}

/* Who has waited for others' frames does less of his own before his vCPU looks up. */
static void test_waits_count(void **)
{
	struct spinlock *lock = &guest[1].vm->virtual->others_lock;
	pthread_t thread;

	use(1);
	drive(0, 2, ALL);
	for (unsigned i = 0; i < 6; i++)
		offer_buffer(2000);
	use(0);
	drive(0, 2, ALL);
	fake_host.tsc_step = 1ull << 32;
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < 3; k++)
			queue_frame(make(k, MAC(2), MAC(1), 10, 0), HEADERS + 10);
		if (!i) {
			spin_lock(lock);
			assert_int_equal(pthread_create(&thread, NULL, slow_sender, lock), 0);
		}
		notify();
		assert_int_equal(used(TX), i ? 6 : 1);
		if (!i)
			pthread_join(thread, NULL);
		finish();
		assert_int_equal(used(TX), 3 * (i + 1));
	}
	use(1);
	assert_int_equal(used(RX), 6);
}

/* With both pairs what belongs together comes by the queue of the pair that was sent by. */
static void test_pairs(void **)
{
	static const u8 sets[][5] = { { 4, 0, 2, 0, 0 }, { 4, 0, 0, 0, 1 }, { 4, 0, 3, 0, 1 },
				      { 4, 1, 2, 0, 1 }, { 5, 0, 2, 0, 1 }, { 4, 0, 1, 0, 0 },
				      { 4, 0, 2, 0, 0 } };
	u64 reply;

	stop(1);
	fake_vm_vcpus = 2;
	start(1);
	fake_vm_vcpus = 0;
	drive(0, 5, ALL | CTRL | MQ);
	for (u16 i = 0; i < ARRAY_SIZE(sets); i++) {
		memcpy(bytes(SEND_AT, 4), sets[i], 4);
		set_ram(SEND_AT + 8, 0xff, 1);
		set_desc(4, 0, SEND_AT, 4, NEXT, 1);
		set_desc(4, 1, SEND_AT + 8, 1, WRITE, 0);
		offer(4, 0);
		put(0, NOTIFY(4), 2, 4);
		assert_int_equal(ram(SEND_AT + 8, 1), sets[i][4]);
		assert_int_equal(ram(USED(4) + 2, 2), i + 1);
	}
	for (u16 i = 0; i < 4; i++) {
		set_desc(2, i, RECEIVE_AT, 2000, WRITE, 0);
		offer(2, i);
	}
	for (unsigned i = 0; i < 4; i++)
		offer_buffer(2000);
	use(0);
	drive(0, 2, ALL);
	send(MAC(2), 10, 0);
	use(1);
	assert_true(used(RX) == 1 && used(2) == 0);
	/* An answer by the second pair: addresses and ports the other way round. */
	reply = make(0, MAC(1), MAC(2), 10, 0);
	for (unsigned i = 0; i < 4; i++) {
		u8 *p = bytes(reply + HEADER, HEADERS), kept = p[26 + i];

		p[26 + i] = p[30 + i];
		p[30 + i] = kept;
	}
	for (unsigned i = 0; i < 2; i++) {
		u8 *p = bytes(reply + HEADER, HEADERS), kept = p[34 + i];

		p[34 + i] = p[36 + i];
		p[36 + i] = kept;
	}
	set_desc(3, 0, reply, HEADER + HEADERS + 10, 0, 0);
	offer(3, 0);
	put(0, NOTIFY(3), 2, 3);
	assert_int_equal(used(3), 1);
	use(0);
	send(MAC(2), 10, 0);
	assert_int_equal(sent.data, 0x40 + 2);
	use(1);
	assert_true(used(RX) == 1 && used(2) == 1);
}

/*
 * Two that send to each other at once, each on a thread of its own, and one that resets itself
 * again and again.
 */
#define ROUNDS 200 /* a waiter may have to wait until the CPU is given to the holder */
static void *sender(void *arg)
{
	struct vm *me = arg;
	u64 notify_at = me->virtual->bar + NOTIFY(TX);

	for (u16 i = 1; i <= ROUNDS; i++) {
		__atomic_store_n((u16 *)guest_ptr(me, gpa(AVAIL(TX) + 2), 2), i, __ATOMIC_RELEASE);
		guest_store(me, notify_at, 2, TX);
	}
	return NULL;
}

static void *resetter(void *arg)
{
	struct vm *me = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		guest_store(me, me->virtual->bar + STATUS, 1, 0);
		guest_store(me, me->virtual->bar + STATUS, 1, 15);
	}
	return NULL;
}

static void test_at_once(void **)
{
	pthread_t thread[3];

	for (unsigned n = 0; n < 3; n++) {
		use(n);
		drive(0, 2, ALL);
		for (unsigned i = 0; i < 128; i++)
			offer_buffer(2000);
		make(0, BROADCAST, MAC(n + 1), 100, 0);
		set_desc(TX, 0, SEND_AT, HEADER + HEADERS + 100, 0, 0);
	}
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(pthread_create(&thread[n], NULL, n < 2 ? sender : resetter,
						guest[n].vm),
				 0);
	for (unsigned n = 0; n < 3; n++)
		pthread_join(thread[n], NULL);
	for (unsigned n = 0; n < 2; n++) {
		use(n);
		assert_int_equal(used(TX), ROUNDS);
		assert_int_equal(used(RX), 128);
	}
}

/*
 * A page of a guest's is lost as a frame is copied on the sender's CPU: whose page it is ends,
 * whoever copies, and nobody else.
 */
static void test_lost_memory(void **)
{
	static const struct {
		unsigned whose;
		u64 at;
	} table[] = {
		{ 0, SEND_AT + 0x3000 }, { 0, AVAIL(TX) }, { 1, RECEIVE_AT + 0x2000 },
		{ 1, USED(RX) },         { 1, AVAIL(RX) },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		teardown(NULL);
		setup(NULL);
		use(1);
		drive(0, 2, ALL);
		for (unsigned k = 0; k < 8; k++)
			offer_buffer(4096);
		use(0);
		drive(0, 2, ALL);
		queue_frame(make(0, MAC(2), MAC(1), 30000, 1400), HEADERS + 30000);
		fake_host.log[0] = 0;
		lose_memory(guest_ptr(guest[table[i].whose].vm, gpa(table[i].at), 1));
		notify();
		assert_true(lost_memory_met);
		mend_memory();
		for (unsigned n = 0; n < 3; n++)
			assert_int_equal(guest[n].vm->end,
					 n == table[i].whose ? VM_END_MACHINE_CHECK : VM_RUNNING);
		assert_ptr_equal(strchr(fake_host.log, '\n'),
				 fake_host.log + strlen(fake_host.log) - 1);
		assert_non_null(strstr(fake_host.log, "is lost, at GPA"));
	}
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		TEST(test_device), TEST(test_frame), TEST(test_notifications), TEST(test_merged),
		TEST(test_cut_short), TEST(test_shapes), TEST(test_scattered), TEST(test_room),
		TEST(test_not_all_there),
		TEST(test_made_plain), TEST(test_bad), TEST(test_one_address), TEST(test_bound),
		TEST(test_cut_in_goes),
		TEST(test_other_frame_meanwhile),
		TEST(test_gone), TEST(test_paused), TEST(test_pause_waits), TEST(test_pairs),
		TEST(test_stopped_meanwhile), TEST(test_waits_count), TEST(test_ends_meanwhile),
		TEST(test_held), TEST(test_hides), TEST(test_isolated), TEST(test_read_only),
		TEST(test_one_chain), TEST(test_at_once),
		TEST(test_lost_memory),
	};
	/* clang-format on */

	looks_sort();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
