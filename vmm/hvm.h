/* SPDX-License-Identifier: GPL-2.0-only */
/* The hardware backend that was chosen at boot, before any VM exists. */
#ifndef VMM_HVM_H
#define VMM_HVM_H

#include "vmm/hvm_ops.h"

extern const struct hvm_ops *hvm;
extern struct hvm_caps hvm_caps;

/*
 * The first backend that this machine is able for becomes `hvm`; tell() as
 * hvm_ops.h has it. 0, or -errno of struct hvm_ops.probe(). Boot CPU; again and
 * again, if no VM runs.
 */
int hvm_find_backend(void (*tell)(const struct hvm_feature *f));
/* What -ENODEV means. */
#define HVM_NO_BACKEND \
	"CPUID shows neither VT-x (leaf 1 ECX bit 5) nor SVM (leaf 0x80000001 ECX bit 2)"

#endif
