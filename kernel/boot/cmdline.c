/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the words of the hypervisor's own command line. */
#include "kernel/boot/cmdline_words.h"

#include <margay/string.h>
#include "arch/x86_64/cpu/mitigations.h"

#define BAUD_BASE 115200u
#define PANIC_MAX 86400u
#define ESCAPE_DEFAULT ('T' - '@')
#define CHECK_DEFAULT 10u
#define CHECK_MAX 3600u
#define PAGE_MAX 600u

/* All of it is a number up to max. */
static bool whole_number(struct span s, unsigned base, u64 max, u64 *out)
{
	return span_number(&s, base, out) && !s.n && *out <= max;
}

bool cmdline_baud(struct span a, u32 *out)
{
	u64 baud;

	if (!whole_number(a, 10, BAUD_BASE, &baud) || !baud || BAUD_BASE % baud ||
	    BAUD_BASE / baud > 0xffff)
		return false;
	*out = (u32)baud;
	return true;
}

static const char *lacking; /* an option that the value of the word in hand needs */

static bool lacks(const char *option)
{
	lacking = option;
	return false;
}

/* Registers in memory: "mmio:0x" or "mmio32:0x", and where. */
static bool parse_registers(struct span where, struct cmdline *c)
{
	c->console = CMDLINE_CONSOLE_MMIO;
	c->console_wide = span_skip(&where, "mmio32:0x");
	return (c->console_wide || span_skip(&where, "mmio:0x")) &&
	       whole_number(where, 16, BIT(52) - 32, &c->console_address) && c->console_address &&
	       IS_ALIGNED(c->console_address, c->console_wide ? 4 : 1);
}

/* What follows the port: a speed, then the interrupt. */
static bool parse_speed_irq(struct span value, struct cmdline *c)
{
	bool more = true, irq = false;
	u64 number;

	for (unsigned i = 0; more; i++) {
		struct span part = span_part(&value, ',', &more);

		if (irq)
			return false;
		irq = span_skip(&part, "irq=");
		if (!irq && (i || !cmdline_baud(part, &c->baud)))
			return false;
		c->baud_named |= !irq;
		if (irq && span_is(part, "none"))
			c->console_irq = CMDLINE_IRQ_NONE;
		else if (irq && whole_number(part, 10, CMDLINE_IRQ_MAX, &number) && number &&
			 number != 2)
			c->console_irq = (s32)number;
		else if (irq)
			return false;
	}
	return true;
}

static bool parse_console(struct span value, struct cmdline *out)
{
	struct cmdline c = *out;
	struct span where;
	bool more;

	where = span_part(&value, ',', &more);
	c.baud = BAUD_BASE;
	c.baud_named = c.console_wide = false;
	c.console_irq = CMDLINE_IRQ_UNKNOWN;
	if (more && !parse_speed_irq(value, &c))
		return false;
	c.console = CMDLINE_CONSOLE_PORT;
	c.console_named = true;
	if (span_is(where, "none"))
		c.console = CMDLINE_CONSOLE_NONE;
	else if (span_is(where, "com1"))
		c.console_address = 0x3f8;
	else if (span_is(where, "com2"))
		c.console_address = 0x2f8;
	else if (where.n > 4 && !memcmp(where.p, "mmio", 4)) {
		if (!HAS(CONFIG_CONSOLE_TABLES))
			return lacks("CONFIG_CONSOLE_TABLES");
		if (!parse_registers(where, &c))
			return false;
	} else if (!span_skip(&where, "0x") ||
		   !whole_number(where, 16, 0xfff8, &c.console_address) || !c.console_address)
		return false;
	/* Registers of 32 bits are those of chipsets, whose clocks only firmware knows. */
	if (c.console_wide && !c.baud_named)
		c.baud = 0;
	*out = c;
	return true;
}

static bool parse_loglevel(struct span value, struct cmdline *out)
{
	static const char *const levels[] = {
		[LOGLEVEL_ERROR] = "error", [LOGLEVEL_INFO] = "info", [LOGLEVEL_DEBUG] = "debug"
	};

	for (unsigned i = 0; i < ARRAY_SIZE(levels); i++)
		if (span_is(value, levels[i])) {
			out->loglevel = i;
			return true;
		}
	return false;
}

