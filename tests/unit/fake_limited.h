/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log's limited lines, as lines without a limit of a test that has these, at a time of its own.
 */
#ifndef TESTS_FAKE_LIMITED_H
#define TESTS_FAKE_LIMITED_H

#include <stdarg.h>
#include <stdio.h>

#include <margay/host.h>
#include "kernel/log/printk.h"

#define LIMITED_KHZ 1000u
static u64 limited_now(void);

void host_log_limited(struct log_limit *limit, const char *source, const char *fmt, ...)
{
	char text[HOST_LOG_LINE], more[40] = "";
	u32 unsaid;
	va_list ap;

	if (!log_limit_take(limit, limited_now(), LIMITED_KHZ, &unsaid))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (unsaid)
		snprintf(more, sizeof(more), ", %u more since the last line", unsaid);
	/* What all lines of the node have is not in those of printk_error(). */
	printk_error("%s%s%s%s", strcmp(source, "margay") ? source : "",
		     strcmp(source, "margay") ? ": " : "", text, more);
}

#endif
