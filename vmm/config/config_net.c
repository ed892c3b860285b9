/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's key for network interfaces: `net = SEGMENT`, and behind it
 * `mac=02:...`, `mtu=9000`, `pvid=10`, `trunk=20-29`, `bridge`, `isolated`, `mirror` or
 * `offload=no`; and what is wrong with those only beside the other VMs' of the node.
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
		if (right)
			n->mac |= (u64)hex_digit(v.p[i]) << (i / 3 * 8 + (i % 3 ? 0 : 4));
	}
	if (!right || !n->mac || n->mac & 1)
		return config_wrong(p, "net: mac",
				    "one address, of one interface, like 02:00:00:00:00:01", v);
	return 0;
}

/* A number of these, once. */
static int set_number(struct parser *p, const char *key, struct span v, unsigned min, unsigned max,
		      u16 *out)
{
	struct span rest = v;
	char expected[60];
	u64 number;

	if (!*out && span_number(&rest, 10, &number) && !rest.n && number >= min && number <= max) {
		*out = (u16)number;
		return 0;
	}
	snprintf(expected, sizeof(expected), "one number from %u to %u", min, max);
	return config_wrong(p, key, expected, v);
}

/* `10` or `20-29` */
static int add_vlans(struct parser *p, struct span v)
{
	struct vm_config_net *n = &p->config->net[p->config->nr_nets];
	struct span rest = v;
	u64 first, last;

	if (n->nr_trunk == VM_TRUNK_MAX)
		return config_fail(p, "net: trunk: expected at most %u VLANs and ranges of them",
				   VM_TRUNK_MAX);
	if (!span_number(&rest, 10, &first))
		first = 0;
	last = first;
	if ((span_skip(&rest, "-") && !span_number(&rest, 10, &last)) || rest.n || !first ||
	    last < first || last > VM_VLAN_MAX)
		return config_wrong(p, "net: trunk", "VLANs from 1 to 4094, like 10,20-29", v);
	n->trunk[n->nr_trunk++] = (struct vm_config_vlans){ (u16)first, (u16)last };
	return 0;
}

static int set_trunk(struct parser *p, struct vm_config_net *n, struct span v)
{
	if (n->nr_trunk)
		return config_wrong(p, "net: trunk", "one list of VLANs", v);
	return config_list(p, "net: trunk", "another VLAN behind the comma", v, add_vlans);
}

static int set_option(struct parser *p, struct vm_config_net *n, struct span v)
{
	struct span value = v;

	if (span_skip(&value, "mac="))
		return set_mac(p, n, value);
	if (span_skip(&value, "mtu="))
		return set_number(p, "net: mtu", value, VM_MTU_MIN, VM_MTU_MAX, &n->mtu);
	if (span_skip(&value, "pvid="))
		return set_number(p, "net: pvid", value, 1, VM_VLAN_MAX, &n->pvid);
	if (span_skip(&value, "trunk="))
		return set_trunk(p, n, value);
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
			"mac=..., mtu=..., pvid=..., trunk=..., bridge, isolated, mirror or offload=no behind the segment",
			v);
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

void vm_config_trunk(const struct vm_config_net *n, char text[VM_TRUNK_TEXT])
{
	size_t used = 0;

	text[0] = 0;
	for (unsigned i = 0; i < n->nr_trunk; i++) {
		struct vm_config_vlans v = n->trunk[i];

		used += (size_t)snprintf(text + used, VM_TRUNK_TEXT - used, "%s%u", i ? "," : "",
					 v.first);
		if (v.last != v.first)
			used += (size_t)snprintf(text + used, VM_TRUNK_TEXT - used, "-%u", v.last);
	}
}

/* NULL: a file that is no VM. */
static unsigned nets_of(const struct vm_config *c)
{
	return c ? c->nr_nets : 0;
}

/*
 * Interface n of one file beside one of an earlier line. A switch cuts no frame: one that is too
 * large for a member of its segment would be lost without a word, so all have the same MTU. And who
 * has left the VLANs out by mistake is neither in all of them nor, without a word, in none.
 */
static int check_pair(const struct vm_config *c, unsigned n, const struct vm_config *other,
		      unsigned m, struct config_error *err)
{
	const struct vm_config_net *one = &c->net[n], *before = &other->net[m];
	u64 mac = vm_config_mac(c, n);

	if (vm_config_mac(other, m) == mac)
		return vm_config_error(err, c->file, one->line,
				       "net: " VM_MAC
				       " is the address of %s:%u already: give another by mac=",
				       VM_MAC_BYTES(mac), other->file, before->line);
	if (strcmp(one->segment, before->segment) != 0)
		return 0;
	if (vm_config_mtu(one) != vm_config_mtu(before))
		return vm_config_error(
			err, c->file, one->line,
			"net = %s: its MTU is %u here, %u by %s:%u: all of a segment have the same mtu=",
			one->segment, vm_config_mtu(one), vm_config_mtu(before), other->file,
			before->line);
	if (vm_config_has_vlans(one) != vm_config_has_vlans(before))
		return vm_config_error(
			err, c->file, one->line,
			"net = %s: %s here, %s by %s:%u: all of a segment have pvid= or trunk=, or none",
			one->segment, vm_config_has_vlans(one) ? "VLANs" : "no VLANs",
			vm_config_has_vlans(before) ? "VLANs" : "none", other->file, before->line);
	return 0;
}

int vm_config_check_net(const struct vm_config *const file[], unsigned i, struct config_error *err)
{
	const struct vm_config *c = file[i];

	for (unsigned n = 0; n < c->nr_nets; n++) {
		for (unsigned k = 0; k <= i; k++) {
			unsigned before = k == i ? n : nets_of(file[k]);

			for (unsigned m = 0; m < before; m++)
				if (check_pair(c, n, file[k], m, err))
					return -EINVAL;
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
