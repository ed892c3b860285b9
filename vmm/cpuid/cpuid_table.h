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
	HIDE,    /* always 0, as a bit without a row: only cpuid_rows_hidden has such */
	/*
	 * 1 whatever the host says, where all that the bit needs is there: the monitor provides it
	 */
	FORCE,
	DYNAMIC, /* follows the vCPU's state, cpuid_get() */
};

/*
 * The state components that an instruction set uses: a SHOW bit needs all of them in the XCR0 that
 * a guest may set.
 */
enum cpuid_xstate { XSTATE_NONE, XSTATE_AVX, XSTATE_AVX512, XSTATE_AMX, XSTATE_PKRU };

/*
 * What a SHOW bit needs beside the host's own bit: fields of struct hvm_caps and struct
 * cpuid_input. FORCE: a vendor.
 */
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
	NEED_MACHINE_CHECKS,
	NEED_MWAIT,
	NEED_VIRTUAL_TIMER, /* FORCE, but where the APIC timer is the CPU's own: then as SHOW */
};

/*
 * What only the documents and tests read is no part of the image, which is compiled freestanding.
 */
#if __STDC_HOSTED__
typedef const char *cpuid_text;
#define TEXT(s) s
#else
typedef struct {
} cpuid_text;
#define TEXT(s) \
	{ \
	}
#endif

struct cpuid_row {
	u32 leaf : 6; /* without LEAF_EXT, which EXT() adds: cpuid_row_leaf() */
	u32 subleaf : 2;
	u32 reg : 2; /* enum cpuid_reg */
	u32 bit : 5;
	u32 rule : 2; /* enum cpuid_rule */
	u32 need : 4; /* enum cpuid_need */
	u32 xstate : 3; /* enum cpuid_xstate */
	u32 ext : 1;
	/* brings these bits: of CR4, where hardware must allow all; in an extended leaf, of EFER */
	u32 control : 23;
	cpuid_text name; /* as in Linux' flags where Linux has one */
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

/* Reasons that rows of both files share. */
#define R_MWAIT \
	"with `interrupts = direct`, where MWAIT sleeps and the APIC timer goes on; else idle is HLT"
#define R_CONTROL "only where the virtualization hardware lets a guest have it"

extern const struct cpuid_row cpuid_rows_basic[], cpuid_rows_ext[];
extern const unsigned cpuid_rows_basic_count, cpuid_rows_ext_count;

#if __STDC_HOSTED__
/* tools/cpuid-differences.c: the bits that no guest sees, and why. */
extern const struct cpuid_row cpuid_rows_hidden[];
extern const unsigned cpuid_rows_hidden_count;

/* One entry of the written list of differences from the host (docs/cpuid.md). */
struct cpuid_difference {
	u32 leaf;
	u32 subleaf;
	const char *reg; /* "EAX" and so on, and the bit; NULL: the whole leaf */
	unsigned bit;
	const char *name; /* flag or leaf */
	const char *change; /* "hidden", "forced on", "conditional", "dynamic" */
	const char *reason;
};

/* The i-th documented difference, from 0, bits in order and then leaves; false past the last. */
bool cpuid_policy_documented_hidden(unsigned i, struct cpuid_difference *out);
#endif

#endif
