/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI functions outside segment 0, the only one that a guest has. */
#ifndef VMM_PCI_SEGMENTS_H
#define VMM_PCI_SEGMENTS_H

#include <margay/types.h>

#define PCI_SEGMENTS_TEXT 248 /* with some ten addresses */

#if IS_ENABLED(CONFIG_PASSTHROUGH)
/*
 * False: some functions can be had by no VM for their segment alone; text names them, and what to
 * do. Else text is "".
 */
bool pci_segments(char text[PCI_SEGMENTS_TEXT]);
#else
static inline bool pci_segments(char[PCI_SEGMENTS_TEXT])
{
	return true;
}
#endif

#endif
