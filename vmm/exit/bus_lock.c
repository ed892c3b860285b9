/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that locks the bus slows down all others: after each time its vCPU has to wait for its
 * turn (exit_may_disturb()).
 */
#include "vmm/exit/exit.h"
#include "vmm/stage.h"
#include "vmm/vm/startup.h"

/*
 * On VT-x it has been done; on SVM the guest stands on the instruction, which does it once. Either
 * way it has to wait.
 */
void exit_bus_lock(struct vcpu *vcpu, const struct vmexit *)
{
	vcpu->bus_locked = true;
	vcpu_look(vcpu);
}

static bool bus_lock_look(struct vcpu *vcpu)
{
	if (!vcpu->bus_locked || !vcpu_has_started(vcpu))
		return false;
	vcpu->bus_locked = !exit_may_disturb(vcpu);
	host_interrupt_window();
	return true;
}

static const struct vcpu_look lock_look = { .at = LOOK_BUS_LOCK, .look = bus_lock_look };
VCPU_LOOK(lock_look);
