/* SPDX-License-Identifier: GPL-2.0-only */
/* Which VMs may be trusted: a trusted guest can read what the host's memory holds, so no VM that is not may be beside it. */
#include "vmm/slot.h"

#include "vmm/config/config.h"

void monitor_refuse_trusted(void)
{
	const struct slot *other = NULL;

	for (struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++)
		if (s->config && !s->config->trusted)
			other = s;
	for (struct slot *s = monitor_slots; other && s < monitor_slots + monitor_nr_slots; s++) {
		struct config_error err;

		if (!s->config || !s->config->trusted)
			continue;
		vm_config_error(&err, s->file, s->config->line_trusted,
				"trusted = yes: not beside %s, which is not trusted: it could read that one's memory", other->file);
		host_log("margay: %s", err.text);
		host_pages_free(s->config, 1);
		s->config = NULL;
		/* As one that failed to start: who waits for its end waits no more. */
		s->state = OVER;
	}
}
