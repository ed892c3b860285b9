/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/virtio/net_frame.c */
/*
 * Large frames cut, checksums filled in: judged by a checksum of the test's own, and by what comes
 * out of the pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/dev/virtio/net_frame.h"

enum { TCP = 6, UDP = 17, SEQUENCE = 0x12345678, MSS = 1000, MTU = 1500 };

static u8 frame[NET_LARGE_MAX + 100], out[NET_FRAME_MAX];
static struct net_header header;
static struct net_large large;

static u32 be16(const u8 *p)
{
	return (u32)p[0] << 8 | p[1];
}

static void set16(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

/* Of what holds its own checksum it is 0xffff. */
static u32 sum(u32 start, const u8 *p, u32 n)
{
	for (u32 i = 0; i < n; i++)
		start += i & 1 ? p[i] : (u32)p[i] << 8;
	while (start > 0xffff)
		start = (start & 0xffff) + (start >> 16);
	return start;
}

/* The checksum of an IP packet's transport header, as a receiver has it. */
static u32 transport(const u8 *ip, u32 size, bool v6, u8 protocol)
{
	u32 l4 = v6 ? 40 : (ip[0] & 15) * 4u;

	return sum(sum(protocol + size - l4, v6 ? ip + 8 : ip + 12, v6 ? 32 : 8), ip + l4,
		   size - l4);
}

/*
 * Ethernet, a tag or none, IP, TCP with a few options, and data; as Linux hands it over. Returns
 * its size.
 */
static u32 make(bool v6, bool tag, u32 ip_options, u32 tcp_options, u32 data)
{
	u32 l3 = tag ? 18 : 14, l4 = l3 + (v6 ? 40 : 20 + ip_options),
	    all = l4 + 20 + tcp_options + data;
	u8 *ip = frame + l3, *tcp = frame + l4;

	for (u32 i = 0; i < sizeof(frame); i++)
		frame[i] = (u8)(i * 13 + i / 251);
	set16(frame + 12, 0x8100);
	set16(frame + (tag ? 16 : 12), v6 ? 0x86dd : 0x0800);
	if (v6) {
		ip[0] = 0x60;
		set16(ip + 4, all - l4);
		ip[6] = TCP;
	} else {
		ip[0] = (u8)(0x45 + ip_options / 4);
		set16(ip + 2, all - l3);
		set16(ip + 4, 0xfffe);
		set16(ip + 6, 0x4000);
		ip[9] = TCP;
	}
	memcpy(tcp + 4, (u8[]){ 0x12, 0x34, 0x56, 0x78 }, 4);
	tcp[12] = (u8)((5 + tcp_options / 4) << 4);
	tcp[13] = 0x80 | 0x10 | 0x08 | 0x01; /* CWR, ACK, PSH, FIN */
	set16(tcp + 16, sum(TCP + all - l4, v6 ? ip + 8 : ip + 12, v6 ? 32 : 8));
	header = (struct net_header){
		NET_NEEDS_CSUM, v6 ? NET_GSO_TCPV6 : NET_GSO_TCPV4, 0, MSS, (u16)l4, 16, 0
	};
	return all;
}

static u32 mtu = MTU;

static enum net_verdict verdict(u32 size)
{
	return net_judge(&header, frame, MIN(size, NET_HEADERS_MAX), size, mtu, &large);
}

static bool judge(u32 size)
{
	return verdict(size) == NET_FINE;
}

