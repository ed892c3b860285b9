/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_cap.c kernel/pci/pci_info.c kernel/pci/pci_sriov_cap.c */
/* FUZZ: -max_len=256 */
/*
 * Fuzzes the PCI capability walker. The input is a list of {register, value}
 * pairs over a configuration space of zeros or ones. Checked: every walk ends,
 * names no offset twice, stays in its space, and pcicap_find() agrees with it;
 * what is read of SR-IOV leaves the registers as they were, and VFs that are not
 * refused are on buses that there are, apart, and not where the PF is.
 */
#include "kernel/pci/pci_cap.h"
#include "kernel/pci/pci_sriov_cap.h"
#include "tests/fuzz/fuzz.h"

#define REGISTERS 1024
#define PAIRS 64

static u32 space[REGISTERS];
static unsigned reads;

static u32 read32(void *ctx, u16 offset)
{
	CHECK(ctx == space && offset % 4 == 0 && offset < 4096);
	/* Each register of both lists once, and the two that start them. */
	CHECK(++reads <= REGISTERS + 2);
	return space[offset / 4];
}

static void check_walk(const struct pcicap_reader *r)
{
	static struct pci_cap cap[REGISTERS];
	const char *problem = "";
	unsigned n, few;
	bool extended = false;

	reads = 0;
	n = pcicap_walk(r, cap, REGISTERS, &problem);
	CHECK(n <= REGISTERS && (!problem || *problem));
	for (unsigned i = 0; i < n; i++) {
		CHECK(cap[i].extended ? r->extended && cap[i].offset >= 0x100
				      : cap[i].offset >= 0x40 && cap[i].offset < 0x100);
		CHECK(cap[i].offset % 4 == 0);
		CHECK(cap[i].extended || !extended); /* standard ones first */
		extended = cap[i].extended;
		for (unsigned k = i ? i - 1 : 0; k < i; k++)
			CHECK(cap[i].offset != cap[k].offset);
		reads = 0;
		/* The first of that ID. */
		for (unsigned k = 0; k <= i; k++) {
			if (cap[k].id != cap[i].id || cap[k].extended != cap[i].extended)
				continue;
			CHECK(pcicap_find(r, cap[i].id, cap[i].extended) == cap[k].offset);
			break;
		}
	}
	reads = 0;
	few = pcicap_walk(r, cap, 1, NULL);
	CHECK(few == n);
}

/* All bits of a register can be written, or none. */
static u32 fixed;

static void write32(void *ctx, u16 offset, u32 value)
{
	CHECK(ctx == space && offset % 4 == 0 && offset < 4096);
	if (!(fixed >> (offset / 4) % 32 & 1))
		space[offset / 4] = value;
}

static void check_sriov(const struct pcicap_reader *r, u16 at, u8 bus, u8 count)
{
	static u32 before[REGISTERS];
	const struct pci_address pf = { 0, bus, 0x40 };
	struct pci_address one, next;
	struct sriov s;

	memcpy(before, space, sizeof(space));
	reads = 0;
	if (sriov_read(r, write32, at, &s))
		count = 0;
	CHECK(!memcmp(before, space, sizeof(space)));
	if (!count || sriov_unfit(&s, &pf, count, (u8)(bus | 1)))
		return;
	for (unsigned n = 0; n < count; n++) {
		CHECK(sriov_address(&s, &pf, n, &one) && one.bus <= (bus | 1) &&
		      !pci_same_address(&pf, &one));
		CHECK(n + 1u == count ||
		      (sriov_address(&s, &pf, n + 1, &next) && !pci_same_address(&one, &next)));
	}
	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		CHECK(!s.bar[i].size || s.bar[i].base + s.bar[i].size * count - 1 >= s.bar[i].base);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct pcicap_reader r = { .read32 = read32, .ctx = space };
	u8 flags = fuzz_u8(&in);

	memset(space, flags & 1 ? 0xff : 0, sizeof(space));
	r.extended = flags & 2;
	fixed = flags & 8 ? fuzz_u32(&in) : 0x0108;
	if (flags & 4) {
		space[1] = 0x100000; /* a capability list ... */
		space[0x34 / 4] = 0x40; /* ... that starts here */
	}
	for (unsigned i = 0; in.left && i < PAIRS; i++) {
		unsigned at = (unsigned)fuzz_le(&in, 2) % REGISTERS;

		space[at] = fuzz_u32(&in);
	}
	check_walk(&r);
	/* Where the walk finds one, or anywhere. */
	check_sriov(&r, flags & 16 ? flags * 0x10 : pcicap_find(&r, PCI_EXT_CAP_SRIOV, true),
		    (u8)(fixed >> 8), (u8)fixed);
	return 0;
}