/* ^A to ^Z but for those that a line ends with, or none. */
static bool parse_escape(struct span value, struct cmdline *out)
{
	u8 key;

	if (span_is(value, "none")) {
		out->escape = 0;
		return true;
	}
	if (value.n != 2 || value.p[0] != '^')
		return false;
	key = (u8)(value.p[1] & ~0x20) - '@';
	if (key < 1 || key > 26 || key == '\r' || key == '\n')
		return false;
	out->escape = key;
	return true;
}

/* The word, which is 0, or seconds. */
static bool parse_seconds(struct span value, const char *none, u64 max, u32 *out)
{
	u64 seconds = 0;

	if (!span_is(value, none) && (!whole_number(value, 10, max, &seconds) || !seconds))
		return false;
	*out = (u32)seconds;
	return true;
}

static bool parse_panic(struct span value, struct cmdline *out)
{
	return parse_seconds(value, "halt", PANIC_MAX, &out->panic);
}

static bool parse_nmi(struct span value, struct cmdline *out)
{
	out->nmi_panic = span_is(value, "panic");
	return out->nmi_panic || span_is(value, "report");
}

static bool parse_screen(struct span value, struct cmdline *out)
{
	return parse_seconds(value, "none", PAGE_MAX, &out->screen);
}

/* NULL: it is none of its words. */
static bool *check_flag(struct span word, struct cmdline *c)
{
	if (span_is(word, "stay"))
		return &c->check_stay;
	if (span_is(word, "dump"))
		return &c->check_dump;
	return span_is(word, "json") ? &c->check_json : NULL;
}

/*
 * check, or check= with seconds, then stay, dump and json, each if wanted; `value` is what follows
 * the word itself.
 */
static bool parse_check(struct span value, struct cmdline *out)
{
	struct cmdline c = *out;
	bool first = true, more = value.n;
	u64 seconds = CHECK_DEFAULT;

	c.check_stay = c.check_dump = c.check_json = false;
	if (more && !span_skip(&value, "="))
		return false;
	for (; more; first = false) {
		struct span part = span_part(&value, ',', &more);
		bool *flag = check_flag(part, &c);

		/* Once each; seconds come first. */
		if (flag && *flag)
			return false;
		if (!flag && (!first || !whole_number(part, 10, CHECK_MAX, &seconds) || !seconds))
			return false;
		if (flag == &c.check_json && !HAS(CONFIG_CHECK_JSON))
			return lacks("CONFIG_CHECK_JSON");
		if (flag)
			*flag = true;
	}
	c.check = (u32)seconds;
	*out = c;
	return true;
}

static bool parse_mitigate(struct span value, struct cmdline *out)
{
	return mitigations_parse(value, &out->mitigate, &out->mitigate_off);
}

/*
 * What the command line may say, in the order in which an error lists it. What an image has not
 * needs an option.
 */
