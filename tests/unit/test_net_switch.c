/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/virtio/net_switch.c */
/* Which ports of a segment get a frame, and from which addresses one may come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/dev/virtio/net_switch.h"

#define MAC(n) (0x02ull | (u64)(n) << 40)
#define BROADCAST 0xffffffffffffull

static struct net_segment s;
static struct net_port port[NET_PORTS + 1];

static struct net_learned table[2][NET_LEARNED];

/* n ports, of MAC(1) and so on; the last of them are bridges. */
static void make_ports(unsigned n, unsigned bridges)
{
	memset(&s, 0, sizeof(s));
	memset(port, 0, sizeof(port));
	memset(table, 0, sizeof(table));
	for (unsigned i = 0; i < n; i++) {
		port[i].mac = MAC(i + 1);
		port[i].learned = i < n - bridges ? NULL : table[i - (n - bridges)];
		assert_int_equal(net_join(&s, &port[i]), 0);
	}
	assert_int_equal(s.bridges, bridges);
}

static void ports(unsigned n)
{
	make_ports(n, 0);
}

/* Ports 2 and 3 of four are bridges. */
static void bridges(void)
{
	make_ports(4, 2);
}

/* The port comes again, as it is now, to its place. */
static void again(struct net_port *p, bool mirror, struct net_learned *learned)
{
	unsigned index = p->index;

	net_leave(&s, p);
	p->mirror = mirror;
	p->learned = learned;
	assert_int_equal(net_join(&s, p), 0);
	assert_int_equal(p->index, index);
}

/* Who gets it: bits by number of the port. */
static u64 reached_in(unsigned from, u64 to, u16 vlan)
{
	u64 all = 0;

	for (u64 set = net_receivers(&s, &port[from], to, vlan); set; set &= set - 1) {
		const struct net_port *p = s.port[__builtin_ctzll(set)];

		all |= net_gets(p, &port[from], vlan) ? 1ull << (p - port) : 0;
	}
	return all;
}

static u64 reached(unsigned from, u64 to)
{
	return reached_in(from, to, 0);
}

static bool admit(struct net_port *p, u64 mac, u32 now)
{
	return net_admit(&s, p, mac, 0, now);
}

static void test_flooding(void **)
{
	ports(4);
	assert_int_equal(reached(0, MAC(3)), 1 << 2);
	assert_int_equal(reached(1, BROADCAST), 0xd);
	assert_int_equal(reached(3, 0x015e00000001ull | 1), 0x7);
	/* To himself: nobody. */
	assert_int_equal(reached(2, MAC(3)), 0);
	/* Nobody's that is known: it may be behind a bridge, and is nowhere else. */
	assert_int_equal(reached(2, MAC(77)), 0);
	bridges();
	assert_int_equal(reached(0, MAC(77)), 0xc);
	assert_int_equal(reached(2, MAC(77)), 0x8);
	assert_int_equal(reached(0, 0), 0xc);
}

/* An interface has its own address, and no frame comes in by it from another. */
static void test_one_address(void **)
{
	bridges();
	assert_true(admit(&port[0], MAC(1), 5));
	assert_false(admit(&port[0], MAC(2), 5));
	assert_false(admit(&port[0], MAC(50), 5));
	assert_false(admit(&port[0], BROADCAST, 5));
	assert_false(admit(&port[0], 0, 5));
	assert_int_equal(reached(1, MAC(50)), 0xc);
	/* Nor does a bridge have another port's, or what is nobody's. */
	assert_false(admit(&port[2], MAC(1), 5));
	assert_false(admit(&port[2], MAC(4), 5));
	assert_false(admit(&port[2], BROADCAST, 5));
	assert_false(admit(&port[2], 0, 5));
	assert_int_equal(reached(1, MAC(1)), 1 << 0);
	assert_true(admit(&port[2], MAC(3), 5));
}

