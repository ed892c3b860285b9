/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the VM file's key for how much of the guest's output is kept. */
#include <margay/errno.h>

#include "vmm/config/config_parse.h"

#define KIB_MAX 16384

/* `64K`, `1M` or `0` */
int config_set_console_log(struct parser *p, struct span v)
{
	struct span rest = v;
	u64 n, unit;

	if (span_number(&rest, 10, &n)) {
		unit = span_is(rest, "K") ? 1 : 0;
		if (span_is(rest, "M"))
			unit = 1024;
		if ((!n && !rest.n) || (n && unit && n <= KIB_MAX / unit && n * unit % 4 == 0)) {
			p->config->console_log = (unsigned)(n * unit);
			return 0;
		}
	}
	return config_wrong(p, "console_log", "0, or 4K to 16M in steps of 4K", v);
}
