/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the VM file's keys for its part of the caches and of memory bandwidth. */
#include "vmm/config/config_parse.h"

#define WAYS_MAX 32
#define GIGABYTES_MAX 9999

/* `8/20` */
int config_set_cache(struct parser *p, struct span v)
{
	struct span rest = v;
	u64 ways, of;

	if (!span_number(&rest, 10, &ways) || !span_skip(&rest, "/") ||
	    !span_number(&rest, 10, &of) || rest.n || !ways || ways >= of || of > WAYS_MAX)
		return config_wrong(p, "cache",
				    "a part of the cache's ways, but not all, like 8/20", v);
	p->config->cache_ways = (unsigned)ways;
	p->config->cache_of = (unsigned)of;
	return 0;
}

/* `50%` or `20G` */
int config_set_bandwidth(struct parser *p, struct span v)
{
	struct span rest = v;
	u64 number, most;
	bool percent, right;

	right = span_number(&rest, 10, &number) && number;
	percent = span_skip(&rest, "%");
	most = percent ? 99 : GIGABYTES_MAX;
	if (!right || (!percent && !span_skip(&rest, "G")) || rest.n || number > most)
		return config_wrong(
			p, "bandwidth",
			"a part of the memory bandwidth from 1% to 99%, or GB/s like 20G", v);
	*(percent ? &p->config->bandwidth : &p->config->gigabytes) = (unsigned)number;
	return 0;
}
