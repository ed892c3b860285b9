/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the command line's idle=. */
#include "kernel/boot/cmdline_words.h"

bool cmdline_idle(struct span value, struct cmdline *out)
{
	bool halt = span_is(value, "halt");

	if (!halt && !span_is(value, "deep"))
		return false;
	out->idle_halt = halt;
	return true;
}
