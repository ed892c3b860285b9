/* SPDX-License-Identifier: GPL-2.0-only */
/* What the vCPU's loop and the exits tell a debugger (vmm/gdb/) of, in images that have one. All run on the vCPU's CPU. */
#ifndef VMM_DEBUGGER_H
#define VMM_DEBUGGER_H

#include "vmm/vm.h"

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
	/* The VM goes: none of its vCPUs runs any more, or ever has. */
	void (*vm_ended)(struct vm *vm);
};

/* Set once, before any VM runs. NULL: there is none. */
extern const struct debugger *debugger;

static inline bool debugger_on(void)
{
	return IS_ENABLED(CONFIG_GDB) && debugger;
}

#endif
