/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/pci/pci_config.c vmm/pci/pci_rules.c */
/* FUZZ: -max_len=1024 */
/*
 * Fuzzes the configuration space that a guest sees of a PCI function. The
 * input's head makes a device: contents, BARs, capabilities anywhere; the rest
 * is what the guest writes, and the gate of bus mastering. Checked: no access of
 * the device is out of bounds or unaligned; its BARs never change, nor what the
 * host sets of MSI, MSI-X and the power state, however the capabilities lie;
 * while the gate is closed it is no bus master; reads of any size agree.
 */
#include "tests/fuzz/fuzz.h"
#include "vmm/pci/pci_config.h"

#define CAPS 12
#define BUS_MASTER BIT(2)

static u8 hw[4096];
static bool shown_all, line;

static u32 io_read(void *ctx, u16 offset, unsigned size)
{
	u32 v = 0;

	CHECK(ctx == hw && offset + size <= (shown_all ? 4096 : 256) && IS_ALIGNED(offset, size));
	memcpy(&v, hw + offset, size);
	return v;
}

static void io_write(void *ctx, u16 offset, unsigned size, u32 value)
{
	CHECK(ctx == hw && offset + size <= (shown_all ? 4096 : 256) && IS_ALIGNED(offset, size));
	memcpy(hw + offset, &value, size);
}

/* The bits at `offset` that the guest must never change. */
static void check_kept(const u8 *before, u16 offset, u32 mask)
{
	u32 old, new;

	memcpy(&old, before + offset, 4);
	memcpy(&new, hw + offset, 4);
	CHECK((old & mask) == (new &mask));
}

static void check_device(const u8 *before, const struct pci_cap *cap, unsigned nr)
{
	for (u16 at = 0x10; at < 0x28; at += 4)
		check_kept(before, at, ~0u);
	check_kept(before, 0x30, ~1u); /* the ROM is switched on and off where it is */
	check_kept(before, 0x00, ~0u);
	/* what decodes goes on with it */
	check_kept(before, 0x04, (line ? 0 : BIT(10)) | (before[4] & 3));
	for (unsigned i = 0; i < nr; i++) {
		if (cap[i].extended)
			continue;
		if (cap[i].id == 0x01)
			check_kept(before, cap[i].offset + 4, 3);
		if (cap[i].id == 0x11)
			check_kept(before, cap[i].offset, ~0u);
		if (cap[i].id == 0x05) {
			check_kept(before, cap[i].offset, ~0u);
			check_kept(before, cap[i].offset + 4, ~0u);
			check_kept(before, cap[i].offset + 8, ~0u);
		}
		if (cap[i].id == 0x10)
			/* no FLR, no other payload size */
			check_kept(before, cap[i].offset + 8, 0x80e0);
	}
}

static void check_reads(const struct pci_config *c, u16 offset)
{
	u32 whole = pci_config_read(c, offset, 4), halves, bytes = 0;

	CHECK(offset < 256 || shown_all || whole == ~0u);
	if (whole == ~0u)
		return;
	halves = pci_config_read(c, offset, 2) | pci_config_read(c, offset + 2, 2) << 16;
	for (unsigned i = 0; i < 4; i++)
		bytes |= pci_config_read(c, (u16)(offset + i), 1) << i * 8;
	CHECK(whole == halves && whole == bytes);
}

/*
 * Opens or closes it, by a bit of the value: what the guest reads stays, and what waits has it when
 * the gate opens.
 */
