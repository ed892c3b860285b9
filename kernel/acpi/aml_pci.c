/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see aml_pci.h. */
#include "kernel/acpi/aml_pci.h"

#include <margay/errno.h>
#include <margay/pci.h>
#include <margay/string.h>
#include "kernel/acpi/aml_value.h"

#define SEG(s) AML_SEG((s)[0], (s)[1], (s)[2], (s)[3])
#define MAX_IRQS 16 /* of one link device */

/* EISA IDs (ACPI 19.6.37). */
#define PNP0A03 0x030ad041u
#define PNP0A08 0x080ad041u

/* Of the descriptors of interrupts (6.4.2.1, 6.4.3.6). */
enum { IRQ_LOW = BIT(3), INTERRUPT_LOW = BIT(2) };

/* ---- roots ----------------------------------------------------------------------------- */

struct roots {
	struct aml_pci_root *out;
	unsigned count;
	unsigned max;
};

static bool is_root_id(struct aml_span value)
{
	static const char *const text[] = { "PNP0A03", "PNP0A08" };
	u64 id;

	for (unsigned i = 0; i < ARRAY_SIZE(text); i++)
		if (value.left > 8 && *value.p == AML_STRING && !memcmp(value.p + 1, text[i], 8))
			return true;
	return aml_take_integer(&value, &id) && (id == PNP0A03 || id == PNP0A08);
}

static bool add_root(void *ctx, const struct aml_name *path, u16 op, struct aml_span value)
{
	struct roots *r = ctx;
	struct aml_name device = *path;

	if (op != AML_NAME || path->n < 2 || !is_root_id(value))
		return true;
	if (path->seg[path->n - 1] != SEG("_HID") && path->seg[path->n - 1] != SEG("_CID"))
		return true;
	device.n--;
	/* _HID and _CID of one device: one after the other. */
	if (r->count && r->count <= r->max && aml_same(&r->out[r->count - 1].path, &device))
		return true;
	if (r->count < r->max)
		r->out[r->count] = (struct aml_pci_root){ .path = device };
	r->count++;
	return true;
}

static void read_windows(const struct aml_tables *t, struct aml_pci_root *root)
{
	struct aml_span value, bytes;
	struct aml_resource r;
	struct aml_name in;
	unsigned n = 0;
	int err;

	if (aml_constant(t, &root->path, SEG("_CRS"), &value, &in) ||
	    !aml_take_buffer(&value, &bytes))
		return;
	while (!(err = aml_next_resource(&bytes, &r)) && n < AML_PCI_WINDOWS)
		n += aml_window(&r, &root->window[n]);
	root->nr_windows = err == -ENOENT ? n : 0;
}

bool aml_pci_reaches(const struct aml_pci_root *root, bool io, u64 first, u64 last)
{
	enum aml_window_type type = io ? AML_WINDOW_IO : AML_WINDOW_MEMORY;
	bool known = false;

	for (unsigned i = 0; i < root->nr_windows; i++) {
		const struct aml_window *w = &root->window[i];

		if (w->type != type)
			continue;
		if (w->first <= first && last <= w->last)
			return true;
		known = true;
	}
	return !known;
}

/* Both are 0 where nothing is said. */
static bool locate(const struct aml_tables *t, struct aml_pci_root *root)
{
	u64 segment = 0, bus = 0, proximity, status;
	int err;

	/* Bit 0: it is there (6.3.7). */
	err = aml_integer(t, &root->path, SEG("_STA"), &status);
	if (!err && !(status & 1))
		return false;
	root->present = !err || err == -ENODEV;
	if (aml_integer(t, &root->path, SEG("_SEG"), &segment) == -EINVAL || segment > 0xffff)
		return false;
	if (aml_integer(t, &root->path, SEG("_BBN"), &bus) == -EINVAL || bus > 0xff)
		return false;
	root->segment = (u16)segment;
	root->bus = (u8)bus;
	read_windows(t, root);
	/* A parent's holds for its children. */
	for (struct aml_name at = root->path; at.n; at.n--) {
		err = aml_integer(t, &at, SEG("_PXM"), &proximity);
		if (err && err != -EINVAL)
			continue;
		root->has_proximity = !err && proximity <= 0xffffffff;
		root->proximity = root->has_proximity ? (u32)proximity : 0;
		break;
	}
	return true;
}

unsigned aml_pci_roots(const struct aml_tables *t, struct aml_pci_root *out, unsigned max,
		       unsigned *beyond)
{
	struct roots r = { out, 0, max };
	unsigned kept = 0, found, only = 0;

	aml_walk(t, add_root, &r);
	found = MIN(r.count, max);
	for (unsigned i = 0; i < found; i++)
		if (locate(t, &out[i]))
			out[kept++] = out[i];
	*beyond = r.count - found;
	/* Of several on one bus one is there: which surely is, else it is not known. */
	for (unsigned i = 0; i < kept; i++) {
		for (unsigned k = 0; k < i; k++) {
			if (out[i].segment != out[k].segment || out[i].bus != out[k].bus)
				continue;
			if (out[i].present <= out[k].present)
				out[i].path.n = 0;
			if (out[k].present <= out[i].present)
				out[k].path.n = 0;
		}
	}
	for (unsigned i = 0; i < kept; i++)
		if (out[i].path.n)
			out[only++] = out[i];
	return only;
}

struct child {
	const struct aml_name *parent;
	u8 devfn;
	struct aml_name *out;
	int err;
};

