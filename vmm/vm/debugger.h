/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A debugger of guests (vmm/gdb/), in images that have one: what it has of a vCPU, and what it is
 * told.
 */
#ifndef VMM_DEBUGGER_H
#define VMM_DEBUGGER_H

#include <margay/types.h>

struct vcpu;
struct vm;
struct vmexit;

/*
 * What it has of a vCPU; its own but for the first five, which are stored while it is out of the
 * guest.
 */
#define DEBUG_REGISTERS 4u
struct vcpu_debug {
	bool wanted; /* to serve a command; atomic */
	bool hold; /* stays out of the guest though the VM runs; atomic */
	bool work; /* must look before it enters the guest; atomic */
	bool sync; /* what is wanted of it has changed */
	bool step_wanted;
	bool retired; /* the instruction that is being stepped was emulated */
	bool own; /* the debug registers are the debugger's; these are the guest's: */
	u64 dr[DEBUG_REGISTERS];
	u64 dr6;
	u64 dr7;
	/* RFLAGS.TF is ours; a breakpoint waits at an exception's handler */
	enum { STEP_NONE, STEP_ON, STEP_LANDING } step;
	bool guest_tf; /* what it was */
	bool loads_tf; /* the instruction sets RFLAGS.TF itself */
	u16 opcode;
	u64 landing;
	unsigned landing_dr;
};

/* What the vCPU's loop and the exits tell it of. All run on the vCPU's CPU. */
struct debugger {
	/* vcpu->debug.wanted is set: out of the guest, paused or not. */
	void (*serve)(struct vcpu *vcpu);
	/* vcpu->debug.work is set: before an entry. False: not now, look again. */
	bool (*enter)(struct vcpu *vcpu);
	/* An exception of the guest. True: it was the debugger's, or has been raised. */
	bool (*exception)(struct vcpu *vcpu, const struct vmexit *exit);
	/* vcpu->debug.retired is set: an instruction that is being stepped was emulated. */
	void (*retired)(struct vcpu *vcpu);
	/* The guest's MOV to or from a debug register, intercepted for the debugger. */
	void (*exit_dr)(struct vcpu *vcpu);
};

/* Set once, before any VM runs. NULL: there is none. */
extern const struct debugger *debugger;

static inline bool debugger_on(void)
{
	return IS_ENABLED(CONFIG_GDB) && debugger;
}

#endif
