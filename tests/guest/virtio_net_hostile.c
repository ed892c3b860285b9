/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: seed=20261128 rounds=3000 races=100
 * VM: net = lan0 mac=02:00:00:00:01:01
 * VM: net = lan0 mac=02:00:00:00:01:02
 * VM: net = lan0 mac=02:00:00:00:01:03
 * NOT ON qemu: needs who must not notice: tests/system/test_virtio_hostile.py
 * NOT ON bochs: the same
 *
 * A driver of virtio's network interfaces that breaks each rule there is, on a segment with one
 * that keeps them: requests to send that loop, are nowhere, no frames, or of another shape than
 * their headers say; buffers to receive into that are too small, nowhere, read-only, or end with
 * RAM; commands that are none; queues that there are not, and sizes that are wrong; the other one's
 * addresses as one's own; then anything, and with two CPUs what changes while it is read. It counts
 * the frames that nobody gets and those that it loses itself: the hypervisor must say the same.
 * After each way a frame goes from one interface to another and back, and in the end there is
 * nothing of the other VM's in its memory.
 */
#include "hostile.h"
#include "virtio_net.h"

#define OFFLOADS \
	(NET_CSUM | NET_GUEST_CSUM | NET_GUEST_TSO4 | NET_HOST_TSO4 | NET_HOST_TSO6 | NET_HOST_ECN)
#define LARGE 3054u /* an Ethernet frame of 3,000 bytes of TCP's data */
#define LARGE_MAX 65553u
#define IP 14u
#define TCP 34u
#define HEADER ((u32)sizeof(struct net_header))
#define PLAIN 200u
#define CONTENT 0x5au

/*
 * The first one does what is wrong, the second one is who it is done to, the third one does
 * anything.
 */
static struct net net, judge, wild;
static volatile struct {
	struct net_header header;
	u8 frame[LARGE];
} __attribute__((packed)) large;
static volatile u8 command[8], ack;
static u64 ecam;
static u32 bad, lost;

/* ---- what must hold after each ---------------------------------------------------------- */

/* Whose content is `size` bytes of the sender's. */
static void fill(struct net *from, const u8 *to, u32 size)
{
	static u8 n;

	from->out.header = (struct net_header){ 0 };
	net_address(from->out.frame, to, from->mac);
	from->out.frame[12] = 0x88;
	from->out.frame[13] = 0xb6;
	n++;
	for (u32 i = IP; i < size; i++)
		from->out.frame[i] = (u8)(i * 7 + n);
}

static bool passes(struct net *from, struct net *to, u32 size)
{
	volatile u8 *frame;
	bool same = false;
	u32 got;

	fill(from, to->mac, size);
	if (!net_send(from, size))
		return false;
	/* Behind what was there. */
	while ((frame = net_peek(to, &got))) {
		same = got == size && net_same(frame, from->out.frame, size);
		net_release(to);
	}
	return same;
}

static u32 received(struct net *n)
{
	u32 frames = 0, size;

	for (; net_peek(n, &size); frames++)
		net_release(n);
	return frames;
}

static void works(const char *after)
{
	received(&judge);
	net_start(&net, 0);
	check(passes(&net, &judge, 60 + rnd() % 1400), "%s: it sends nothing", after);
	check(passes(&judge, &net, 60 + rnd() % 1400), "%s: it receives nothing", after);
	check(get(&net.v, STATUS, 1) == DRIVER_OK && get(&judge.v, STATUS, 1) == DRIVER_OK,
	      "%s: status %#x, the other's %#x", after, get(&net.v, STATUS, 1),
	      get(&judge.v, STATUS, 1));
}

/* ---- sending ---------------------------------------------------------------------------- */

static void prepare(u64 data, u32 size)
{
	volatile struct virtq *q = &net.v.queue[SEND];

	net_start(&net, OFFLOADS);
	fill(&net, judge.mac, PLAIN);
	set_desc(q, 0, (u64)&net.out, HEADER, DESC_NEXT, 1);
	set_desc(q, 1, data, size, 0, 0);
}

