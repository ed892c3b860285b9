/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/cmdline.sources */
/* The hypervisor's own command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/mitigations.h"
#include "arch/x86_64/cpu/power.h"
#include "kernel/boot/cmdline.h"

static char last[512];
static unsigned reports;
static struct cmdline c;

static void report(const char *line)
{
	strncpy(last, line, sizeof(last) - 1);
	reports++;
}

static unsigned parse(const char *text)
{
	reports = 0;
	last[0] = 0;
	memset(&c, 0xee, sizeof(c));
	return cmdline_parse(text, &c, report);
}

static void expect_default(void)
{
	assert_int_equal(c.console, CMDLINE_CONSOLE_PORT);
	assert_int_equal(c.console_address, 0x3f8);
	assert_int_equal(c.baud, 115200);
	assert_int_equal(c.loglevel, LOGLEVEL_INFO);
	assert_int_equal(c.escape, 'T' - '@');
	assert_int_equal(c.gdb_port, 0);
	assert_int_equal(c.panic, 0);
	assert_int_equal(c.check, 0);
	assert_false(c.check_stay || c.check_dump || c.check_json);
	assert_int_equal(c.screen, CMDLINE_SCREEN_DEFAULT);
	assert_int_equal(c.console_irq, CMDLINE_IRQ_UNKNOWN);
	assert_false(c.console_named || c.baud_named || c.console_wide);
}

/*
 * One word that is wrong: one report, which names it and says what was expected, and nothing is
 * changed.
 */
static void refuse(const char *word, const char *expected)
{
	assert_int_equal(parse(word), 1);
	assert_int_equal(reports, 1);
	assert_non_null(strstr(last, word));
	assert_non_null(strstr(last, expected));
	expect_default();
}

