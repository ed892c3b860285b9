/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: PCI capability lists. */
#include "kernel/pci/pci_cap.h"

/* The offsets that a walk has been at, one bit per dword. */
struct visited {
	u64 bit[PCI_EXTENDED_END / 4 / 64];
};

static bool visit(struct visited *v, u16 offset)
{
	unsigned n = offset / 4;

	if (v->bit[n / 64] & BIT(n % 64))
		return false;
	v->bit[n / 64] |= BIT(n % 64);
	return true;
}

/* Called for each capability; false ends the walk. */
typedef bool (*cap_fn)(void *ctx, const struct pci_cap *cap);

/* One of the two lists. */
static const char *walk(const struct pcicap_reader *r, bool extended, cap_fn fn, void *ctx)
{
	u16 first = extended ? PCI_STANDARD_END : PCI_HEADER_END,
	    end = extended ? PCI_EXTENDED_END : PCI_STANDARD_END;
	struct visited v = { 0 };
	u16 at = PCI_STANDARD_END;

	if (!extended) {
		bool any = r->read32(r->ctx, PCI_REG_COMMAND) >> 16 & PCI_STATUS_CAPABILITIES;

		at = any ? r->read32(r->ctx, PCI_REG_CAPABILITIES) & 0xfc : 0;
	}
	while (at) {
		struct pci_cap cap = { .offset = at, .extended = extended };
		u32 head;

		if (at < first || at >= end)
			return extended
				       ? "an extended capability pointer leads out of the list's space"
				       : "a capability pointer leads out of the list's space";
		if (!visit(&v, at))
			return extended ? "the extended capability list loops"
					: "the capability list loops";
		head = r->read32(r->ctx, at);
		/*
		 * No extended capabilities: all zeros, or no extended space at all (PCI Express
		 * 7.6.1).
		 */
		if (at == PCI_STANDARD_END && (head == 0 || head == 0xffffffff))
			return NULL;
		if (head == 0xffffffff)
			return extended ? "an extended capability does not answer"
					: "a capability does not answer";
		cap.id = extended ? head & 0xffff : head & 0xff;
		/* ID 0 is a place holder that an extended list may start with. */
		if ((cap.id || !extended) && !fn(ctx, &cap))
			return NULL;
		at = extended ? head >> 20 & 0xffc : head >> 8 & 0xfc;
	}
	return NULL;
}

struct collect {
	struct pci_cap *cap;
	unsigned count;
	unsigned max;
};

static bool collect_one(void *ctx, const struct pci_cap *cap)
{
	struct collect *c = ctx;

	if (c->count < c->max)
		c->cap[c->count] = *cap;
	c->count++;
	return true;
}

unsigned pcicap_walk(const struct pcicap_reader *r, struct pci_cap *cap, unsigned max,
		     const char **problem)
{
	struct collect c = { cap, 0, max };
	const char *standard = walk(r, false, collect_one, &c), *extended = NULL;

	if (r->extended)
		extended = walk(r, true, collect_one, &c);
	if (problem)
		*problem = standard ? standard : extended;
	return c.count;
}

struct find {
	u16 id;
	u16 offset;
};

static bool find_one(void *ctx, const struct pci_cap *cap)
{
	struct find *f = ctx;

	if (cap->id != f->id)
		return true;
	f->offset = cap->offset;
	return false;
}

u16 pcicap_find(const struct pcicap_reader *r, u16 id, bool extended)
{
	struct find f = { id, 0 };

	if (r->extended || !extended)
		walk(r, extended, find_one, &f);
	return f.offset;
}
