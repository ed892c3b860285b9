/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two backends' probes on a CPU in memory, each in a file of its own: their names are the same.
 */
#ifndef READ_CPUS_H
#define READ_CPUS_H

#include "vmm/hvm_ops.h"

typedef struct cpuid_regs (*read_cpuid_fn)(u32 leaf, u32 subleaf);

/* svm_probe() on a CPU with this CPUID, which the firmware has left free. */
int read_svm(read_cpuid_fn cpuid, struct hvm_caps *caps, void (*tell)(const struct hvm_feature *f));

#endif
