/* SPDX-License-Identifier: GPL-2.0-only */
/* VT-x as the recorded CPU offers it: the backend's own judgement. See replay.h. */
#include "arch/x86_64/cpu/insn.h"
#include "tests/unit/replay.h"

#define rdmsr replay_rdmsr
#define cpuid(leaf, subleaf, out) replay_cpuid(leaf, subleaf, out)

#include "vmm/vmx/cpu.c"
