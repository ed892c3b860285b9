/* SPDX-License-Identifier: GPL-2.0-only */
/* What comes of the node when no VM runs any more, and what its last line says of them. */
#include <margay/string.h>

#include "vmm/hvm.h"
#include "vmm/slots/follow_up.h"
#include "vmm/slots/slot.h"

/* What became of a VM file. */
enum fate { FAILED, STILL_RUNNING, UNSTARTED, DESTROYED, GOOD, FATES };

static enum fate fate(const struct slot *s)
{
	if (IS_ENABLED(CONFIG_COMMANDER) && !s->config && !s->file[0])
		return DESTROYED;
	if (IS_ENABLED(CONFIG_REPORT) && s->config && s->state == STARTED)
		return STILL_RUNNING;
	if (IS_ENABLED(CONFIG_REPORT) && s->config && !s->last_end && (hvm || s->state == OVER))
		return UNSTARTED;
	if (!s->config || !vm_ended_well(s->last_end, s->last_status))
		return FAILED;
	return GOOD;
}

void monitor_sum_up(char text[MONITOR_SUM])
{
	unsigned of[FATES] = { 0 };
	int n;

	for (const struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++)
		of[fate(s)]++;
	n = snprintf(text, MONITOR_SUM, "vms=%u failed=%u", monitor_nr_slots - of[DESTROYED],
		     of[FAILED]);
	if (of[STILL_RUNNING])
		n += snprintf(text + n, MONITOR_SUM - (size_t)n, " running=%u", of[STILL_RUNNING]);
	if (of[UNSTARTED])
		snprintf(text + n, MONITOR_SUM - (size_t)n, " unstarted=%u", of[UNSTARTED]);
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
