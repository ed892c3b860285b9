/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_route.h. */
#include "kernel/pci/pci_route.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>
#include "kernel/acpi/acpi.h"
#include "kernel/log/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/pci/pci_facts.h"

#define MAX_TABLES 64
#define MAX_ROOTS 32
#define MAX_BRIDGES 32 /* one behind another */
#define FACTS "facts:" /* how the names of their boot modules begin */
#define FACTS_PAGES (ALIGN_UP(sizeof(struct pci_facts), PAGE_SIZE) / PAGE_SIZE)

static struct aml_span body[MAX_TABLES];
static struct aml_tables tables = { body, 0 };
static struct aml_pci_root roots[MAX_ROOTS];
static unsigned nr_roots;
/*
 * By function: what host_intx_route() answers. Boot asks firmware's tables, for on large machines
 * that takes long.
 */
static struct {
	int err;
	struct aml_pci_route at;
} routes[HOST_PCI_FUNCTIONS];

/* While a module of facts is looked at; else NULL. */
static struct pci_facts *facts;

static void add_table(const struct acpi_sdt *t)
{
	if (tables.count == MAX_TABLES)
		printk_error("pci: one more table of AML than %u: not looked at", MAX_TABLES);
	else
		body[tables.count++] =
			(struct aml_span){ (const u8 *)(t + 1), t->length - sizeof(*t) };
}

/* The bridges above a function, the nearest first; the root that they hang from, or NULL. */
static const struct aml_pci_root *climb(const struct pci_function *f,
					const struct pci_function *bridge[MAX_BRIDGES],
					unsigned *count)
{
	const struct pci_function *b = pci_bridge_of(f);

	for (*count = 0; b && *count < MAX_BRIDGES; b = pci_bridge_of(f)) {
		bridge[(*count)++] = b;
		f = b;
	}
	for (unsigned i = 0; i < nr_roots; i++)
		if (roots[i].segment == f->address.segment && roots[i].bus == f->address.bus)
			return &roots[i];
	return NULL;
}

int pci_node(const struct pci_function *f)
{
	const struct pci_function *bridge[MAX_BRIDGES];
	unsigned count;
	const struct aml_pci_root *root = climb(f, bridge, &count);

	if (!root || !root->has_proximity)
		return -1;
	return numa_node_of_proximity(root->proximity);
}

static enum pci_window window_of(const struct aml_pci_root *root, bool io, u64 base, u64 size)
{
	bool known = false;

	for (unsigned i = 0; i < root->nr_windows; i++)
		known = known || root->window[i].type == (io ? AML_WINDOW_IO : AML_WINDOW_MEMORY);
	if (!known)
		return PCI_WINDOW_UNKNOWN;
	return aml_pci_reaches(root, io, base, base + size - 1) ? PCI_WINDOW_IN : PCI_WINDOW_OUT;
}

enum pci_window pci_window(const struct pci_function *f, bool io, u64 base, u64 size)
{
	const struct pci_function *bridge[MAX_BRIDGES];
	unsigned count;
	const struct aml_pci_root *root = climb(f, bridge, &count);

	return root ? window_of(root, io, base, size) : PCI_WINDOW_UNKNOWN;
}

bool pci_in_any_window(u64 base, u64 size)
{
	for (unsigned i = 0; i < nr_roots; i++)
		if (window_of(&roots[i], false, base, size) == PCI_WINDOW_IN)
			return true;
	return false;
}

/*
 * The name of the bus behind bridge[from], with which `count` of them hang from the root; from ==
 * count: the root's own. 0, -ENODEV: it has none, or -ENOENT: unknown.
 */
static int name_of(const struct aml_pci_root *root, const struct pci_function *const *bridge,
		   unsigned count, unsigned from, struct aml_name *out)
{
	int err = root->path.n ? 0 : -ENOENT; /* none: a root that only facts know */

	*out = root->path;
	for (unsigned i = count; i > from && !err; i--) {
		struct aml_name parent = *out;

		err = aml_pci_child(&tables, &parent, bridge[i - 1]->address.devfn, out);
	}
	return err;
}

