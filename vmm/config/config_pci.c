/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the VM file's `pci =` and `dma =`: which of the node's PCI functions a VM gets, and how they reach its memory. */
#include "vmm/config/config_parse.h"

/* 1 to `digits` hexadecimal digits, which *s is left behind. */
static bool hex(struct span *s, unsigned digits, u32 *out)
{
	unsigned n = 0;

	for (*out = 0; s->n && n < digits; n++, s->p++, s->n--) {
		char c = s->p[0] | 0x20;

		if (s->p[0] >= '0' && s->p[0] <= '9')
			*out = *out << 4 | (u32)(s->p[0] - '0');
		else if (c >= 'a' && c <= 'f')
			*out = *out << 4 | (u32)(c - 'a' + 10);
		else
			break;
	}
	return n;
}

static bool skip(struct span *s, char c)
{
	if (!s->n || s->p[0] != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

/* `class:0107` */
static bool parse_class(struct span s, struct vm_config_pci *out)
{
	static const char prefix[] = "class:";
	u32 v;

	for (unsigned i = 0; prefix[i]; i++)
		if (!skip(&s, prefix[i]))
			return false;
	if (s.n != 4 || !hex(&s, 4, &v) || s.n)
		return false;
	*out = (struct vm_config_pci){ .by = VM_PCI_CLASS, .class_code = (u16)v };
	return true;
}

/* `8086:10d3` */
static bool parse_id(struct span s, struct vm_config_pci *out)
{
	u32 vendor, device;

	if (s.n != 9 || !hex(&s, 4, &vendor) || !skip(&s, ':') || !hex(&s, 4, &device) || s.n)
		return false;
	*out = (struct vm_config_pci){ .by = VM_PCI_ID, .vendor = (u16)vendor, .device = (u16)device };
	return true;
}

/* `01:00.0`, `0000:01:00.0` */
static bool parse_address(struct span s, struct vm_config_pci *out)
{
	u32 segment = 0, bus, device, function;
	struct span rest = s;
	unsigned colons = 0;

	for (size_t i = 0; i < s.n; i++)
		colons += s.p[i] == ':';
	if (colons == 2 && (!hex(&rest, 4, &segment) || !skip(&rest, ':')))
		return false;
	if (!hex(&rest, 2, &bus) || !skip(&rest, ':') || !hex(&rest, 2, &device) || device > 31 || !skip(&rest, '.') ||
	    !hex(&rest, 1, &function) || function > 7 || rest.n)
		return false;
	*out = (struct vm_config_pci){
		.by = VM_PCI_ADDRESS, .segment = (u16)segment, .bus = (u8)bus, .devfn = (u8)(device << 3 | function),
	};
	return true;
}

static int add_function(struct parser *p, struct span v)
{
	struct vm_config *c = p->config;

	if (c->nr_pci == VM_PCI_MAX)
		return config_fail(p, "pci: expected at most %u parts", VM_PCI_MAX);
	if (!parse_class(v, &c->pci[c->nr_pci]) && !parse_id(v, &c->pci[c->nr_pci]) && !parse_address(v, &c->pci[c->nr_pci]))
		return config_wrong(p, "pci", "an address like 01:00.0, class:0107, or vendor and device like 8086:10d3", v);
	c->nr_pci++;
	return 0;
}

int config_set_pci(struct parser *p, struct span v)
{
	p->config->line_pci = p->line;
	return config_list(p, "pci", "another function behind the comma", v, add_function);
}

/* `00:03.0 11` */
static int add_fact(struct parser *p, struct span v, struct vm_config_pci_facts *facts, const char *key, const char *what, u32 max)
{
	struct vm_config_pci at;
	struct span address = v, number;
	u64 value;

	for (address.n = 0; address.n < v.n && v.p[address.n] != ' '; address.n++)
		;
	number = config_trim((struct span){ v.p + address.n, v.n - address.n });
	if (facts->count == VM_PCI_MAX)
		return config_fail(p, "%s: expected at most %u parts", key, VM_PCI_MAX);
	if (!parse_address(address, &at) || !config_number(&number, &value) || number.n || value > max)
		return config_wrong(p, key, what, v);
	for (unsigned i = 0; i < facts->count; i++)
		if (facts->of[i].segment == at.segment && facts->of[i].bus == at.bus && facts->of[i].devfn == at.devfn)
			return config_wrong(p, key, "each function once", address);
	facts->of[facts->count++] = (struct vm_config_pci_fact){ at.segment, at.bus, at.devfn, (u32)value };
	return 0;
}

static int add_irq(struct parser *p, struct span v)
{
	return add_fact(p, v, &p->config->pci_irq, "pci_irq", "a function and its global system interrupt, like 00:03.0 11",
			0xffff);
}

int config_set_pci_irq(struct parser *p, struct span v)
{
	p->config->line_facts = p->line;
	return config_list(p, "pci_irq", "another function behind the comma", v, add_irq);
}

/* A node is a bus', for in the guest each is a root bus. */
static int add_node(struct parser *p, struct span v)
{
	struct vm_config_pci_facts *facts = &p->config->pci_node;
	const struct vm_config_pci_fact *new;
	int err = add_fact(p, v, facts, "pci_node", "a function and its NUMA node, like 80:00.0 1", VM_NODE_NUMBER_MAX);

	if (err)
		return err;
	new = &facts->of[facts->count - 1];
	for (unsigned i = 0; i < facts->count; i++)
		if (facts->of[i].segment == new->segment && facts->of[i].bus == new->bus && facts->of[i].value != new->value)
			return config_wrong(p, "pci_node", "one node for all functions of a bus", v);
	return 0;
}

int config_set_pci_node(struct parser *p, struct span v)
{
	p->config->line_facts = p->line;
	return config_list(p, "pci_node", "another function behind the comma", v, add_node);
}

int config_set_dma(struct parser *p, struct span v)
{
	static const char *const words[] = { "identity", "window", NULL };
	unsigned n = 0;
	int err = config_word(p, "dma", v, words, &n);

	p->config->dma = n ? VM_DMA_WINDOW : VM_DMA_IDENTITY;
	p->config->line_dma = p->line;
	return err;
}

int config_resolve_dma(struct parser *p)
{
	struct vm_config *c = p->config;

	if (!c->nr_pci && (c->pci_irq.count || c->pci_node.count))
		return vm_config_error(p->err, p->file, c->line_facts, "pci_irq, pci_node: without pci no function has them");
	if (c->dma == VM_DMA_NONE && c->nr_pci && c->memory_map == VM_MAP_IDENTITY)
		c->dma = VM_DMA_IDENTITY;
	if (c->dma == VM_DMA_NONE && c->nr_pci)
		return vm_config_error(p->err, p->file, c->line_pci,
				       "pci: devices reach memory by the host's addresses: needs dma = identity or dma = window");
	if (c->dma == VM_DMA_IDENTITY && c->memory_map == VM_MAP_OFFSET)
		return vm_config_error(p->err, p->file, c->line_dma, "dma = identity: needs memory_map = identity, or none");
	if (c->dma == VM_DMA_WINDOW && c->memory_map == VM_MAP_IDENTITY)
		return vm_config_error(p->err, p->file, c->line_dma, "dma = window: needs memory_map = offset, or none");
	if (c->memory_map == VM_MAP_AUTO && c->dma != VM_DMA_NONE)
		c->memory_map = c->dma == VM_DMA_IDENTITY ? VM_MAP_IDENTITY : VM_MAP_OFFSET;
	return 0;
}
