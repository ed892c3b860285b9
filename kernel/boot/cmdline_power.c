/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the command line's power=. */
#include "kernel/boot/cmdline_words.h"

#include "arch/x86_64/cpu/power.h"

bool cmdline_power(struct span value, struct cmdline *out)
{
	static const char *const policies[] = {
		[POWER_PERFORMANCE] = "performance",
		[POWER_TURBO] = "turbo",
		[POWER_FIRMWARE] = "firmware",
	};

	for (u8 i = 0; i < ARRAY_SIZE(policies); i++)
		if (span_is(value, policies[i])) {
			out->power = i;
			return true;
		}
	return false;
}
