/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/cmdline.sources */
/* FUZZ: -max_len=256 -dict=tests/fuzz/cmdline.dict */
/*
 * Fuzzes the hypervisor's command line. Checked beside memory safety: every
 * result is usable, each wrong word is reported once, and wrong words alone
 * leave the defaults.
 */
#include "kernel/boot/cmdline.h"
#include "tests/fuzz/fuzz.h"

static unsigned reports;

static void report(const char *line)
{
	CHECK(strlen(line) > 0 && strlen(line) < 192);
	reports++;
}

static unsigned words(const char *s)
{
	unsigned n = 0;

	for (s += strspn(s, " \t\r\n"); *s; s += strspn(s, " \t\r\n"), n++)
		s += strcspn(s, " \t\r\n");
	return n;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text = (char *)malloc(size + 1);
	struct cmdline c, defaults;
	unsigned errors;

	memcpy(text, data, size);
	text[size] = 0;
	reports = 0;
	errors = cmdline_parse(text, &c, report);
	CHECK(errors == reports && errors <= words(text));
	CHECK(c.console <= CMDLINE_CONSOLE_MMIO && c.loglevel <= LOGLEVEL_DEBUG);
	CHECK(c.baud ? 115200 % c.baud == 0 && 115200 / c.baud <= 0xffff : c.console_wide);
	CHECK(c.console_irq >= CMDLINE_IRQ_NONE && c.console_irq <= CMDLINE_IRQ_MAX);
	CHECK(c.console != CMDLINE_CONSOLE_PORT ||
	      (c.console_address && c.console_address <= 0xfff8));
	CHECK(c.console != CMDLINE_CONSOLE_MMIO ||
	      (c.console_address && c.console_address <= BIT(52) - 32));
	CHECK(c.check <= 3600 && (c.check || !c.check_stay));
	CHECK(c.screen <= 600 || c.screen == CMDLINE_SCREEN_DEFAULT);
	if (errors == words(text)) {
		cmdline_parse("", &defaults, report);
		CHECK(c.console == defaults.console &&
		      c.console_address == defaults.console_address && c.baud == defaults.baud &&
		      c.loglevel == defaults.loglevel && c.check == defaults.check &&
		      c.screen == CMDLINE_SCREEN_DEFAULT);
	}
	free(text);
	return 0;
}
