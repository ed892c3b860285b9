/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: can a PCI function be given to a VM? The one judgement, which
 * assignment (vmm/pci/pci_assign.c), the monitor's `pci` and the hardware check
 * use; docs/passthrough.md explains each reason.
 */
#ifndef VMM_PCI_FITNESS_H
#define VMM_PCI_FITNESS_H

#include <margay/pci.h>

enum pci_fitness { PCI_FIT, PCI_FIT_BUT, PCI_UNFIT };

#define PCI_FITNESS_TEXT 400 /* all restrictions at once */

/* Why no VM may have it; NULL: one may. */
const char *pci_unfit(const struct pci_info *f);

/* The same, or with what restriction, in `why`; "" when nothing is wrong. */
enum pci_fitness pci_fitness(const struct pci_info *f, char why[PCI_FITNESS_TEXT]);

#endif
