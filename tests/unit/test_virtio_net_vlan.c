/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/virtio_net.sources vmm/config/config_net.c lib/span.c vmm/vm/devices.c @tests/unit/fake_vm.sources */
/*
 * MTUs and VLANs between drivers in memory: each kind of port to each, with each kind of tag; what
 * offloads say of a frame whose tag comes or goes; what is too large.
 */
#include "tests/unit/net_guests.h"

enum { PLAIN, ACCESS, TRUNK, HYBRID, KINDS };
enum { VLAN = 10, OTHER_VLAN = 20, NOT_THERE = 30 };

static void stop_all(void)
{
	for (unsigned n = 0; n < NET_GUESTS; n++)
		if (guest[n].vm)
			stop(n);
}

/* Guest n again, with a port of this kind; TRUNK and HYBRID have OTHER_VLAN by a tag. */
static void start_with(unsigned n, unsigned kind, u16 mtu)
{
	struct vm_config_net *c = &fake_vm_config.net[0];

	if (guest[n].vm)
		stop(n);
	*c = (struct vm_config_net){ .segment = "lan0", .mtu = mtu };
	c->pvid = kind == ACCESS || kind == HYBRID ? VLAN : 0;
	if (kind == TRUNK || kind == HYBRID) {
		c->nr_trunk = 2;
		c->trunk[0] = (struct vm_config_vlans){ OTHER_VLAN, OTHER_VLAN + 2 };
		c->trunk[1] = (struct vm_config_vlans){ 4000, 4094 };
	}
	start(n);
	*c = (struct vm_config_net){ .segment = "lan0" };
}

/* Puts a tag into the frame at `at` of so many bytes; its header moves along. */
static u32 put_tag(u64 at, u32 size, u16 tci)
{
	u8 *p = bytes(at + HEADER, size + 4);
	struct net_header *h = (void *)bytes(at, HEADER);

	memmove(p + 16, p + 12, size - 12);
	memcpy(p + 12, (u8[]){ 0x81, 0, (u8)(tci >> 8), (u8)tci }, 4);
	if (h->flags)
		h->csum_start += 4;
	return size + 4;
}

/* The tag of what guest n got as its last frame, or 0, and its bytes from the type on. */
static u32 got_tag(u32 *size, const u8 **rest)
{
	u64 at;
	const u8 *p;

	*size = got(used(RX) - 1, &at) - (u32)HEADER;
	p = bytes(at + HEADER, *size);
	*rest = p + 12;
	if (p[12] != 0x81 || p[13])
		return 0;
	*rest += 4;
	return 0x10000u | (u32)p[14] << 8 | p[15];
}

/*
 * What a port of kind `to` gets of a frame that one of kind `from` sends so: 0 nothing, 1 without a
 * tag, else 0x10000 and the tag.
 */
static u32 expected(unsigned from, unsigned to, u32 tag)
{
	u32 vid = tag & 0xfff, vlan = vid ? vid : VLAN;

	if (from == PLAIN)
		return tag ? tag : 1;
	/* By pvid, or by a tag of pvid's or of the trunk's. */
	if (vlan == VLAN)
		return from == TRUNK || to == TRUNK ? 0 : 1;
	if (vlan != OTHER_VLAN || from == ACCESS || to == ACCESS)
		return 0;
	return tag;
}

