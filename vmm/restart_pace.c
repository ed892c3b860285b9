/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMs that wait to restart, for they have done so too often (restart_limit.h): WAITING, with the time at which they may. A CPU that
 * is idle anyway starts them; the VM's own are. The node does not end meanwhile.
 */
#include <margay/errno.h>

#include "vmm/monitor.h"
#include "vmm/slot.h"

static bool looking; /* somebody does; guarded by monitor_lock */

static bool look(struct host_idle_work *)
{
	static struct log_limit lines[MONITOR_MAX_VMS];
	bool left = false;

	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		struct slot *s = &monitor_slots[i];
		bool due;

		spin_lock(&monitor_lock);
		due = s->restart_at && host_tsc() >= s->restart_at && restart_pace_forget(s);
		spin_unlock(&monitor_lock);
		if (due && monitor_start_waiting(i) == -ENOSPC)
			host_log_limited(&lines[i], monitor_vm_name(i), "not started: no CPU is free");
		if (due)
			monitor_put_running();
	}
	spin_lock(&monitor_lock);
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		left = left || monitor_slots[i].restart_at;
	looking = left;
	spin_unlock(&monitor_lock);
	return left;
}

bool restart_pace_wait(struct slot *s)
{
	u64 now = host_tsc(), at = vm_restart_at(&s->restarts, s->config, now);

	if (at == now)
		return false;
	s->restart_at = at;
	return true;
}

void restart_pace_go_on(const char *name)
{
	static struct host_idle_work work = { .step = look };
	bool begin;

	spin_lock(&monitor_lock);
	begin = !looking;
	looking = true;
	spin_unlock(&monitor_lock);
	host_log("%s: it has restarted %u times at once: now once in %u s (restart_limit = sets another limit)",
		 name, RESTART_BURST, RESTART_SECONDS);
	if (begin)
		host_idle_work(&work);
}

bool restart_pace_forget(struct slot *s)
{
	bool waited = s->restart_at;

	s->restart_at = 0;
	return waited;
}
