/* SPDX-License-Identifier: GPL-2.0-only */
/* The VM files of a node beside each other: which are refused, and who waits for whom. */
#include "vmm/slots/slot.h"

#include "vmm/config/config_set.h"

static const struct vm_config *file[MONITOR_MAX_VMS];
static const char *name[MONITOR_MAX_VMS];

static void refuse(struct slot *s, const struct config_error *err)
{
	host_log("margay: %s", err->text);
	file[s - monitor_slots] = NULL;
	/* As one that failed to start: who waits for its end waits no more. */
	s->state = OVER;
}

void monitor_check_together(void)
{
	struct config_error err;
	unsigned after;

	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		struct slot *s = &monitor_slots[i];

		file[i] = s->state == OVER ? NULL : s->config;
		name[i] = s->config ? s->config->name : "";
		if (!file[i])
			continue;
		if (vm_config_check_earlier(file, name, i, &after, &err))
			refuse(s, &err);
		else if (after != i)
			s->after = &monitor_slots[after];
	}
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		if (file[i] && (vm_config_check_trusted(file, monitor_nr_slots, i, &err) ||
				vm_config_check_control(file, monitor_nr_slots, i, &err)))
			refuse(&monitor_slots[i], &err);
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		if (file[i] && vm_config_check_vfs(file, monitor_nr_slots, i, &err))
			refuse(&monitor_slots[i], &err);
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		if (file[i] && vm_config_check_net(file, i, &err))
			refuse(&monitor_slots[i], &err);
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		unsigned at = 0;

		if (!file[i])
			continue;
		while (vm_config_lonely_net(file, monitor_nr_slots, i, &at, &err))
			host_log("margay: %s", err.text);
	}
	for (struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++) {
		if (s->state != OVER || !s->config)
			continue;
		host_pages_free(s->config, SLOT_CONFIG_PAGES);
		s->config = NULL;
	}
}
