/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the way from a function to memory takes, by its bridges: a guest sees none of them, and
 * would have its function send what one of them answers with an error, or slowly. AtomicOps: PCI
 * Express Base 5.0, 6.15, 7.5.3.15, 7.5.3.16, and Linux' pci_enable_atomic_ops_to_root(); relaxed
 * ordering: 2.4.1, and Linux' drivers/pci/quirks.c (6.1.192).
 */
#include "kernel/pci/pci_path.h"

#include <margay/host_pci.h>

/* Of Device Capabilities 2, and of Device Control 2. */
#define ROUTES BIT(6)
#define COMPLETES (BIT(7) | BIT(8)) /* of 32 and 64 bits; drivers ask for both */
#define BLOCKS BIT(7)

/* A port that is no switch's ends it: at the root, or at a bridge to PCI, which takes none. */
static bool takes_atomics(const struct pci_hop *hop, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (hop[i].type == PCIE_ROOT_PORT)
			return (hop[i].cap2 & COMPLETES) == COMPLETES;
		if (hop[i].type != PCIE_DOWNSTREAM && hop[i].type != PCIE_UPSTREAM)
			return false;
		if (!(hop[i].cap2 & ROUTES) ||
		    (hop[i].type == PCIE_UPSTREAM && hop[i].control2 & BLOCKS))
			return false;
	}
	return false;
}

/*
 * Root ports of Haswell-EP and Broadwell-EP run out of credits by them:
 * quirk_relaxedordering_disable(), which has these by Intel's word.
 */
static bool takes_relaxed(const struct pci_hop *hop, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (hop[i].type == PCIE_ROOT_PORT && hop[i].vendor == 0x8086 &&
		    ((hop[i].device >= 0x2f01 && hop[i].device <= 0x2f0e) ||
		     (hop[i].device >= 0x6f01 && hop[i].device <= 0x6f0e)))
			return false;
	return true;
}

unsigned pci_path_takes(const struct pci_hop *hop, unsigned count)
{
	return (takes_atomics(hop, count) ? HOST_PCI_ATOMICS : 0) |
	       (takes_relaxed(hop, count) ? HOST_PCI_RELAXED : 0);
}
