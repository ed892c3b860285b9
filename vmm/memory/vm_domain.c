/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM's memory as its PCI functions reach it, where IOMMUs contain them (see shootdown.h): with
 * dma = window by the host's addresses, else by the guest's. Registers of its functions are in the
 * domain by addresses of their own (pci_iommu.c).
 */
#include <margay/errno.h>

#include "vmm/memory/shootdown.h"
#include "vmm/vm_parts.h"

static u64 address(const struct vm *vm, gpa_t gpa, hpa_t hpa)
{
	return vm->config->dma == VM_DMA_WINDOW ? hpa.v : gpa.v;
}

int vm_domain_map(struct vm *vm, gpa_t gpa, hpa_t hpa, u64 size)
{
	return host_iommu_map(vm_parts(vm)->domain, address(vm, gpa, hpa), hpa, size);
}

static bool is_memory(const struct stage2_part *p)
{
	return p->mapped && p->type == MEMTYPE_WB;
}

/*
 * Piece by piece, as the host has them, for each is waited for; one that fails holds up none of the
 * others.
 */
int vm_domain_unmap(struct vm *vm, gpa_t at, u64 size)
{
	const struct stage2 *s = &vm_parts(vm)->stage2;
	struct stage2_part part, next;
	int err = 0;
	u64 length;

	for (u64 done = 0; done < size; done += length) {
		u64 from = at.v + done;
		int failed;

		length = MIN(stage2_find(s, from, &part), size - done);
		while (is_memory(&part) && done + length < size) {
			u64 more = stage2_find(s, from + length, &next);

			if (!is_memory(&next) || next.hpa != part.hpa + length)
				break;
			length = MIN(length + more, size - done);
		}
		if (!is_memory(&part))
			continue;
		failed = host_iommu_unmap(vm_parts(vm)->domain,
					  address(vm, gpa(from), hpa(part.hpa)), length);
		if (!err)
			err = failed;
	}
	return err;
}