/*
 * It breaks the queue: nothing is given back, nobody gets anything, and the device says what it
 * wants.
 */
static void breaks(const char *how, u16 queue, u16 head)
{
	volatile struct virtq *q = &net.v.queue[queue];

	offer(q, head);
	notify(&net.v, queue);
	check(get(&net.v, STATUS, 1) & NEEDS_RESET && !q->used.index && !received(&judge),
	      "%s: status %#x, %u given back", how, get(&net.v, STATUS, 1), q->used.index);
	/* And does nothing more. */
	set_desc(&net.v.queue[SEND], 0, (u64)&net.out, HEADER + PLAIN, 0, 0);
	offer(&net.v.queue[SEND], 0);
	notify(&net.v, SEND);
	check(!received(&judge), "%s: it goes on", how);
	works(how);
}

static void requests(void)
{
	volatile struct virtq *q = &net.v.queue[SEND];

	prepare(DATA, 512);
	set_desc(q, 1, DATA, 16, DESC_NEXT, VIRTQ_SIZE);
	breaks("a next beyond the table", SEND, 0);
	prepare(DATA, 512);
	breaks("a head beyond the table", SEND, 0xffff);
	prepare(DATA, 512);
	set_desc(q, 0, DATA, 16, DESC_NEXT | DESC_WRITE, 1);
	breaks("to be read behind what is to be written", SEND, 0);
	prepare(-512ull, 1024);
	breaks("an address that wraps", SEND, 0);
	prepare(DATA, 512);
	q->avail.index = VIRTQ_SIZE;
	breaks("an index that jumps", SEND, 0);
	prepare(DATA, 512);
	q->avail.index = 0xfffe;
	breaks("an index that goes back", SEND, 0);
	prepare(DATA, 512);
	set_desc(q, 0, RAM_END, 16, DESC_INDIRECT, 0);
	breaks("a table outside of RAM", SEND, 0);
	prepare(DATA, 512);
	set_desc(q, 0, (u64)judge.v.area[1], 16, DESC_INDIRECT, 0);
	breaks("a table in a BAR", SEND, 0);
	prepare(DATA, 512);
	*(volatile struct virtq_desc *)DATA = (struct virtq_desc){ DATA, 16, DESC_INDIRECT, 0 };
	set_desc(q, 0, DATA, 16, DESC_INDIRECT, 0);
	breaks("a table in itself", SEND, 0);
}

/* The request in descriptor 0: nobody gets it, but it is given back. */
static void nobody_gets(const char *how, u64 n)
{
	volatile struct virtq *q = &net.v.queue[SEND];
	u16 before = q->used.index;

	offer(q, 0);
	notify(&net.v, SEND);
	bad++;
	check(q->used.index == (u16)(before + 1) && !received(&judge) &&
		      get(&net.v, STATUS, 1) == DRIVER_OK,
	      "%s (%#lx): %u given back, status %#x", how, n, q->used.index - before,
	      get(&net.v, STATUS, 1));
}

