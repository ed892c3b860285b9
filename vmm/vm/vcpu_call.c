/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of others on a vCPU's CPU (vcpu_call()), in images with VCPU_CALLS: while it is in its
 * loop, and one at a time.
 */
#include <margay/errno.h>

#include "vmm/vcpu.h"

/* No function, but a mark in vcpu->call. */
static void gone(struct vcpu *) { }

int vcpu_call(struct vcpu *vcpu, void (*fn)(struct vcpu *vcpu))
{
	void (*none)(struct vcpu *vcpu) = NULL;

	if (!__atomic_compare_exchange_n(&vcpu->call, &none, fn, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return none == gone ? -ENODEV : -EBUSY;
	vcpu_kick(vcpu);
	return 0;
}

/* Does what was asked; `next` says whether more may be. */
static void serve(struct vcpu *vcpu, void (*next)(struct vcpu *vcpu))
{
	void (*fn)(struct vcpu *vcpu) = __atomic_exchange_n(&vcpu->call, next, __ATOMIC_ACQ_REL);

	if (fn && fn != gone)
		fn(vcpu);
}

void vcpu_open_calls(struct vcpu *vcpu, bool may)
{
	serve(vcpu, may ? NULL : gone);
}

void vcpu_serve_call(struct vcpu *vcpu)
{
	if (unlikely(__atomic_load_n(&vcpu->call, __ATOMIC_ACQUIRE)))
		serve(vcpu, NULL);
	if (debugger_on() && unlikely(__atomic_load_n(&vcpu->debug.wanted, __ATOMIC_ACQUIRE)))
		debugger->serve(vcpu);
}
