/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_route.h. */
#include "kernel/pci/pci_route.h"

#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/acpi/acpi.h"
#include "kernel/console/printk.h"
#include "kernel/memory/numa.h"

#define MAX_TABLES 64
#define MAX_ROOTS 32
#define MAX_BRIDGES 32 /* one behind another */

static struct aml_span body[MAX_TABLES];
static struct aml_tables tables = { body, 0 };
static struct aml_pci_root roots[MAX_ROOTS];
static unsigned nr_roots;
/* By function: what host_intx_route() answers. Boot asks firmware's tables, for on large machines that takes long. */
static struct {
	int err;
	struct aml_pci_route at;
} routes[HOST_PCI_FUNCTIONS];

static void add_table(const struct acpi_sdt *t)
{
	if (tables.count == MAX_TABLES)
		printk_error("pci: one more table of AML than %u: not looked at", MAX_TABLES);
	else
		body[tables.count++] = (struct aml_span){ (const u8 *)(t + 1), t->length - sizeof(*t) };
}

/* The bridges above a function, the nearest first; the root that they hang from, or NULL. */
static const struct aml_pci_root *climb(const struct pci_function *f, const struct pci_function *bridge[MAX_BRIDGES],
					unsigned *count)
{
	u8 bus = f->address.bus;
	const struct pci_function *b;

	*count = 0;
	for (unsigned i = 0; (b = pci_get(i)) && *count < MAX_BRIDGES;) {
		i++;
		if (b->header_type != PCI_HEADER_BRIDGE || b->address.segment != f->address.segment ||
		    b->secondary_bus != bus || b->address.bus >= bus)
			continue;
		bridge[(*count)++] = b;
		bus = b->address.bus;
		i = 0;
	}
	for (unsigned i = 0; i < nr_roots; i++)
		if (roots[i].segment == f->address.segment && roots[i].bus == bus)
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

bool pci_in_window(const struct pci_function *f, bool io, u64 base, u64 size)
{
	const struct pci_function *bridge[MAX_BRIDGES];
	unsigned count;
	const struct aml_pci_root *root = climb(f, bridge, &count);

	return !root || aml_pci_reaches(root, io, base, base + size - 1);
}

/*
 * The name of the bus behind bridge[from], with which `count` of them hang from the root; from == count: the root's own. 0,
 * -ENODEV: it has none, or -ENOENT: unknown.
 */
static int name_of(const struct aml_pci_root *root, const struct pci_function *const *bridge, unsigned count, unsigned from,
		   struct aml_name *out)
{
	int err = 0;

	*out = root->path;
	for (unsigned i = count; i > from && !err; i--) {
		struct aml_name parent = *out;

		err = aml_pci_child(&tables, &parent, bridge[i - 1]->address.devfn, out);
	}
	return err;
}

static int find_route(const struct pci_function *f, struct aml_pci_route *out)
{
	const struct pci_function *bridge[MAX_BRIDGES];
	u32 interrupt = pci_read(f->address, PCI_REG_INTERRUPT, 4);
	unsigned count, pin = (interrupt >> 8 & 0xff) - 1;
	const struct aml_pci_root *root = climb(f, bridge, &count);
	u8 device = PCI_DEVICE(f->address.devfn);

	if (pin > 3)
		return -ENXIO;
	for (unsigned i = 0; root && i <= count; i++) {
		struct aml_name bus;
		int err = name_of(root, bridge, count, i, &bus);

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
		printk_debug("pci: root %04x:%02x: %s %#lx-%#lx", root->segment, root->bus, type[root->window[i].type],
			     root->window[i].first, root->window[i].last);
}

void pci_route_init(void)
{
	const struct acpi_sdt *t = acpi_table("DSDT", 0);
	const struct pci_function *f;
	unsigned beyond;

	tables.count = 0;
	if (t)
		add_table(t);
	for (unsigned i = 0; (t = acpi_table("SSDT", i)); i++)
		add_table(t);
	nr_roots = aml_pci_roots(&tables, roots, MAX_ROOTS, &beyond);
	if (beyond)
		printk_error("pci: %u root buses beyond %u are not looked at", beyond, MAX_ROOTS);
	for (unsigned i = 0; i < nr_roots; i++)
		describe(&roots[i]);
	for (unsigned i = 0; (f = pci_get(i)); i++)
		routes[i].err = find_route(f, &routes[i].at);
}

int host_intx_route(unsigned index, struct host_intx *out)
{
	if (!routes[index].err)
		*out = (struct host_intx){ routes[index].at.gsi, routes[index].at.active_low };
	return routes[index].err;
}
