// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps a page for the first NVMe controller and unmaps it, `loops` times between
 * the markers 1 and 2 (marker.h): what a driver pays for the address of a request.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "marker.h"

static unsigned int loops = 1;
module_param(loops, uint, 0);

static int __init dma_loop_init(void)
{
	struct pci_dev *pdev = pci_get_class(PCI_CLASS_STORAGE_EXPRESS, NULL);
	struct page *page = alloc_page(GFP_KERNEL);
	int err = pdev && page ? 0 : -ENODEV;
	unsigned long flags;

	local_irq_save(flags);
	MARKER(1);
	for (unsigned int i = 0; !err && i < loops; i++) {
		dma_addr_t bus = dma_map_page(&pdev->dev, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);

		if (dma_mapping_error(&pdev->dev, bus))
			err = -EIO;
		else
			dma_unmap_page(&pdev->dev, bus, PAGE_SIZE, DMA_FROM_DEVICE);
	}
	MARKER(2);
	local_irq_restore(flags);
	if (page)
		__free_page(page);
	pci_dev_put(pdev);
	return err;
}

static void __exit dma_loop_exit(void) { }

module_init(dma_loop_init);
module_exit(dma_loop_exit);
MODULE_DESCRIPTION("The cost of mapping memory for a device");
MODULE_LICENSE("GPL");