static void no_frames(void)
{
	/* clang-format off */
	static const u32 sizes[] = { 0, 1, HEADER - 1, HEADER, HEADER + 13,
		HEADER + NET_FRAME_MAX + 1, HEADER + LARGE_MAX + 1,
				     0x100000, 0xffffffff };
	/* clang-format on */

	static const u16 sums[][2] = { { 0, 2 },         { 13, 2 },          { PLAIN, 0 },
				       { PLAIN - 2, 1 }, { 0xffff, 0xffff }, { 34, 0xffff } };
	volatile struct virtq *q = &net.v.queue[SEND];

	prepare(DATA, 512);
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		set_desc(q, 0, (u64)&net.out, sizes[i], 0, 0);
		nobody_gets("a size", sizes[i]);
	}
	/* It has more buffers than a frame may have. */
	prepare(DATA, 512);
	set_desc(q, 1, DATA, 16, DESC_NEXT, 0);
	nobody_gets("a loop", 0);
	for (unsigned i = 0; i < ARRAY_SIZE(nowhere); i++) {
		prepare(nowhere[i] + 150, 512);
		nobody_gets("a frame at", nowhere[i] + 150);
		set_desc(q, 0, nowhere[i] + 250, HEADER, DESC_NEXT, 1);
		set_desc(q, 1, (u64)net.out.frame, PLAIN, 0, 0);
		nobody_gets("a header at", nowhere[i] + 250);
		/* Behind what is judged, in the middle of a copy. */
		set_desc(q, 0, (u64)&net.out, HEADER + PLAIN, DESC_NEXT, 1);
		set_desc(q, 1, nowhere[i], 512, 0, 0);
		offer(q, 0);
		notify(&net.v, SEND);
		check(!received(&judge) && get(&net.v, STATUS, 1) == DRIVER_OK,
		      "the end of a frame at %#lx", nowhere[i]);
	}
	prepare(DATA, 512);
	set_desc(q, 0, (u64)&net.out, HEADER + PLAIN, 0, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(sums); i++) {
		net.out.header = (struct net_header){ .flags = 1,
						      .csum_start = sums[i][0],
						      .csum_offset = sums[i][1] };
		nobody_gets("a checksum", i);
	}
	net.out.header = (struct net_header){ 0 };
	net_address(net.out.frame, judge.mac, wild.mac);
	nobody_gets("another one's address", 0);
	net_address(net.out.frame, judge.mac, (const u8[]){ 2, 7, 7, 7, 7, 7 });
	nobody_gets("nobody's address", 0);
	net_address(net.out.frame, judge.mac, net.mac);
	/* The control: the last bytes of RAM, in descriptors of one byte. */
	for (u16 i = 0; i < 60; i++) {
		*(volatile u8 *)(RAM_END - 60 + i) = i < IP ? net.out.frame[i] : CONTENT;
		set_desc(q, i + 1u, RAM_END - 60 + i, 1, i < 59 ? DESC_NEXT : 0, i + 2);
	}
	net.out.header = (struct net_header){ 0 };
	set_desc(q, 0, (u64)&net.out, HEADER, DESC_NEXT, 1);
	offer(q, 0);
	notify(&net.v, SEND);
	check(received(&judge) == 1, "the last bytes of RAM");
	works("no frames");
}

/* ---- large ones that are to be cut ------------------------------------------------------ */

static void prepare_large(void)
{
	static const u8 ip[] = { 0x45, 0, 0x0b, 0xe0, 0, 1, 0,  0, 64, 6,
				 0,    0, 10,   0,    0, 1, 10, 0, 0,  2 };

	large.header = (struct net_header){ .flags = 1,
					    .gso_type = 1,
					    .hdr_len = 54,
					    .gso_size = 1000,
					    .csum_start = TCP,
					    .csum_offset = 16 };
	net_address(large.frame, judge.mac, net.mac);
	large.frame[12] = 8;
	large.frame[13] = 0;
	for (u32 i = IP; i < LARGE; i++)
		large.frame[i] = i - IP < sizeof(ip) ? ip[i - IP] : 0;
	large.frame[TCP + 12] = 0x50;
	set_desc(&net.v.queue[SEND], 0, (u64)&large, HEADER + LARGE, 0, 0);
}

