# SPDX-License-Identifier: GPL-2.0-only
"""AMD-Vi, by QEMU 11.1 (tools/newer-qemu): QEMU's arguments, and what the node says of the unit and of what it blocks."""

UNIT = ["-device", "amd-iommu,intremap=on,xtsup=on,dma-remap=on"]
ON = "margay: iommu: AMD-Vi, 1 of 1 units in use: DMA and interrupts contained"
# QEMU 11.1 writes neither address nor direction into an event; reason 2 is a page fault.
BLOCKED = "margay: iommu: 00:09.0, of rogue: DMA blocked: reads from 0, reason 2"

GOOD = 0xfed80000  # where QEMU's unit is
