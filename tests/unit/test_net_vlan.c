/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/virtio/net_vlan.c vmm/dev/virtio/net_frame.c vmm/dev/virtio/net_switch.c */
/*
 * VLANs: whose a frame is, by what ports have and what stands in front of it; and that what a
 * header says of a frame is true of it with a tag more or less.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/dev/virtio/net_vlan.h"

enum { MTU = 1500, PCP = 5 << 13, DEI = 1 << 12 };

static u8 bits[NET_VLANS / 8];
static struct net_port port;
static u8 head[NET_HEADERS_MAX + NET_TAG], before[sizeof(head)];
static struct net_header header;
static struct net_large large;

static void make_port(u16 pvid, u16 first, u16 last)
{
	memset(bits, 0, sizeof(bits));
	port = (struct net_port){ .vlans = bits, .pvid = pvid };
	for (unsigned v = 1; v < NET_VLANS; v++)
		if (v == pvid || (v >= first && v <= last))
			bits[v / 8] |= (u8)BIT(v % 8);
}

static void set16(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

static u32 get16(const u8 *p)
{
	return (u32)p[0] << 8 | p[1];
}

/* With these behind the addresses, 0 ends them. */
static struct net_tagged frame(u32 one, u32 two, u32 three)
{
	for (unsigned i = 0; i < sizeof(head); i++)
		head[i] = (u8)(i + 1);
	header = (struct net_header){ 0 };
	set16(head + 12, one);
	set16(head + 14, two);
	set16(head + 16, three);
	return (struct net_tagged){ &header, &large, head, 60, 60 };
}

static u16 vlan_of(u32 one, u32 two, u32 three)
{
	struct net_tagged f = frame(one, two, three);

	return net_vlan(&port, &f);
}

static void test_who(void **)
{
	/* pvid alone: an access port. */
	make_port(10, 0, 0);
	assert_int_equal(vlan_of(0x0800, 0x4500, 0), 10);
	assert_int_equal(vlan_of(0x8100, 0, 0x0800), 10);
	assert_int_equal(get16(head + 14), 10);
	/* One that is for a priority gets the number, and keeps what it was for. */
	assert_int_equal(vlan_of(0x8100, PCP | DEI, 0x0800), 10);
	assert_int_equal(get16(head + 14), PCP | DEI | 10);
	assert_int_equal(vlan_of(0x8100, PCP | 10, 0x0800), 10);
	assert_int_equal(get16(head + 14), PCP | 10);
	assert_int_equal(vlan_of(0x8100, 11, 0x0800), 0);
	assert_int_equal(vlan_of(0x8100, 4095, 0x0800), 0);
	assert_false(net_tags(&port, 10));
	/* A trunk alone. */
	make_port(0, 20, 29);
	assert_int_equal(vlan_of(0x0800, 0x4500, 0), 0);
	assert_int_equal(vlan_of(0x8100, 0, 0x0800), 0);
	assert_int_equal(vlan_of(0x8100, PCP, 0x0800), 0);
	assert_int_equal(vlan_of(0x8100, 19, 0x0800), 0);
	assert_int_equal(vlan_of(0x8100, 20, 0x0800), 20);
	assert_int_equal(vlan_of(0x8100, DEI | 29, 0x0800), 29);
	assert_int_equal(vlan_of(0x8100, 30, 0x0800), 0);
	assert_true(net_tags(&port, 20));
	/* Both. */
	make_port(10, 20, 4094);
	assert_int_equal(vlan_of(0x0800, 0x4500, 0), 10);
	assert_int_equal(vlan_of(0x8100, 10, 0x0800), 10);
	assert_int_equal(vlan_of(0x8100, 4094, 0x86dd), 4094);
	assert_int_equal(vlan_of(0x8100, 4095, 0x86dd), 0);
	assert_int_equal(vlan_of(0x8100, 11, 0x86dd), 0);
	assert_true(!net_tags(&port, 10) && net_tags(&port, 20));
}