static void check_cut(bool v6, bool tag, u32 ip_options, u32 tcp_options, u32 data)
{
	u32 size = make(v6, tag, ip_options, tcp_options, data), l3 = tag ? 18 : 14,
	    l4 = l3 + (v6 ? 40 : 20 + ip_options);
	u32 headers = l4 + 20 + tcp_options, n, done = 0;

	assert_true(judge(size));
	assert_int_equal(header.hdr_len, headers);
	n = net_segments(&large, size);
	assert_int_equal(n, (data + MSS - 1) / MSS);
	for (u32 i = 0; i < n; i++) {
		struct net_piece piece = net_piece(&large, size, i);
		u32 got, part;
		const u8 *ip = out + l3, *tcp = out + l4;

		memcpy(out + headers, frame + piece.at, piece.size);
		got = net_segment(&large, frame, size, i, out);
		part = got - headers;
		assert_true(part == (i + 1 < n ? MSS : data - done));
		assert_memory_equal(out, frame, l3);
		assert_memory_equal(out + headers, frame + headers + done, part);
		assert_int_equal((u32)tcp[4] << 24 | tcp[5] << 16 | be16(tcp + 6), SEQUENCE + done);
		assert_int_equal(tcp[13], 0x10 | (i ? 0 : 0x80) | (i + 1 < n ? 0 : 0x09));
		assert_int_equal(transport(ip, got - l3, v6, TCP), 0xffff);
		if (v6) {
			assert_int_equal(be16(ip + 4), got - l4);
		} else {
			assert_int_equal(be16(ip + 2), got - l3);
			assert_int_equal(be16(ip + 4), (0xfffe + i) & 0xffff);
			assert_int_equal(sum(0, ip, l4 - l3), 0xffff);
		}
		done += part;
	}
	assert_int_equal(done, data);
}

static void test_cut(void **)
{
	for (u32 tag = 0; tag < 2; tag++) {
		check_cut(false, tag, 0, 0, MSS * 3);
		check_cut(false, tag, 40, 40, MSS * 3 + 1);
		check_cut(true, tag, 0, 12, MSS * 4 - 1);
		check_cut(true, tag, 0, 40, 1);
		check_cut(false, tag, 0, 12, 65535 - 52);
	}
}

static void test_checksum(void **)
{
	u32 size = make(false, false, 0, 0, 99);

	header.gso_type = NET_GSO_NONE;
	assert_true(judge(size));
	assert_int_equal(header.gso_size, 0);
	net_fill_checksum(&header, frame, size);
	assert_int_equal(transport(frame + 14, size - 14, false, TCP), 0xffff);
	/* One that comes out as 0 says 0xffff: in UDP 0 is none. */
	memset(frame + 34, 0, 20);
	header.csum_start = 34;
	header.csum_offset = 6;
	set16(frame + 34, 0xffff);
	net_fill_checksum(&header, frame, 54);
	assert_int_equal(be16(frame + 40), 0xffff);
}

/* What nobody gets. */
static void test_judged(void **)
{
	static const struct {
		u16 at;
		u8 value;
	} wrong[] = {
		{ 12, 0x09 }, { 14, 0x65 }, { 14, 0x44 }, { 14, 0x4f }, { 23, UDP },
		{ 20, 0x60 }, { 21, 1 },    { 46, 0x40 }, { 46, 0xf0 },
	};
	u32 size;

	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		size = make(false, false, 0, 0, 22);
		frame[wrong[i].at] = wrong[i].value;
		header.csum_start = wrong[i].value == 0x4f ? 14 + 60 : header.csum_start;
		assert_false(judge(size));
	}
#define REFUSED(change) \
	do { \
		size = make(false, false, 0, 0, 3000); \
		change; \
		assert_false(judge(size)); \
	} while (0)
	REFUSED(header.flags = 0);
	REFUSED(header.csum_start++);
	REFUSED(header.csum_offset = 6);
	REFUSED(header.gso_size = 0);
	REFUSED(header.gso_size = NET_MSS_MIN - 1);
	REFUSED(header.gso_size = MTU - 40 + 1);
	REFUSED(header.gso_type = NET_GSO_TCPV6);
	REFUSED(header.gso_type = 3); /* UDP fragments */
	REFUSED(header.gso_type = 0x40 | NET_GSO_TCPV4);
	REFUSED(header.gso_type = NET_GSO_NONE);
	REFUSED(size = 54); /* no data */
	REFUSED(size = 53);
	REFUSED(size = 33);
	REFUSED(size = 14 + 65536);
	size = make(true, false, 0, 0, 3000);
	frame[20] = 0;
	assert_false(judge(size));
	/* The largest that is none of these. */
	size = make(false, false, 0, 0, 3000);
	header.gso_size = MTU - 40;
	header.gso_type |= NET_GSO_ECN;
	assert_true(judge(size));
	assert_true((make(false, false, 0, 0, 65535 - 40), judge(14 + 65535)));
}

