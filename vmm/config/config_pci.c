/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's `pci =` and `dma =`: which of the node's PCI functions a VM gets, and
 * how they reach its memory.
 */
#include "vmm/config/config_parse.h"

/* 1 to `digits` hexadecimal digits, which *s is left behind. */
static bool hex(struct span *s, unsigned digits, u32 *out)
{
	struct span part = { s->p, MIN(s->n, digits) };
	u64 v = 0;
	bool found = span_number(&part, 16, &v);

	s->n -= (size_t)(part.p - s->p);
	s->p = part.p;
	*out = (u32)v;
	return found;
}

/* `class:0107` */
static bool parse_class(struct span s, struct vm_config_pci *out)
{
	u32 v;

	if (!span_skip(&s, "class:") || s.n != 4 || !hex(&s, 4, &v) || s.n)
		return false;
	*out = (struct vm_config_pci){ .by = VM_PCI_CLASS, .class_code = (u16)v };
	return true;
}

/* `8086:10d3` */
static bool parse_id(struct span s, struct vm_config_pci *out)
{
	u32 vendor, device;

	if (s.n != 9 || !hex(&s, 4, &vendor) || !span_skip(&s, ":") || !hex(&s, 4, &device) || s.n)
		return false;
	*out = (struct vm_config_pci){ .by = VM_PCI_ID,
				       .vendor = (u16)vendor,
				       .device = (u16)device };
	return true;
}

bool config_pci_address(struct span s, struct pci_address *out)
{
	u32 segment = 0, bus, device, function;
	struct span rest = s;
	unsigned colons = 0;

	for (size_t i = 0; i < s.n; i++)
		colons += s.p[i] == ':';
	if (colons == 2 && (!hex(&rest, 4, &segment) || !span_skip(&rest, ":")))
		return false;
	if (!hex(&rest, 2, &bus) || !span_skip(&rest, ":") || !hex(&rest, 2, &device) ||
	    device > 31 || !span_skip(&rest, ".") || !hex(&rest, 1, &function) || function > 7 ||
	    rest.n)
		return false;
	*out = (struct pci_address){ (u16)segment, (u8)bus, PCI_DEVFN(device, function) };
	return true;
}

static int add_function(struct parser *p, struct span v)
{
	struct vm_config *c = p->config;
	struct vm_config_pci *new = &c->pci[c->nr_pci];
	struct span function = v;

	if (c->nr_pci == VM_PCI_MAX)
		return config_fail(p, "pci: expected at most %u parts", VM_PCI_MAX);
	if (!HAS(CONFIG_SRIOV) && span_skip(&function, "vf:"))
		return config_fail(p, "pci = vf:...: needs CONFIG_SRIOV");
	if (config_pci_address(v, &new->address))
		new->by = VM_PCI_ADDRESS;
	else if (!parse_class(v, new) && !parse_id(v, new) && !config_pci_vf(v, new))
		return config_wrong(
			p, "pci",
			"an address like 01:00.0, class:0107, or vendor and device like 8086:10d3",
			v);
	c->nr_pci++;
	return 0;
}

int config_set_pci(struct parser *p, struct span v)
{
	return config_list(p, "pci", "another function behind the comma", v, add_function);
}

/* `00:03.0 11` */
static int add_fact(struct parser *p, struct span v, struct vm_config_pci_facts *facts,
		    const char *key, const char *what, u32 max)
{
	struct pci_address at;
	struct span number = v, address;
	bool found;
	u64 value;

	address = span_part(&number, ' ', &found);
	number = span_trim(number);
	if (facts->count == VM_PCI_MAX)
		return config_fail(p, "%s: expected at most %u parts", key, VM_PCI_MAX);
	if (!config_pci_address(address, &at) || !span_number(&number, 10, &value) || number.n ||
	    value > max)
		return config_wrong(p, key, what, v);
	for (unsigned i = 0; i < facts->count; i++)
		if (pci_same_address(&facts->of[i].function, &at))
			return config_wrong(p, key, "each function once", address);
	facts->of[facts->count++] = (struct vm_config_pci_fact){ at, (u32)value };
	return 0;
}

