/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stages that a test is linked with (vmm/stage.h), as the monitor's loops find them; each that
 * is asked for is there.
 */
#ifndef TESTS_UNIT_FAKE_STAGE_H
#define TESTS_UNIT_FAKE_STAGE_H

#include <stdlib.h>

#include "vmm/stage.h"

extern const struct vm_stage *const __start_vm_stages[], *const __stop_vm_stages[];
extern const struct vm_abandon *const __start_vm_abandons[], *const __stop_vm_abandons[];
extern const struct vcpu_stage *const __start_vcpu_stages[], *const __stop_vcpu_stages[];
extern const struct vcpu_look *const __start_vcpu_looks[], *const __stop_vcpu_looks[];

static inline const struct vm_stage *fake_stage(enum vm_stage_order at)
{
	for (const struct vm_stage *const *s = __start_vm_stages; s < __stop_vm_stages; s++)
		if ((*s)->at == at)
			return *s;
	abort();
}

static inline void fake_abandon(enum vm_abandon_order at, struct vm *vm)
{
	for (const struct vm_abandon *const *a = __start_vm_abandons; a < __stop_vm_abandons; a++)
		if ((*a)->at == at) {
			(*a)->abandon(vm);
			return;
		}
	abort();
}

static inline const struct vcpu_stage *fake_vcpu_stage(enum vcpu_stage_order at)
{
	for (const struct vcpu_stage *const *s = __start_vcpu_stages; s < __stop_vcpu_stages; s++)
		if ((*s)->at == at)
			return *s;
	abort();
}

static inline bool fake_look(enum vcpu_look_order at, struct vcpu *vcpu)
{
	for (const struct vcpu_look *const *l = __start_vcpu_looks; l < __stop_vcpu_looks; l++)
		if ((*l)->at == at)
			return (*l)->look(vcpu);
	abort();
}

#endif
