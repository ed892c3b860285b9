/* SPDX-License-Identifier: GPL-2.0-only */
/* Large second-level leaves that are not executable. */
#ifndef VMM_SPLIT_H
#define VMM_SPLIT_H

#include "vmm/vcpu.h"

#if IS_ENABLED(CONFIG_MITIGATIONS)
/* Is that to be so for this VM? */
bool vm_splits(const struct vm *vm);

/*
 * The guest has fetched an instruction there and was not let: was that for this, and may it try
 * again? In an exit.
 */
bool vm_execute(struct vcpu *vcpu, gpa_t gpa);
#else
static inline bool vm_splits(const struct vm *)
{
	return false;
}

static inline bool vm_execute(struct vcpu *, gpa_t)
{
	return false;
}
#endif

#endif
