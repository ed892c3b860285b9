/* SPDX-License-Identifier: GPL-2.0-only */
/* What may keep a vCPU from its guest beside its own state, one after the other (stage.h). */
#include "vmm/stage.h"
#include "vmm/vm/service.h"

extern const struct vcpu_look *const __start_vcpu_looks[], *const __stop_vcpu_looks[];

/* In their order: a vCPU with work left comes here again and again. Set once. */
static const struct vcpu_look *sorted[VCPU_LOOKS];
static unsigned nr_sorted;

void looks_sort(void)
{
	nr_sorted = 0;
	for (unsigned at = 0; at < VCPU_LOOKS; at++)
		for (const struct vcpu_look *const *l = __start_vcpu_looks; l < __stop_vcpu_looks;
		     l++)
			if ((*l)->at == at)
				sorted[nr_sorted++] = *l;
}
MONITOR_SERVICE(looks_sort);

bool looks_do(struct vcpu *vcpu, bool paused)
{
	for (unsigned i = 0; i < nr_sorted; i++)
		if ((!paused || sorted[i]->while_paused) && sorted[i]->look(vcpu))
			return true;
	return false;
}
