/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_config.h. PCI Local Bus 3.0, 6.2, 6.7, 6.8. */
#include "vmm/pci/pci_config.h"

#include <margay/errno.h>
#include <margay/string.h>

#define EXPRESS_1_SIZE 0x14 /* of an endpoint (PCI Express Base 1.1, 7.8) */
#define NEXT_STANDARD 0x0000ff00u
#define NEXT_EXTENDED 0xfff00000u

static struct pci_field *find_field(const struct pci_config *c, u16 offset)
{
	for (unsigned i = 0; i < c->nr_fields; i++)
		if (c->field[i].rule.offset == (offset & ~3u))
			return (struct pci_field *)&c->field[i];
	return NULL;
}

static u32 value_at(const struct pci_config *c, unsigned offset)
{
	const struct pci_field *f = find_field(c, (u16)offset);

	return f ? f->value : 0;
}

/* Where the space that holds `offset` ends. */
static u16 space_end(u16 offset)
{
	return offset < PCI_STANDARD_END ? PCI_STANDARD_END : PCI_EXTENDED_END;
}

/*
 * A rule of its own for the dword at base + r->offset; a capability that lies
 * over another does not change that one's. NULL: no room, here or there.
 */
static struct pci_field *add_field(struct pci_config *c, u16 base, const struct pci_rule *r)
{
	u16 offset = (u16)(base + r->offset);
	struct pci_field *f = find_field(c, offset);

	if (offset >= space_end(base) || (!f && c->nr_fields == PCI_CONFIG_FIELDS))
		return NULL;
	if (f)
		return f;
	f = &c->field[c->nr_fields++];
	f->rule = *r;
	f->rule.offset = offset;
	f->value = r->keep ? c->io.read(c->io.ctx, offset, 4) & r->keep : 0;
	return f;
}

static bool add_value(struct pci_config *c, u16 offset, u32 pass, u32 keep, u32 value)
{
	const struct pci_rule r = { 0, pass, 0, 0, keep };
	struct pci_field *f = offset < PCI_EXTENDED_END ? add_field(c, offset, &r) : NULL;

	if (f)
		f->value = value;
	return f;
}

/*
 * Address bits that can be changed; what the guest sees at first. A BAR that firmware left without
 * an address is not shown.
 */
static bool add_bars(struct pci_config *c)
{
	const struct pci_bar *rom = &c->bar[PCI_ROM_BAR];
	bool ok = true;

	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		const struct pci_bar *b = &c->bar[i];
		u16 at = (u16)(PCI_REG_BAR + i * 4);
		u64 mask = b->size && b->base ? ~(b->size - 1) : 0,
		    value = mask ? b->base | b->flags : 0;

		ok = ok && add_value(c, at, 0, (u32)mask & ~PCI_BAR_FLAGS(b->flags), (u32)value);
		if (pci_bar_is_64(b) && b->size && i + 1 < PCI_ROM_BAR)
			ok = ok && add_value(c, (u16)(PCI_REG_BAR + ++i * 4), 0, (u32)(mask >> 32),
					     (u32)(value >> 32));
	}
	if (rom->size && rom->base)
		return ok && add_value(c, PCI_REG_ROM, 0, (u32) ~(rom->size - 1) | PCI_ROM_ENABLE,
				       (u32)rom->base);
	return ok && add_value(c, PCI_REG_ROM, 0, 0, 0);
}

/* Where the next capability begins: what one says of its own size must not reach over it. */
static u16 limit_of(const struct pci_cap *caps, unsigned nr, const struct pci_cap *cap)
{
	u16 limit = space_end(cap->offset);

	for (unsigned i = 0; i < nr; i++)
		if (caps[i].offset > cap->offset && caps[i].offset < limit)
			limit = caps[i].offset;
	return limit;
}

