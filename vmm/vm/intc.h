/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interrupt controller as the core sees it; vmm/dev/apic/lapic.c fills
 * vm->intc. All run on the vCPU's own CPU but deliver() and line(), which
 * come from any.
 */
#ifndef VMM_INTC_H
#define VMM_INTC_H

#include <margay/types.h>

struct vcpu;
struct vm;

struct intc_ops {
	/* Highest vector that the vCPU could take now (above its PPR), or -1. */
	int (*pending)(struct vcpu *vcpu);
	/* Is there any, above its PPR or not? A new one comes with a vcpu_kick(). */
	bool (*waiting)(struct vcpu *vcpu);
	/* The vector is being injected: IRR -> ISR. */
	void (*accept)(struct vcpu *vcpu, u8 vector);
	/* Its delivery was given up: ISR -> IRR. */
	void (*unaccept)(struct vcpu *vcpu, u8 vector);
	/*
	 * INIT: the vCPU's local APIC takes its reset values but for ID and mode (SDM vol. 3,
	 * 11.4.7.3).
	 */
	void (*init)(struct vcpu *vcpu);
	/* CR8, the task priority class (bits 3:0). */
	u64 (*get_cr8)(struct vcpu *vcpu);
	void (*set_cr8)(struct vcpu *vcpu, u64 value);
	/* A message-signalled interrupt in the format of SDM vol. 3, 11.11. */
	void (*msi)(struct vm *vm, u64 address, u32 data);
	/*
	 * A vCPU that such a message would interrupt, if it is fixed or lowest priority with a
	 * vector from 16 on; or NULL.
	 */
	const struct vcpu *(*msi_vcpu)(struct vm *vm, u64 address, u32 data);
	/* Level of a global system interrupt; edge inputs fire on false -> true. */
	void (*line)(struct vm *vm, unsigned gsi, bool level);
};

#endif
