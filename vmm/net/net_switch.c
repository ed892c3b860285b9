/* SPDX-License-Identifier: GPL-2.0-only */
/* See net_switch.h. */
#include "vmm/net/net_switch.h"

#include <margay/errno.h>

#define GROUP 1u /* I/G: the address of several (IEEE 802, 8.2.2) */

static const struct net_learned *set_of(const struct net_segment *s, u64 mac)
{
	u64 hash = mac * 0x9e3779b97f4a7c15ull >> 32;

	return &s->learned[hash % (NET_LEARNED / NET_LEARNED_WAYS) * NET_LEARNED_WAYS];
}

static struct net_port *owner(const struct net_segment *s, u64 mac)
{
	for (unsigned i = 0; i < NET_PORTS; i++)
		if (s->port[i] && s->port[i]->mac == mac)
			return s->port[i];
	return NULL;
}

/* The port by which an address is reached; NULL: nobody knows. */
static const struct net_port *find(const struct net_segment *s, u64 mac)
{
	const struct net_learned *set = set_of(s, mac);
	const struct net_port *own = owner(s, mac);

	for (unsigned i = 0; !own && i < NET_LEARNED_WAYS; i++)
		if (set[i].port && set[i].mac == mac)
			return set[i].port;
	return own;
}

int net_join(struct net_segment *s, struct net_port *p)
{
	for (unsigned i = 0; i < NET_PORTS; i++) {
		if (s->port[i])
			continue;
		s->port[i] = p;
		p->index = i;
		return 0;
	}
	return -ENOSPC;
}

void net_leave(struct net_segment *s, struct net_port *p)
{
	if (s->port[p->index] == p)
		s->port[p->index] = NULL;
	for (unsigned i = 0; i < NET_LEARNED; i++)
		if (s->learned[i].port == p)
			s->learned[i].port = NULL;
}

void net_learn(struct net_segment *s, struct net_port *p, u64 mac)
{
	struct net_learned *set = (struct net_learned *)(uintptr_t)set_of(s, mac), *to = NULL;

	if (p->mirror || mac == p->mac || mac & GROUP || owner(s, mac))
		return;
	for (unsigned i = 0; i < NET_LEARNED_WAYS; i++) {
		if (set[i].port && set[i].mac == mac) {
			set[i].port = p;
			return;
		}
		to = set[i].port ? to : &set[i];
	}
	if (!to)
		to = &set[s->oldest++ % NET_LEARNED_WAYS];
	*to = (struct net_learned){ mac, p };
}

struct net_port *net_next(const struct net_segment *s, const struct net_port *from, u64 to, unsigned *at)
{
	const struct net_port *only = to & GROUP ? NULL : find(s, to);

	while (!from->mirror && *at < NET_PORTS) {
		struct net_port *p = s->port[(*at)++];

		if (p && p != from && (p->mirror || ((!only || p == only) && !(p->isolated && from->isolated))))
			return p;
	}
	return NULL;
}