static void no_large_frames(void)
{
	static const struct {
		u16 at;
		u16 value;
	} bytes[] = {
		{ 12, 0x86 },   { 13, 6 },       { IP, 0x65 },       { IP, 0x40 },
		{ IP, 0x44 },   { IP, 0x4f },    { IP + 6, 0x20 },   { IP + 7, 1 },
		{ IP + 9, 17 }, { TCP + 12, 0 }, { TCP + 12, 0x10 }, { TCP + 12, 0x40 },
	};
	static const u16 segments[] = { 0, 1, 47, 1461, 0x8000, 0xffff };

	net_start(&net, OFFLOADS);
	prepare_large();
	offer(&net.v.queue[SEND], 0);
	notify(&net.v, SEND);
	check(received(&judge) == 3, "the control: what is large is cut");
	for (unsigned type = 0; type < 256; type++) {
		large.header.gso_type = (u8)type;
		if (type != 1 && type != 0x81)
			nobody_gets("a type of large frame", type);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(segments); i++) {
		prepare_large();
		large.header.gso_size = segments[i];
		nobody_gets("a size of segments", segments[i]);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bytes); i++) {
		prepare_large();
		large.frame[bytes[i].at] = (u8)bytes[i].value;
		nobody_gets("a byte of the headers", bytes[i].at);
	}
	prepare_large();
	large.header.flags = 0;
	nobody_gets("without a checksum to fill in", 0);
	prepare_large();
	large.header.csum_start = TCP + 2;
	nobody_gets("the checksum of something else", TCP + 2);
	prepare_large();
	set_desc(&net.v.queue[SEND], 0, (u64)&large, HEADER + 54, 0, 0);
	nobody_gets("headers alone", 54);
	/* It did not accept what it asks for. */
	net_start(&net, 0);
	prepare_large();
	nobody_gets("a large frame without the feature", 0);
	large.header = (struct net_header){ .flags = 1, .csum_start = TCP, .csum_offset = 16 };
	set_desc(&net.v.queue[SEND], 0, (u64)&large, HEADER + PLAIN, 0, 0);
	nobody_gets("a checksum without the feature", 0);
	works("large frames");
}

/* ---- receiving -------------------------------------------------------------------------- */

/* Only this is offered. */
static volatile struct virtq *only(u64 addr, u32 len, u16 flags, u32 features)
{
	volatile struct virtq *q = &net.v.queue[RECEIVE];

	virtio_start_with(&net.v, 2, features);
	set_desc(q, 0, addr, len, flags, 1);
	offer(q, 0);
	return q;
}

/* What the other one sends now does not come; he does not notice. */
static void does_not_fit(const char *how, u64 n)
{
	volatile struct virtq *q = &net.v.queue[RECEIVE];

	fill(&judge, net.mac, PLAIN);
	check(net_send(&judge, PLAIN), "%s (%#lx): what was sent is not given back", how, n);
	lost++;
	check(!q->used.index && get(&judge.v, STATUS, 1) == DRIVER_OK, "%s (%#lx): %u came", how, n,
	      q->used.index);
}

static void buffers(void)
{
	static const u32 sizes[] = { 0, 1, HEADER - 1, HEADER, HEADER + PLAIN - 1 };
	volatile struct virtq *q = &net.v.queue[RECEIVE];

	for (unsigned i = 0; i < ARRAY_SIZE(nowhere); i++) {
		only(nowhere[i] + 150, 2048, DESC_WRITE, 0);
		does_not_fit("at", nowhere[i] + 150);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		only(DATA, sizes[i], DESC_WRITE, 0);
		does_not_fit("too small", sizes[i]);
	}
	only(DATA, 2048, 0, 0);
	does_not_fit("not to be written to", 0);
	/* Pieces that are too many, in a table; and, of mergeable buffers, in the ring. */
	for (u16 i = 0; i < 300; i++)
		((volatile struct virtq_desc *)DATA)[i] = (struct virtq_desc){
			DATA + 0x8000 + i,
			1,
			DESC_WRITE | (i < 299 ? DESC_NEXT : 0),
			i + 1,
		};
	only(DATA, 300 * 16, DESC_INDIRECT, 0);
	does_not_fit("bytes", 300);
	only(DATA, 13, DESC_WRITE, NET_MRG_RXBUF);
	for (u16 i = 1; i < 100; i++) {
		set_desc(q, i, DATA + i, 1, DESC_WRITE, 0);
		offer(q, i);
	}
	does_not_fit("buffers of a byte", 100);
	only(DATA, HEADER - 1, DESC_WRITE, NET_MRG_RXBUF);
	set_desc(q, 1, DATA + 4096, 2048, DESC_WRITE, 0);
	offer(q, 1);
	does_not_fit("a header in two buffers", 0);
	works("buffers");
	/* The controls: up to the last byte of RAM; one further. */
	for (u32 i = 0; i < 2; i++) {
		only(RAM_END - HEADER - PLAIN + i, HEADER + PLAIN, DESC_WRITE, 0);
		if (i) {
			does_not_fit("over RAM's end", i);
			continue;
		}
		fill(&judge, net.mac, PLAIN);
		check(net_send(&judge, PLAIN) && q->used.index == 1 &&
			      net_same((volatile u8 *)RAM_END - PLAIN, judge.out.frame, PLAIN),
		      "the last bytes of RAM");
	}
	works("the last bytes of RAM");
}