static u16 cap_size(const struct pci_config *c, const struct pci_cap *cap,
		    const struct pci_cap_rule *rule)
{
	u32 head = c->io.read(c->io.ctx, cap->offset, 4);

	if (!cap->extended && cap->id == PCI_CAP_EXP && (head >> 16 & PCI_EXP_VERSION) < 2)
		return EXPRESS_1_SIZE;
	if (rule->size)
		return rule->size;
	if (!cap->extended && cap->id == PCI_CAP_MSI)
		return (u16)(PCI_MSI_DATA(head >> 16) + 2 + (head >> 16 & PCI_MSI_MASKS ? 10 : 0));
	if (!cap->extended && cap->id == PCI_CAP_VENDOR)
		return MAX((u16)(head >> 16 & 0xff), 4);
	if (cap->extended && cap->id == PCI_EXT_CAP_VENDOR && cap->offset + 8 <= PCI_EXTENDED_END)
		return MAX((u16)(c->io.read(c->io.ctx, (u16)(cap->offset + 4), 4) >> 20), 8);
	/* Nobody knows: up to the next one. */
	return PCI_EXTENDED_END;
}

/* The guest's own message; its mask bits are the device's. */
static bool add_msi(struct pci_config *c, u16 at, u16 limit)
{
	u32 control = c->io.read(c->io.ctx, at, 4) >> 16;
	u16 data = (u16)(at + PCI_MSI_DATA(control));
	unsigned end = data + (control & PCI_MSI_MASKS ? 8u : 4u);

	if (c->msi || end > limit || !add_value(c, at + PCI_MSI_ADDRESS, 0, ~3u, 0) ||
	    (control & PCI_MSI_64 && !add_value(c, at + PCI_MSI_ADDRESS + 4, 0, ~0u, 0)) ||
	    !add_value(c, data, 0, 0xffff, 0))
		return false;
	c->msi = at;
	return !(control & PCI_MSI_MASKS) ||
	       add_field(c, at, &(struct pci_rule){ (u16)(data + 4 - at), ~0u, ~0u, 0, 0 });
}

/* NULL: it need not be found again. */
static u16 *place_of(struct pci_config *c, const struct pci_cap *cap)
{
	switch (cap->id) {
	case PCI_CAP_MSIX: return &c->msix;
	case PCI_CAP_EXP: return &c->express;
	case PCI_CAP_PM: return &c->pm;
	case PCI_CAP_AF: return &c->af;
	default: return NULL;
	}
}

static void note(struct pci_config *c, const struct pci_cap *cap)
{
	u16 *at = place_of(c, cap);

	if (at && !*at)
		*at = cap->offset;
}

/*
 * False where it cannot be mediated: too many rules, or another capability lies where one of them
 * is due.
 */
static bool add_cap(struct pci_config *c, const struct pci_cap *cap,
		    const struct pci_cap_rule *rule, u16 limit, u32 next)
{
	u32 mask = cap->extended ? NEXT_EXTENDED : NEXT_STANDARD;
	struct pci_rule head = { 0, ~0u, 0, 0, 0 };
	u16 size = cap_size(c, cap, rule);
	struct pci_field *f;

	for (unsigned i = 0; i < rule->nr_rules; i++)
		if (rule->rules[i].offset == 0)
			head = rule->rules[i];
	head.pass &= ~mask;
	f = add_field(c, cap->offset, &head);
	if (!f)
		return false;
	/* Off, whatever the host has: both kinds of messages have their enable bits in the head. */
	f->value = next;
	for (unsigned i = 0; i < rule->nr_rules; i++) {
		u16 offset = rule->rules[i].offset;

		if (offset && offset < size &&
		    (cap->offset + offset >= limit || !add_field(c, cap->offset, &rule->rules[i])))
			return false;
	}
	if (!cap->extended)
		note(c, cap);
	return cap->extended || cap->id != PCI_CAP_MSI || add_msi(c, cap->offset, limit);
}

