/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's keys for what follows an end, by its kind, and for how often a VM may
 * restart.
 */
#include "vmm/config/config_parse.h"

#define RESTARTS_MAX 100000
#define RESTART_SECONDS_MAX (30 * 24 * 3600u)

/* 0: no unit of time. */
static u64 seconds_of(char unit)
{
	switch (unit) {
	case 's': return 1;
	case 'm': return 60;
	case 'h': return 3600;
	default: return 0;
	}
}

/* `5 in 10m` */
int config_set_restart_limit(struct parser *p, struct span v)
{
	struct span rest = v;
	u64 limit, time, unit;

	if (span_number(&rest, 10, &limit) && span_skip(&rest, " in ") &&
	    span_number(&rest, 10, &time) && rest.n == 1) {
		unit = seconds_of(rest.p[0]);
		if (limit && limit <= RESTARTS_MAX && time && unit &&
		    time <= RESTART_SECONDS_MAX / unit) {
			p->config->restart_limit = (unsigned)limit;
			p->config->restart_seconds = (unsigned)(time * unit);
			return 0;
		}
	}
	return config_wrong(p, "restart_limit",
			    "1 to 100000 restarts in a time of up to 30 days, like 5 in 10m", v);
}

void config_resolve_ends(struct parser *p)
{
	struct vm_config *c = p->config;

	p->line = MAX(c->line_on_end, c->line_on_one);
	if (c->line_on_end && c->line_on_one)
		config_fail(p, "on_end: not beside on_poweroff, on_reboot or on_crash");
	else if (c->line_on_end)
		c->then[ENDING_REBOOT] = c->then[ENDING_CRASH] = c->then[ENDING_POWEROFF];
}
