/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM is given up, in the order of stage.h: all that it has stays its own but for what is named
 * there.
 */
#include "vmm/stage.h"

extern const struct vm_abandon *const __start_vm_abandons[], *const __stop_vm_abandons[];

void vm_abandon(struct vm *vm)
{
	for (unsigned at = 0; at < VM_ABANDONS; at++)
		for (const struct vm_abandon *const *a = __start_vm_abandons;
		     a < __stop_vm_abandons; a++)
			if ((*a)->at == at)
				(*a)->abandon(vm);
}