/* Backwards, so that each knows the next one that is shown. */
static bool add_caps(struct pci_config *c, const struct pci_cap *caps, unsigned count)
{
	u32 next_standard = 0, next_extended = 0;
	bool ok = true;

	for (unsigned nr = count; ok && nr--;) {
		const struct pci_cap *cap = &caps[nr];
		const struct pci_cap_rule *rule = pci_cap_rule(cap->id, cap->extended);
		bool hidden = rule->area == PCI_AREA_HIDDEN;
		u16 limit = limit_of(caps, count, cap);

		c->area[c->nr_areas].start = cap->offset;
		c->area[c->nr_areas].end =
			(u16)MIN(ALIGN_UP(cap->offset + cap_size(c, cap, rule), 4), limit);
		c->area[c->nr_areas++].area = rule->area;
		if (cap->extended) {
			/*
			 * The list begins at 0x100: what is hidden there stays as a place holder
			 * without an ID.
			 */
			if (hidden && cap->offset == PCI_STANDARD_END)
				ok = add_value(c, cap->offset, 0, 0, next_extended << 20);
			else if (!hidden)
				ok = add_cap(c, cap, rule, limit, next_extended << 20);
			if (!hidden)
				next_extended = cap->offset;
		} else if (!hidden) {
			ok = add_cap(c, cap, rule, limit, next_standard << 8);
			next_standard = cap->offset;
		}
	}
	/* What the device itself has there as a place holder may lead to what is hidden. */
	if (ok && next_extended && !find_field(c, PCI_STANDARD_END))
		ok = add_value(c, PCI_STANDARD_END, 0, 0, next_extended << 20);
	return ok && add_value(c, PCI_REG_CAPABILITIES, 0, 0, next_standard);
}

int pci_config_init(struct pci_config *c, const struct pci_config_io *io,
		    const struct pci_bar *bars, bool extended, bool intx,
		    const struct pci_cap *caps, unsigned nr_caps)
{
	bool ok = true;

	*c = (struct pci_config){ .io = *io, .extended = extended };
	memcpy(c->bar, bars, sizeof(c->bar));
	if (nr_caps > PCI_CONFIG_CAPS)
		return -ENOSPC;
	static_assert(PCI_CONFIG_CAPS <= PCI_CONFIG_AREAS, "one area each");
	for (unsigned i = 0; ok && i < pci_nr_header_rules; i++)
		ok = add_field(c, 0, &pci_header_rules[i]);
	/* Line interrupts are on after a reset (6.2.2). */
	find_field(c, PCI_REG_COMMAND)->value &= PCI_COMMAND_IO | PCI_COMMAND_MEMORY;
	if (intx) {
		find_field(c, PCI_REG_COMMAND)->rule.write |= PCI_COMMAND_NO_INTX;
		find_field(c, PCI_REG_INTERRUPT)->rule.pass |= PCI_INTERRUPT_PIN;
	}
	ok = ok && add_bars(c) && add_caps(c, caps, nr_caps);
	return ok ? 0 : -ENOSPC;
}

void pci_config_msix_size(struct pci_config *c, unsigned count)
{
	struct pci_field *f = c->msix ? find_field(c, c->msix) : NULL;

	if (f) {
		f->rule.pass &= ~((u32)PCI_MSIX_SIZE << 16);
		f->value = (f->value & ~((u32)PCI_MSIX_SIZE << 16)) | (count - 1) << 16;
	}
}

void pci_config_clear(struct pci_config *c)
{
	c->nr_fields = c->msi = c->msix = 0;
}

static bool valid(const struct pci_config *c, u16 offset, unsigned size)
{
	return (size == 1 || size == 2 || size == 4) && IS_ALIGNED(offset, size) &&
	       offset < (c->extended ? PCI_EXTENDED_END : PCI_STANDARD_END);
}

static enum pci_area area_of(const struct pci_config *c, u16 offset)
{
	for (unsigned i = 0; i < c->nr_areas; i++)
		if (offset >= c->area[i].start && offset < c->area[i].end)
			return c->area[i].area;
	/* Outside of all capabilities: what the vendor put there, its driver may need. */
	return offset < PCI_STANDARD_END ? PCI_AREA_DIRECT : PCI_AREA_READ;
}

