/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guests on one segment, three if not told otherwise, with virtio_guest.h's driver in each: frames,
 * and buffers for them.
 */
#ifndef TESTS_NET_GUESTS_H
#define TESTS_NET_GUESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/virtio_guest.h"
#include "vmm/config/config_parse.h"
#include "vmm/dev/virtio/net_frame.h"
#include "vmm/vm/devices.h"
#include "vmm/vm/net_counts.h"

#ifndef NET_GUESTS
#define NET_GUESTS 3u
#endif

enum { RX, TX };
enum { NEXT = 1, WRITE = 2 };
enum {
	CSUM = BIT(0),
	GUEST_CSUM = BIT(1),
	GUEST_TSO4 = BIT(7),
	HOST_TSO4 = BIT(11),
	MRG = BIT(15),
	CTRL = BIT(17),
	MQ = BIT(22)
};
#define ALL (CSUM | GUEST_CSUM | GUEST_TSO4 | HOST_TSO4 | MRG)
#define EVENT_INDEX BIT(29)
#define HEADER sizeof(struct net_header)
#define MAC(n) (0x02ull | (u64)(n) << 40)
#define BROADCAST 0xffffffffffffull
enum { SEND_AT = 0x80000, RECEIVE_AT = 0x100000, SLOT = 0x20000 };
#define HEADERS 54u
#define MTU VM_MTU_DEFAULT

static struct guest {
	struct vm *vm;
	u16 offered[ARRAY_SIZE(offered)];
} guest[NET_GUESTS];
static struct guest *now;

int config_fail(struct parser *, const char *, ...)
{
	return -EINVAL;
}

int config_wrong(struct parser *, const char *, const char *, struct span)
{
	return -EINVAL;
}

int config_list(struct parser *, const char *, const char *, struct span,
		int (*)(struct parser *, struct span))
{
	return -EINVAL;
}

int vm_config_error(struct config_error *, const char *, unsigned, const char *, ...)
{
	return -EINVAL;
}

/* The guest that virtio_guest.h's driver is in from here on. */
static inline void use(unsigned n)
{
	if (now)
		memcpy(now->offered, offered, sizeof(offered));
	now = &guest[n];
	vm = now->vm;
	memcpy(offered, now->offered, sizeof(offered));
}

static inline void start(unsigned n)
{
	if (now)
		memcpy(now->offered, offered, sizeof(offered));
	now = NULL;
	guest[n] = (struct guest){ 0 };
	fake_vm_config.net[0].mac = MAC(n + 1);
	assert_int_equal(guest_start(), 0);
	guest[n].vm = vm;
	use(n);
}

static inline int setup(void **)
{
	fake_host_reset();
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	fake_vm_config.nr_nets = 1;
	fake_vm_config.net[0] = (struct vm_config_net){ .segment = "lan0" };
	for (unsigned n = 0; n < NET_GUESTS; n++)
		start(n);
	return 0;
}

static inline int teardown(void **)
{
	for (unsigned n = 0; n < NET_GUESTS; n++)
		if (guest[n].vm)
			fake_vm_destroy(guest[n].vm);
	now = NULL;
	fake_vm_config.nr_nets = 0;
	return 0;
}

static inline void stop(unsigned n)
{
	fake_vm_destroy(guest[n].vm);
	guest[n].vm = NULL;
}

/* ---- the driver ---- */

/* `size` bytes as one buffer for the next frame. */
static inline void offer_buffer(u32 size)
{
	u16 i = offered[RX] % 128u;

	set_desc(RX, i, RECEIVE_AT + i * (u64)0x2000, size, WRITE, 0);
	offer(RX, i);
}

static inline u8 *bytes(u64 at, u64 size)
{
	return guest_ptr(vm, gpa(at), size);
}

/* An Ethernet frame with IPv4 and TCP, in the n-th place. Returns where it is. */
static inline u64 make(unsigned n, u64 to, u64 from, u32 data, u16 gso_size)
{
	u64 at = SEND_AT + n * (u64)SLOT;
	struct net_header *h = (void *)bytes(at, HEADER + HEADERS + data);
	u8 *p = (u8 *)(h + 1);
	u32 sum = 6 + 20 + data;

	*h = (struct net_header){
		gso_size ? NET_NEEDS_CSUM : 0, gso_size ? NET_GSO_TCPV4 : 0, 0, gso_size, 34, 16, 0
	};
	for (u32 i = 0; i < HEADERS + data; i++)
		p[i] = (u8)(i * 7 + i / 253 + n);
	memcpy(p, &to, 6);
	memcpy(p + 6, &from, 6);
	memcpy(p + 12,
	       (u8[]){ 8, 0, 0x45, 0, (u8)((40 + data) >> 8), (u8)(40 + data), 0, 1, 0x40, 0, 64, 6,
		       0, 0 },
	       14);
	for (unsigned i = 26; i < 34; i += 2)
		sum += (u32)p[i] << 8 | p[i + 1];
	p[46] = 0x50;
	sum = (sum & 0xffff) + (sum >> 16);
	p[50] = (u8)(sum >> 8);
	p[51] = (u8)sum;
	return at;
}

static inline void notify(void)
{
	put(0, NOTIFY(TX), 2, TX);
}

/* Sends what is at `at`, in two buffers, the header in one of them. */
static inline void queue_frame(u64 at, u64 size)
{
	u16 i = offered[TX] * 2u % 128u;

	set_desc(TX, i, at, HEADER, NEXT, (u16)(i + 1));
	set_desc(TX, i + 1u, at + HEADER, (u32)size, 0, 0);
	offer(TX, i);
}

static inline void send(u64 to, u32 data, u16 gso_size)
{
	queue_frame(make(0, to, MAC(now - guest + 1), data, gso_size), HEADERS + data);
	notify();
}

static inline unsigned used(unsigned queue)
{
	return (unsigned)ram(USED(queue) + 2, 2);
}

/* The n-th used entry's length, and where its buffer is. */
static inline u32 got(unsigned n, u64 *at)
{
	u64 entry = ram(USED(RX) + 4 + n * 8, 8);

	*at = RECEIVE_AT + (entry & 0xffffffff) * 0x2000;
	return (u32)(entry >> 32);
}

/* Of a guest, why frames of its or for it were lost. */
static inline u64 dropped(unsigned n, enum net_drop why)
{
	struct net_counts c;

	assert_true(vm_net_counts(guest[n].vm, 0, &c));
	assert_false(vm_net_counts(guest[n].vm, 1, &c));
	return c.drop[why];
}

static inline u32 sum(u32 s, const u8 *p, u32 n)
{
	for (u32 i = 0; i < n; i++)
		s += i & 1 ? p[i] : (u32)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

#endif