static void test_escape(void **)
{
	static const char *const bad[] = {
		"escape=",   "escape=^",   "escape=x",  "escape=^1",   "escape=^M",    "escape=^j",
		"escape=^@", "escape=^AB", "escape=A^", "escape=None", "escape=^\x7f", "escape=^["
	};

	assert_int_equal(parse("escape=^A"), 0);
	assert_int_equal(c.escape, 1);
	assert_int_equal(parse("escape=^z"), 0);
	assert_int_equal(c.escape, 26);
	assert_int_equal(parse("escape=none"), 0);
	assert_int_equal(c.escape, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		refuse(bad[i], "expected ^ and a letter other than j and m, or none");
}

static void test_gdb(void **)
{
	/* clang-format off */
	static const char *const bad[] = { "gdb=", "gdb=com2", "gdb=com2,", "gdb=com5,a",
		"gdb=com0,a", "gdb=com,a", "gdb=com22,a",
					   "gdb=com2,115200,", "gdb=com2,7,a",
					"gdb=com2,115200,a,b",
					   "gdb=com2,a2345678901234567890123456789012" };
	/* clang-format on */

	assert_int_equal(parse(""), 0);
	assert_int_equal(c.gdb_port, 0);
	assert_int_equal(parse("gdb=com2,vm0"), 0);
	assert_int_equal(c.gdb_port, 0x2f8);
	assert_int_equal(c.gdb_irq, 3);
	assert_int_equal(c.gdb_baud, 115200);
	assert_string_equal(c.gdb_vm, "vm0");
	assert_int_equal(parse("gdb=com3,9600,a234567890123456789012345678901"), 0);
	assert_int_equal(c.gdb_port, 0x3e8);
	assert_int_equal(c.gdb_irq, 4);
	assert_int_equal(c.gdb_baud, 9600);
	assert_string_equal(c.gdb_vm, "a234567890123456789012345678901");
	/*
	 * Not the console's port, whichever word comes first; com1 is the console without a word.
	 */
	assert_int_equal(parse("console=com2 gdb=com1,a"), 0);
	assert_int_equal(parse("console=none gdb=com1,a"), 0);
	assert_int_equal(parse("console=mmio:0x3f8 gdb=com1,a"), 0);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const same[] = { "gdb=com1,a", "gdb=com2,a console=com2",
						    "console=0x3e8 gdb=com3,9600,a" };

		assert_int_equal(parse(same[i]), 1);
		assert_string_equal(last, "gdb=: its port is the console's: choose another");
		assert_int_equal(c.gdb_port, 0);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		refuse(bad[i], "expected com1 to com4");
}

static void test_panic(void **)
{
	static const char *const bad[] = { "panic=",   "panic=0",  "panic=86401",
					   "panic=-1", "panic=5s", "panic=Halt" };

	assert_int_equal(parse("panic=5"), 0);
	assert_int_equal(c.panic, 5);
	assert_int_equal(parse("panic=86400"), 0);
	assert_int_equal(c.panic, 86400);
	assert_int_equal(parse("panic=7 panic=halt"), 0);
	assert_int_equal(c.panic, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		refuse(bad[i], "expected halt, or seconds from 1 to 86400");
}

static void test_screen(void **)
{
	static const char *const bad[] = { "screen=",   "screen=0",      "screen=601",
					   "screen=-1", "screen=5s",     "screen=None",
					   "screen=on", "screen=none,5", "screen" };

	assert_int_equal(parse("screen=none"), 0);
	assert_int_equal(c.screen, 0);
	assert_int_equal(parse("screen=1"), 0);
	assert_int_equal(c.screen, 1);
	assert_int_equal(parse("screen=none screen=600"), 0);
	assert_int_equal(c.screen, 600);
	for (unsigned i = 0; i < ARRAY_SIZE(bad) - 1; i++)
		refuse(bad[i],
		       "expected none, or seconds from 1 to 600 for a page of the hardware check");
	refuse(bad[ARRAY_SIZE(bad) - 1], "expected check, console=, ");
}

static void test_check(void **)
{
	/* clang-format off */
	static const struct {
		const char *text;
		u32 seconds;
		bool stay;
		bool dump;
	} good[] = { { "check", 10, false, false }, { "check=1", 1, false, false },
	{ "check=3600", 3600, false, false },
		     { "check=stay", 10, true, false }, { "check=5,stay", 5, true, false },
		     { "check=5,stay check", 10, false, false }, { "check=dump", 10, false, true },
		     { "check=7,dump", 7, false, true }, { "check=7,stay,dump", 7, true, true },
		     { "check=dump,stay", 10, true, true },
		{ "check=dump check", 10, false, false },
		     { "check=3,json,stay,dump", 3, true, true },
		{ "check=json check=stay", 10, true, false } };
	/* clang-format on */

	static const char *const bad[] = {
		"check=",          "check=0",      "check=3601",      "check=,stay",
		"check=5,",        "check=5,sta",  "check5",          "check,stay",
		"check=stay,5",    "checks",       "check=5,stay,",   "Check",
		"check=-1",        "check=dump,5", "check=dump,dump", "check=stay,stay",
		"check=5,5",       "check=dumps",  "check=,",         "check=5,dump,stay,dump",
		"check=json,json", "check=json,5", "check=jsons",
	};

	assert_int_equal(parse("panic=5"), 0);
	assert_int_equal(c.check, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse(good[i].text), 0);
		assert_int_equal(c.check, good[i].seconds);
		assert_int_equal(c.check_stay, good[i].stay);
		assert_int_equal(c.check_dump, good[i].dump);
		assert_int_equal(c.check_json, good[i].seconds == 3);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		refuse(bad[i], "expected check, ");
}

static void test_default(void **)
{
	assert_int_equal(parse(""), 0);
	expect_default();
	assert_int_equal(parse(" \t \n"), 0);
	expect_default();
}

static void test_good(void **)
{
	assert_int_equal(parse("console=com2,9600 loglevel=debug"), 0);
	assert_int_equal(c.console_address, 0x2f8);
	assert_int_equal(c.baud, 9600);
	assert_true(c.console_named && c.baud_named && !c.console_wide);
	assert_int_equal(c.console_irq, CMDLINE_IRQ_UNKNOWN);
	assert_int_equal(c.loglevel, LOGLEVEL_DEBUG);
	assert_int_equal(parse("  loglevel=error   console=0x3E8  "), 0);
	assert_int_equal(c.console_address, 0x3e8);
	assert_int_equal(c.baud, 115200);
	assert_int_equal(c.loglevel, LOGLEVEL_ERROR);
	assert_int_equal(parse("console=mmio:0xfe03a000,57600"), 0);
	assert_int_equal(c.console, CMDLINE_CONSOLE_MMIO);
	assert_int_equal(c.console_address, 0xfe03a000);
	assert_int_equal(c.baud, 57600);
	/* The interrupt, with a speed and without; the last word counts, in all. */
	assert_int_equal(parse("console=0x2e8,19200,irq=7"), 0);
	assert_true(c.console_irq == 7 && c.baud == 19200 && c.console_named);
	assert_int_equal(parse("console=com1,irq=none"), 0);
	assert_true(c.console_irq == CMDLINE_IRQ_NONE && c.baud == 115200 && !c.baud_named);
	assert_int_equal(parse("console=mmio32:0xfe03a000,9600,irq=255 console=com2"), 0);
	assert_true(!c.console_wide && !c.baud_named && c.console_irq == CMDLINE_IRQ_UNKNOWN &&
		    c.baud == 115200);
	/* Registers of 32 bits have a clock of their own: the speed stays. */
	assert_int_equal(parse("console=mmio32:0xfe03a000"), 0);
	assert_true(c.console == CMDLINE_CONSOLE_MMIO && c.console_wide &&
		    c.console_address == 0xfe03a000 && c.baud == 0);
	assert_int_equal(parse("console=mmio32:0xfe03a000,115200"), 0);
	assert_true(c.console_wide && c.baud == 115200);
	assert_int_equal(parse("console=none"), 0);
	assert_int_equal(c.console, CMDLINE_CONSOLE_NONE);
}

static void test_bad_console(void **)
{
	/* clang-format off */
	static const char *const bad[] = {
		"console=", "console=com3", "console=COM1", "console=com1,", "console=com1,0",
		"console=com1,115201",
		"console=com1,7", "console=com1,9600x", "console=com1,99999999999999999999",
		"console=0x", "console=0x0",
		"console=0x10000", "console=0xfff9", "console=3f8", "console=mmio:",
		"console=mmio:0x", "console=mmio:0x0",
		"console=mmio:0x10000000000000", "console=mmio:0xffffffffffffffffff",
		"console=com1,,",
		"console=com1,9600,8n1", "console=com1,irq=", "console=com1,irq=256",
		"console=com1,irq=x",
		"console=com1,irq=0", "console=com1,irq=2",
		"console=com1,irq=4,9600", "console=com1,irq=4,irq=4", "console=com1,9600,irq=4,",
		"console=com1,9600,9600", "console=mmio",
		"console=mmio32:0xfe03a002", "console=mmio16:0xfe03a000",
		"console=mmio:0xfffffffffffe8",
	};
	/* clang-format on */

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		refuse(bad[i], "mmio:0x<address>");
}

static void test_unknown_goes_on(void **)
{
	assert_int_equal(parse("quiet console=com2 loglevel=loud xconsole=com1 loglevel=debug"), 3);
	assert_int_equal(reports, 3);
	assert_non_null(strstr(last, "'xconsole=com1'"));
	assert_int_equal(c.console_address, 0x2f8);
	assert_int_equal(c.loglevel, LOGLEVEL_DEBUG);
}

/* What is forced on, and the whole error where a word is unknown. */
static void test_iommu(void **)
{
	assert_int_equal(parse(""), 0);
	assert_false(c.iommu_off);
	assert_int_equal(parse("iommu=off"), 0);
	assert_true(c.iommu_off);
	refuse("iommu=on", "expected off");
	assert_false(c.iommu_off);
	assert_int_equal(parse("iommu=off iommu=on"), 1);
	assert_true(c.iommu_off);
}

static void test_mitigate(void **)
{
	assert_int_equal(parse(""), 0);
	assert_true(!c.mitigate && !c.mitigate_off);
	assert_int_equal(parse("mitigate=off"), 0);
	assert_true(c.mitigate_off);
	assert_int_equal(parse("mitigate=verw,bhb"), 0);
	assert_int_equal(c.mitigate, MIT_VERW | MIT_BHB);
	assert_false(c.mitigate_off);
	assert_int_equal(parse("mitigate=spectre"), 1);
	assert_string_equal(
		last,
		"'mitigate=spectre': expected auto, off, or what to force on: spec_ctrl, ibpb_exit, "
		"rsb_one, rsb, bhb, thunks, divider, verw, l1d_flush, split");
	assert_int_equal(
		parse("mitigate=verw,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
		1);
	assert_non_null(strstr(last, "l1d_flush, split"));
}

static void test_power(void **)
{
	assert_int_equal(parse(""), 0);
	assert_int_equal(c.power, POWER_PERFORMANCE);
	assert_int_equal(parse("power=firmware"), 0);
	assert_int_equal(c.power, POWER_FIRMWARE);
	assert_int_equal(parse("power=firmware power=turbo"), 0);
	assert_int_equal(c.power, POWER_TURBO);
	assert_int_equal(parse("power=turbo power=performance"), 0);
	assert_int_equal(c.power, POWER_PERFORMANCE);
	assert_int_equal(parse("power=turbo power="), 1);
	assert_int_equal(c.power, POWER_TURBO);
	assert_string_equal(last, "'power=': expected performance, turbo or firmware");
}

static void test_idle(void **)
{
	assert_int_equal(parse(""), 0);
	assert_false(c.idle_halt);
	assert_int_equal(parse("idle=halt"), 0);
	assert_true(c.idle_halt);
	assert_int_equal(parse("idle=halt idle=deep"), 0);
	assert_false(c.idle_halt);
	assert_int_equal(parse("idle=halt idle=c6"), 1);
	assert_true(c.idle_halt);
	assert_string_equal(last, "'idle=c6': expected deep or halt");
}

static void test_x2apic(void **)
{
	assert_int_equal(parse(""), 0);
	assert_int_equal(c.x2apic, CMDLINE_X2APIC_AUTO);
	assert_int_equal(parse("x2apic=on"), 0);
	assert_int_equal(c.x2apic, CMDLINE_X2APIC_ON);
	assert_int_equal(parse("x2apic=on x2apic=off"), 0);
	assert_int_equal(c.x2apic, CMDLINE_X2APIC_OFF);
	assert_int_equal(parse("x2apic=off x2apic"), 1);
	assert_int_equal(parse("x2apic=off x2apic=auto"), 1);
	assert_int_equal(c.x2apic, CMDLINE_X2APIC_OFF);
	assert_string_equal(last, "'x2apic=auto': expected on or off");
}

static void test_nmi(void **)
{
	assert_int_equal(parse(""), 0);
	assert_false(c.nmi_panic);
	assert_int_equal(parse("nmi=panic"), 0);
	assert_true(c.nmi_panic);
	assert_int_equal(parse("nmi=panic nmi=report"), 0);
	assert_false(c.nmi_panic);
	assert_int_equal(parse("nmi=panics"), 1);
	assert_string_equal(last, "'nmi=panics': expected report or panic");
	assert_int_equal(parse("nmi="), 1);
}

static void test_corrected(void **)
{
	assert_int_equal(parse(""), 0);
	assert_false(c.corrected_in_time);
	assert_int_equal(parse("corrected=minute"), 0);
	assert_true(c.corrected_in_time);
	assert_int_equal(parse("corrected=minute corrected=exit"), 0);
	assert_false(c.corrected_in_time);
	assert_int_equal(parse("corrected=second"), 1);
	assert_string_equal(last, "'corrected=second': expected exit or minute");
}

static void test_long_word(void **)
{
	char text[1024];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(parse(text), 1);
	assert_true(strlen(last) < 239);
	assert_non_null(strstr(
		last,
		"expected check, console=, escape=, gdb=, iommu=, loglevel=, mitigate=, screen=, idle=, "
		"corrected=, power=, x2apic=, nmi= or panic="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_gdb),
		cmocka_unit_test(test_panic),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_screen),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad_console),
		cmocka_unit_test(test_unknown_goes_on),
		cmocka_unit_test(test_mitigate),
		cmocka_unit_test(test_iommu),
		cmocka_unit_test(test_nmi),
		cmocka_unit_test(test_corrected),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_x2apic),
		cmocka_unit_test(test_long_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