static const struct {
	const char *name;
	bool (*parse)(struct span value, struct cmdline *out); /* NULL: not in this image */
	const char *expected; /* or the option */
#ifdef MARGAY_CHECK
	const char *option;
#define WORD_LACKS(word) (image_has((word)->option) ? NULL : (word)->option)
#define WORD(option, name, parse, expected) { name, parse, expected, #option }
#else
#define WORD_LACKS(word) ((word)->parse ? NULL : (word)->expected)
#define WORD(option, name, parse, expected) \
	{ name, IS_ENABLED(option) ? parse : NULL, IS_ENABLED(option) ? expected : #option }
#endif
} words[] = {
#define ALWAYS 1
	WORD(CONFIG_HWCHECK, "check", parse_check,
	     IS_ENABLED(CONFIG_CHECK_JSON)
		     ? "check, or check= with seconds from 1 to 3600, stay, dump and json, each if wanted, with commas between"
		     : "check, or check= with seconds from 1 to 3600, stay and dump, each if wanted, with commas between"),
	WORD(ALWAYS, "console=", parse_console,
	     IS_ENABLED(CONFIG_CONSOLE_TABLES)
		     ? "com1, com2, 0x<port>, mmio:0x<address>, mmio32:0x<address> or none, then ,<baud> and ,irq=<number> if wanted"
		     : "com1, com2, 0x<port> or none, then ,<baud> and ,irq=<number> if wanted"),
	WORD(CONFIG_MONITOR_CONSOLE, "escape=", parse_escape,
	     "^ and a letter other than j and m, or none"),
	WORD(CONFIG_GDB, "gdb=", cmdline_gdb,
	     "com1 to com4, then ,<baud> if wanted, then ,<name of a VM>"),
	WORD(CONFIG_IOMMU, "iommu=", cmdline_iommu, "off"),
	WORD(CONFIG_BOOT_LOG, "loglevel=", parse_loglevel, "error, info or debug"),
	WORD(CONFIG_MITIGATIONS, "mitigate=", parse_mitigate,
	     "auto, off, or what to force on: spec_ctrl, ibpb_exit, rsb_one, rsb, bhb, thunks, divider, verw, l1d_flush, split"),
	WORD(CONFIG_SCREEN, "screen=", parse_screen,
	     "none, or seconds from 1 to 600 for a page of the hardware check"),
	WORD(ALWAYS, "idle=", cmdline_idle, "deep or halt"),
#if IS_ENABLED(CONFIG_BOOT_LOG) || IS_ENABLED(CONFIG_CORRECTED_ERRORS) || \
	IS_ENABLED(CONFIG_CPU_POWER) || IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
	/* The smallest image does not name all that it lacks. */
	WORD(CONFIG_CORRECTED_ERRORS, "corrected=", cmdline_corrected, "exit or minute"),
	WORD(CONFIG_CPU_POWER, "power=", cmdline_power, "performance, turbo or firmware"),
	WORD(CONFIG_DIRECT_INTERRUPTS, "x2apic=", cmdline_x2apic, "on or off"),
#endif
	WORD(CONFIG_MACHINE_CHECKS, "nmi=", parse_nmi, "report or panic"),
	WORD(ALWAYS, "panic=", parse_panic,
	     "halt, or seconds from 1 to 86400 until the node restarts"),
#undef WORD
};

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * Carries one word out; NULL, or what should have stood there: a text, or `list`, which it makes;
 * or nothing if it is `lacking`.
 */
static const char *take_word(struct span word, struct cmdline *out, char *list, size_t size)
{
	size_t used = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		struct span value = word;

		if (span_skip(&value, words[i].name)) {
			lacking = WORD_LACKS(&words[i]);
			return !lacking && words[i].parse(value, out) ? NULL : words[i].expected;
		}
		if (!WORD_LACKS(&words[i])) {
			const char *before = i + 1 < ARRAY_SIZE(words) ? ", " : " or ";

			used += (size_t)snprintf(list + used, size - used, "%s%s",
						 used ? before : "", words[i].name);
		}
	}
	return list;
}

unsigned cmdline_parse(const char *text, struct cmdline *out, void (*report)(const char *line))
{
	unsigned errors = 0;

	*out = (struct cmdline){ CMDLINE_CONSOLE_PORT,
				 0x3f8,
				 BAUD_BASE,
				 LOGLEVEL_INFO,
				 .escape = ESCAPE_DEFAULT,
				 .screen = CMDLINE_SCREEN_DEFAULT,
				 .console_irq = CMDLINE_IRQ_UNKNOWN };
	for (;;) {
		char line[240], list[144];
		const char *expected;
		struct span word;

		while (blank(*text))
			text++;
		if (!*text)
			break;
		word.p = text;
		while (*text && !blank(*text))
			text++;
		word.n = (size_t)(text - word.p);

		lacking = NULL;
		expected = take_word(word, out, list, sizeof(list));
		if (!expected)
			continue;
		errors++;
		snprintf(line, sizeof(line), "'%.*s': %s%s", (int)MIN(word.n, 64u), word.p,
			 lacking ? "needs " : "expected ", lacking ? lacking : expected);
		report(line);
	}
	/* Whatever their order. */
	if (HAS(CONFIG_GDB) && out->console == CMDLINE_CONSOLE_PORT &&
	    out->gdb_port == out->console_address) {
		out->gdb_port = 0;
		errors++;
		report("gdb=: its port is the console's: choose another");
	}
	return errors;
}