/* Each kind of port to each, with each kind of tag; and what is lost is counted. */
static void test_vlan_kinds(void **)
{
	static const u32 tags[] = {
		0, 0x10000, 0x1a000, 0x10000 | VLAN, 0x1a000 | OTHER_VLAN, 0x10000 | NOT_THERE
	};

	for (unsigned from = 0; from < KINDS; from++) {
		unsigned first = from ? ACCESS : PLAIN, end = from ? KINDS : ACCESS;

		for (unsigned to = first; to < end; to++)
			for (unsigned i = 0; i < ARRAY_SIZE(tags); i++) {
				u32 size = HEADERS + 200, wanted = expected(from, to, tags[i]), n;
				u64 at;
				const u8 *rest;
				u8 sent_type[200];

				stop_all();
				start_with(0, from, 0);
				start_with(1, to, 0);
				use(1);
				drive(0, 2, ALL);
				offer_buffer(2000);
				use(0);
				drive(0, 2, ALL);
				at = make(0, i % 2 ? BROADCAST : MAC(2), MAC(1), 200, 0);
				memcpy(sent_type, bytes(at + HEADER + 12, 200), 200);
				if (tags[i])
					size = put_tag(at, size, (u16)tags[i]);
				queue_frame(at, size);
				notify();
				assert_int_equal(used(TX), 1);
				use(1);
				assert_int_equal(used(RX), wanted != 0);
				/* Lost by who had not the VLAN, or by nobody's fault. */
				assert_int_equal(dropped(0, NET_DROP_VLAN),
						 from != PLAIN &&
							 !expected(from, HYBRID, tags[i]) &&
							 !(from == TRUNK && tags[i] == tags[4]));
				if (!wanted)
					continue;
				assert_int_equal(got_tag(&n, &rest), wanted == 1 ? 0 : wanted);
				assert_int_equal(n, HEADERS + 200 + (wanted == 1 ? 0 : 4));
				assert_memory_equal(rest, sent_type, 200);
			}
	}
}

/* Is the checksum of an IPv4 TCP frame right? p: from its IP header on. */
static bool sums(const u8 *p, u32 size)
{
	return sum(sum(6 + size - 20, p + 12, 8), p + 20, size - 20) == 0xffff;
}

/*
 * A tag more or less under an unfinished checksum, or a large frame: who can take it as it is finds
 * what the header says; who cannot gets frames of the usual size, and right checksums.
 */
static void test_vlan_offloads(void **)
{
	for (unsigned i = 0; i < 8; i++) {
		bool tags = i & 1, large = i & 2, cut = i & 4;
		u32 data = large ? 3000 : 500, tag = tags ? 0 : 4, total = 0, size = HEADERS + data;
		u64 frame, at;

		stop_all();
		start_with(0, TRUNK, 0);
		start_with(1, ACCESS, 0);
		if (!tags) {
			stop(0);
			fake_vm_config.net[0].pvid = OTHER_VLAN;
			start(0);
			start_with(1, TRUNK, 0);
		} else {
			stop(1);
			fake_vm_config.net[0].pvid = OTHER_VLAN;
			start(1);
		}
		fake_vm_config.net[0].pvid = 0;
		use(1);
		drive(0, 2, cut ? MRG : ALL);
		for (unsigned k = 0; k < 8; k++)
			offer_buffer(2000);
		use(0);
		drive(0, 2, ALL);
		frame = make(0, MAC(2), MAC(1), data, 1000);
		if (!large)
			bytes(frame, HEADER)[1] = 0;
		if (tags)
			size = put_tag(frame, size, OTHER_VLAN);
		queue_frame(frame, size);
		notify();
		finish();
		use(1);
		if (!cut) {
			const struct net_header *h;

			got(0, &at);
			h = (void *)bytes(at, HEADER);
			assert_int_equal(used(RX), large ? 2 : 1);
			assert_int_equal(h->flags, NET_NEEDS_CSUM);
			assert_true(h->csum_start == 34 + tag && h->csum_offset == 16);
			assert_int_equal(h->hdr_len, large ? HEADERS + tag : 0);
			assert_int_equal(h->num_buffers, large ? 2 : 1);
		}
		for (unsigned k = 0; k < used(RX); k++) {
			u32 n = got(k, &at), skip = cut || !k ? HEADER : 0;
			const u8 *p = bytes(at + skip, n - skip);

			if (cut) {
				assert_true(sums(p + 14 + tag, n - (u32)HEADER - 14 - tag));
				n -= HEADERS + tag;
			}
			if (!k && tag)
				assert_memory_equal(p + 12, ((u8[]){ 0x81, 0, 0, OTHER_VLAN, 8 }),
						    5);
			if (!k && !tag)
				assert_memory_equal(p + 12, ((u8[]){ 8, 0 }), 2);
			total += n - skip;
		}
		assert_int_equal(used(RX), large ? 2u + cut : 1u);
		assert_int_equal(total, cut ? data : HEADERS + tag + data);
		/* And all of the data is what was sent. */
		got(used(RX) - 1, &at);
		assert_int_equal(ram(at + (got(used(RX) - 1, &at)) - 1, 1),
				 *(u8 *)guest_ptr(guest[0].vm, gpa(frame + HEADER + size - 1), 1));
	}
}

