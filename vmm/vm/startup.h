/* SPDX-License-Identifier: GPL-2.0-only */
/* INIT and SIPI: how one vCPU starts another. */
#ifndef VMM_STARTUP_H
#define VMM_STARTUP_H

#include <margay/types.h>
#include "vmm/vcpu.h"

/*
 * Where a vCPU is between INIT and its code (SDM vol. 3, 9.4). Others store
 * INIT and SIPI, the vCPU itself the rest; a SIPI carries its vector.
 */
enum vcpu_startup {
	STARTUP_RUN,       /* runs: a SIPI is ignored */
	STARTUP_INIT,      /* an INIT has come and is not yet carried out */
	STARTUP_WAIT,      /* waits for a SIPI */
	STARTUP_SIPI = BIT(8), /* | vector: starts at vector << 12 in real mode */
};

/* Does it run its guest's code, and is not to become another one first? */
static inline bool vcpu_has_started(const struct vcpu *vcpu)
{
	return __atomic_load_n(&vcpu->startup, __ATOMIC_ACQUIRE) == STARTUP_RUN;
}

/* An INIT or a SIPI has been sent to the vCPU. From any CPU; kicks it. */
void vcpu_init_ipi(struct vcpu *vcpu);
void vcpu_sipi(struct vcpu *vcpu, u8 vector);

/*
 * One step of a vCPU whose startup is not STARTUP_RUN: carries out an INIT or a
 * SIPI, or sleeps until something new comes. On its own CPU, interrupts off.
 */
void startup_step(struct vcpu *vcpu);

/*
 * direct_messages.c: after the last entry of a vCPU whose guest could send INIT by itself, and
 * whose VM's others have made their last, too: one that is pending ends here, not in the CPU's
 * restart. On its CPU.
 */
void direct_take_init(struct vcpu *vcpu);

#endif
