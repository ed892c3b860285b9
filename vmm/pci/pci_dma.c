/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See pci_dma.h. Nothing here trusts the guest; what it confirms concerns its own functions only.
 */
#include "vmm/pci/pci_dma.h"

#include <margay/abi.h>
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/memory/guest_mem.h"
#include "vmm/pci/dma_windows.h"
#include "vmm/pci/pci_virtual.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

static_assert(sizeof(struct margay_info) <= PAGE_SIZE, "the guest gives one page");
static_assert(sizeof(((struct margay_info *)0)->vm) == VM_NAME_MAX + 1, "a name is ended");
static_assert((int)MARGAY_DMA_WINDOW == VM_DMA_WINDOW &&
		      (int)MARGAY_DMA_IDENTITY == VM_DMA_IDENTITY &&
		      (int)MARGAY_DMA_IOMMU == VM_DMA_IOMMU,
	      "the file's are the ABI's");

s64 dma_info(struct vcpu *vcpu, u64 page, u64 abi)
{
	struct vm *vm = vcpu->vm;
	struct margay_info info = { .abi = MARGAY_ABI_VERSION, .dma = vm->config->dma };

	if (!IS_ALIGNED(page, PAGE_SIZE) || abi != MARGAY_ABI_VERSION)
		return MARGAY_HC_EINVAL;
	memcpy(info.vm, vm->name, sizeof(vm->name));
	snprintf(info.version, sizeof(info.version), "%s", host_version());
	if (vm->windows) {
		info.windows = vm->windows->count;
		memcpy(info.window, vm->windows->window, sizeof(info.window));
	}
	if (guest_zero(vm, gpa(page), PAGE_SIZE) || guest_write(vm, gpa(page), &info, sizeof(info)))
		return MARGAY_HC_EFAULT;
	return 0;
}

s64 dma_confirm(struct vcpu *vcpu, u64 function, u64 on)
{
	struct vm *vm = vcpu->vm;
	u32 id;

	if (function > 0xffffffff || on > 1)
		return MARGAY_HC_EINVAL;
	/*
	 * One that no machine has reads and writes as CPUs do, whatever its driver's windows say.
	 * Functions are in segment 0.
	 */
	if (function <= 0xffff && pci_virtual_read(vm, (u32)function, 0, 4, &id))
		return vm->windows ? 0 : MARGAY_HC_ENODEV;
	if (!vm->windows || !vm->pci || function > 0xffff ||
	    pci_master_confirm(vcpu, (u16)function, on))
		return MARGAY_HC_ENODEV;
	return 0;
}

/* All memory BARs. */
static unsigned collect(const struct vm_pci *pci, struct dma_mmio *mmio)
{
	unsigned n = 0;

	for (unsigned i = 0; pci && i < pci->nr_functions; i++) {
		const struct host_pci_function *f = &pci->function[i];

		for (unsigned k = 0; k < PCI_BARS; k++)
			if (pci_bar_is_memory(&f->bar[k]))
				mmio[n++] = (struct dma_mmio){ f->bar[k].base, f->bar[k].size };
	}
	return n;
}

/* vm->windows where its file says `dma = window`, after its devices. */
static int dma_vm_create(struct vm *vm)
{
	/* too much for the stack */
	struct all {
		struct dma_mmio mmio[VM_PCI_FUNCTIONS * PCI_BARS];
	} *all;
	const char *why;

	if (vm->config->dma != VM_DMA_WINDOW)
		return 0;
	vm->windows = host_pages_alloc(PAGES_OF(struct dma_windows), -1);
	all = host_pages_alloc(PAGES_OF(struct all), -1);
	if (!vm->windows || !all) {
		host_pages_free(all, PAGES_OF(struct all));
		return host_no_memory(vm->name);
	}
	why = dma_windows_build(&vm_parts(vm)->map, all->mmio, collect(vm->pci, all->mmio),
				vm->windows);
	host_pages_free(all, PAGES_OF(struct all));
	if (!why)
		return 0;
	vm_tell(vm, "%s:%u: dma = window: %s: try another memory =, or dma = identity",
		vm->config->file, vm->config->line_dma, why);
	return -EINVAL;
}

static void dma_vm_destroy(struct vm *vm)
{
	host_pages_free(vm->windows, PAGES_OF(struct dma_windows));
}

static const struct vm_stage dma_stage = { .at = STAGE_DMA,
					   .create = dma_vm_create,
					   .destroy = dma_vm_destroy };
VM_STAGE(dma_stage);