static int add_irq(struct parser *p, struct span v)
{
	return add_fact(p, v, &p->config->pci_irq, "pci_irq",
			"a function and its global system interrupt, like 00:03.0 11", 0xffff);
}

int config_set_pci_irq(struct parser *p, struct span v)
{
	return config_list(p, "pci_irq", "another function behind the comma", v, add_irq);
}

/* A node is a bus', for in the guest each is a root bus. */
static int add_node(struct parser *p, struct span v)
{
	struct vm_config_pci_facts *facts = &p->config->pci_node;
	const struct vm_config_pci_fact *new;
	int err = add_fact(p, v, facts, "pci_node", "a function and its NUMA node, like 80:00.0 1",
			   VM_NODE_NUMBER_MAX);

	if (err)
		return err;
	new = &facts->of[facts->count - 1];
	for (unsigned i = 0; i < facts->count; i++)
		if (facts->of[i].function.segment == new->function.segment &&
		    facts->of[i].function.bus == new->function.bus &&
		    facts->of[i].value != new->value)
			return config_wrong(p, "pci_node", "one node for all functions of a bus",
					    v);
	return 0;
}

int config_set_pci_node(struct parser *p, struct span v)
{
	return config_list(p, "pci_node", "another function behind the comma", v, add_node);
}

int config_set_dma(struct parser *p, struct span v)
{
	/* Without IOMMUs there is nothing that could be chosen for the operator. */
	static const char *const words[] = { "identity", "window", HAS_WORD(CONFIG_IOMMU, "iommu"),
					     HAS_WORD(CONFIG_IOMMU, "auto"), NULL };
	unsigned n = 0;
	int err = config_word(p, "dma", v, words, &n);

	if (!err)
		p->config->dma = n < 3 ? VM_DMA_IDENTITY + n : VM_DMA_NONE;
	return err;
}

/* The lines of keys tell, not what was made of them: a wrong value has been told already. */
void config_resolve_dma(struct parser *p)
{
	struct vm_config *c = p->config;

	if (c->dma == VM_DMA_NONE && c->line_pci && c->memory_map == VM_MAP_IDENTITY)
		c->dma = VM_DMA_IDENTITY;
	else if (HAS(CONFIG_IOMMU) && c->dma == VM_DMA_NONE && c->line_pci)
		c->dma = VM_DMA_IOMMU;
	p->line = c->line_facts;
	if (p->line && !c->line_pci)
		config_fail(p, "pci_irq, pci_node: without pci no function has them");
	p->line = IS_ENABLED(CONFIG_IOMMU) ? c->line_fault : 0;
	if (p->line && !c->line_pci && !p->over)
		config_fail(p, "on_fault: without pci nothing of it is blocked");
	p->line = c->line_pci;
	if (p->line && !c->line_dma && c->dma == VM_DMA_NONE && !p->over)
		config_fail(p, "pci: needs dma = identity or window, or CONFIG_IOMMU");
	p->line = c->line_dma;
	if (c->dma == VM_DMA_IDENTITY && c->memory_map == VM_MAP_OFFSET && !p->over)
		config_fail(p, "dma = identity: needs memory_map = identity, or none");
	if (c->dma > VM_DMA_IDENTITY && c->memory_map == VM_MAP_IDENTITY && !p->over)
		config_fail(p, "dma = %s: needs memory_map = offset, or none",
			    c->dma == VM_DMA_WINDOW ? "window" : "iommu");
	if (c->memory_map == VM_MAP_AUTO && c->dma != VM_DMA_NONE)
		c->memory_map = c->dma == VM_DMA_IDENTITY ? VM_MAP_IDENTITY : VM_MAP_OFFSET;
}
