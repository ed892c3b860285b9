/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is done at exits, at entries and in second-level tables so that a guest cannot read by
 * speculation what is not its own.
 */
#ifndef MARGAY_MITIGATIONS_H
#define MARGAY_MITIGATIONS_H

#include <margay/types.h>

/* At each exit, before the first RET and the first indirect branch, in this order: */
/* the guest's IA32_SPEC_CTRL is kept, ours written unless equal; at the entry the guest's */
#define MIT_SPEC_CTRL BIT(0)
/* beside MIT_SPEC_CTRL: also where equal: a write of IBRS covers what was before it */
#define MIT_SPEC_CTRL_ALWAYS BIT(1)
#define MIT_IBPB_EXIT BIT(2) /* IA32_PRED_CMD.IBPB */
#define MIT_RSB_ONE BIT(3) /* one CALL that is not returned from, then LFENCE */
#define MIT_RSB BIT(4) /* 33 of them, then LFENCE */
/* Intel's sequence that clears the branch history, the long one (for Alder Lake and later) */
#define MIT_BHB BIT(5)
/* In all of the image: */
#define MIT_THUNKS BIT(6) /* indirect branches by retpolines */
/* Before each entry: */
/* a division of our own, whose quotient the guest may see for its own; none comes behind it */
#define MIT_DIVIDER BIT(9)
/* Before each entry, last: */
#define MIT_VERW BIT(7)
#define MIT_L1D_FLUSH BIT(8) /* IA32_FLUSH_CMD.L1D_FLUSH; does what VERW does, too */
/* Any of these wants a world switch of its own: */
#define MIT_SWITCH \
	(MIT_SPEC_CTRL | MIT_IBPB_EXIT | MIT_RSB_ONE | MIT_RSB | MIT_BHB | MIT_DIVIDER | \
	 MIT_VERW | MIT_L1D_FLUSH)
/* In second-level tables: */
/* leaves of more than 4 KiB are not executable, and split where the guest executes */
#define MIT_SPLIT BIT(10)
/* MIT_VERW for VMs that have PCI functions; vcpu->mitigations has it resolved. */
#define MIT_VERW_DEVICES BIT(11)
/* What IA32_SPEC_CTRL holds in root mode (struct mitigations has the value). */
#define MIT_EIBRS BIT(16)
#define MIT_BHI_DIS_S BIT(17)
/* Once on each CPU, by mitigations_init_cpu(): */
#define MIT_AUTO_IBRS BIT(18) /* EFER.AIBRSE */
#define MIT_BP_SPEC_REDUCE BIT(19)
#define MIT_LFENCE BIT(20) /* LFENCE serializes */
#define MIT_ZENBLEED BIT(21)
#define MIT_MCU_OPT BIT(22) /* what microcode does of itself is not switched off */

/* What a CPU does for guests that are not trusted. */
struct host_mitigations {
	u32 flags; /* MIT_ */
	u32 spec_ctrl; /* IA32_SPEC_CTRL in root mode, beside MIT_SPEC_CTRL */
};

/*
 * A CPU that is online. All zeros in an image without MITIGATIONS, and with mitigate=off. Constant
 * after the boot.
 */
struct host_mitigations host_mitigations(unsigned cpu);

/* The report: say() gets a line for each thing that a CPU may be open to; the worst of all CPUs. */
void host_mitigations_report(void (*say)(const char *fmt, ...));

#endif
