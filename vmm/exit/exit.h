/* SPDX-License-Identifier: GPL-2.0-only */
/* Exit dispatch and the handlers that live in files of their own. */
#ifndef VMM_EXIT_H
#define VMM_EXIT_H

#include "vmm/vcpu.h"

/* By reason. */
typedef void (*vmexit_handler)(struct vcpu *vcpu, const struct vmexit *exit);
extern const vmexit_handler vmexit_handlers[VMEXIT_REASONS];

/* Handles one exit of the vCPU, on its CPU, interrupts off. */
static inline void vmexit_dispatch(struct vcpu *vcpu, const struct vmexit *exit)
{
	struct exit_stat *stat = &vcpu->stats.exit[exit->reason];
	u64 began = telemetry_begin(&vcpu->stats, exit, vcpu->regs.rip);

	vmexit_handlers[exit->reason](vcpu, exit);
	telemetry_end(stat, began);
}

/*
 * May the vCPU slow down all others who share its caches or buses, now? Ten times a second: true is
 * the answer for the next tenth. On its CPU.
 */
bool exit_may_disturb(struct vcpu *vcpu);

/*
 * Physical interrupts, NMIs and windows, and what no guest of this image can cause: the entry path
 * does what is to be done.
 */
void exit_nothing(struct vcpu *vcpu, const struct vmexit *exit);

#if IS_ENABLED(CONFIG_MITIGATIONS)
/* A lock of the bus (vmm/exit/bus_lock.c). */
void exit_bus_lock(struct vcpu *vcpu, const struct vmexit *exit);
#else
#define exit_bus_lock exit_nothing
#endif

#if IS_ENABLED(CONFIG_DUMPS)
/* vmm/exit/exit_dump.c */
void exit_dump(struct vcpu *vcpu);
#else
static inline void exit_dump(struct vcpu *) { }
#endif

/* CPUID and XSETBV (vmm/exit/cpuid.c). */
void exit_cpuid(struct vcpu *vcpu, const struct vmexit *exit);
void exit_xsetbv(struct vcpu *vcpu, const struct vmexit *exit);

/* RDMSR and WRMSR (vmm/exit/msr.c). */
void exit_rdmsr(struct vcpu *vcpu, const struct vmexit *exit);
void exit_wrmsr(struct vcpu *vcpu, const struct vmexit *exit);
/*
 * Opens the MSRs that the guest may use without exits, cleared of an earlier VM's values; once per
 * vCPU after its creation.
 */
void msr_open_passthrough(struct vcpu *vcpu);

#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/* An INIT of the guest's own (vmm/exit/direct_messages.c). */
void exit_init(struct vcpu *vcpu, const struct vmexit *exit);

/* Lets the guest read IA32_TSC_ADJUST without exits, if it may (vmm/exit/tsc_adjust.c). */
void vcpu_open_tsc_adjust(struct vcpu *vcpu);
#else
#define exit_init exit_nothing
static inline void vcpu_open_tsc_adjust(struct vcpu *) { }
#endif

/* Control-register accesses (vmm/exit/cr.c). */
void exit_cr(struct vcpu *vcpu, const struct vmexit *exit);

/* VMCALL and VMMCALL (vmm/exit/hypercall.c). */
void exit_hypercall(struct vcpu *vcpu, const struct vmexit *exit);

#endif
