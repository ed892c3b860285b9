/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM's DMA windows: made with it, told to its guest and confirmed by it (include/margay/abi.h).
 */
#ifndef VMM_PCI_DMA_H
#define VMM_PCI_DMA_H

#include <margay/abi.h>
#include <margay/types.h>

struct vcpu;
struct vm;

#if IS_ENABLED(CONFIG_PASSTHROUGH)
/*
 * The hypercalls MARGAY_HC_INFO and MARGAY_HC_DMA_CONFIRM, by their arguments; the answer. On the
 * vCPU's CPU.
 */
s64 dma_info(struct vcpu *vcpu, u64 page, u64 abi);
s64 dma_confirm(struct vcpu *vcpu, u64 function, u64 on);

/*
 * pci_master.c: the VM has ended, and none of its functions sends anything any more, whatever its
 * other vCPUs do. vCPU's CPU.
 */
void pci_silence(struct vcpu *vcpu);
#else
static inline s64 dma_info(struct vcpu *, u64, u64)
{
	return MARGAY_HC_ENOSYS;
}

static inline s64 dma_confirm(struct vcpu *, u64, u64)
{
	return MARGAY_HC_ENOSYS;
}

static inline void pci_silence(struct vcpu *) { }
#endif

#endif
