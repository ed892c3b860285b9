/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/console/command.c lib/span.c */
/* Commands and their arguments from typed lines, and completion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "vmm/console/command.h"

static const struct command table[] = {
	{ .name = "help", .args = "w", .usage = "[COMMAND]" },
	{ .name = "log", .args = "n", .usage = "[LINES]" },
	{ .name = "regs", .args = "Vn", .usage = "VM [VCPU]" },
	{ .name = "stats", .args = "vn", .usage = "[VM [VCPU]]" },
	{ .name = "vm", .args = "", .usage = "" },
	{ .name = "vm list", .args = "", .usage = "" },
	{ .name = "vm start", .args = "V", .usage = "VM" },
	{ .name = "vm stop", .args = "V", .usage = "VM" },
};
#define COUNT (sizeof(table) / sizeof(table[0]))

static const char *const names[] = { "vm0", "login", "log-in" };

static const char *vm_name(unsigned i)
{
	return i < 3 ? names[i] : NULL;
}

static struct command_args args;
static char error[COMMAND_ERROR];

static const char *parse(const char *line)
{
	const struct command *c;

	memset(&args, 0xee, sizeof(args));
	strcpy(error, "?");
	c = command_parse(table, COUNT, vm_name, line, &args, error);
	assert_true(!c || !error[0]);
	return c ? c->name : "";
}

static void test_commands(void **)
{
	assert_string_equal(parse("help"), "help");
	assert_string_equal(parse("   vm  "), "vm");
	assert_string_equal(parse("vm list"), "vm list");
	assert_string_equal(parse("vm  start  login"), "vm start");
	assert_int_equal(args.vm, 1);
	assert_true(args.has_vm && !args.has_number);
	assert_string_equal(parse("regs log-in 3"), "regs");
	assert_int_equal(args.vm, 2);
	assert_true(args.has_number);
	assert_int_equal(args.number, 3);
	assert_string_equal(parse("regs vm0"), "regs");
	assert_int_equal(args.number, 0);
	assert_string_equal(args.word, "");
	assert_string_equal(parse("help vm"), "help");
	assert_string_equal(args.word, "vm");
	assert_string_equal(parse("stats"), "stats");
	assert_false(args.has_vm);
	assert_string_equal(parse("log 4294967295"), "log");
	assert_int_equal(args.number, 4294967295u);
}

static void test_errors(void **)
{
	static const struct {
		const char *line;
		const char *error;
	} bad[] = {
		{ "", "" },
		{ "   ", "" },
		{ "HELP", "unknown command 'HELP': help lists them" },
		{ "v", "unknown command 'v': help lists them" },
		{ "help me please", "'please' is too much: usage: help [COMMAND]" },
		{ "vm lst", "no command 'vm lst': vm has list, start, stop" },
		{ "vm reboot vm0", "no command 'vm reboot': vm has list, start, stop" },
		{ "vm list vm0", "'vm0' is too much: usage: vm list" },
		{ "vm start", "usage: vm start VM" },
		{ "vm start vm1", "no VM has the name 'vm1': vm lists them" },
		{ "vm start vm0 vm0", "'vm0' is too much: usage: vm start VM" },
		{ "regs vm0 x", "expected a number, found 'x'" },
		{ "log 4294967296", "expected a number, found '4294967296'" },
		{ "log 1x", "expected a number, found '1x'" },
		{ "log -1", "expected a number, found '-1'" },
		{ "log 99999999999999999999999999",
		  "expected a number, found '99999999999999999999999999'" },
		{ "a b c d e f g h i j k l", "unknown command 'a': help lists them" },
		{ "regs vm0 1 2 3 4 5 6", "'2' is too much: usage: regs VM [VCPU]" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_string_equal(parse(bad[i].line), "");
		assert_string_equal(error, bad[i].error);
	}
}

static char listed[200];

static void list(const struct command *c)
{
	snprintf(listed + strlen(listed), sizeof(listed) - strlen(listed), "%s;", c->name);
}

/* The whole table, what begins with a word or with two, and none. */
static void test_each(void **)
{
	static const struct {
		const char *words;
		const char *names;
		unsigned count;
	} cases[] = {
		{ "", "help;log;regs;stats;vm;vm list;vm start;vm stop;", COUNT },
		{ "vm", "vm;vm list;vm start;vm stop;", 4 },
		{ "vm start", "vm start;", 1 },
		{ "v", "", 0 },
		{ "vm reboot", "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		listed[0] = 0;
		assert_int_equal(command_each(table, COUNT, cases[i].words, list), cases[i].count);
		assert_string_equal(listed, cases[i].names);
	}
}

/* What does not fit is cut. */
static void test_many_words(void **)
{
	struct command many[40];
	char name[40][COMMAND_WORD];

	for (unsigned i = 0; i < 40; i++) {
		snprintf(name[i], sizeof(name[i]), i ? "vm command%u" : "vm", i);
		many[i] = (struct command){ .name = name[i], .args = "", .usage = "" };
	}
	assert_null(command_parse(many, 40, vm_name, "vm x", &args, error));
	assert_int_equal(strlen(error), COMMAND_ERROR - 1);
	assert_non_null(strstr(error, "no command 'vm x': vm has command1, command2, "));
}

static void test_long_words(void **)
{
	char text[2000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_string_equal(parse(text), "");
	assert_non_null(strstr(error, "unknown command 'xxx"));
	memcpy(text, "vm start ", 9);
	assert_string_equal(parse(text), "");
	assert_non_null(strstr(error, "no VM has the name 'xxx"));
}

static char inserted[COMMAND_WORD], offered[400];

static void offer(const char *word)
{
	strcat(strcat(offered, word), " ");
}

static const char *complete(const char *line)
{
	offered[0] = 0;
	command_complete(table, COUNT, vm_name, line, inserted, offer);
	return inserted;
}

static void test_completion(void **)
{
	assert_string_equal(complete("h"), "elp ");
	assert_string_equal(complete("vm"), " ");
	assert_string_equal(complete("vm s"), "t");
	assert_string_equal(complete("vm st"), "");
	assert_string_equal(offered, "start stop ");
	assert_string_equal(complete("vm "), "");
	assert_string_equal(offered, "list start stop ");
	assert_string_equal(complete("vm start "), "");
	assert_string_equal(offered, "vm0 login log-in ");
	assert_string_equal(complete("vm start l"), "og");
	assert_string_equal(complete("vm start log"), "");
	assert_string_equal(offered, "login log-in ");
	assert_string_equal(complete("regs v"), "m0 ");
	assert_string_equal(complete("regs vm0 "), "");
	assert_string_equal(offered, "");
	assert_string_equal(complete("nothing "), "");
	assert_string_equal(complete("nothing l"), "");
	assert_string_equal(complete("vm start vm0 vm0 vm0 vm0 vm0 vm0"), "");
	assert_string_equal(complete(""), "");
	assert_string_equal(offered, "help log regs stats vm ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),   cmocka_unit_test(test_errors),
		cmocka_unit_test(test_each),       cmocka_unit_test(test_many_words),
		cmocka_unit_test(test_long_words), cmocka_unit_test(test_completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
