/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the command line wants the hardware check. */
#include <margay/host.h>
#include "kernel/boot/cmdline.h"
#include "kernel/console/serial.h"
#include "kernel/log/printk.h"

unsigned host_check_wanted(bool *stay, bool *dump, bool *json)
{
	const struct cmdline *words = cmdline_of_boot();
	/* Thousands of lines are nothing for a screen. */
	bool line = serial_mode() != SERIAL_NONE;

	*stay = words->check_stay;
	*dump = line && words->check_dump;
	*json = line && words->check_json;
	if (!line && (words->check_dump || words->check_json))
		printk_error("check: no serial line: no dump, no JSON");
	return words->check;
}
