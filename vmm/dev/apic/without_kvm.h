/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to vmm/dev: a compressed Linux does not tell what it was built with, and is started as
 * one that is KVM's guest. If it shows, before it switches its local APIC on, that it is none, its
 * VM starts again, once, as such a kernel needs it.
 */
#ifndef VMM_DEV_WITHOUT_KVM_H
#define VMM_DEV_WITHOUT_KVM_H

#include <margay/types.h>

struct vcpu;

#if IS_ENABLED(CONFIG_VM_TSC_ONLY)
/*
 * A vCPU that owns its CPU's local APIC takes it out of x2APIC mode. True: that ends the VM, which
 * starts again. False: the guest may not. Before anything is changed.
 */
bool without_kvm_leaves_x2apic(struct vcpu *vcpu);
#else
static inline bool without_kvm_leaves_x2apic(struct vcpu *)
{
	return false;
}
#endif

#endif
