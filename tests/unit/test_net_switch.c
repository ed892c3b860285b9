/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/net/net_switch.c */
/* Which ports of a segment get a frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/net/net_switch.h"

#define MAC(n) (0x02ull | (u64)(n) << 40)
#define BROADCAST 0xffffffffffffull

static struct net_segment s;
static struct net_port port[NET_PORTS + 1];

/* n ports, of MAC(1) and so on. */
static void ports(unsigned n)
{
	memset(&s, 0, sizeof(s));
	memset(port, 0, sizeof(port));
	for (unsigned i = 0; i < n; i++) {
		port[i].mac = MAC(i + 1);
		assert_int_equal(net_join(&s, &port[i]), 0);
	}
}

/* Who gets it: bits by number of the port. */
static u64 reached(unsigned from, u64 to)
{
	const struct net_port *p;
	unsigned at = 0;
	u64 all = 0;

	while ((p = net_next(&s, &port[from], to, &at)))
		all |= 1ull << (p - port);
	return all;
}

static void test_flooding(void **)
{
	ports(4);
	assert_int_equal(reached(0, MAC(3)), 1 << 2);
	assert_int_equal(reached(1, BROADCAST), 0xd);
	assert_int_equal(reached(3, 0x015e00000001ull | 1), 0x7);
	/* Nobody's that is known: all but who sent it. */
	assert_int_equal(reached(2, MAC(77)), 0xb);
	/* To himself: nobody. */
	assert_int_equal(reached(2, MAC(3)), 0);
}

static void test_learning(void **)
{
	ports(3);
	net_learn(&s, &port[1], MAC(50));
	assert_int_equal(reached(0, MAC(50)), 1 << 1);
	/* Behind the port that sends: nobody else's. */
	assert_int_equal(reached(1, MAC(50)), 0);
	/* It has moved. */
	net_learn(&s, &port[2], MAC(50));
	assert_int_equal(reached(0, MAC(50)), 1 << 2);
	/* A port's own address is not to be had, nor a group. */
	net_learn(&s, &port[2], MAC(1));
	net_learn(&s, &port[2], BROADCAST);
	assert_int_equal(reached(1, MAC(1)), 1 << 0);
	assert_int_equal(reached(0, BROADCAST), 0x6);
	/* It has gone, and what was behind it. */
	net_leave(&s, &port[2]);
	assert_int_equal(reached(0, MAC(50)), 1 << 1);
	assert_int_equal(reached(0, MAC(3)), 1 << 1);
	for (unsigned i = 0; i < NET_LEARNED; i++)
		assert_ptr_not_equal(s.learned[i].port, &port[2]);
	/* A second time: it takes nobody else's place. */
	assert_int_equal(net_join(&s, &port[5]), 0);
	net_leave(&s, &port[2]);
	assert_int_equal(reached(0, BROADCAST), 1 << 1 | 1 << 5);
}

/* However many there are, the table holds the last ones of each set; all others are flooded. */
static void test_many(void **)
{
	unsigned known = 0;

	ports(3);
	for (unsigned i = 0; i < 100000; i++)
		net_learn(&s, &port[1], 0x06 | (u64)i << 8);
	assert_int_equal(reached(0, 0x06 | 99999ull << 8), 1 << 1);
	for (unsigned i = 0; i < 100000; i++)
		known += reached(0, 0x06 | (u64)i << 8) == 1 << 1;
	assert_in_range(known, NET_LEARNED / 2, NET_LEARNED);
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
	net_learn(&s, &port[1], MAC(60));
	assert_int_equal(reached(0, MAC(60)), 0);
}

static void test_mirror(void **)
{
	ports(4);
	port[0].isolated = port[1].isolated = true;
	port[3].mirror = true;
	assert_int_equal(reached(0, MAC(3)), 1 << 2 | 1 << 3);
	assert_int_equal(reached(0, MAC(2)), 1 << 3);
	assert_int_equal(reached(1, BROADCAST), 1 << 2 | 1 << 3);
	assert_int_equal(reached(2, MAC(3)), 1 << 3);
	assert_int_equal(reached(3, BROADCAST), 0);
	net_learn(&s, &port[3], MAC(90));
	assert_int_equal(reached(2, MAC(90)), 1 << 0 | 1 << 1 | 1 << 3);
}

static void test_full(void **)
{
	ports(NET_PORTS);
	assert_int_equal(net_join(&s, &port[NET_PORTS]), -ENOSPC);
	net_leave(&s, &port[7]);
	assert_int_equal(net_join(&s, &port[NET_PORTS]), 0);
	assert_int_equal(port[NET_PORTS].index, 7);
}

/* Between two calls a port comes and another goes: each of the others gets it once. */
static void test_changes(void **)
{
	unsigned at = 0;

	ports(4);
	assert_ptr_equal(net_next(&s, &port[0], BROADCAST, &at), &port[1]);
	net_leave(&s, &port[1]);
	net_leave(&s, &port[2]);
	assert_int_equal(net_join(&s, &port[9]), 0);
	assert_ptr_equal(net_next(&s, &port[0], BROADCAST, &at), &port[3]);
	assert_null(net_next(&s, &port[0], BROADCAST, &at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flooding), cmocka_unit_test(test_learning), cmocka_unit_test(test_many),
		cmocka_unit_test(test_isolated), cmocka_unit_test(test_mirror), cmocka_unit_test(test_full),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
