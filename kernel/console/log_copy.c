/* SPDX-License-Identifier: GPL-2.0-only */
/* The log as it is, from any place on: host.h. */
#include <margay/host.h>
#include "kernel/console/log_parts.h"

/* The beginning of the oldest line that is whole. */
static u64 oldest_line(u64 head)
{
	u64 at = head > PRINTK_RING ? head - PRINTK_RING + 1 : 0;

	while (at && at < head && printk_log.text[(at - 1) % PRINTK_RING] != '\n')
		at++;
	return at;
}

u32 host_log_copy(u64 *from, char *to, u32 room)
{
	u64 head = __atomic_load_n(&printk_log.head, __ATOMIC_ACQUIRE), at = *from;
	u32 whole = 0;

	if (at > head || at + PRINTK_RING < head)
		at = oldest_line(head);
	for (u32 n = 0; n < room && at + n < head; n++) {
		to[n] = printk_log.text[(at + n) % PRINTK_RING];
		if (to[n] == '\n')
			whole = n + 1;
	}
	*from = at;
	/* What has been written over meanwhile is asked for once more, from the oldest on. */
	head = __atomic_load_n(&printk_log.head, __ATOMIC_ACQUIRE);
	return at + PRINTK_RING < head ? 0 : whole;
}

u64 host_log_began(void)
{
	static u64 began; /* whoever is second says the same */
	u64 tsc, ns;

	if (!IS_ENABLED(CONFIG_LOG_TIME) || !host_tsc_khz())
		return 0;
	ns = host_wall_clock(&tsc);
	if (!began)
		began = ns / 1000000 - (tsc - log_first) / host_tsc_khz();
	return began;
}
