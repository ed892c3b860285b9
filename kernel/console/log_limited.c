/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines that a guest can cause as often as it likes: what of them goes into the log (log_limit.h).
 */
#include <margay/host.h>
#include <margay/string.h>

void host_log_limited(struct log_limit *limit, const char *source, const char *fmt, ...)
{
	char text[HOST_LOG_LINE + 1 - 96]; /* beside the time, the source and the count */
	u32 unsaid;
	va_list ap;

	if (!log_limit_take(limit, host_tsc(), host_tsc_khz(), &unsaid))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (unsaid)
		host_log("%s: %s, %u more since the last line", source, text, unsaid);
	else
		host_log("%s: %s", source, text);
}
