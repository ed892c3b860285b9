/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMs whose PCI functions cannot be had yet: VFs, which the VM of their PF has not switched on, and
 * functions that are being reset after a VM's end, or are in one IOMMU group with such a one; and
 * VMs that lack the memory which such a one may write. They wait.
 */
#include <margay/errno.h>

#include "vmm/monitor.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/slots/slot_own.h"
#include "vmm/vm/service.h"

static u8 turns; /* how often some could be had again, modulo 256; guarded by monitor_lock */
SLOT_OWN(u8, turn);  /* turns when its functions were last looked at; guarded likewise */

/*
 * others: those that the VM had itself do not count: it would start again and again, if each time
 * by something else it cannot.
 */
static bool are_there(const struct vm_config *c, bool others)
{
	return vm_pci_has_vfs(c) && !vm_pci_resetting(c, others);
}

bool monitor_has_functions(struct slot *s)
{
	turn[s - monitor_slots] = turns;
	return are_there(s->config, false);
}

static void start_all(void)
{
	/* another guest may switch the functions on again and again */
	static struct log_limit lines[MONITOR_MAX_VMS];

	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		struct slot *s = &monitor_slots[i];
		bool ready;

		spin_lock(&monitor_lock);
		ready = s->config && s->state == WAITING && !s->restart_at &&
			(!s->after || s->after->state >= ENDED) && monitor_has_functions(s);
		spin_unlock(&monitor_lock);
		/* Somebody else may have started it meanwhile. */
		if (ready && monitor_start_waiting(i) == -ENOSPC)
			host_log_limited(&lines[i], monitor_vm_name(i),
					 "not started: no CPU is free");
	}
}

/* VFs have been switched on, or functions reset. Starts the VMs that waited for them. Any CPU. */
static void start_waiting(void)
{
	spin_lock(&monitor_lock);
	turns++;
	spin_unlock(&monitor_lock);
	start_all();
}

static void listen(void)
{
	vm_pci_on_free(start_waiting);
}
MONITOR_SERVICE(listen);

bool monitor_wait_for_functions(struct slot *s)
{
	bool missed, waits, paced;

	if (RESTARTS_PACED)
		monitor_get_running();
	spin_lock(&monitor_lock);
	/* They may be on again, or the memory be free, for which nobody has looked at it. */
	missed = turn[s - monitor_slots] != turns;
	waits = !s->stopped && (missed || s->lacks_memory || !are_there(s->config, true));
	s->lacks_memory = false;
	if (waits)
		s->state = WAITING;
	/* Another guest may have it fail again and again, by what it gives and takes. */
	paced = RESTARTS_PACED && waits && restart_pace_wait(s);
	spin_unlock(&monitor_lock);
	if (paced)
		restart_pace_go_on(monitor_vm_name((unsigned)(s - monitor_slots)));
	else if (RESTARTS_PACED)
		monitor_put_running();
	if (missed)
		start_all();
	return waits;
}
