/* SPDX-License-Identifier: GPL-2.0-only */
/* VMs with VFs of a PCI function that another VM has: they wait until that one has switched them on. */
#include <margay/errno.h>

#include "vmm/monitor.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/slot.h"

static u8 turns; /* how often VFs were switched on, modulo 256; guarded by monitor_lock */

bool monitor_has_vfs(struct slot *s)
{
	s->vfs_turn = turns;
	return vm_pci_has_vfs(s->config);
}

static void start_all(void)
{
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		struct slot *s = &monitor_slots[i];
		bool ready;

		spin_lock(&monitor_lock);
		ready = s->config && s->state == WAITING && (!s->after || s->after->state >= ENDED) && monitor_has_vfs(s);
		spin_unlock(&monitor_lock);
		/* Somebody else may have started it meanwhile. */
		if (ready && monitor_vm_start(i) == -ENOSPC)
			host_log("%s: not started: no CPU is free", monitor_vm_name(i));
	}
}

void monitor_start_vfs(void)
{
	spin_lock(&monitor_lock);
	turns++;
	spin_unlock(&monitor_lock);
	start_all();
}

bool monitor_wait_for_vfs(struct slot *s)
{
	bool waits;

	spin_lock(&monitor_lock);
	/* They may be on again, for which nobody has looked at it. */
	waits = s->vfs_turn != turns || !vm_pci_has_vfs(s->config);
	if (waits)
		s->state = WAITING;
	spin_unlock(&monitor_lock);
	if (waits)
		start_all();
	return waits;
}