/* The other one sends; what this one has offered breaks its own queue, and nothing else. */
static void breaks_its_own(const char *how)
{
	volatile struct virtq *q = &net.v.queue[RECEIVE];

	does_not_fit(how, 0);
	check(get(&net.v, STATUS, 1) & NEEDS_RESET, "%s: status %#x", how, get(&net.v, STATUS, 1));
	lost++;
	fill(&judge, net.mac, PLAIN);
	check(net_send(&judge, PLAIN) && !q->used.index, "%s: it goes on", how);
	works(how);
}

static void receiving_chains(void)
{
	volatile struct virtq *q;

	q = only(DATA, 16, DESC_WRITE | DESC_NEXT, 0);
	set_desc(q, 1, DATA, 16, DESC_WRITE | DESC_NEXT, 0);
	does_not_fit("a receiver's loop", 0);
	works("a receiver's loop");
	q = only(DATA, 16, DESC_WRITE | DESC_NEXT, 0);
	set_desc(q, 1, DATA, 512, 0, 0);
	breaks_its_own("a receiver's to be read behind what is to be written");
	only(-512ull, 1024, DESC_WRITE, 0);
	breaks_its_own("a receiver's address that wraps");
	q = only(DATA, 512, DESC_WRITE, 0);
	q->avail.index = VIRTQ_SIZE + 1;
	breaks_its_own("a receiver's index that jumps");
	q = only(DATA, 512, DESC_WRITE, 0);
	q->avail.ring[0] = VIRTQ_SIZE;
	breaks_its_own("a receiver's head beyond the table");
	/* Its own rings as a buffer: whatever comes of that. */
	for (unsigned i = 0; i < 8; i++) {
		q = &wild.v.queue[RECEIVE];
		virtio_start_with(&wild.v, 2, NET_MRG_RXBUF);
		set_desc(q, 0, (u64)q + i * 512, 2048, DESC_WRITE, 0);
		offer(q, 0);
		for (unsigned j = 0; j < 8; j++) {
			fill(&judge, wild.mac, PLAIN);
			check(net_send(&judge, PLAIN),
			      "rings as a buffer: what was sent is not given back");
		}
		put(&wild.v, STATUS, 1, 0);
	}
}

/* ---- rings, queues, commands ------------------------------------------------------------ */

static void rings(void)
{
	static const u16 sizes[] = { 0, 3, 127, 129, 1023, 2048, 0x8000, 0xffff };
	u64 good;

	for (unsigned i = 0; i < ARRAY_SIZE(nowhere) * 3; i++) {
		u64 area[3] = { DATA, DATA + 0x1000, DATA + 0x2000 };

		area[i % 3] = nowhere[i / 3];
		virtio_reset(&net.v, 0);
		virtio_queue(&net.v, SEND, area);
		put(&net.v, STATUS, 1, DRIVER_OK);
		check(!get(&net.v, QUEUE_ENABLE, 2), "area %u at %#lx is taken", i % 3,
		      area[i % 3]);
		notify(&net.v, SEND);
	}
	net_start(&net, 0);
	for (unsigned i = 0; i < 3; i++) {
		good = get(&net.v, QUEUE_DESC + i * 8, 4);
		put(&net.v, QUEUE_DESC + i * 8, 8, GUARD);
		check(get(&net.v, QUEUE_DESC + i * 8, 4) == good, "area %u has moved under way", i);
	}
	put(&net.v, QUEUE_SIZE, 2, 16);
	check(get(&net.v, QUEUE_SIZE, 2) == VIRTQ_SIZE, "its size has changed under way");
	check(passes(&net, &judge, PLAIN), "it does not go on where it was");
	virtio_reset(&net.v, 0);
	put(&net.v, QUEUE_SIZE, 2, 64);
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		put(&net.v, QUEUE_SIZE, 2, sizes[i]);
		check(get(&net.v, QUEUE_SIZE, 2) == 64, "a size of %u is taken", sizes[i]);
	}
	works("rings");
}

