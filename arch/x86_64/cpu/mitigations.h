/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what a CPU is open to by speculation, and what Margay does about it: one decision,
 * of what the CPU says of itself (Intel, "Affected Processors" and its guidance for each issue; SDM
 * vol. 4, IA32_ARCH_CAPABILITIES; AMD, "Software techniques for managing speculation", security
 * bulletins; APM vol. 3, appendix E). docs/security.md is for people.
 */
#ifndef ARCH_CPU_MITIGATIONS_H
#define ARCH_CPU_MITIGATIONS_H

#include <margay/mitigations.h>
#include <margay/span.h>
#include <margay/x86.h>

/*
 * What this image carries out. Whatever else a CPU needs is told as vulnerable: an exit path that
 * does more adds it here.
 */
#define MIT_DONE \
	(MIT_SWITCH | MIT_SPEC_CTRL_ALWAYS | MIT_THUNKS | MIT_SPLIT | MIT_VERW_DEVICES | \
	 MIT_EIBRS | MIT_BHI_DIS_S | MIT_AUTO_IBRS | MIT_BP_SPEC_REDUCE | MIT_LFENCE | \
	 MIT_ZENBLEED | MIT_MCU_OPT)

/*
 * As Linux names the files in /sys/devices/system/cpu/vulnerabilities, or the bugs in
 * /proc/cpuinfo, as far as it has them.
 */
enum cpu_bug {
	BUG_SPECTRE_V2,
	BUG_BHI,
	BUG_RETBLEED,
	BUG_SRSO,
	BUG_ITS,
	BUG_MDS,
	BUG_TAA,
	BUG_MMIO,
	BUG_RFDS,
	BUG_TSA,
	BUG_L1TF,
	BUG_GDS,
	BUG_SRBDS,
	BUG_ITLB,
	BUG_ZENBLEED,
	BUG_DIV0,
	BUG_SMT_RSB,
	CPU_BUGS,
};

struct mitigations {
	u32 flags; /* MIT_ */
	u32 spec_ctrl; /* IA32_SPEC_CTRL in root mode; 0 where the guest's is no matter */
	u32 affected; /* BIT(enum cpu_bug) */
	/* of these, those against which the CPU has nothing: its microcode is too old */
	u32 open;
	u32 can; /* MIT_ that mitigate= may force on it */
	u32 done; /* MIT_ that this image carries out */
	bool smt; /* its core has another thread */
};

struct mitigation_input {
	void (*read_cpuid)(u32 leaf, u32 subleaf, struct cpuid_regs *out); /* this CPU's */
	u64 arch_capabilities; /* MSR 0x10a, 0 where CPUID does not show it */
	u32 microcode; /* revision; 0: not known */
};

void mitigations_decide(const struct mitigation_input *in, struct mitigations *out);

/*
 * The value of mitigate=: auto, off, or names with commas between. Stores what is forced on, and
 * whether all is off; nothing where it returns false.
 */
bool mitigations_parse(struct span value, u32 *forced, bool *off);

/*
 * Changes a decision as mitigate= wants it. Returns of `forced` what the CPU cannot do, and what
 * therefore is left out.
 */
u32 mitigations_force(struct mitigations *m, u32 forced, bool off);

/* Its name by mitigate=; the lowest of several. */
const char *mitigation_name(u32 flags);

/*
 * "l1tf: Mitigation: ...", or "Vulnerable: ..." or "Not affected". off: by mitigate=. Returns
 * whether the line says that it is vulnerable.
 */
bool mitigation_line(const struct mitigations *m, enum cpu_bug bug, bool off, char *out,
		     size_t size);

#endif
