/* SPDX-License-Identifier: GPL-2.0-only */
/* See net_switch.h. */
#include "vmm/dev/virtio/net_switch.h"

#include <margay/errno.h>

#define GROUP 1u /* I/G: the address of several (IEEE 802, 8.2.2) */

/* Out of the way of frames that have none. */
noinline bool net_has_vlan(const struct net_port *p, unsigned vlan)
{
	return p->vlans[vlan / 8] & BIT(vlan % 8);
}

/* What stands for an address of a VLAN. */
static u64 key_of(u64 mac, u16 vlan)
{
	return mac | (u64)vlan << 48;
}

/*
 * Where a key would stand among those behind a bridge; NULL: the port is none. The VLAN counts,
 * too: behind a router one address is in many.
 */
static struct net_learned *set_of(const struct net_port *p, u64 key)
{
	u64 hash = (key ^ key >> 48) * 0x9e3779b97f4a7c15ull >> 32;

	return p->learned ? &p->learned[hash % (NET_LEARNED / NET_LEARNED_WAYS) * NET_LEARNED_WAYS]
			  : NULL;
}

static bool lives(const struct net_learned *e, u32 now)
{
	return e->mac && now - e->seen < NET_AGE;
}

/* Where it stands, if it lives. */
static struct net_learned *entry(const struct net_port *p, u64 key, u32 now)
{
	struct net_learned *set = set_of(p, key);

	for (unsigned i = 0; set && i < NET_LEARNED_WAYS; i++)
		if (set[i].mac == key && lives(&set[i], now))
			return &set[i];
	return NULL;
}

/* Where the ports begin whose address has the same hash. */
static const u8 *bucket(const struct net_segment *s, u64 mac)
{
	static_assert(NET_PORTS == 64, "bits of a u64, and of the hash");
	return &s->first[mac * 0x9e3779b97f4a7c15ull >> 58];
}

static struct net_port *interface_of(const struct net_segment *s, u64 mac)
{
	for (unsigned i = *bucket(s, mac); i; i = s->port[i - 1]->next)
		if (s->port[i - 1]->mac == mac)
			return s->port[i - 1];
	return NULL;
}

/* The bridge behind which the address lives; NULL: nobody knows. */
static struct net_port *bridge_of(const struct net_segment *s, u64 key)
{
	for (u64 set = s->learning; set; set &= set - 1) {
		struct net_port *p = s->port[__builtin_ctzll(set)];

		if (entry(p, key, s->now))
			return p;
	}
	return NULL;
}

/* What says that this port, or that one will be, the next with its hash. */
static u8 *link_to(struct net_segment *s, const struct net_port *p, unsigned number)
{
	u8 *link = (u8 *)(uintptr_t)bucket(s, p->mac);

	while (*link != number)
		link = &s->port[*link - 1]->next;
	return link;
}

int net_join(struct net_segment *s, struct net_port *p)
{
	unsigned i = s->taken ? (unsigned)__builtin_ctzll(s->taken) : 0;

	if (s->taken && !s->port[i]->vlans != !p->vlans)
		return -EINVAL;
	for (i = 0; i < NET_PORTS && s->port[i];)
		i++;
	if (i == NET_PORTS)
		return -ENOSPC;
	p->index = i;
	p->next = 0;
	*link_to(s, p, 0) = (u8)(i + 1);
	s->port[i] = p;
	s->taken |= BIT(i);
	s->learning |= p->learned ? BIT(i) : 0;
	s->mirrors |= p->mirror ? BIT(i) : 0;
	s->bridges += p->learned != NULL;
	return 0;
}

bool net_hide(struct net_segment *s, struct net_port *p)
{
	if (s->port[p->index] != p || !(s->taken & BIT(p->index)))
		return false;
	*link_to(s, p, p->index + 1) = p->next;
	s->taken &= ~BIT(p->index);
	s->learning &= ~BIT(p->index);
	s->mirrors &= ~BIT(p->index);
	s->bridges -= p->learned != NULL;
	return true;
}

void net_leave(struct net_segment *s, struct net_port *p)
{
	net_hide(s, p);
	if (s->port[p->index] == p)
		s->port[p->index] = NULL;
}

/* If there is room in its set: who lives there stays. */
static void learn(struct net_port *p, u64 key, u32 now)
{
	struct net_learned *set = set_of(p, key), *to = entry(p, key, now);

	for (unsigned i = 0; !to && i < NET_LEARNED_WAYS; i++)
		to = lives(&set[i], now) ? NULL : &set[i];
	if (to)
		*to = (struct net_learned){ key, now };
}

bool net_admit(struct net_segment *s, struct net_port *p, u64 mac, u16 vlan, u32 now)
{
	const struct net_port *other;

	/* CPUs' clocks may differ: an address does not die of a second that comes late. */
	s->now = MAX(s->now, now);
	if (p->mirror || mac == p->mac)
		return true;
	if (!p->learned || !mac || mac & GROUP || interface_of(s, mac))
		return false;
	other = bridge_of(s, key_of(mac, vlan));
	if (other && other != p)
		return false;
	learn(p, key_of(mac, vlan), s->now);
	return true;
}

struct net_port *net_owner(const struct net_segment *s, u64 to, u16 vlan)
{
	struct net_port *p = to & GROUP ? NULL : interface_of(s, to);

	/* In another VLAN the address may be somebody's outside. */
	if (p && net_carries(p, vlan))
		return p;
	return to & GROUP ? NULL : bridge_of(s, key_of(to, vlan));
}

u64 net_receivers(const struct net_segment *s, const struct net_port *from, u64 to, u16 vlan)
{
	const struct net_port *owner = net_owner(s, to, vlan);
	u64 set = to & GROUP ? s->taken : s->learning;

	if (from->mirror)
		return 0;
	return ((owner ? BIT(owner->index) : set) | s->mirrors) & ~BIT(from->index);
}

bool net_gets(const struct net_port *p, const struct net_port *from, u16 vlan)
{
	return (p->mirror || !(p->isolated && from->isolated)) && net_carries(p, vlan);
}