/*
 * Notifications of queues that there are not, or that are not enabled, in every width;
 * configuration that is not to be written.
 */
static void registers(void)
{
	u8 mac[6];

	net_start(&net, 0);
	for (u32 at = 0; at < 0x1000; at += 4)
		for (unsigned size = 1; size <= 8; size *= 2)
			if (at % size == 0)
				mmio_write(net.v.area[2] + at, size, at / 4);
	for (u32 at = 0; at < 0x1000; at = at < 64 ? at + 1 : at * 2)
		for (unsigned size = 1; size <= 8; size *= 2)
			if (at % size == 0)
				mmio_write(net.v.area[4] + at, size, ~0ull);
	for (unsigned i = 0; i < 6; i++)
		mac[i] = (u8)mmio_read(net.v.area[4] + i, 1);
	check(net_same(mac, net.mac, 6), "its address can be written to");
	check(passes(&net, &judge, PLAIN), "registers: it sends nothing");
	/* No longer what was agreed on, with the queues as they are: it stays. */
	put(&net.v, STATUS, 1, 3);
	put(&net.v, ACCEPT_SELECT, 4, 0);
	put(&net.v, ACCEPT, 4, 0xffffffff);
	put(&net.v, STATUS, 1, DRIVER_OK);
	check(get(&net.v, STATUS, 1) == DRIVER_OK && !get(&net.v, ACCEPT, 4),
	      "status %#x, features %#x after other ones", get(&net.v, STATUS, 1),
	      get(&net.v, ACCEPT, 4));
	check(passes(&net, &judge, PLAIN), "other features: it sends nothing");
	virtio_reset(&net.v, 0xffffffff);
	check(!(get(&net.v, STATUS, 1) & 8), "what is not offered is accepted");
	notify(&net.v, SEND);
	works("registers");
}

static void commands(void)
{
	static const struct {
		u8 class;
		u8 command;
		u16 pairs;
		u32 size;
	} wrong[] = {
		{ 4, 0, 0, 4 },          { 4, 0, 3, 4 },    { 4, 0, 0x8000, 4 },
		{ 4, 0, 0xffff, 4 },     { 4, 1, 1, 4 },    { 4, 0xff, 1, 4 },
		{ 0, 0, 1, 4 },          { 0xff, 0, 1, 4 }, { 4, 0, 1, 0 },
		{ 4, 0, 1, 1 },          { 4, 0, 1, 3 },    { 4, 0, 1, 5 },
		{ 4, 0, 1, 0xffffffff },
	};
	bool pairs = mmio_read(net.v.area[4] + 8, 2) > 1;
	u16 queue = pairs ? 4 : 2;
	volatile struct virtq *q = &net.v.queue[queue];

	virtio_start_with(&net.v, 2, NET_CTRL_VQ | (pairs ? NET_MQ : 0));
	for (unsigned i = 0; i < sizeof(*q) / 8; i++)
		((volatile u64 *)q)[i] = 0;
	virtio_queue(&net.v, queue, (u64[]){ (u64)q->desc, (u64)&q->avail, (u64)&q->used });
	for (unsigned i = 0; i < ARRAY_SIZE(wrong) + ARRAY_SIZE(nowhere); i++) {
		bool here = i < ARRAY_SIZE(wrong);

		command[0] = here ? wrong[i].class : 4;
		command[1] = here ? wrong[i].command : 0;
		*(volatile u16 *)(command + 2) = here ? wrong[i].pairs : 1;
		ack = 0xee;
		set_desc(q, 0, here ? (u64)command : nowhere[i - ARRAY_SIZE(wrong)] + 254,
			 here ? wrong[i].size : 4, DESC_NEXT, 1);
		set_desc(q, 1, (u64)&ack, 1, DESC_WRITE, 0);
		offer(q, 0);
		/* An answer that cannot be given. */
		set_desc(q, 2, (u64)command, 4, DESC_NEXT, 3);
		set_desc(q, 3, nowhere[i % ARRAY_SIZE(nowhere)] + 256, 1, DESC_WRITE, 0);
		offer(q, 2);
		notify(&net.v, queue);
		check(ack == 1 && q->used.index == 2 * (i + 1), "command %u: %u, %u given back", i,
		      ack, q->used.index);
	}
	check(passes(&net, &judge, PLAIN), "commands: it sends nothing");
	set_desc(q, 1, (u64)&ack, 1, DESC_NEXT | DESC_WRITE, 0);
	set_desc(q, 0, (u64)command, 4, DESC_NEXT, 1);
	offer(q, 0);
	notify(&net.v, queue);
	check(get(&net.v, STATUS, 1) & NEEDS_RESET, "a command that loops: status %#x",
	      get(&net.v, STATUS, 1));
	works("commands");
}

