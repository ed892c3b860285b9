/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what CPUID shows to a guest. A table names every feature bit
 * with its rule and, where hidden, the reason; bits that no row names are
 * hidden. Computed once per VM from the host's own leaves; but what differs
 * from core to core (caches, TLBs, topology) is read where the vCPU runs.
 */
#ifndef VMM_CPUID_POLICY_H
#define VMM_CPUID_POLICY_H

#include <margay/types.h>
#include <margay/x86.h>

struct hvm_caps;

#define CPUID_MAX 64

/* Reads a leaf of the CPU that it runs on; ctx is the caller's. */
typedef void (*cpuid_host_fn)(void *ctx, u32 leaf, u32 subleaf, struct cpuid_regs *out);

struct cpuid_entry {
	u32 leaf;
	u32 subleaf;
	bool has_subleaf; /* ECX is significant in this leaf */
	bool own;         /* the CPU's that the vCPU runs on: regs are nothing */
	bool plain;       /* none of these, nor does it follow the vCPU's state */
	struct cpuid_regs regs;
};

struct cpuid_table {
	unsigned count;
	/* highest basic and extended leaf shown */
	u32 max_basic;
	u32 max_ext;
	struct cpuid_entry entry[CPUID_MAX]; /* sorted by leaf, then subleaf */
	u8 basic_index[64];     /* leaf -> its first entry, or CPUID_NONE */
	u8 ext_index[64];       /* leaf - 0x80000000 -> its first entry, or CPUID_NONE */
	u64 xcr0_allowed;       /* XCR0 bits the guest may set */
	u64 xss_allowed;
	u64 cr4_allowed;        /* CR4 bits the guest may set */
	u64 efer_allowed;       /* EFER bits the guest may set */
	u8 phys_bits;           /* MAXPHYADDR as the guest sees it */
	unsigned flat_vcpus;    /* of a flat topology; 0: the host's */
	cpuid_host_fn host;     /* for leaves of its own */
	void *ctx;
};
#define CPUID_NONE 0xff

/* Does the guest see vCPUs in place of the machine's topology (topology = flat)? */
#define cpuid_is_flat(table) (IS_ENABLED(CONFIG_NUMA) && (table)->flat_vcpus)

/* What the policy depends on besides the host's CPUID. */
struct cpuid_input {
	cpuid_host_fn host; /* also called by cpuid_get(), as long as the table is used */
	void *ctx;
	const struct hvm_caps *caps;
	unsigned nr_vcpus;
	/* one package of nr_vcpus cores with APIC IDs from 0; else the host's topology */
	bool flat;
	bool mwait;       /* MONITOR and MWAIT do not exit */
	bool direct;      /* the local APIC and its timer are the CPU's own */
	bool ext_dest_id; /* messages from devices reach APIC IDs of 15 bits */
	u64 tsc_khz;
	bool tsc_stable;  /* show invariant TSC and the stable pvclock bit */
	bool tsc_freezes; /* it stands still while the VM is paused: not invariant, though stable */
	bool pvclock; /* KVM's clock MSRs are there */
	bool machine_checks; /* it is told of lost memory */
	bool counters; /* performance counters are the guest's */
	bool arch_capabilities_ok; /* MSR 0x10a is readable */
};

/* Fills the table. 0, or -ENOSPC when it is too small (a bug caught by the unit test). */
int cpuid_policy_build(const struct cpuid_input *in, struct cpuid_table *out);

/*
 * How many low bits of an APIC ID tell the threads of one core apart, by the CPUID that host()
 * reads.
 */
unsigned cpuid_smt_shift(cpuid_host_fn host, void *ctx);

/*
 * Rewrites what a leaf tells of the topology for `topology = flat` (for vmm/cpuid/). apic_id: of
 * the vCPU that asks.
 */
void cpuid_flatten(struct cpuid_regs *r, u32 leaf, u32 subleaf, unsigned nr_vcpus, u32 apic_id);

/* Per-vCPU and dynamic state that some leaves reflect. */
struct cpuid_dynamic {
	u32 apic_id;
	u64 cr4; /* OSXSAVE, OSPKE */
	/* leaf 0xD sizes */
	u64 xcr0;
	u64 xss;

	bool apic_enabled;
};

/*
 * What the guest's CPUID returns for a leaf, on the vCPU's own CPU; leaves not
 * shown give zeros, and basic leaves above the maximum give what the SDM
 * (Intel: highest basic leaf) or APM (AMD: zeros) says.
 */
void cpuid_get(const struct cpuid_table *t, const struct cpuid_dynamic *dyn, u32 leaf, u32 subleaf,
	       struct cpuid_regs *out);

/*
 * A leaf's first entry by one of the two indexes, within it even where the check before was
 * mispredicted (Spectre v1).
 */
static inline unsigned cpuid_first(const u8 index[64], u32 i)
{
	asm("" : "+r"(i)); /* or the compiler, which knows the check, leaves the mask out */
	return index[i % 64];
}

/* cpuid_get() in short for most leaves: those that are shown and plain. NULL: not one of these. */
static inline const struct cpuid_regs *cpuid_policy_plain(const struct cpuid_table *t, u32 leaf)
{
	unsigned i = CPUID_NONE;

	if (leaf < ARRAY_SIZE(t->basic_index))
		i = cpuid_first(t->basic_index, leaf);
	else if (leaf - 0x80000000u < ARRAY_SIZE(t->ext_index))
		i = cpuid_first(t->ext_index, leaf - 0x80000000u);
	return i != CPUID_NONE && t->entry[i].plain ? &t->entry[i].regs : NULL;
}

#if IS_ENABLED(CONFIG_VM_COUNTERS)
/* Does it show performance counters? */
static inline bool cpuid_has_counters(const struct cpuid_table *t)
{
	return cpuid_policy_plain(t, 0xa);
}
#else
static inline bool cpuid_has_counters(const struct cpuid_table *)
{
	return false;
}
#endif

/* Does a leaf follow the vCPU's state? (For cpuid_policy_build().) */
bool cpuid_leaf_dynamic(u32 leaf);

/* Is this XCR0 value one that XSETBV accepts (SDM vol. 1, 13.3)? */
bool cpuid_policy_xcr0_valid(const struct cpuid_table *t, u64 xcr0);

#endif
