/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one list of what is the platform's, and in no guest's map, whatever a register, a table of
 * the firmware's or a VM file says. The monitor asks it where it maps and opens (host_may_map(),
 * host_may_open() in <margay/host_pci.h>), the kernel where it judges BARs and gives functions
 * memory of the firmware's. Nothing in it changes once the functions are known, but for what the
 * windows of root buses say of reserved memory.
 */
#ifndef KERNEL_PCI_PLATFORM_H
#define KERNEL_PCI_PLATFORM_H

#include "kernel/boot/bootinfo.h"
#include "kernel/pci/pci_core.h"

#if IS_ENABLED(CONFIG_PCI_INFO)
/* After the ACPI tables were read. Both stay where they are; mcfg may be NULL. */
void pci_platform_init(const struct mcfg_info *mcfg, const struct bootinfo *bi);
#else
static inline void pci_platform_init(const struct mcfg_info *, const struct bootinfo *) { }
#endif

/* What a BAR would lie over there (io: ports), as a whole sentence; NULL: nothing of the list. */
const char *pci_platform_at(bool io, u64 base, u64 size);

/* Are registers or the flash there? Memory, reserved or not, is neither. */
bool pci_platform_registers(u64 base, u64 size);

#endif