/* ---- anything --------------------------------------------------------------------------- */

static const u8 addresses[][6] = {
	{ 2, 0, 0, 0, 2, 1 },
	{ 2, 0, 0, 0, 2, 2 },
	{ 2, 0, 0, 0, 1, 2 },
	{ 2, 0, 0, 0, 1, 3 },
	{ 255, 255, 255, 255, 255, 255 },
	{ 1, 0, 0x5e, 0, 0, 1 },
};

/* From its own address, whose it likes, or one of many; and to these. */
static void random_frame(volatile u8 *frame)
{
	u8 any[6] = { 2, 7, 7, 7, (u8)rnd(), (u8)rnd() };
	const u8 *to = any, *from = any;

	if (rnd() & 3)
		to = addresses[rnd() % ARRAY_SIZE(addresses)];
	if (rnd() & 1)
		from = addresses[3];
	else if (rnd() & 1)
		from = addresses[rnd() % ARRAY_SIZE(addresses)];
	net_address(frame, to, from);
	for (u32 i = 12; i < 80; i++)
		if (!(rnd() & 3))
			frame[i] = (u8)rnd();
}

static void random_round(void)
{
	u16 i = rnd() % VIRTQ_SIZE, queue = rnd() % 3;
	volatile struct virtq *q = &wild.v.queue[queue];

	switch (rnd() & 15) {
	case 0:
		set_desc(q, i, anywhere(), rnd() & 3 ? rnd() & 0xfff : rnd(), rnd() & 7,
			 rnd() % (VIRTQ_SIZE + 1));
		break;
	case 1: net_start(&wild, rnd() & (OFFLOADS | NET_MRG_RXBUF)); break;
	case 2: random_access(&wild.v, ecam); break;
	case 3: ((volatile u16 *)&q->avail)[rnd() % (sizeof(q->avail) / 2)] = (u16)rnd(); break;
	case 4:
	case 5:
		fill(&judge, wild.mac, PLAIN);
		check(net_send(&judge, PLAIN) && get(&judge.v, STATUS, 1) == DRIVER_OK,
		      "random: the other one does not send");
		received(&judge);
		break;
	case 6:
		prepare_large();
		random_frame(large.frame);
		((volatile u8 *)&large)[rnd() % (HEADER + 54)] = (u8)rnd();
		set_desc(&wild.v.queue[SEND], 0, (u64)&large, HEADER + LARGE, 0, 0);
		offer(&wild.v.queue[SEND], 0);
		notify(&wild.v, SEND);
		break;
	case 7:
		set_desc(q, i, DATA + (rnd() & 0xffff), rnd() & 0x7ff,
			 queue == RECEIVE ? DESC_WRITE : 0, 0);
		offer(q, i);
		break;
	default:
		random_frame(wild.out.frame);
		wild.out.header.gso_type = 0;
		wild.out.header.flags = 0;
		net_send(&wild, 60 + rnd() % 1400);
	}
}

