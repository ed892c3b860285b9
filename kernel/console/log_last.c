/* SPDX-License-Identifier: GPL-2.0-only */
/* The last lines of the log, this boot's or the one's before, for the operator. */
#include <margay/host.h>
#include <margay/spinlock.h>
#include "kernel/console/log_parts.h"

/* guards the next: the operator and the management VM may ask at once */
static struct spinlock log_lock;
static void (*log_last)(const char *text);

static void pass_log_line(enum loglevel, const char *text, size_t)
{
	log_last(text);
}

bool host_log_last(unsigned boot, unsigned lines, void (*fn)(const char *text))
{
	const struct log_ring *log = boot ? log_before : &printk_log;

	spin_lock(&log_lock);
	log_last = fn;
	if (log)
		printk_last(log, lines, pass_log_line);
	spin_unlock(&log_lock);
	return log;
}
