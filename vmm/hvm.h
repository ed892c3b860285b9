/* SPDX-License-Identifier: GPL-2.0-only */
/* The hardware backend that was chosen at boot. Set once by vmm/monitor.c before any VM exists. */
#ifndef VMM_HVM_H
#define VMM_HVM_H

#include "vmm/hvm_ops.h"

extern const struct hvm_ops *hvm;
extern struct hvm_caps hvm_caps;

#endif
