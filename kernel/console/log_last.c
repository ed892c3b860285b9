/* SPDX-License-Identifier: GPL-2.0-only */
/* The last lines of the log, for the operator. */
#include <margay/host.h>
#include "kernel/console/printk.h"

static void (*log_last)(const char *text);

static void pass_log_line(enum loglevel, const char *text, size_t)
{
	log_last(text);
}

void host_log_last(unsigned lines, void (*fn)(const char *text))
{
	log_last = fn;
	printk_last(lines, pass_log_line);
}