/* A second tag would be the only one for who gets the frame without the first. */
static void test_two_tags(void **)
{
	make_port(10, 10, 30);
	assert_int_equal(vlan_of(0x8100, 10, 0x8100), 0);
	assert_int_equal(vlan_of(0x8100, 0, 0x8100), 0);
	assert_int_equal(vlan_of(0x8100, 20, 0x88a8), 0);
	assert_int_equal(vlan_of(0x88a8, 20, 0x0800), 0);
	assert_int_equal(vlan_of(0x88a8, 20, 0x8100), 0);
	/* What is to be summed may not be the tag. */
	for (u16 start = 14; start < 20; start++) {
		struct net_tagged f = frame(0x8100, 20, 0x0800);

		header = (struct net_header){ .flags = NET_NEEDS_CSUM, .csum_start = start };
		assert_int_equal(net_vlan(&port, &f), start < 18 ? 0 : 20);
		f = frame(0x0800, 0x4500, 0);
		header = (struct net_header){ .flags = NET_NEEDS_CSUM, .csum_start = start };
		assert_int_equal(net_vlan(&port, &f), 10);
	}
}

/* A tag goes in front of the type, and is taken from there; nothing else changes. */
static void test_bytes(void **)
{
	for (u32 n = 14; n <= NET_HEADERS_MAX; n++) {
		struct net_tagged f = frame(0x0800, 0x4500, 0x1234);

		f.n = n;
		f.size = n + 7;
		memcpy(before, head, sizeof(head));
		net_tag(&f, 4094);
		assert_true(f.n == n + 4 && f.size == n + 11 && net_is_tagged(head));
		assert_memory_equal(head, before, 12);
		assert_int_equal(get16(head + 14), 4094);
		assert_memory_equal(head + 16, before + 12, n - 12);
		net_untag(&f);
		assert_true(f.n == n && f.size == n + 7 && !net_is_tagged(head));
		assert_memory_equal(head, before, n);
	}
}

/* Ethernet, IP, TCP and 3,000 bytes of data, to be cut. */
static struct net_tagged make_large(bool v6)
{
	struct net_tagged f = frame(v6 ? 0x86dd : 0x0800, v6 ? 0x6000 : 0x4500, 0);
	u32 l4 = v6 ? 54 : 34;

	memset(head + 18, 0, l4 - 18);
	head[v6 ? 20 : 23] = 6;
	head[l4 + 12] = 0x60;
	header = (struct net_header){
		NET_NEEDS_CSUM, v6 ? NET_GSO_TCPV6 : NET_GSO_TCPV4, 0, 1000, (u16)l4, 16, 1
	};
	f.size = l4 + 24 + 3000;
	f.n = NET_HEADERS_MAX;
	return f;
}

/*
 * What the header says of a large frame, and of one whose checksum is to be filled in, is what a
 * judge of the changed frame comes to.
 */
static void test_offsets(void **)
{
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct net_tagged f = make_large(v6);
		struct net_header h = header;
		struct net_large l = { 0 };

		assert_int_equal(net_judge(&header, head, f.n, f.size, MTU, &large), NET_FINE);
		for (unsigned tagged = 1; tagged < 3; tagged++) {
			if (tagged == 1)
				net_tag(&f, 7);
			else
				net_untag(&f);
			h = header;
			h.hdr_len = 0;
			l = (struct net_large){ 0 };
			assert_int_equal(net_judge(&h, head, MIN(f.n, NET_HEADERS_MAX), f.size, MTU,
						   &l),
					 NET_FINE);
			assert_memory_equal(&h, &header, sizeof(h));
			assert_memory_equal(&l, &large, sizeof(l));
			assert_int_equal(l.headers, (v6 ? 54 : 34) + 24 + (tagged == 1 ? 4 : 0));
		}
		/* A plain one. */
		f = frame(0x0800, 0x4500, 0);
		header = (struct net_header){ .flags = NET_NEEDS_CSUM,
					      .csum_start = 34,
					      .csum_offset = 6 };
		net_tag(&f, 7);
		assert_true(header.csum_start == 38 && header.csum_offset == 6 && !header.hdr_len);
		net_untag(&f);
		assert_int_equal(header.csum_start, 34);
		/* Nothing is to be done of it: nothing is said. */
		header = (struct net_header){ 0 };
		net_tag(&f, 7);
		assert_true(!header.csum_start && !header.hdr_len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who),
		cmocka_unit_test(test_two_tags),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
