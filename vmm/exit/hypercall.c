/* SPDX-License-Identifier: GPL-2.0-only */
/* See hypercall.h. Nothing here trusts the guest; what it confirms concerns its own functions only. */
#include "vmm/exit/hypercall.h"

#include <margay/abi.h>
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/host.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/pci/dma_windows.h"
#include "vmm/pci/pci.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

#define PAGES_OF(s) (unsigned)(ALIGN_UP(sizeof(s), PAGE_SIZE) / PAGE_SIZE)
#define BAR_IO BIT(0)

static_assert(sizeof(struct margay_info) <= PAGE_SIZE, "the guest gives one page");
static_assert(sizeof(((struct margay_info *)0)->vm) == VM_NAME_MAX + 1, "a name is ended");
static_assert((int)MARGAY_DMA_WINDOW == VM_DMA_WINDOW && (int)MARGAY_DMA_IDENTITY == VM_DMA_IDENTITY, "the file's are the ABI's");

static s64 info(struct vcpu *vcpu, u64 page, u64 abi)
{
	struct vm *vm = vcpu->vm;
	struct margay_info *out = guest_ptr(vm, gpa(page), PAGE_SIZE);

	if (!IS_ALIGNED(page, PAGE_SIZE) || abi != MARGAY_ABI_VERSION)
		return MARGAY_HC_EINVAL;
	if (!out)
		return MARGAY_HC_EFAULT;
	memset(out, 0, PAGE_SIZE);
	out->abi = MARGAY_ABI_VERSION;
	out->dma = vm->config->dma;
	memcpy(out->vm, vm->name, sizeof(vm->name));
	snprintf(out->version, sizeof(out->version), "%s", host_version());
	if (vm->windows) {
		out->windows = vm->windows->count;
		memcpy(out->window, vm->windows->window, sizeof(out->window));
	}
	return 0;
}

static s64 confirm(struct vcpu *vcpu, u64 function, u64 on)
{
	const struct vm *vm = vcpu->vm;

	if (function > 0xffffffff || on > 1)
		return MARGAY_HC_EINVAL;
	/* Functions are in segment 0. */
	if (!vm->windows || !vm->pci || function > 0xffff || vm->pci->confirm(vcpu, (u16)function, on))
		return MARGAY_HC_ENODEV;
	return 0;
}

s64 hypercall(struct vcpu *vcpu)
{
	const u64 *gpr = vcpu->regs.gpr;

	switch (gpr[GPR_RAX]) {
	case MARGAY_HC_INFO:
		return info(vcpu, gpr[GPR_RBX], gpr[GPR_RCX]);
	case MARGAY_HC_DMA_CONFIRM:
		return confirm(vcpu, gpr[GPR_RBX], gpr[GPR_RCX]);
	default:
		return MARGAY_HC_ENOSYS;
	}
}

/* All memory BARs. */
static unsigned collect(const struct vm_pci *pci, struct dma_mmio *mmio)
{
	unsigned n = 0;

	for (unsigned i = 0; pci && i < pci->nr_functions; i++) {
		const struct host_pci_function *f = &pci->function[i];

		for (unsigned k = 0; k < HOST_PCI_BARS; k++)
			if (f->bar[k].base && f->bar[k].size && !(f->bar[k].flags & BAR_IO))
				mmio[n++] = (struct dma_mmio){ f->bar[k].base, f->bar[k].size };
	}
	return n;
}

int dma_create(struct vm *vm)
{
	struct dma_mmio mmio[VM_PCI_FUNCTIONS * HOST_PCI_BARS];
	const char *why;

	if (vm->config->dma != VM_DMA_WINDOW)
		return 0;
	vm->windows = host_pages_alloc(PAGES_OF(struct dma_windows), -1);
	if (!vm->windows) {
		vm_log(vm, "no memory for its DMA windows");
		return -ENOMEM;
	}
	why = dma_windows_build(&vm_parts(vm)->map, mmio, collect(vm->pci, mmio), vm->windows);
	if (!why)
		return 0;
	vm_log(vm, "%s:%u: dma = window: %s: try another memory =, or dma = identity", vm->config->file, vm->config->line_dma, why);
	return -EINVAL;
}

void dma_destroy(struct vm *vm)
{
	host_pages_free(vm->windows, PAGES_OF(struct dma_windows));
}