static u32 mask_of(unsigned size)
{
	return size == 4 ? ~0u : (u32)(BIT(size * 8) - 1);
}

u32 pci_config_read(const struct pci_config *c, u16 offset, unsigned size)
{
	const struct pci_field *f;
	u32 v;

	if (!valid(c, offset, size))
		return mask_of(4);
	f = find_field(c, offset);
	if (!f)
		return area_of(c, offset) == PCI_AREA_HIDDEN ? 0
							     : c->io.read(c->io.ctx, offset, size);
	v = f->rule.pass ? c->io.read(c->io.ctx, f->rule.offset, 4) & f->rule.pass : 0;
	v |= f->value & ~f->rule.pass;
	return v >> (offset & 3) * 8 & mask_of(size);
}

static unsigned changed(const struct pci_config *c, u16 offset)
{
	if (offset == PCI_REG_COMMAND ||
	    (offset >= PCI_REG_BAR && offset < PCI_REG_BAR + 4 * PCI_ROM_BAR) ||
	    offset == PCI_REG_ROM)
		return PCI_CHANGED_DECODE;
	if (c->msi && offset >= c->msi && offset <= c->msi + PCI_MSI_DATA(PCI_MSI_64))
		return PCI_CHANGED_MSI;
	return c->msix && offset == c->msix ? PCI_CHANGED_MSIX : 0;
}

static bool has(const struct pci_config *c, unsigned offset, u32 bit)
{
	return c->io.read(c->io.ctx, (u16)offset, 4) & bit;
}

/*
 * FLR, or back from D3hot where that resets; `before`: the register's own bits, which have changed
 * since.
 */
static bool asks_reset(const struct pci_config *c, const struct pci_field *f, u32 written,
		       u32 before)
{
	u16 offset = f->rule.offset;

	if (c->express && offset == c->express + PCI_EXP_DEVICE_CONTROL)
		return written & PCI_EXP_START_FLR &&
		       has(c, c->express + PCI_EXP_DEVICE, PCI_EXP_FLR);
	if (c->af && offset == c->af + PCI_AF_CONTROL)
		return written & PCI_AF_START_FLR && has(c, c->af, (u32)PCI_AF_FLR << 24);
	return c->pm && offset == c->pm + PCI_PM_CONTROL &&
	       (before & PCI_PM_STATE) == PCI_PM_STATE && !(f->value & PCI_PM_STATE) &&
	       !has(c, offset, PCI_PM_NO_SOFT_RESET);
}

unsigned pci_config_write(struct pci_config *c, u16 offset, unsigned size, u32 value)
{
	struct pci_field *f;
	u32 lanes, bits, before;

	if (!valid(c, offset, size))
		return 0;
	lanes = mask_of(size) << (offset & 3) * 8;
	f = find_field(c, offset);
	if (!f) {
		if (area_of(c, offset) == PCI_AREA_DIRECT)
			c->io.write(c->io.ctx, offset, size, value & mask_of(size));
		return 0;
	}
	value <<= (offset & 3) * 8;
	before = f->value;
	bits = f->rule.keep & lanes;
	f->value = (f->value & ~bits) | (value & bits);
	bits = f->rule.write & lanes;
	/*
	 * Until its BARs are unmapped another vCPU may be at them: what does not answer is an error
	 * of the machine on some.
	 */
	if (f->rule.offset == PCI_REG_COMMAND)
		bits &= ~(PCI_COMMAND_IO | PCI_COMMAND_MEMORY) | value;
	if (bits) {
		u32 old = c->io.read(c->io.ctx, f->rule.offset, 4) & ~f->rule.clear;

		c->io.write(c->io.ctx, f->rule.offset, 4, (old & ~bits) | (value & bits));
	}
	if (f->rule.offset == PCI_REG_ROM && f->value & f->rule.keep & PCI_ROM_ENABLE)
		c->io.write(c->io.ctx, PCI_REG_ROM, 4,
			    (u32)c->bar[PCI_ROM_BAR].base | PCI_ROM_ENABLE);
	return changed(c, f->rule.offset) |
	       (asks_reset(c, f, value & lanes, before) ? PCI_CHANGED_RESET : 0);
}