static bool is_child(void *ctx, const struct aml_name *path, u16 op, struct aml_span value)
{
	struct child *c = ctx;
	u64 address;

	if (path->n != c->parent->n + 2 || path->seg[path->n - 1] != SEG("_ADR") ||
	    memcmp(path->seg, c->parent->seg, c->parent->n * sizeof(u32)))
		return true;
	if (op != AML_NAME || !aml_take_integer(&value, &address)) {
		c->err = -ENOENT;
		return true;
	}
	if (address != ((u64)PCI_DEVICE(c->devfn) << 16 | PCI_FUNCTION(c->devfn)))
		return true;
	*c->out = *path;
	c->out->n--;
	c->err = 0;
	return false;
}

int aml_pci_child(const struct aml_tables *t, const struct aml_name *parent, u8 devfn,
		  struct aml_name *child)
{
	struct child c = { parent, devfn, child, -ENODEV };
	bool whole = aml_walk(t, is_child, &c);

	return c.err == -ENODEV && !whole ? -ENOENT : c.err;
}

/* ---- line interrupts -------------------------------------------------------------------- */

struct irqs {
	unsigned count;
	struct aml_pci_route irq[MAX_IRQS];
};

static void add_irq(struct irqs *out, u32 gsi, bool low)
{
	if (out->count < MAX_IRQS)
		out->irq[out->count] = (struct aml_pci_route){ gsi, low };
	out->count++;
}

/*
 * The interrupts of a resource template. False: it is broken, or has more than a link device may
 * have.
 */
static bool read_irqs(struct aml_span s, struct irqs *out)
{
	struct aml_resource r;
	struct aml_span bytes;
	int err;

	out->count = 0;
	if (!aml_take_buffer(&s, &bytes))
		return false;
	while (!(err = aml_next_resource(&bytes, &r))) {
		const u8 *p = r.body.p;

		if (r.tag == AML_RESOURCE_IRQ && r.body.left >= 2)
			for (unsigned i = 0; i < 16; i++)
				if ((p[0] | p[1] << 8) >> i & 1)
					add_irq(out, i, r.body.left > 2 && p[2] & IRQ_LOW);
		if (r.tag == AML_RESOURCE_INTERRUPT && r.body.left >= 2)
			for (unsigned i = 0; i < p[1] && 2 + 4 * i + 4 <= r.body.left; i++)
				add_irq(out,
					AML_SEG(p[2 + 4 * i], p[3 + 4 * i], p[4 + 4 * i],
						p[5 + 4 * i]),
					p[0] & INTERRUPT_LOW);
	}
	return err == -ENOENT && out->count <= MAX_IRQS;
}

static int follow_link(const struct aml_tables *t, const struct aml_name *in,
		       const struct aml_name *link, u8 interrupt_line, struct aml_pci_route *out)
{
	struct aml_name path, there;
	struct aml_span value;
	struct irqs irqs;
	u16 op;

	/*
	 * Only one that is declared as data: one that a method makes up is firmware's business at
	 * that moment.
	 */
	if (!aml_search(t, in, link, SEG("_CRS"), &path, &op, &value))
		return -ENOENT;
	if (op == AML_NAME) {
		if (!read_irqs(value, &irqs) || irqs.count != 1)
			return -ENOENT;
		*out = irqs.irq[0];
		return 0;
	}
	if (aml_constant(t, &path, SEG("_PRS"), &value, &there) || !read_irqs(value, &irqs))
		return -ENOENT;
	for (unsigned i = 0; i < irqs.count; i++) {
		if (irqs.irq[i].gsi != interrupt_line)
			continue;
		*out = irqs.irq[i];
		return 0;
	}
	return -ENOENT;
}

/*
 * One entry of a _PRT (6.2.13): device and pin, then a link device, or 0 and a global system
 * interrupt.
 */
static int read_entry(const struct aml_tables *t, const struct aml_name *in, struct aml_span entry,
		      u8 device, u8 pin, u8 interrupt_line, struct aml_pci_route *out)
{
	struct aml_name link;
	u64 address, which, zero, gsi;
	u8 elements;

	if (!aml_take(&entry, &elements) || elements < 4 || !aml_take_integer(&entry, &address) ||
	    !aml_take_integer(&entry, &which) || address >> 16 != device || which != pin)
		return -ENODEV;
	if (aml_at_name(&entry))
		return aml_take_name(&entry, &link) ? follow_link(t, in, &link, interrupt_line, out)
						    : -ENOENT;
	if (!aml_take_integer(&entry, &zero) || zero || !aml_take_integer(&entry, &gsi) ||
	    gsi > 0xffff)
		return -ENOENT;
	/* PCI's lines are level-triggered, active low. */
	*out = (struct aml_pci_route){ (u32)gsi, true };
	return 0;
}

/* The number of a package's elements is a byte, a VarPackage's an integer. */
static bool skip_count(struct aml_span *package, u16 op)
{
	u64 elements;
	u8 byte;

	return op == AML_PACKAGE ? aml_take(package, &byte) : aml_take_integer(package, &elements);
}

int aml_pci_route(const struct aml_tables *t, const struct aml_name *bus, u8 device, u8 pin,
		  u8 interrupt_line, struct aml_pci_route *out)
{
	struct aml_span s, table, entry;
	struct aml_name in;
	u16 op;
	int err = aml_constant(t, bus, SEG("_PRT"), &s, &in);

	if (err)
		return err == -ENODEV ? err : -ENOENT;
	if (!aml_take_op(&s, &op) || (op != AML_PACKAGE && op != AML_VAR_PACKAGE) ||
	    !aml_take_package(&s, &table) || !skip_count(&table, op))
		return -ENOENT;
	while (table.left) {
		if (!aml_take_op(&table, &op) || op != AML_PACKAGE ||
		    !aml_take_package(&table, &entry))
			return -ENOENT;
		err = read_entry(t, &in, entry, device, pin, interrupt_line, out);
		if (err != -ENODEV)
			return err;
	}
	return -ENOENT;
}
