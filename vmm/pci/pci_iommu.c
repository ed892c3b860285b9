/* SPDX-License-Identifier: GPL-2.0-only */
/* Which memory a VM's functions reach where the node has IOMMUs: the VM's own, by the addresses that its guest gives them. */
#include <margay/errno.h>

#include "vmm/pci/pci_device.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/vm_parts.h"

static int fill(struct vm *vm, struct host_iommu *d)
{
	const struct gpa_map *map = &vm_parts(vm)->map;
	int err = 0;

	for (unsigned i = 0; !err && i < map->count; i++) {
		const struct gpa_region *r = &map->region[i];

		err = host_iommu_map(d, vm->config->dma == VM_DMA_WINDOW ? r->hpa : r->gpa, hpa(r->hpa), r->size);
	}
	return err;
}

int pci_iommu_create(struct vm *vm, struct vm_pci *pci)
{
	int err;

	if (!pci->nr_functions)
		return 0;
	if (!host_iommu_on() && vm->config->dma == VM_DMA_IOMMU)
		return pci_refuse(vm, "dma = iommu: the node has no IOMMU, none that Margay knows, or it is off (iommu=off)");
	if (!host_iommu_on())
		return 0;
	err = host_iommu_create(vm->config->name, &pci->iommu);
	if (err == -ENOSPC)
		return pci_refuse(vm, "its IOMMUs hold no more VMs");
	err = err ? err : fill(vm, pci->iommu);
	for (unsigned i = 0; !err && i < pci->nr_functions; i++) {
		err = host_iommu_attach(pci->iommu, pci->function[i].index);
		pci->attached += !err;
	}
	if (err == -ENOMEM)
		return host_no_memory(vm->name);
	return err ? pci_refuse(vm, err == -ERANGE ? "its memory ends beyond the address bits of the IOMMUs" :
				    "the IOMMU of one of its functions does not work") : 0;
}

bool pci_iommu_block(struct vm_pci *pci, unsigned n)
{
	bool blocked = n < pci->attached && !host_iommu_detach(pci->function[n].index);

	pci->stuck = pci->stuck || (n < pci->attached && !blocked);
	return blocked;
}

void pci_iommu_destroy(struct vm_pci *pci)
{
	/* A unit that did not answer may go on looking at the tables. */
	if (!pci->stuck)
		host_iommu_destroy(pci->iommu);
}