static void gate(struct pci_config *c, u32 value)
{
	bool closed = value & 2, shown = pci_config_read(c, 4, 2) & BUS_MASTER;

	pci_config_gate_master(c, closed);
	CHECK(pci_config_master_gated(c) == closed);
	CHECK(!(pci_config_read(c, 4, 2) & BUS_MASTER) == !shown);
	CHECK(!(hw[4] & BUS_MASTER) == (closed || !shown));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u16 ids[] = { 0x01, 0x03, 0x05, 0x09, 0x10, 0x11, 0x13, 0x14, 0x0b, 0x0f };
	struct fuzz_in in = { data, size };
	struct pci_bar bars[PCI_BARS] = { 0 };
	struct pci_cap cap[CAPS];
	const struct pci_config_io io = { io_read, io_write, hw };
	static struct pci_config c;
	static u8 before[4096];
	unsigned nr = fuzz_u8(&in) % (CAPS + 1), standard = 0;
	u64 at;

	at = fuzz_u8(&in);
	memset(hw, at & 1 ? 0xff : 0, sizeof(hw));
	line = at & 2;
	shown_all = fuzz_u8(&in) & 1;
	for (unsigned i = 0; i < PCI_BARS; i++) {
		bars[i].size = BIT(fuzz_u8(&in) & 63) & ~15ull;
		bars[i].flags = i == 6 ? 0 : fuzz_u8(&in) & 0xf;
		if (bars[i].flags & 1)
			bars[i].flags &= 3;
		bars[i].base = bars[i].size ? fuzz_number(&in) & ~(bars[i].size - 1) : 0;
	}
	for (unsigned i = 0; i < nr; i++) {
		u16 id = ids[fuzz_u8(&in) % ARRAY_SIZE(ids)], offset = (u16)fuzz_le(&in, 2) & 0xffc;

		cap[i].extended = shown_all && offset >= 0x100;
		cap[i].offset = cap[i].extended ? offset : 0x40 + offset % 0xc0;
		cap[i].id = id;
		/* A walk finds none twice. */
		for (unsigned k = 0; k < i; k++)
			if (cap[k].offset == cap[i].offset)
				return 0;
		if (!cap[i].extended) {
			struct pci_cap t = cap[standard];

			cap[standard++] = cap[i];
			if (standard - 1 != i)
				cap[i] = t;
		}
	}
	for (unsigned i = 0; i < nr; i++) {
		u32 v = fuzz_u32(&in);

		memcpy(hw + cap[i].offset, &v, 4);
	}
	if (bars[6].base)
		memcpy(hw + 0x30, &(u32){ (u32)bars[6].base }, 4);
	memcpy(before, hw, sizeof(hw));
	if (pci_config_init(&c, &io, bars, shown_all, line, cap, nr)) {
		CHECK(!memcmp(before, hw, sizeof(hw)));
		return 0;
	}
	while (in.left) {
		u16 offset = (u16)fuzz_le(&in, 2) & 0xfff;
		u32 value = fuzz_u32(&in);
		unsigned bytes = 1u << (offset >> 4 & 3);

		/* Most accesses go where something is. */
		if (nr && value & 1)
			offset = (u16)(cap[(value >> 1) % nr].offset + (offset & 0x3f)) & 0xfff;
		if (pci_config_write(&c, offset, bytes, value) & PCI_CHANGED_DECODE) {
			pci_config_unmapped(&c);
			CHECK(!bars[6].base || !(hw[0x30] & 1) || pci_config_read(&c, 0x30, 1) & 1);
		}
		if (offset == 0xfff)
			gate(&c, value);
		if (pci_config_master_gated(&c)) {
			CHECK(!(hw[4] & BUS_MASTER));
			CHECK(pci_config_master_waits(&c) ==
			      !!(pci_config_read(&c, 4, 2) & BUS_MASTER));
		}
		check_reads(&c, offset & 0xffc);
		for (unsigned i = 0; i < PCI_BARS; i++)
			pci_config_bar(&c, i, &at);
		if (c.msi) {
			unsigned count;
			u32 message;

			if (pci_config_msi(&c, &at, &message, &count))
				CHECK(count && count <= 32);
		}
	}
	check_device(before, cap, nr);
	pci_config_clear(&c);
	for (unsigned i = 0; i < PCI_BARS; i++)
		CHECK(!pci_config_bar(&c, i, &at));
	return 0;
}
