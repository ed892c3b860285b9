/* SPDX-License-Identifier: GPL-2.0-only */
/* The time in front of each line of the log (printk.h). */
#include <margay/host.h>
#include <margay/rtc.h>
#include <margay/string.h>
#include "kernel/console/log_parts.h"

static bool off; /* the boot CPU's, while no other runs */

void host_log_times(bool on)
{
	off = !on;
}

u64 log_first;

static size_t log_time(char *text, size_t size)
{
	u64 now = host_tsc(), khz = host_tsc_khz(), ms;

	if (!log_first)
		log_first = now;
	if (off)
		return 0;
	/* Another CPU's TSC may be a little behind. */
	ms = khz && now > log_first ? (now - log_first) / khz : 0;
	return (size_t)snprintf(text, size, "[%5lu.%03lu] ", ms / 1000, ms % 1000);
}

static const struct log_part time_part = { .stamp = log_time };
LOG_PART(time_part);

void log_time_tell(void)
{
	u64 tsc, s = host_wall_clock(&tsc) / 1000000000;
	struct rtc_date date = rtc_date(s / 86400);

	if (s / 86400)
		printk("clock: %u-%02u-%02u %02lu:%02lu:%02lu UTC", date.year, date.month, date.day,
		       s / 3600 % 24, s / 60 % 60, s % 60);
	else
		printk("clock: the machine's shows no date");
}
