/* SPDX-License-Identifier: GPL-2.0-only */
/* The hardware check in the place of the VMs: what it asks of their slots (monitor.h). */
#include "vmm/monitor.h"
#include "vmm/slots/slot.h"

void monitor_start_none(void)
{
	for (struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++)
		s->state = OVER;
}

const struct vm_config *monitor_first_config(void)
{
	for (const struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++)
		if (s->config)
			return s->config;
	return NULL;
}