static volatile bool stop;

/*
 * Chains that change while they are read, between what is right and what is not; resets in between.
 */
static void change(void *)
{
	u32 mine = seed ^ 0x5555;

	while (!stop) {
		u16 i = random32(&mine) % 64, queue = random32(&mine) % 2;
		volatile struct virtq *q = &wild.v.queue[queue];

		q->desc[i].addr =
			random32(&mine) & 3 ? DATA : nowhere[random32(&mine) % ARRAY_SIZE(nowhere)];
		q->desc[i].len = random32(&mine) & 0xfff;
		q->desc[i].next = random32(&mine) & 0xff;
		q->desc[i].flags = random32(&mine) & 7;
		((volatile u8 *)DATA)[random32(&mine) % 128] = (u8)random32(&mine);
		if (!(random32(&mine) & 0xff))
			put(&wild.v, STATUS, 1, 0);
		if (!(random32(&mine) & 0xff))
			notify(&wild.v, SEND);
	}
}

static void race(u64 rounds)
{
	smp_run(1, change, NULL);
	for (u64 n = 0; n < rounds; n++) {
		net_start(&wild, OFFLOADS | NET_MRG_RXBUF);
		random_frame((volatile u8 *)DATA + HEADER);
		for (u16 i = 0; i < 64; i++) {
			set_desc(&wild.v.queue[SEND], i, DATA, 1024, 0, 0);
			offer(&wild.v.queue[SEND], i);
		}
		notify(&wild.v, SEND);
		fill(&judge, wild.mac, PLAIN);
		check(net_send(&judge, PLAIN), "a race: the other one does not send");
		received(&judge);
	}
	stop = true;
	smp_wait(1);
	put(&wild.v, STATUS, 1, 0);
}

/* ---- all of it -------------------------------------------------------------------------- */

/*
 * Nothing that the witness has sent to itself: in no buffer, and nowhere that a descriptor has led
 * to.
 */
static u64 marks(volatile void *from, u64 size)
{
	u64 found = 0;

	for (u64 i = 0; i + 8 <= size; i++)
		found += *(volatile u64 *)((volatile u8 *)from + i) == NET_MARK;
	return found;
}

static void sees_nothing(void)
{
	*(volatile u64 *)(DATA + 0x12345) = NET_MARK;
	check(marks((void *)DATA, 0x20000) == 1, "the control: a mark");
	check(!marks(&net, sizeof(net)) && !marks(&judge, sizeof(judge)) &&
		      !marks(&wild, sizeof(wild)),
	      "a frame of others'");
}

void test_main(void)
{
	u64 rounds = option_number("rounds", 100), races = option_number("races", 0);
	unsigned n_cpus = smp_start();

	seed = (u32)option_number("seed", 1);
	ecam = option_number("ecam", 0xfd000000);
	if (!check(net_find(&net, 0) && net_find(&judge, 1) && net_find(&wild, 2),
		   "three interfaces"))
		return;
	set_guard();
	net_start(&judge, 0);
	works("nothing");
	print("hostile: begins");
	requests();
	no_frames();
	no_large_frames();
	buffers();
	receiving_chains();
	rings();
	registers();
	commands();
	guard_holds("all by hand");
	/* From now on it counts no more. */
	put(&net.v, STATUS, 1, 0);
	print("hostile: bad=%u dropped=%u", bad, lost);
	net_start(&wild, 0);
	for (u64 n = 0; n < rounds; n++)
		random_round();
	guard_holds("random");
	if (n_cpus > 1)
		race(races);
	put(&wild.v, STATUS, 1, 0);
	guard_holds("races");
	works("all");
	sees_nothing();
	print("hostile: ends, %lu accesses", virtio_exits);
}
