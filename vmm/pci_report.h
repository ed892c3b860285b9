/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: a PCI function in words, and whether it can be given to a VM:
 * what design and docs/operating.md ask of one. Its lines are the monitor
 * console's and the hardware check's.
 */
#ifndef VMM_PCI_REPORT_H
#define VMM_PCI_REPORT_H

#include <margay/pci.h>

enum pci_fitness { PCI_FIT, PCI_FIT_BUT, PCI_UNFIT };

#define PCI_REPORT_TEXT 240

/* Can the function be given to a VM? Why not, or with what restriction, in `why`; "" when nothing is wrong. */
enum pci_fitness pci_fitness(const struct pci_info *f, char why[PCI_REPORT_TEXT]);

/* What the class is called; the base class where the subclass is not known; never NULL. */
const char *pci_class_name(u32 class_code);

/* BARs, with sizes where they are known; "none" where it has none. */
void pci_report_bars(const struct pci_info *f, char text[PCI_REPORT_TEXT]);

/* Interrupts and capabilities. */
void pci_report_caps(const struct pci_info *f, char text[PCI_REPORT_TEXT]);

#endif
