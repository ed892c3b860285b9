/* SPDX-License-Identifier: GPL-2.0-only */
/* Who holds off the node's end: each VM that runs, and whatever leads to a VM's start. */
#include "vmm/monitor.h"
#include "vmm/slots/slot.h"

/* under monitor_lock; those that end the node or say that it is idle */
static unsigned nr_running, nr_ending;

/* One running VM less, or one less who holds off the node's end. The last one ends the node. */
void monitor_put_running(void)
{
	bool last;

	spin_lock(&monitor_lock);
	last = --nr_running == 0;
	nr_ending += last;
	spin_unlock(&monitor_lock);
	if (!last)
		return;
	monitor_node_over();
	if (!IS_ENABLED(CONFIG_MONITOR_CONSOLE))
		return;
	spin_lock(&monitor_lock);
	nr_ending--;
	spin_unlock(&monitor_lock);
}

bool monitor_idle(void)
{
	bool idle;

	spin_lock(&monitor_lock);
	idle = !nr_running && !nr_ending;
	spin_unlock(&monitor_lock);
	return idle;
}

void monitor_get_running(void)
{
	spin_lock(&monitor_lock);
	nr_running++;
	spin_unlock(&monitor_lock);
}
