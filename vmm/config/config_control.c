/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's `control_may =`: what the management VM may do, and what it may
 * hand out.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/config/config_parse.h"
#include "vmm/config/config_set.h"

#define KEY "control_may"

/* By the bits of enum vm_may. */
static const char *const rights[] = {
	"create",     "destroy",      "console", "boot", "trusted",
	"ipi:direct", "dma:identity", "modules", "dump",
};
static_assert(MAY_DUMP == BIT(ARRAY_SIZE(rights) - 1), "each bit has its word");

const char *vm_config_right(unsigned i)
{
	return i < ARRAY_SIZE(rights) ? rights[i] : NULL;
}

/* `2` or `2-7` */
static int add_cpus(struct parser *p, struct span v)
{
	struct span all = v;
	u64 first, last;

	if (!span_number(&v, 10, &first))
		return config_wrong(p, KEY, "cpus: and a CPU or a range like 2-7", all);
	last = first;
	if ((span_skip(&v, "-") && !span_number(&v, 10, &last)) || v.n || last < first)
		return config_wrong(p, KEY, "cpus: and a CPU or a range like 2-7", all);
	if (last >= VM_CPUS_MAX)
		return config_fail(p, KEY ": expected CPUs up to %u, found %lu", VM_CPUS_MAX - 1,
				   last);
	for (u64 cpu = first; cpu <= last; cpu++)
		p->config->control.cpus[cpu / 8] |= (u8)BIT(cpu % 8);
	return 0;
}

static int add_memory(struct parser *p, struct span v)
{
	struct vm_config_control *c = &p->config->control;

	return c->memory ? config_fail(p, KEY ": memory: is given twice")
			 : config_size(p, v, &c->memory);
}

static int add_function(struct parser *p, struct span v)
{
	struct vm_config_control *c = &p->config->control;

	if (c->nr_pci == VM_PCI_MAX)
		return config_fail(p, KEY ": expected at most %u functions", VM_PCI_MAX);
	if (!config_pci_address(v, &c->pci[c->nr_pci]))
		return config_wrong(p, KEY, "pci: and an address like 01:00.0", v);
	c->nr_pci++;
	return 0;
}

static int add_segment(struct parser *p, struct span v)
{
	struct vm_config_control *c = &p->config->control;

	if (c->nr_nets == VM_NETS_MAX)
		return config_fail(p, KEY ": expected at most %u segments", VM_NETS_MAX);
	if (!v.n || v.n > VM_SEGMENT_MAX)
		return config_wrong(p, KEY, "net: and a segment's name", v);
	memcpy(c->net[c->nr_nets++], v.p, v.n);
	return 0;
}

static int add(struct parser *p, struct span v)
{
	struct span rest = v;

	for (unsigned i = 0; i < ARRAY_SIZE(rights); i++)
		if (span_is(v, rights[i])) {
			p->config->control.may |= (unsigned)BIT(i);
			return 0;
		}
	if (span_skip(&rest, "cpus:"))
		return add_cpus(p, rest);
	if (span_skip(&rest, "memory:"))
		return add_memory(p, rest);
	if (span_skip(&rest, "pci:"))
		return add_function(p, rest);
	if (span_skip(&rest, "net:"))
		return add_segment(p, rest);
	return config_wrong(
		p, KEY,
		"create, destroy, console, dump, boot, modules, trusted, ipi:direct, dma:identity, cpus:, "
		"memory:, pci: or net:",
		v);
}

int config_set_control_may(struct parser *p, struct span v)
{
	return config_list(p, KEY, "another right behind the comma", v, add);
}

int vm_config_check_control(const struct vm_config *const file[], unsigned n, unsigned i,
			    struct config_error *err)
{
	const struct vm_config *c = file[i];
	bool read = c->then[ENDING_CRASH] != THEN_DUMP;

	for (unsigned k = 0; k < i; k++)
		if (c->control.commands && file[k] && file[k]->control.commands)
			return vm_config_error(err, c->file, c->line_control,
					       "control: %s commands this node already",
					       file[k]->name);
	for (unsigned k = 0; k < n; k++)
		read = read ||
		       (k != i && file[k] &&
			(file[k]->control.may & (MAY_DUMP | MAY_BOOT)) == (MAY_DUMP | MAY_BOOT));
	if (!read)
		return vm_config_error(
			err, c->file, c->line_on_one,
			"on_crash: dump: no other VM has control_may = dump, boot to read it: give it to one");
	return 0;
}
