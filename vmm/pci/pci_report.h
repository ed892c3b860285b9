/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: a PCI function in words: the lines of the monitor's `pci` and of the hardware check.
 */
#ifndef VMM_PCI_REPORT_H
#define VMM_PCI_REPORT_H

#include <margay/pci.h>

#define PCI_REPORT_TEXT 240

/* What the class is called; the base class where the subclass is not known; never NULL. */
const char *pci_class_name(u32 class_code);

/* BARs, with sizes where they are known; "none" where it has none. */
void pci_report_bars(const struct pci_info *f, char text[PCI_REPORT_TEXT]);

/* Interrupts and capabilities. */
void pci_report_caps(const struct pci_info *f, char text[PCI_REPORT_TEXT]);

#endif