/* A broadcast from a trunk to all kinds at once: each as it has the VLAN. */
static void test_vlan_broadcast(void **)
{
	const u8 *rest;
	u32 n;

	stop_all();
	start_with(0, TRUNK, 0);
	start_with(1, HYBRID, 0);
	fake_vm_config.net[0].pvid = OTHER_VLAN;
	start(2);
	fake_vm_config.net[0].pvid = 0;
	for (unsigned i = 0; i < 3; i++) {
		use(i);
		drive(0, 2, ALL);
		offer_buffer(2000);
		offer_buffer(2000);
	}
	use(0);
	make(0, BROADCAST, MAC(1), 60, 0);
	queue_frame(SEND_AT, put_tag(SEND_AT, HEADERS + 60, OTHER_VLAN));
	notify();
	use(1);
	assert_true(used(RX) == 1 && got_tag(&n, &rest) == (0x10000 | OTHER_VLAN));
	use(2);
	assert_true(used(RX) == 1 && !got_tag(&n, &rest) && n == HEADERS + 60);
	/* Back: to both, and to who sent nothing. */
	send(BROADCAST, 60, 0);
	use(1);
	assert_true(used(RX) == 2 && got_tag(&n, &rest) == (0x10000 | OTHER_VLAN) &&
		    n == HEADERS + 64);
	use(0);
	assert_true(used(RX) == 1 && got_tag(&n, &rest) == (0x10000 | OTHER_VLAN));
	use(1);
	send(BROADCAST, 60, 0);
	use(0);
	assert_int_equal(used(RX), 1);
}

/* Sends 60 bytes with a tag; how many frames the guests 1 and 2 have got by then. */
static void send_tagged(u64 to, u64 from, u16 vlan, unsigned one, unsigned two)
{
	make(0, to, from, 60, 0);
	queue_frame(SEND_AT, put_tag(SEND_AT, HEADERS + 60, vlan));
	notify();
	use(1);
	assert_int_equal(used(RX), one);
	use(2);
	assert_int_equal(used(RX), two);
}

/* The same address behind two bridges, in a VLAN each; in the trunks' last one it is nobody's. */
static void test_vlan_bridges(void **)
{
	stop_all();
	start_with(0, TRUNK, 0);
	for (unsigned n = 1; n < 3; n++) {
		fake_vm_config.net[0] = (struct vm_config_net){
			.segment = "lan0", .bridge = true, .nr_trunk = 1, .trunk = { { 20, 22 } }
		};
		start(n);
	}
	for (unsigned n = 0; n < 3; n++) {
		use(n);
		drive(0, 2, ALL);
		for (unsigned i = 0; i < 8; i++)
			offer_buffer(2000);
	}
	use(1);
	send_tagged(MAC(1), MAC(50), 20, 0, 0);
	use(2);
	send_tagged(MAC(1), MAC(50), 21, 0, 0);
	use(0);
	assert_int_equal(used(RX), 2);
	send_tagged(MAC(50), MAC(1), 20, 1, 0);
	use(0);
	send_tagged(MAC(50), MAC(1), 21, 1, 1);
	use(0);
	send_tagged(MAC(50), MAC(1), 22, 2, 2);
	use(0);
	send_tagged(MAC(50), MAC(1), 23, 2, 2);
	assert_int_equal(dropped(0, NET_DROP_VLAN), 1);
}

