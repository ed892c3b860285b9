/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's key for network interfaces: `net = SEGMENT`, and behind it
 * `mac=02:...`, `bridge`, `isolated`, `mirror` or `offload=no`; and what is wrong with those only
 * beside the other VMs' of the node.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/config/config_parse.h"
#include "vmm/config/config_set.h"

#define MAC_BYTES 6

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The first word of *v, which is left with the rest. */
static struct span next_word(struct span *v)
{
	struct span word = { v->p, 0 };

	while (word.n < v->n && !blank(v->p[word.n]))
		word.n++;
	*v = span_trim((struct span){ v->p + word.n, v->n - word.n });
	return word;
}

static int set_segment(struct parser *p, struct vm_config_net *n, struct span v)
{
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i], lower = c | 0x20;

		if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '-' &&
		    c != '_')
			return config_wrong(p, "net",
					    "a segment's name of letters, digits, '-' and '_'", v);
	}
	if (v.n > VM_SEGMENT_MAX)
		return config_fail(p,
				   "net: expected a segment's name of at most %u bytes, found %zu",
				   VM_SEGMENT_MAX, v.n);
	memcpy(n->segment, v.p, v.n);
	return 0;
}

static int set_mac(struct parser *p, struct vm_config_net *n, struct span v)
{
	bool right = v.n == MAC_BYTES * 3 - 1 && !n->mac;

	for (size_t i = 0; right && i < v.n; i++) {
		if (i % 3 == 2) {
			right = v.p[i] == ':';
			continue;
		}
		right = hex_digit(v.p[i]) >= 0;
		n->mac = right ? n->mac | (u64)hex_digit(v.p[i]) << (i / 3 * 8 + (i % 3 ? 0 : 4))
			       : n->mac;
	}
	if (!right || !n->mac || n->mac & 1)
		return config_wrong(p, "net: mac",
				    "one address, of one interface, like 02:00:00:00:00:01", v);
	return 0;
}

static int set_option(struct parser *p, struct vm_config_net *n, struct span v)
{
	struct span mac = v;

	if (span_skip(&mac, "mac="))
		return set_mac(p, n, mac);
	if (span_is(v, "bridge"))
		n->bridge = true;
	else if (span_is(v, "isolated"))
		n->isolated = true;
	else if (span_is(v, "mirror"))
		n->mirror = true;
	else if (span_is(v, "offload=no"))
		n->plain = true;
	else
		return config_wrong(
			p, "net",
			"mac=..., bridge, isolated, mirror or offload=no behind the segment", v);
	return 0;
}

int config_set_net(struct parser *p, struct span v)
{
	struct vm_config *c = p->config;
	struct vm_config_net *n = &c->net[c->nr_nets];

	if (c->nr_nets == VM_NETS_MAX)
		return config_fail(p, "net: expected at most %u interfaces", VM_NETS_MAX);
	*n = (struct vm_config_net){ 0 };
	if (set_segment(p, n, next_word(&v)))
		return -EINVAL;
	while (v.n)
		if (set_option(p, n, next_word(&v)))
			return -EINVAL;
	n->line = p->line;
	c->nr_nets++;
	return 0;
}

/* FNV-1a of the name and the number; locally administered, not a group's (IEEE 802, 8.4). */
u64 vm_config_mac(const struct vm_config *c, unsigned i)
{
	u64 hash = 0xcbf29ce484222325ull;

	if (c->net[i].mac)
		return c->net[i].mac;
	for (const char *p = c->name; *p; p++)
		hash = (hash ^ (u8)*p) * 0x100000001b3ull;
	hash = (hash ^ (u8)('0' + i)) * 0x100000001b3ull;
	hash ^= hash >> 48;
	return (hash & ~3ull & 0xffffffffffffull) | 2;
}

/* NULL: a file that is no VM. */
static unsigned nets_of(const struct vm_config *c)
{
	return c ? c->nr_nets : 0;
}

int vm_config_check_net(const struct vm_config *const file[], unsigned i, struct config_error *err)
{
	const struct vm_config *c = file[i];

	for (unsigned n = 0; n < c->nr_nets; n++) {
		u64 mac = vm_config_mac(c, n);

		for (unsigned k = 0; k <= i; k++) {
			unsigned before = k == i ? n : nets_of(file[k]);

			for (unsigned m = 0; m < before; m++)
				if (vm_config_mac(file[k], m) == mac)
					return vm_config_error(
						err, c->file, c->net[n].line,
						"net: " VM_MAC " is the address of "
						"%s:%u already: give another by mac=",
						VM_MAC_BYTES(mac), file[k]->file,
						file[k]->net[m].line);
		}
	}
	return 0;
}

bool vm_config_lonely_net(const struct vm_config *const file[], unsigned count, unsigned i,
			  unsigned *at, struct config_error *warning)
{
	const struct vm_config *c = file[i];

	for (; *at < c->nr_nets; ++*at) {
		const struct vm_config_net *n = &c->net[*at];
		unsigned members = 0;

		for (unsigned k = 0; k < count; k++)
			for (unsigned m = 0; m < nets_of(file[k]); m++)
				members += !strcmp(file[k]->net[m].segment, n->segment);
		if (members > 1)
			continue;
		vm_config_error(warning, c->file, n->line,
				"net = %s: nobody else is on this segment", n->segment);
		++*at;
		return true;
	}
	return false;
}
