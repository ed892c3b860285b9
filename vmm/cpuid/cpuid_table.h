/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the data behind the CPUID policy: one row per feature bit
 * (vmm/cpuid/cpuid_table.c, vmm/cpuid/cpuid_table_ext.c). For vmm/cpuid/ only.
 */
#ifndef VMM_CPUID_TABLE_H
#define VMM_CPUID_TABLE_H

#include <margay/x86.h>

enum cpuid_reg { CPUID_EAX, CPUID_EBX, CPUID_ECX, CPUID_EDX };

enum cpuid_rule {
	SHOW,    /* as the host, where all that the bit needs is there */
	HIDE,    /* always 0 */
	FORCE,   /* 1 whatever the host says, where all that the bit needs is there: the monitor provides it */
	DYNAMIC, /* follows the vCPU's state, cpuid_get() */
};

/* The state components that an instruction set uses: a SHOW bit needs all of them in the XCR0 that a guest may set. */
enum cpuid_xstate { XSTATE_NONE, XSTATE_AVX, XSTATE_AVX512, XSTATE_AMX, XSTATE_PKRU };

/* What a SHOW bit needs beside the host's own bit: fields of struct hvm_caps and struct cpuid_input. FORCE: a vendor. */
enum cpuid_need {
	NEED_NOTHING,
	NEED_RDTSCP,
	NEED_INVPCID,
	NEED_PCID,
	NEED_XSAVES,
	NEED_WAITPKG,
	NEED_ARCH_CAPABILITIES,
	NEED_STABLE_TSC,
	NEED_AMD, /* or Hygon */
	NEED_COUNTERS,
	NEED_VIRTUAL_TIMER, /* FORCE, but where the APIC timer is the CPU's own: then as SHOW */
};

/* What only the documents and tests read is no part of the image, which is compiled freestanding. */
#if __STDC_HOSTED__
typedef const char *cpuid_text;
#define TEXT(s) s
#else
typedef struct {} cpuid_text;
#define TEXT(s) {}
#endif

struct cpuid_row {
	u32 leaf : 6;      /* without LEAF_EXT, which EXT() adds: cpuid_row_leaf() */
	u32 subleaf : 2;
	u32 reg : 2;       /* enum cpuid_reg */
	u32 bit : 5;
	u32 rule : 2;      /* enum cpuid_rule */
	u32 need : 4;      /* enum cpuid_need */
	u32 xstate : 3;    /* enum cpuid_xstate */
	u32 ext : 1;
	u32 control : 23;  /* brings these bits: of CR4, where hardware must allow all; in an extended leaf, of EFER */
	cpuid_text name;   /* as in Linux' flags where Linux has one */
	cpuid_text reason; /* why it may differ from the host; NULL: it does not */
} __packed;
#if !__STDC_HOSTED__
static_assert(sizeof(struct cpuid_row) == 6, "there are about 200");
#endif

#define LEAF_EXT 0x80000000u
/* The leaf of a row in the extended range. */
#define EXT(n) .ext = 1, .leaf = n

static inline u32 cpuid_row_leaf(const struct cpuid_row *row)
{
	return row->leaf | (row->ext ? LEAF_EXT : 0);
}

/* A row whose rule is HIDE: a bit without a row is hidden as well. */
#if __STDC_HOSTED__
#define HIDDEN(leaf_, subleaf_, reg_, bit_, name_, reason_) \
	{ leaf_, subleaf_, reg_, bit_, HIDE, .name = name_, .reason = reason_ },
#else
#define HIDDEN(leaf, subleaf, reg, bit, name, reason)
#endif

/* Reasons that rows of several files share. */
#define R_PMU "guests have plain performance counters at most"
#define R_POWER "power, frequency and heat are the host's"
#define R_MWAIT "an idle guest must leave its CPU to the monitor"
#define R_NESTED "no nested virtualization"
#define R_FIRMWARE "a platform feature that only firmware and chip set use"
#define R_CONTROL "only where the virtualization hardware lets a guest have it"
#define R_RDT "caches and memory bandwidth are divided by the host"

extern const struct cpuid_row cpuid_rows_basic[], cpuid_rows_ext[];
extern const unsigned cpuid_rows_basic_count, cpuid_rows_ext_count;

#if __STDC_HOSTED__
/* One entry of the written list of differences from the host (docs/cpuid.md). */
struct cpuid_difference {
	u32 leaf, subleaf;
	const char *reg;    /* "EAX" and so on, and the bit; NULL: the whole leaf */
	unsigned bit;
	const char *name;   /* flag or leaf */
	const char *change; /* "hidden", "forced on", "conditional", "dynamic" */
	const char *reason;
};

/* The i-th documented difference, from 0; false past the last. */
bool cpuid_policy_documented_hidden(unsigned i, struct cpuid_difference *out);
#endif

#endif
