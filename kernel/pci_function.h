/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the host does to PCI functions beside finding them: it sizes their BARs
 * once, keeps quiet what no VM has, and takes back what one had.
 */
#ifndef KERNEL_PCI_FUNCTION_H
#define KERNEL_PCI_FUNCTION_H

#include "kernel/pci.h"
#include "kernel/pcicap.h"

/* At boot, for each function: no bus mastering, no interrupt, BARs sized. Bridges are left alone. */
void pci_prepare(struct pci_function *f);

/*
 * Ends what a function does: bus master and all interrupts off, and nothing
 * under way any more. 0; -EIO: it does not obey, and may still write to memory.
 */
int pci_quiet(const struct pci_function *f);

/*
 * The same, then the strongest reset that hurts no other function: FLR (PCI
 * Express 6.6.2, Advanced Features 2.2), else D3hot and back (PCI PM 1.2,
 * 5.4.1), else none; what the host has set up is there again after it.
 */
int pci_take_back(const struct pci_function *f);

/* Why no VM may have the function, in words that end a sentence about it; NULL: one may. */
const char *pci_unfit(const struct pci_function *f);

/* Fills cap[] as pcicap_walk() does. */
unsigned pci_capabilities(const struct pci_function *f, struct pcicap *cap, unsigned max, const char **problem);

#endif