/* Tags behind tags, and half ones. */
static void test_vlan_hostile(void **)
{
	stop_all();
	start_with(0, HYBRID, 0);
	start_with(1, HYBRID, 0);
	use(1);
	drive(0, 2, ALL);
	for (unsigned i = 0; i < 8; i++)
		offer_buffer(2000);
	use(0);
	drive(0, 2, ALL);
	make(0, BROADCAST, MAC(1), 60, 0);
	put_tag(SEND_AT, HEADERS + 60, OTHER_VLAN);
	queue_frame(SEND_AT, put_tag(SEND_AT, HEADERS + 64, VLAN));
	notify();
	assert_int_equal(dropped(0, NET_DROP_VLAN), 1);
	for (u32 size = 14; size < 18; size++) {
		make(0, BROADCAST, MAC(1), 60, 0);
		put_tag(SEND_AT, HEADERS + 60, OTHER_VLAN);
		queue_frame(SEND_AT, size);
		notify();
	}
	assert_int_equal(dropped(0, NET_DROP_MALFORMED), 4);
	use(1);
	assert_int_equal(used(RX), 0);
	use(0);
	make(0, BROADCAST, MAC(1), 60, 0);
	put_tag(SEND_AT, HEADERS + 60, VLAN);
	queue_frame(SEND_AT, 18);
	notify();
	use(1);
	assert_int_equal(used(RX), 1);
	assert_int_equal(ram(USED(RX) + 8, 4), HEADER + 14);
}

/* The driver is told, frames up to it arrive, what is larger is counted; a tag is 4 bytes more. */
static void test_mtu(void **)
{
	static const u16 mtus[] = { 1280, 9000 };
	const u8 *rest;
	u32 n;

	for (unsigned i = 0; i < ARRAY_SIZE(mtus); i++) {
		u16 mtu = mtus[i];

		stop_all();
		fake_vm_config.net[0].mtu = mtu;
		fake_vm_config.net[0].pvid = OTHER_VLAN;
		start(0);
		start_with(1, TRUNK, mtu);
		for (unsigned k = 0; k < 2; k++) {
			use(k);
			drive(0, 2, ALL);
			assert_int_equal(get(0, DEVICE_CONFIG + 10, 2), mtu);
			for (unsigned b = 0; b < 40; b++)
				offer_buffer(4096);
		}
		use(0);
		queue_frame(make(0, MAC(2), MAC(1), mtu - 40u, 0), mtu + 14u);
		notify();
		queue_frame(SEND_AT, mtu + 15u);
		notify();
		assert_int_equal(dropped(0, NET_DROP_TOO_LARGE), 1);
		use(1);
		n = (mtu + 18u + (u32)HEADER + 4095) / 4096;
		assert_int_equal(used(RX), n);
		/* Back, tagged. */
		make(0, MAC(1), MAC(2), mtu - 40u, 0);
		queue_frame(SEND_AT, put_tag(SEND_AT, mtu + 14u, OTHER_VLAN));
		notify();
		queue_frame(SEND_AT, mtu + 19u);
		notify();
		assert_int_equal(dropped(1, NET_DROP_TOO_LARGE), 1);
		use(0);
		assert_int_equal(used(RX), (mtu + 14u + (u32)HEADER + 4095) / 4096);
		/* Large ones are cut to it. */
		use(1);
		put(0, STATUS, 1, 0);
		memset(bytes(RING(0), 0x20000), 0, 0x20000);
		memset(offered, 0, sizeof(offered));
		drive(0, 2, MRG);
		for (unsigned b = 0; b < 40; b++)
			offer_buffer(4096);
		use(0);
		queue_frame(make(0, MAC(2), MAC(1), 30000, (u16)(mtu - 40)), HEADERS + 30000);
		notify();
		finish();
		use(1);
		assert_int_equal(used(RX), mtu == 9000 ? 3 * 3 + 1 : 30000 / 1240 + 1);
		assert_int_equal(got_tag(&n, &rest), 0x10000 | OTHER_VLAN);
	}
}

/* Its line at the start says what it has. */
static void test_noted(void **)
{
	stop_all();
	fake_host.log[0] = 0;
	start_with(0, HYBRID, 9000);
	assert_non_null(strstr(fake_host.log, "net0: lan0, 02:00:00:00:00:01, mtu 9000, pvid 10, "
					      "trunk 20-22,4000-4094\n"));
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_vlan_kinds),   TEST(test_vlan_offloads), TEST(test_vlan_broadcast),
		TEST(test_vlan_bridges), TEST(test_vlan_hostile),  TEST(test_mtu),
		TEST(test_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
