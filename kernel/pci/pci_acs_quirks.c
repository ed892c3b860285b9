/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: devices of several functions that have no ACS and do not need any: none of their
 * functions sends to another (PCI Express Base 5.0, 6.12.1.2). Their makers have said so to Linux,
 * whose drivers/pci/quirks.c (6.1.192, pci_dev_acs_enabled) has these; those of no x86 machine are
 * left out. A line here needs a maker's word, too.
 */
#include "kernel/pci/pci_function.h"

#define INTEL 0x8086

/* clang-format off */
static const struct {
	u16 vendor;
	u16 first;
	u16 last;
} known[] = {
	/* 82571 */
	{ INTEL, 0x105e, 0x1060 },
	{ INTEL, 0x10d9, 0x10d9 },
	/* 82575 */
	{ INTEL, 0x10a7, 0x10a7 },
	{ INTEL, 0x10a9, 0x10a9 },
	{ INTEL, 0x10d6, 0x10d6 },
	/* 82576 */
	{ INTEL, 0x10c9, 0x10c9 },
	{ INTEL, 0x10e6, 0x10e8 },
	{ INTEL, 0x150a, 0x150a },
	{ INTEL, 0x150d, 0x150d },
	{ INTEL, 0x1518, 0x1518 },
	{ INTEL, 0x1526, 0x1526 },
	/* 82580 */
	{ INTEL, 0x1509, 0x1509 },
	{ INTEL, 0x150e, 0x1511 },
	{ INTEL, 0x1516, 0x1516 },
	{ INTEL, 0x1527, 0x1527 },
	/* I350 */
	{ INTEL, 0x1521, 0x1524 },
	/* 82598 */
	{ INTEL, 0x10c6, 0x10c6 },
	{ INTEL, 0x10db, 0x10db },
	{ INTEL, 0x10dd, 0x10dd },
	{ INTEL, 0x10e1, 0x10e1 },
	{ INTEL, 0x10f1, 0x10f1 },
	/* 82599 */
	{ INTEL, 0x10f7, 0x10fc },
	{ INTEL, 0x1507, 0x1507 },
	{ INTEL, 0x1514, 0x1514 },
	{ INTEL, 0x151c, 0x151c },
	{ INTEL, 0x1529, 0x152a },
	{ INTEL, 0x154d, 0x154d },
	{ INTEL, 0x154f, 0x154f },
	{ INTEL, 0x1551, 0x1551 },
	{ INTEL, 0x1558, 0x1558 },
	/* I219 */
	{ INTEL, 0x15b7, 0x15b8 },
	/* Solarflare */
	{ 0x1924, 0x0903, 0x0903 },
	{ 0x1924, 0x0923, 0x0923 },
	{ 0x1924, 0x0a03, 0x0a03 },
	/* Emulex BE3-R, Skyhawk-R */
	{ 0x19a2, 0x0710, 0x0710 },
	{ 0x10df, 0x0720, 0x0720 },
	/* Broadcom NetXtreme-E */
	{ 0x14e4, 0x16d7, 0x16d7 },
	{ 0x14e4, 0x1750, 0x1752 },
	{ 0x14e4, 0x1760, 0x1763 },
	/* Wangxun */
	{ 0x8088, 0x0100, 0x010f },
	{ 0x8088, 0x1001, 0x1001 },
	{ 0x8088, 0x2001, 0x2001 },
	{ 0x8088, 0x5010, 0x5010 },
	{ 0x8088, 0x5025, 0x5025 },
	{ 0x8088, 0x5040, 0x5040 },
	{ 0x8088, 0x5110, 0x5110 },
	{ 0x8088, 0x5125, 0x5125 },
	{ 0x8088, 0x5140, 0x5140 },
};
/* clang-format on */

bool pci_sends_to_no_other(const struct pci_id *id, unsigned type)
{
	/*
	 * Integrated in Intel's root complex: by addresses that the IOMMU has translated only (VT-d
	 * 3.1, 3.16).
	 */
	if (id->vendor == INTEL && type == PCIE_INTEGRATED)
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].vendor == id->vendor && id->device >= known[i].first &&
		    id->device <= known[i].last)
			return true;
	return false;
}
