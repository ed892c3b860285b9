/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest ABI: what a guest may know of Margay. Shared with guest modules and test guests;
 * documented in docs/guest-abi.md.
 */
#ifndef MARGAY_ABI_H
#define MARGAY_ABI_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

/* CPUID leaf that carries "MargayMargay"; the KVM-compatible leaves start at the second. */
#define MARGAY_CPUID_BASE 0x40000000
#define MARGAY_CPUID_KVM_BASE 0x40000100

/*
 * Hypercalls (VMCALL on Intel, VMMCALL on AMD, at CPL 0): the number in RAX,
 * arguments in RBX and RCX; the answer is in RAX, 0 or a negative number, and
 * no other register changes.
 */
/* The number is not known: KVM's -KVM_ENOSYS. */
#define MARGAY_HC_ENOSYS (-1000ll)
/* CPL is not 0: KVM's -KVM_EPERM. */
#define MARGAY_HC_EPERM (-1ll)
/* An argument is wrong; what it names is not there; it is no RAM. */
#define MARGAY_HC_EINVAL (-22ll)
#define MARGAY_HC_ENODEV (-19ll)
#define MARGAY_HC_EFAULT (-14ll)

/*
 * Fills the 4 KiB page of RAM at RBX, which is aligned, with a struct
 * margay_info. RCX is the MARGAY_ABI_VERSION that the guest knows.
 */
#define MARGAY_HC_INFO 0x4d470000u
/*
 * RBX: a PCI function, segment << 16 | bus << 8 | device << 3 | function. RCX
 * 1: the guest translates by the windows what this function is given, which
 * may be a bus master from now on; RCX 0: not any more, it stops. Both may be
 * said again.
 */
#define MARGAY_HC_DMA_CONFIRM 0x4d470001u

#define MARGAY_ABI_VERSION 1
#define MARGAY_DMA_WINDOWS 128

/*
 * What a device must be given for guest-physical [gpa, gpa + length): hpa and following. No two
 * overlap, on either side.
 */
struct margay_dma_window {
	uint64_t gpa;
	uint64_t hpa;
	uint64_t length;
};

enum margay_dma { MARGAY_DMA_NONE, MARGAY_DMA_IDENTITY, MARGAY_DMA_WINDOW, MARGAY_DMA_IOMMU };

struct margay_info {
	uint32_t abi; /* MARGAY_ABI_VERSION */
	uint32_t dma; /* enum margay_dma: how devices reach memory */
	char vm[32]; /* its name, ended by 0 */
	uint32_t reserved;
	uint32_t windows; /* 0 unless dma is MARGAY_DMA_WINDOW */
	struct margay_dma_window window[MARGAY_DMA_WINDOWS];
	char version[64]; /* the hypervisor's, as git names it, ended by 0 */
};

#endif