void pci_config_unmapped(const struct pci_config *c)
{
	if (c->nr_fields && c->bar[PCI_ROM_BAR].base &&
	    !(value_at(c, PCI_REG_ROM) & PCI_ROM_ENABLE) && has(c, PCI_REG_ROM, PCI_ROM_ENABLE))
		c->io.write(c->io.ctx, PCI_REG_ROM, 4, (u32)c->bar[PCI_ROM_BAR].base);
}

bool pci_config_master_gated(const struct pci_config *c)
{
	const struct pci_field *f = find_field(c, PCI_REG_COMMAND);

	return f && f->rule.keep & PCI_COMMAND_MASTER;
}

void pci_config_gate_master(struct pci_config *c, bool closed)
{
	struct pci_field *f = find_field(c, PCI_REG_COMMAND);
	u32 device = c->io.read(c->io.ctx, PCI_REG_COMMAND, 2), wanted;

	if (!f || closed == pci_config_master_gated(c))
		return;
	f->rule.pass ^= PCI_COMMAND_MASTER;
	f->rule.write ^= PCI_COMMAND_MASTER;
	f->rule.keep ^= PCI_COMMAND_MASTER;
	if (closed)
		f->value = (f->value & ~(u32)PCI_COMMAND_MASTER) | (device & PCI_COMMAND_MASTER);
	wanted = (device & ~(u32)PCI_COMMAND_MASTER) | (closed ? 0 : f->value & PCI_COMMAND_MASTER);
	if (wanted != device)
		c->io.write(c->io.ctx, PCI_REG_COMMAND, 2, wanted);
}

bool pci_config_master_waits(const struct pci_config *c)
{
	const struct pci_field *f = find_field(c, PCI_REG_COMMAND);

	return f && f->rule.keep & f->value & PCI_COMMAND_MASTER;
}

bool pci_config_bar(const struct pci_config *c, unsigned i, u64 *base)
{
	const struct pci_bar *b = &c->bar[i];
	u32 command = value_at(c, PCI_REG_COMMAND), low;

	if (!b->size || !b->base)
		return false;
	if (i == PCI_ROM_BAR) {
		low = value_at(c, PCI_REG_ROM);
		*base = low & ~PCI_ROM_FLAGS;
		return command & PCI_COMMAND_MEMORY && low & PCI_ROM_ENABLE;
	}
	low = value_at(c, PCI_REG_BAR + i * 4);
	*base = low & ~PCI_BAR_FLAGS(b->flags);
	if (pci_bar_is_io(b))
		return command & PCI_COMMAND_IO;
	if (pci_bar_is_64(b))
		*base |= (u64)value_at(c, PCI_REG_BAR + i * 4 + 4) << 32;
	return command & PCI_COMMAND_MEMORY;
}

bool pci_config_msi(const struct pci_config *c, u64 *address, u32 *data, unsigned *count)
{
	u32 control = value_at(c, c->msi) >> 16, capable;

	if (!c->msi || !(control & PCI_MSI_ENABLE))
		return false;
	capable = c->io.read(c->io.ctx, c->msi, 4) >> 16;
	/* No more than the device has; above 5 is reserved. */
	*count = 1u << MIN(MIN(PCI_MSI_ENABLED(control), PCI_MSI_CAPABLE(capable)), 5u);
	*address = value_at(c, c->msi + PCI_MSI_ADDRESS);
	if (capable & PCI_MSI_64)
		*address |= (u64)value_at(c, c->msi + PCI_MSI_ADDRESS + 4) << 32;
	*data = value_at(c, c->msi + PCI_MSI_DATA(capable)) & 0xffff;
	return true;
}
