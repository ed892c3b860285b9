/* SPDX-License-Identifier: GPL-2.0-only */
/* See restart_limit.h. */
#include "vmm/slots/restart_limit.h"

#include <margay/host.h>

bool vm_may_restart(struct restarts *r, const struct vm_config *c)
{
	u64 now = host_tsc();

	if (!c->restart_limit)
		return true;
	if (!r->count || now - r->since >= c->restart_seconds * 1000ull * host_tsc_khz())
		*r = (struct restarts){ .since = now };
	if (r->count < c->restart_limit) {
		r->count++;
		return true;
	}
	host_log("%s: restart_limit = %u in %us is reached: it stays down", c->name,
		 c->restart_limit, c->restart_seconds);
	return false;
}

u64 vm_restart_at(struct restarts *r, u64 now)
{
	u64 price = RESTART_SECONDS * 1000ull * host_tsc_khz();

	r->paid = MAX(r->paid, now) + price;
	return r->paid - now > RESTART_BURST * price ? r->paid - RESTART_BURST * price : now;
}
