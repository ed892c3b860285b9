/* SPDX-License-Identifier: GPL-2.0-only */
/* How the console begins: its port is looked for, and the log shown from its first line on. */
#include "kernel/console/console.h"
#include "kernel/console/screen.h"
#include "kernel/console/serial.h"
#include "kernel/log/printk.h"

/* Before a port is found nothing comes of it. */
static const struct log_part console_part = { .show = console_log };
LOG_PART(console_part);

bool console_works(void)
{
	return serial_mode() != SERIAL_NONE;
}

int console_start(const struct cmdline *cmdline)
{
	bool odd;
	int err;

	printk_set_level(cmdline->loglevel);
	console_set_escape(cmdline->escape);
	if (cmdline->console == CMDLINE_CONSOLE_NONE)
		return 0;
	err = serial_init(cmdline, &odd);
	if (err)
		return err;
	screen_anew();
	printk_replay();
	if (odd)
		printk_error(
			"console: what is at %s%#lx fails the test of a serial port: used all the same, as console= names it",
			cmdline_console_mmio(cmdline) ? "mmio:" : "port ",
			cmdline->console_address);
	return 0;
}

int console_init(const struct cmdline *cmdline)
{
	int err = console_start(cmdline);

	if (err)
		printk_error(
			"console: no serial port answers at %s%#lx: set console= on the command line",
			cmdline_console_mmio(cmdline) ? "mmio:" : "port ",
			cmdline->console_address);
	return err;
}