/* What a fact says of the bus behind bridge[from], as in name_of(). */
static const struct pci_fact *fact_of(const struct aml_pci_root *root,
				      const struct pci_function *const *bridge, unsigned count,
				      unsigned from, u8 device, u8 pin)
{
	struct pci_fact_key of = { root->segment, root->bus, PCI_FACT_ROUTE, .device = device,
				   .pin = pin };

	if (!facts || count - from > PCI_FACTS_DEPTH)
		return NULL;
	for (unsigned i = count; i > from; i--)
		of.path[of.depth++] = bridge[i - 1]->address.devfn;
	return pci_facts_find(facts, &of);
}

/* *fact: what it is from; NULL: the firmware's tables. */
static int find_route(const struct pci_function *f, struct aml_pci_route *out,
		      const struct pci_fact **fact)
{
	const struct pci_function *bridge[MAX_BRIDGES];
	u32 interrupt = pci_read(f->address, PCI_REG_INTERRUPT, 4);
	unsigned count, pin = (interrupt >> 8 & 0xff) - 1;
	const struct aml_pci_root *root = climb(f, bridge, &count);
	u8 device = PCI_DEVICE(f->address.devfn);

	if (pin > 3)
		return -ENXIO;
	if (!root)
		return -ENOENT;
	for (unsigned i = 0; i <= count; i++) {
		struct aml_name bus;
		int err;

		*fact = fact_of(root, bridge, count, i, device, (u8)pin);
		if (*fact) {
			*out = (struct aml_pci_route){ (*fact)->value, true };
			return 0;
		}
		err = name_of(root, bridge, count, i, &bus);
		if (!err)
			err = aml_pci_route(&tables, &bus, device, (u8)pin, (u8)interrupt, out);
		/* Pins turn only at a bridge that surely has no table. */
		if (err != -ENODEV)
			return err;
		if (i == count)
			break;
		pin = (pin + device) % 4;
		device = PCI_DEVICE(bridge[i]->address.devfn);
	}
	return -ENOENT;
}

static void describe(const struct aml_pci_root *root)
{
	static const char *const type[] = { "memory", "ports", "buses" };

	printk_debug("pci: root %04x:%02x: node %d%s", root->segment, root->bus,
		     root->has_proximity ? numa_node_of_proximity(root->proximity) : -1,
		     root->nr_windows ? "" : ", windows unknown");
	for (unsigned i = 0; i < root->nr_windows; i++)
		printk_debug("pci: root %04x:%02x: %s %#lx-%#lx", root->segment, root->bus,
			     type[root->window[i].type], root->window[i].first,
			     root->window[i].last);
}

/*
 * All that the firmware's tables say, and nothing else; returns how many roots there are beyond
 * MAX_ROOTS.
 */
static unsigned read_tables(void)
{
	const struct pci_function *f;
	const struct pci_fact *none;
	unsigned beyond;

	nr_roots = aml_pci_roots(&tables, roots, MAX_ROOTS, &beyond);
	for (unsigned i = 0; (f = pci_get(i)); i++)
		routes[i].err = find_route(f, &routes[i].at, &none);
	return beyond;
}

void pci_route_init(void)
{
	const struct acpi_sdt *t = acpi_table("DSDT", 0);
	unsigned beyond;

	tables.count = 0;
	if (t)
		add_table(t);
	for (unsigned i = 0; (t = acpi_table("SSDT", i)); i++)
		add_table(t);
	beyond = read_tables();
	if (beyond)
		printk_error("pci: %u root buses beyond %u are not looked at", beyond, MAX_ROOTS);
	for (unsigned i = 0; i < nr_roots; i++)
		describe(&roots[i]);
}

const struct aml_tables *pci_route_tables(void)
{
	return &tables;
}

/* ---- facts of a boot module ------------------------------------------------------------- */

/* The root of a fact, which may be the first that is known of it; NULL: one too many. */
static struct aml_pci_root *root_of(const struct pci_fact *f)
{
	for (unsigned i = 0; i < nr_roots; i++)
		if (roots[i].segment == f->of.segment && roots[i].bus == f->of.bus)
			return &roots[i];
	if (nr_roots == MAX_ROOTS)
		return NULL;
	roots[nr_roots] = (struct aml_pci_root){ .segment = f->of.segment, .bus = f->of.bus };
	return &roots[nr_roots++];
}