static void test_learning(void **)
{
	bridges();
	assert_true(admit(&port[2], MAC(50), 5));
	assert_int_equal(reached(0, MAC(50)), 1 << 2);
	assert_int_equal(reached(2, MAC(50)), 0);
	/*
	 * Nobody takes it over while it lives, though it says nothing to anybody but by the last
	 * second.
	 */
	assert_false(admit(&port[3], MAC(50), 5 + NET_AGE - 1));
	assert_false(admit(&port[0], MAC(50), 5 + NET_AGE - 1));
	assert_true(admit(&port[2], MAC(50), 4 + NET_AGE));
	assert_false(admit(&port[3], MAC(50), 3 + 2 * NET_AGE));
	/* Nor by a CPU whose clock is behind. */
	assert_false(admit(&port[3], MAC(50), 3));
	assert_int_equal(reached(0, MAC(50)), 1 << 2);
	/* It is too old: behind any bridge; then where it has moved. */
	assert_true(admit(&port[0], MAC(1), 4 + 2 * NET_AGE));
	assert_int_equal(reached(0, MAC(50)), 0xc);
	assert_true(admit(&port[3], MAC(50), 4 + 2 * NET_AGE));
	assert_int_equal(reached(0, MAC(50)), 1 << 3);
	/* It has gone, and what was behind it. */
	net_leave(&s, &port[3]);
	assert_int_equal(s.bridges, 1);
	assert_int_equal(reached(0, MAC(50)), 1 << 2);
	assert_true(admit(&port[2], MAC(50), 5 + 2 * NET_AGE));
	assert_int_equal(reached(0, BROADCAST), 0x6);
	/* A second time: it takes nobody else's place. */
	assert_int_equal(net_join(&s, &port[5]), 0);
	net_leave(&s, &port[3]);
	assert_int_equal(s.bridges, 1);
	assert_int_equal(reached(0, BROADCAST), 1 << 1 | 1 << 2 | 1 << 5);
}

/*
 * However many a bridge has: those that live stay, all others come in too; and another bridge's
 * table is as it was.
 */
static void test_many(void **)
{
	unsigned known = 0;

	bridges();
	assert_true(admit(&port[2], MAC(50), 1));
	for (unsigned i = 0; i < 100000; i++)
		assert_true(admit(&port[3], 0x06 | (u64)i << 8, 1));
	for (unsigned i = 0; i < 100000; i++)
		known += reached(0, 0x06 | (u64)i << 8) == 1 << 3;
	assert_int_equal(known, NET_LEARNED);
	assert_int_equal(reached(0, 0x06), 1 << 3);
	assert_int_equal(reached(0, 0x06 | 99999ull << 8), 0xc);
	assert_int_equal(reached(0, MAC(50)), 1 << 2);
	/* Room is made by age. */
	assert_true(admit(&port[3], 0x06 | 99999ull << 8, 1 + NET_AGE));
	assert_int_equal(reached(0, 0x06 | 99999ull << 8), 1 << 3);
}

static void test_isolated(void **)
{
	ports(4);
	port[0].isolated = port[1].isolated = true;
	assert_int_equal(reached(0, BROADCAST), 0xc);
	assert_int_equal(reached(0, MAC(2)), 0);
	assert_int_equal(reached(0, MAC(3)), 1 << 2);
	assert_int_equal(reached(2, BROADCAST), 0xb);
	assert_int_equal(reached(2, MAC(1)), 1 << 0);
	again(&port[1], false, table[0]);
	assert_true(admit(&port[1], MAC(60), 1));
	assert_int_equal(reached(0, MAC(60)), 0);
	assert_int_equal(reached(2, MAC(60)), 1 << 1);
}

static void test_mirror(void **)
{
	ports(4);
	port[0].isolated = port[1].isolated = true;
	again(&port[3], true, NULL);
	assert_int_equal(reached(0, MAC(3)), 1 << 2 | 1 << 3);
	assert_int_equal(reached(0, MAC(2)), 1 << 3);
	assert_int_equal(reached(1, BROADCAST), 1 << 2 | 1 << 3);
	assert_int_equal(reached(2, MAC(3)), 1 << 3);
	assert_int_equal(reached(3, BROADCAST), 0);
	assert_true(admit(&port[3], MAC(90), 1));
	assert_int_equal(reached(2, MAC(90)), 1 << 3);
	/* One that takes its place is none. */
	again(&port[3], false, NULL);
	assert_int_equal(reached(0, MAC(3)), 1 << 2);
}

