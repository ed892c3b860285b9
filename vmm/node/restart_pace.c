/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMs that wait to restart, for they have done so too often (restart_limit.h): WAITING, with the
 * time at which they may. A CPU that is idle then starts them, as its own may be another VM's by
 * now; while none is it waits on. The node does not end meanwhile.
 */
#include <margay/errno.h>

#include "vmm/monitor.h"
#include "vmm/slots/slot.h"

static bool looking; /* somebody does; guarded by monitor_lock */
static u64 next;     /* nobody may before, host TSC; guarded by monitor_lock, read without */

static u64 seconds(unsigned n)
{
	return n * 1000ull * host_tsc_khz();
}

/*
 * Its time has come; the hold on the node's end is the caller's. Without a CPU for it, it waits
 * again.
 */
static void restart(unsigned i)
{
	static struct log_limit lines[MONITOR_MAX_VMS];
	struct slot *s = &monitor_slots[i];
	bool again;

	if (s->starts)
		host_log("%s: restart %u", monitor_vm_name(i), s->starts);
	if (monitor_start_waiting(i) != -ENOSPC) {
		monitor_put_running();
		return;
	}
	spin_lock(&monitor_lock);
	again = s->state == OVER && s->config;
	if (again) {
		s->state = WAITING;
		s->restart_at = host_tsc() + seconds(RESTART_SECONDS);
	}
	spin_unlock(&monitor_lock);
	host_log_limited(&lines[i], monitor_vm_name(i), "no CPU is free: it waits for another %u s",
			 RESTART_SECONDS);
	if (!again)
		monitor_put_running();
}

static bool look(struct host_idle_work *)
{
	bool left = false;

	if (host_tsc() < __atomic_load_n(&next, __ATOMIC_RELAXED))
		return true;
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		struct slot *s = &monitor_slots[i];
		bool due;

		spin_lock(&monitor_lock);
		due = s->restart_at && host_tsc() >= s->restart_at && restart_pace_forget(s);
		spin_unlock(&monitor_lock);
		if (due)
			restart(i);
	}
	spin_lock(&monitor_lock);
	next = ~0ull;
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		u64 at = monitor_slots[i].restart_at;

		left = left || at;
		next = at ? MIN(next, at) : next;
	}
	looking = left;
	spin_unlock(&monitor_lock);
	return left;
}

bool restart_pace_wait(struct slot *s)
{
	u64 now = host_tsc(), at = vm_restart_at(&s->restarts, now);

	if (at == now)
		return false;
	s->restart_at = at;
	next = looking ? MIN(next, at) : at;
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
	host_log("%s: starts too often by itself: again within %u s", name, RESTART_SECONDS);
	if (begin)
		host_idle_work(&work);
}

bool restart_pace_forget(struct slot *s)
{
	bool waited = s->restart_at;

	s->restart_at = 0;
	return waited;
}
