/* SPDX-License-Identifier: GPL-2.0-only */
/* Which VMs may start again because their Linux is no guest of KVM's: dev/without_kvm.c sees it. */
#include "vmm/slots/slot.h"
#include "vmm/vm.h"

bool slot_may_start_anew(struct slot *s)
{
	bool may;

	spin_lock(&monitor_lock);
	may = s->without || (s->vm && s->vm->is_linux);
	spin_unlock(&monitor_lock);
	return may;
}