static void test_full(void **)
{
	static const u8 some[NET_VLANS / 8];

	ports(NET_PORTS);
	assert_int_equal(net_join(&s, &port[NET_PORTS]), -ENOSPC);
	net_leave(&s, &port[7]);
	assert_int_equal(net_join(&s, &port[NET_PORTS]), 0);
	assert_int_equal(port[NET_PORTS].index, 7);
	port[0].vlans = some;
	net_leave(&s, &port[9]);
	assert_int_equal(net_join(&s, &port[9]), -EINVAL);
}

/* One that is hidden is found by nobody, and its index is its own until it has left. */
static void test_hidden(void **)
{
	ports(4);
	assert_true(net_hide(&s, &port[1]));
	assert_false(net_hide(&s, &port[1]) || net_hide(&s, &port[9]));
	assert_int_equal(reached(0, BROADCAST), 0xc);
	assert_int_equal(reached(0, MAC(2)), 0);
	assert_ptr_equal(s.port[1], &port[1]);
	port[9].mac = MAC(2);
	assert_int_equal(net_join(&s, &port[9]), 0);
	assert_int_equal(port[9].index, 4);
	assert_ptr_equal(net_owner(&s, MAC(2), 0), &port[9]);
	net_leave(&s, &port[1]);
	assert_null(s.port[1]);
	assert_ptr_equal(net_owner(&s, MAC(2), 0), &port[9]);
	assert_int_equal(net_join(&s, &port[8]), 0);
	assert_int_equal(port[8].index, 1);
	bridges();
	net_hide(&s, &port[3]);
	assert_int_equal(reached(0, MAC(77)), 0x4);
	assert_int_equal(s.bridges, 1);
}

/*
 * Ports are found by their address, however many have its hash, and whoever of these has gone; of
 * two with one address that which came first.
 */
static void test_hash(void **)
{
	ports(NET_PORTS);
	assert_true(reached(0, BROADCAST) == ~1ull);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < NET_PORTS; i++)
			assert_ptr_equal(net_owner(&s, port[i].mac, 0), &port[i]);
		for (unsigned i = round; i < NET_PORTS; i += 3)
			net_leave(&s, &port[i]);
		for (unsigned i = 0; i < NET_PORTS; i++)
			assert_ptr_equal(net_owner(&s, port[i].mac, 0),
					 i % 3 == round ? NULL : &port[i]);
		for (unsigned i = round; i < NET_PORTS; i += 3) {
			/* All at one end of the hash, then all the same but by chance. */
			port[i].mac = round < 2 ? MAC(1000 + i * 64) : (u64)i << 41;
			assert_int_equal(net_join(&s, &port[i]), 0);
			assert_int_equal(port[i].index, i);
		}
	}
	ports(3);
	net_leave(&s, &port[0]);
	port[4].mac = port[0].mac = MAC(2);
	assert_int_equal(net_join(&s, &port[0]), 0);
	assert_int_equal(net_join(&s, &port[4]), 0);
	assert_ptr_equal(net_owner(&s, MAC(2), 0), &port[1]);
	net_leave(&s, &port[1]);
	assert_ptr_equal(net_owner(&s, MAC(2), 0), &port[0]);
	net_leave(&s, &port[0]);
	assert_ptr_equal(net_owner(&s, MAC(2), 0), &port[4]);
	net_leave(&s, &port[4]);
	assert_null(net_owner(&s, MAC(2), 0));
	assert_ptr_equal(net_owner(&s, MAC(3), 0), &port[2]);
}

static u8 vlans[NET_PORTS][NET_VLANS / 8];