static void test_plain(void **)
{
	memset(frame, 0, sizeof(frame));
	header = (struct net_header){
		.flags = 0xfe, .hdr_len = 9, .gso_size = 9, .csum_start = 9, .csum_offset = 9
	};
	assert_true(judge(14));
	assert_true(!header.flags && !header.hdr_len && !header.gso_size && !header.csum_start &&
		    !header.csum_offset);
	assert_false(judge(13));
	assert_true(judge(14 + MTU));
	assert_false(judge(14 + MTU + 1));
	set16(frame + 12, 0x8100);
	assert_true(judge(18 + MTU));
	assert_false(judge(17));
	/* A checksum within the frame. */
	header = (struct net_header){ .flags = NET_NEEDS_CSUM, .csum_start = 98, .csum_offset = 0 };
	assert_true(judge(100));
	header.csum_offset = 1;
	assert_false(judge(100));
	header = (struct net_header){ .flags = NET_NEEDS_CSUM,
				      .csum_start = 0xffff,
				      .csum_offset = 0xffff };
	assert_false(judge(100));
	header = (struct net_header){ .flags = NET_NEEDS_CSUM, .csum_start = 13 };
	assert_false(judge(100));
}

/* What is too large for the segment is told apart from what is no frame. */
static void test_mtu(void **)
{
	static const u32 mtus[] = { 1280, 1500, 9000 };

	for (unsigned i = 0; i < ARRAY_SIZE(mtus); i++) {
		mtu = mtus[i];
		memset(frame, 0, sizeof(frame));
		header = (struct net_header){ 0 };
		assert_int_equal(verdict(14 + mtu), NET_FINE);
		assert_int_equal(verdict(14 + mtu + 1), NET_TOO_LARGE);
		set16(frame + 12, 0x8100);
		assert_int_equal(verdict(18 + mtu), NET_FINE);
		assert_int_equal(verdict(18 + mtu + 1), NET_TOO_LARGE);
		assert_int_equal(verdict(17), NET_MALFORMED);
		/* What a large one is cut into, too, its data up to the last byte. */
		make(false, false, 0, 0, 30000);
		header.gso_size = (u16)(mtu - 40);
		assert_int_equal(verdict(54 + 30000), NET_FINE);
		header.gso_size++;
		assert_int_equal(verdict(54 + 30000), NET_TOO_LARGE);
		assert_int_equal((make(true, true, 0, 12, 30000), header.gso_size = (u16)(mtu - 72),
				  verdict(90 + 30000)),
				 NET_FINE);
		header.gso_size++;
		assert_int_equal(verdict(90 + 30000), NET_TOO_LARGE);
		assert_int_equal((make(false, false, 0, 0, 22), verdict(14 + 65536)),
				 NET_TOO_LARGE);
	}
	mtu = MTU;
}

static void swap(u8 *p, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		u8 kept = p[i];

		p[i] = p[n + i];
		p[n + i] = kept;
	}
}

static void test_flow(void **)
{
	for (u32 v6 = 0; v6 < 2; v6++) {
		u32 size = make(v6, false, 0, 0, 0), there = net_flow(frame, size),
		    l4 = v6 ? 54 : 34;

		assert_int_not_equal(there, 0);
		swap(frame + (v6 ? 22 : 26), v6 ? 16 : 4);
		swap(frame + l4, 2);
		assert_int_equal(net_flow(frame, size), there);
		frame[l4 + 1]++;
		assert_int_not_equal(net_flow(frame, size), there);
		for (u32 n = 0; n < size; n++)
			net_flow(frame, n);
	}
	set16(frame + 12, 0x0806);
	assert_int_equal(net_flow(frame, 60), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),    cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_judged), cmocka_unit_test(test_plain),
		cmocka_unit_test(test_mtu),    cmocka_unit_test(test_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