/* read: the firmware's tables say the root's windows, which are then all. */
static bool take_window(const struct aml_window *w, struct aml_pci_root *root, bool read,
			struct pci_facts_error *err)
{
	const struct aml_window *known = NULL; /* that to tell, of its type */

	for (unsigned i = read ? root->nr_windows : 0; i--;) {
		const struct aml_window *k = &root->window[i];

		if (k->type != w->type)
			continue;
		if (k->first == w->first && k->last == w->last)
			return true;
		if (!known || known->first != w->first)
			known = k;
	}
	if (!read && root->nr_windows < AML_PCI_WINDOWS) {
		root->window[root->nr_windows++] = *w;
		return true;
	}
	err->here = w->first;
	err->expected = known ? known->first : 0;
	if (err->here == err->expected && known) {
		err->here = w->last;
		err->expected = known->last;
	}
	return false;
}

/* False: one contradicts the firmware's tables, or does not fit; some may have been taken. */
static bool take_facts(struct pci_facts_error *err)
{
	const struct pci_function *f;
	const struct pci_fact *fact;
	struct aml_pci_route at;
	u32 read = 0; /* roots whose windows the tables say */

	static_assert(MAX_ROOTS <= 32, "a bit each");
	for (unsigned i = 0; i < nr_roots; i++)
		if (roots[i].nr_windows)
			read |= (u32)BIT(i);
	for (fact = facts->fact; fact < facts->fact + facts->count; fact++) {
		struct aml_pci_root *root = root_of(fact);

		err->line = fact->line;
		err->what = "more roots than fit";
		if (!root)
			return false;
		err->what = "contradicts the firmware's tables";
		if (fact->of.kind == PCI_FACT_WINDOW &&
		    !take_window(&fact->window, root, read & BIT(root - roots), err))
			return false;
		if (fact->of.kind != PCI_FACT_PROXIMITY)
			continue;
		err->here = fact->value;
		err->expected = root->proximity;
		if (root->has_proximity && err->here != err->expected)
			return false;
		root->has_proximity = true;
		root->proximity = fact->value;
	}
	for (unsigned i = 0; (f = pci_get(i)); i++) {
		if (routes[i].err == -ENXIO || find_route(f, &at, &fact))
			continue;
		if (routes[i].err) {
			routes[i].at = at;
			routes[i].err = 0;
		} else if (fact && routes[i].at.gsi != at.gsi) {
			err->line = fact->line;
			err->here = at.gsi;
			err->expected = routes[i].at.gsi;
			return false;
		}
	}
	return true;
}

void pci_route_facts(const struct host_module *(*module)(unsigned i))
{
	const struct host_module *m;
	struct pci_facts_error err;
	bool taken = false;

	for (unsigned i = 0; (m = module(i)); i++) {
		if (strncmp(m->name, FACTS, strlen(FACTS)) != 0)
			continue;
		if (taken) {
			printk("%s: not looked at: one was taken before it", m->name);
			continue;
		}
		facts = host_pages_alloc(FACTS_PAGES, -1);
		if (!facts) {
			printk_error("%s: no memory to read it: ignored", m->name);
			return;
		}
		taken = pci_facts_parse(m->data, m->size, pci_facts_hash(&tables), facts, &err);
		if (taken) {
			taken = take_facts(&err);
			/* Back to what the tables say. */
			if (!taken) {
				facts->count = 0;
				read_tables();
			}
		}
		if (taken)
			printk("%s: %u facts of this machine", m->name, facts->count);
		else if (err.here != err.expected)
			printk_error("%s:%u: %s: %#lx here, %#lx expected: ignored", m->name,
				     err.line, err.what, err.here, err.expected);
		else
			printk_error("%s:%u: %s: ignored", m->name, err.line, err.what);
		host_pages_free(facts, FACTS_PAGES);
		facts = NULL;
	}
}

int host_intx_route(unsigned index, struct host_intx *out)
{
	int err = host_sriov_is_vf(index) ? -ENXIO : routes[index].err;

	if (!err)
		*out = (struct host_intx){ routes[index].at.gsi, routes[index].at.active_low };
	return err;
}
