/* SPDX-License-Identifier: GPL-2.0-only */
/* What comes of the node when no VM runs any more, and what its last line says of them. */
#include <margay/string.h>

#include "vmm/hvm.h"
#include "vmm/slots/follow_up.h"
#include "vmm/slots/slot.h"

static bool is_destroyed(const struct slot *s)
{
	return IS_ENABLED(CONFIG_MANAGEMENT_VM) && !s->config && !s->file[0];
}

static bool still_runs(const struct slot *s)
{
	return IS_ENABLED(CONFIG_REPORT) && s->config && s->state == STARTED;
}

/* Nobody has told it to start. */
static bool is_unstarted(const struct slot *s)
{
	return IS_ENABLED(CONFIG_REPORT) && s->config && !s->last_end && (hvm || s->state == OVER);
}

void monitor_sum_up(char text[MONITOR_SUM])
{
	unsigned failed = 0, running = 0, unstarted = 0, destroyed = 0;
	int n;

	for (const struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++) {
		if (is_destroyed(s))
			destroyed++;
		else if (still_runs(s))
			running++;
		else if (is_unstarted(s))
			unstarted++;
		else if (!s->config || !vm_ended_well(s->last_end, s->last_status))
			failed++;
	}
	n = snprintf(text, MONITOR_SUM, "vms=%u failed=%u", monitor_nr_slots - destroyed, failed);
	if (running)
		n += snprintf(text + n, MONITOR_SUM - (size_t)n, " running=%u", running);
	if (unstarted)
		snprintf(text + n, MONITOR_SUM - (size_t)n, " unstarted=%u", unstarted);
}

/* Did the last end of a VM that ran ask for this? */
static bool asked_for(enum vm_then then)
{
	bool asked = false;

	for (const struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++)
		asked = asked ||
			(s->starts && vm_follow_up(s->config, s->last_end, s->last_status) == then);
	return asked;
}

void monitor_node_over(void)
{
	char text[MONITOR_SUM];

	if (IS_ENABLED(CONFIG_VM_FOLLOW_UP) && asked_for(THEN_REBOOT_NODE))
		host_node_reboot();
	monitor_sum_up(text);
	if (asked_for(THEN_POWEROFF_NODE))
		host_node_poweroff(text);
	host_log("margay: node: end=idle %s", text);
}
