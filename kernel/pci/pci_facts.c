/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: see pci_facts.h. Lines `key = value`, `#` begins a comment line; `tables` comes
 * first, `end` last.
 */
#include "kernel/pci/pci_facts.h"

#include <margay/pci.h>
#include <margay/span.h>
#include <margay/string.h>

#define FNV_OFFSET 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

u64 pci_facts_hash(const struct aml_tables *t)
{
	u64 sum = 0;

	for (unsigned i = 0; i < t->count; i++) {
		u64 h = FNV_OFFSET;

		for (size_t at = 0; at < t->table[i].left; at++)
			h = (h ^ t->table[i].p[at]) * FNV_PRIME;
		sum += h;
	}
	return sum;
}

const struct pci_fact *pci_facts_find(const struct pci_facts *facts, const struct pci_fact_key *of)
{
	for (unsigned i = 0; i < facts->count; i++)
		if (!memcmp(&facts->fact[i].of, of, sizeof(*of)))
			return &facts->fact[i];
	return NULL;
}

/* What is left of a line; bad: something else stood there than was expected. */
struct scan {
	struct span s;
	bool bad;
	/* the module: by tables, end */
	bool begun;
	bool ended;
};

static u64 number(struct scan *r, unsigned base, u64 max)
{
	u64 v = 0;

	if (!span_number(&r->s, base, &v) || v > max)
		r->bad = true;
	return v;
}

static void text(struct scan *r, const char *what)
{
	if (!span_skip(&r->s, what))
		r->bad = true;
}

/* Behind the root: `/1c.0/0 A 16` */
static void scan_route(struct scan *r, struct pci_fact *f)
{
	u8 device;

	for (;;) {
		text(r, "/");
		device = (u8)number(r, 16, 31);
		if (!span_skip(&r->s, "."))
			break;
		if (f->of.depth == PCI_FACTS_DEPTH) {
			r->bad = true;
			return;
		}
		f->of.path[f->of.depth++] = PCI_DEVFN(device, number(r, 16, 7));
	}
	f->of.device = device;
	text(r, " ");
	f->of.pin = (u8)(number(r, 16, 0xd) - 0xa);
	text(r, " ");
	f->value = (u32)number(r, 10, 0xffff);
	r->bad |= f->of.pin > 3;
}

/* ` mem 0xa0000-0xbffff` */
static void scan_window(struct scan *r, struct pci_fact *f)
{
	struct aml_window *w = &f->window;

	w->type = AML_WINDOW_IO;
	if (!span_skip(&r->s, " io 0x")) {
		text(r, " mem 0x");
		w->type = AML_WINDOW_MEMORY;
	}
	w->first = number(r, 16, ~0ull);
	text(r, "-0x");
	w->last = number(r, 16, ~0ull);
	r->bad |= w->first > w->last;
}

static const char *const like[] = {
	[PCI_FACT_ROUTE] = "route = 0000:00/1c.0/0 A 16",
	[PCI_FACT_WINDOW] = "window = 0000:00 mem 0xa0000-0xbffff",
	[PCI_FACT_PROXIMITY] = "proximity = 0000:80 1",
};

/* A fact: false, and what is wrong with it. */
static bool add(struct scan *r, enum pci_fact_kind kind, struct pci_facts *out,
		struct pci_facts_error *err)
{
	struct pci_fact *f = &out->fact[out->count];
	const struct pci_fact *known;

	err->what = "more facts than fit";
	if (out->count == PCI_FACTS_MAX)
		return false;
	*f = (struct pci_fact){ .of.kind = (u8)kind, .line = (u16)err->line };
	f->of.segment = (u16)number(r, 16, 0xffff);
	text(r, ":");
	f->of.bus = (u8)number(r, 16, 0xff);
	if (kind == PCI_FACT_ROUTE) {
		scan_route(r, f);
	} else if (kind == PCI_FACT_WINDOW) {
		scan_window(r, f);
	} else {
		text(r, " ");
		f->value = (u32)number(r, 10, 0xffffffff);
	}
	err->what = like[kind];
	if (r->bad || r->s.n)
		return false;
	/* A root has many windows. */
	known = kind == PCI_FACT_WINDOW ? NULL : pci_facts_find(out, &f->of);
	if (known) {
		err->what = "given before";
		err->here = f->value;
		err->expected = known->value;
		return false;
	}
	out->count++;
	return true;
}

static bool read_line(struct scan *r, u64 hash, struct pci_facts *out, struct pci_facts_error *err)
{
	static const char *const key[] = {
		[PCI_FACT_ROUTE] = "route = ",
		[PCI_FACT_WINDOW] = "window = ",
		[PCI_FACT_PROXIMITY] = "proximity = ",
	};
	unsigned base = 16;

	err->what = "nothing may stand behind end";
	if (r->ended)
		return false;
	for (unsigned i = 0; r->begun && i < ARRAY_SIZE(key); i++)
		if (span_skip(&r->s, key[i]))
			return add(r, (enum pci_fact_kind)i, out, err);
	/* What remains is a number that must be the one. */
	err->what = "not of this machine: the hash of its tables";
	err->expected = hash;
	if (r->begun) {
		err->what = "cut off: number of facts";
		err->expected = out->count;
		base = 10;
	}
	text(r, r->begun ? "end = " : "tables = ");
	err->here = number(r, base, ~0ull);
	if (r->bad || r->s.n) {
		err->what = r->begun ? "expected route, window, proximity or end, and its value"
				     : "expected tables = and a hash";
		err->here = err->expected;
	}
	r->ended = r->begun;
	r->begun = true;
	return !r->bad && !r->s.n && err->here == err->expected;
}

bool pci_facts_parse(const char *content, size_t size, u64 hash, struct pci_facts *out,
		     struct pci_facts_error *err)
{
	struct span rest = { content, size };
	struct scan r = { 0 };
	bool ok = true, more;

	out->count = 0;
	*err = (struct pci_facts_error){ 0 };
	while (ok && rest.n) {
		r.s = span_part(&rest, '\n', &more);
		err->line++;
		if (r.s.n && *r.s.p != '#')
			ok = read_line(&r, hash, out, err);
	}
	if (ok && !r.ended) {
		*err = (struct pci_facts_error){ err->line, "cut off: no end", 0, 0 };
		ok = false;
	}
	if (!ok)
		out->count = 0;
	return ok;
}
