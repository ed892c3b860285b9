/* SPDX-License-Identifier: GPL-2.0-only */
/* VMs with VFs of a PCI function that another VM has: they wait until that one has switched them on. */
#include <margay/errno.h>

#include "vmm/monitor.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/slot.h"

bool monitor_has_vfs(const struct slot *s)
{
	return vm_pci_has_vfs(s->config);
}

void monitor_start_vfs(void)
{
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		const struct slot *s = &monitor_slots[i];
		bool ready;

		spin_lock(&monitor_lock);
		ready = s->config && s->state == WAITING && (!s->after || s->after->state >= ENDED) && monitor_has_vfs(s);
		spin_unlock(&monitor_lock);
		/* Somebody else may have started it meanwhile. */
		if (ready && monitor_vm_start(i) == -ENOSPC)
			host_log("%s: not started: no CPU is free", s->config->name);
	}
}