static void give_vlans(unsigned p, u16 pvid, u16 first, u16 last)
{
	memset(vlans[p], 0, sizeof(vlans[p]));
	port[p].vlans = vlans[p];
	port[p].pvid = pvid;
	vlans[p][pvid / 8] |= pvid ? (u8)BIT(pvid % 8) : 0;
	for (unsigned v = first; v && v <= last; v++)
		vlans[p][v / 8] |= (u8)BIT(v % 8);
}

/* Each VLAN is a segment for itself. */
static void test_vlans(void **)
{
	ports(5);
	give_vlans(0, 10, 0, 0);
	give_vlans(1, 10, 0, 0);
	give_vlans(2, 20, 0, 0);
	give_vlans(3, 0, 10, 20);
	give_vlans(4, 20, 4094, 4094);
	assert_int_equal(reached_in(0, BROADCAST, 10), 1 << 1 | 1 << 3);
	assert_int_equal(reached_in(3, BROADCAST, 10), 1 << 0 | 1 << 1);
	assert_int_equal(reached_in(3, BROADCAST, 20), 1 << 2 | 1 << 4);
	assert_int_equal(reached_in(3, BROADCAST, 15), 0);
	assert_int_equal(reached_in(4, BROADCAST, 4094), 0);
	assert_int_equal(reached_in(4, BROADCAST, 20), 1 << 2 | 1 << 3);
	assert_int_equal(reached_in(0, MAC(2), 10), 1 << 1);
	assert_int_equal(reached_in(0, MAC(4), 10), 1 << 3);
	/* Who is there, but in another VLAN, is nobody. */
	assert_int_equal(reached_in(0, MAC(3), 10), 0);
	/* All have some, or none has. */
	assert_int_equal(net_join(&s, &port[5]), -EINVAL);
	give_vlans(5, 0, 1, 4094);
	assert_int_equal(net_join(&s, &port[5]), 0);
	net_leave(&s, &port[5]);
	/* Isolated ones and mirrors in their VLANs, too. */
	port[1].isolated = port[0].isolated = true;
	assert_int_equal(reached_in(0, BROADCAST, 10), 1 << 3);
	again(&port[4], true, NULL);
	assert_int_equal(reached_in(0, BROADCAST, 10), 1 << 3);
	assert_int_equal(reached_in(3, MAC(3), 20), 1 << 2 | 1 << 4);
}

/* An address is learned in the VLAN in which it was seen, and may be another's in another one. */
static void test_learning_in_vlans(void **)
{
	unsigned known = 0;

	bridges();
	give_vlans(0, 10, 20, 20);
	give_vlans(1, 20, 0, 0);
	give_vlans(2, 0, 1, 100);
	give_vlans(3, 0, 10, 20);
	assert_true(net_admit(&s, &port[2], MAC(50), 10, 5));
	assert_int_equal(reached_in(0, MAC(50), 10), 1 << 2);
	assert_int_equal(reached_in(0, MAC(50), 20), 1 << 2 | 1 << 3);
	assert_false(net_admit(&s, &port[3], MAC(50), 10, 5));
	assert_true(net_admit(&s, &port[3], MAC(50), 20, 5));
	assert_int_equal(reached_in(0, MAC(50), 10), 1 << 2);
	assert_int_equal(reached_in(1, MAC(50), 20), 1 << 3);
	/* An interface's own is nobody else's in any, and nowhere but in its own. */
	assert_false(net_admit(&s, &port[3], MAC(2), 10, 5));
	assert_int_equal(reached_in(0, MAC(2), 20), 1 << 1);
	assert_int_equal(reached_in(0, MAC(2), 10), 1 << 2 | 1 << 3);
	/* A router's address in all VLANs of a bridge has room there. */
	for (u16 v = 1; v <= 100; v++)
		assert_true(net_admit(&s, &port[2], 0x5e0002, v, 6));
	for (u16 v = 1; v <= 100; v++)
		known += net_owner(&s, 0x5e0002, v) == &port[2];
	assert_in_range(known, 90, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flooding),
		cmocka_unit_test(test_one_address),
		cmocka_unit_test(test_learning),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_isolated),
		cmocka_unit_test(test_mirror),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_vlans),
		cmocka_unit_test(test_learning_in_vlans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
