/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What vectors of messages and inputs of I/O APICs need of the node's IOMMUs, where these remap
 * interrupts. The IOMMUs stand above PCI functions, which they look at: kernel/iommu/interrupts.c
 * registers itself here.
 */
#ifndef KERNEL_PCI_REMAPPING_H
#define KERNEL_PCI_REMAPPING_H

#include <margay/host.h>

struct interrupt_remapping {
	/* Do interrupts reach CPUs with APIC IDs above 254? */
	bool (*wide)(void);
	/*
	 * The message is worth nothing any more, and what was sent by it has come. Where there are
	 * no entries: nothing.
	 */
	void (*forget)(struct host_msi *msi);
	/* The same of a line interrupt's input, which is masked. */
	void (*close)(u32 gsi);
};

/* NULL: nothing is remapped. Set at boot, before any vector is taken. */
extern const struct interrupt_remapping *interrupt_remapping;
#define interrupts_are_remapped (IS_ENABLED(CONFIG_IOMMU) && interrupt_remapping)

#endif
