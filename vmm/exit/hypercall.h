/* SPDX-License-Identifier: GPL-2.0-only */
/* What include/margay/abi.h lets a guest ask, and the DMA windows that it is told. */
#ifndef VMM_HYPERCALL_H
#define VMM_HYPERCALL_H

#include <margay/types.h>

struct vcpu;
struct vm;

/* The answer to the call in the vCPU's registers, made at CPL 0. On its CPU. */
s64 hypercall(struct vcpu *vcpu);

/* Makes vm->windows where its file says `dma = window`, after its devices. 0, or -errno (printed). */
int dma_create(struct vm *vm);
void dma_destroy(struct vm *vm);

#endif
