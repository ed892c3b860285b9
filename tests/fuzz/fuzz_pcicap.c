/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pcicap.c */
/* FUZZ: -max_len=256 */
/*
 * Fuzzes the PCI capability walker. The input is a list of {register, value}
 * pairs over a configuration space of zeros or ones. Checked: every walk ends,
 * names no offset twice, stays in its space, and pcicap_find() agrees with it.
 */
#include "kernel/pci/pcicap.h"
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
		CHECK(cap[i].extended ? r->extended && cap[i].offset >= 0x100 : cap[i].offset >= 0x40 && cap[i].offset < 0x100);
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

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct pcicap_reader r = { .read32 = read32, .ctx = space };
	u8 flags = fuzz_u8(&in);

	memset(space, flags & 1 ? 0xff : 0, sizeof(space));
	r.extended = flags & 2;
	if (flags & 4) {
		space[1] = 0x100000; /* a capability list ... */
		space[0x34 / 4] = 0x40; /* ... that starts here */
	}
	for (unsigned i = 0; in.left && i < PAIRS; i++) {
		unsigned at = (unsigned)fuzz_le(&in, 2) % REGISTERS;

		space[at] = fuzz_u32(&in);
	}
	check_walk(&r);
	return 0;
}
