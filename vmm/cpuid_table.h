/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the data behind the CPUID policy: one row per feature bit
 * (vmm/cpuid_table.c, vmm/cpuid_table_ext.c). For vmm/cpuid_*.c only.
 */
#ifndef VMM_CPUID_TABLE_H
#define VMM_CPUID_TABLE_H

#include <margay/x86.h>

enum cpuid_reg { CPUID_EAX, CPUID_EBX, CPUID_ECX, CPUID_EDX };

enum cpuid_rule {
	SHOW,    /* as the host, where all that the bit needs is there */
	HIDE,    /* always 0 */
	FORCE,   /* always 1: the monitor provides it */
	DYNAMIC, /* follows the vCPU's state, cpuid_policy_get() */
};

/* What a SHOW bit needs beside the host's own bit: fields of struct hvm_caps and struct cpuid_input. */
enum cpuid_need {
	NEED_NOTHING,
	NEED_RDTSCP,
	NEED_INVPCID,
	NEED_PCID,
	NEED_XSAVES,
	NEED_WAITPKG,
	NEED_ARCH_CAPABILITIES,
	NEED_STABLE_TSC,
};

struct cpuid_row {
	u32 leaf;
	u8 subleaf;
	u8 reg;  /* enum cpuid_reg */
	u8 bit;
	u8 rule; /* enum cpuid_rule */
	const char *name;   /* as in Linux' flags where Linux has one */
	const char *reason; /* why it may differ from the host; NULL: it does not */
	u8 need;            /* enum cpuid_need */
	u32 xcr0;           /* state components that it uses: all must be allowed */
	u32 cr4;            /* CR4 bits that it brings: all must be allowed by hardware */
	u32 efer;           /* EFER bits that it brings */
};

extern const struct cpuid_row cpuid_rows_basic[], cpuid_rows_ext[];
extern const unsigned cpuid_rows_basic_count, cpuid_rows_ext_count;

/* Whole leaves that are not shown, for the documented list. */
struct cpuid_hidden_leaf {
	u32 leaf;
	const char *name;
	const char *reason;
};

extern const struct cpuid_hidden_leaf cpuid_hidden_leaves[];
extern const unsigned cpuid_hidden_leaves_count;

#endif
