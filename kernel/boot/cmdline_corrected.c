/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the command line's corrected=. */
#include "kernel/boot/cmdline_words.h"

bool cmdline_corrected(struct span value, struct cmdline *out)
{
	bool minute = span_is(value, "minute");

	if (!minute && !span_is(value, "exit"))
		return false;
	out->corrected_in_time = minute;
	return true;
}
