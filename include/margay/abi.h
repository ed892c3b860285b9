/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest ABI: what a guest may know of Margay. Shared with guest modules and test guests; documented in docs/architecture.md. */
#ifndef MARGAY_ABI_H
#define MARGAY_ABI_H

/* CPUID leaf that carries "MargayMargay"; the KVM-compatible leaves start at the second. */
#define MARGAY_CPUID_BASE 0x40000000
#define MARGAY_CPUID_KVM_BASE 0x40000100

/* Hypercalls (VMCALL or VMMCALL at CPL 0, number in RAX) answer this in RAX when the number is not known: KVM's -KVM_ENOSYS. */
#define MARGAY_HC_ENOSYS (-1000ll)
/* And this when CPL is not 0: KVM's -KVM_EPERM. */
#define MARGAY_HC_EPERM (-1ll)

#endif
