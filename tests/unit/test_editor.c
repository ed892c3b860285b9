/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/console/editor.c */
/*
 * The line editor: what is typed, against the text that comes out and what a terminal would show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "vmm/console/editor.h"

#define SCREEN 400

static struct editor e;
static char line[EDITOR_MAX + 1];
static unsigned entered, completions;

/* A terminal's current line: what the editor's echo makes of it. */
static char screen[SCREEN + 1];
static unsigned column, bells;

static void terminal(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (text[i]) {
		case '\a': bells++; break;
		case '\b':
			assert_true(column > 0);
			column--;
			break;
		case '\r': column = 0; break;
		case '\n': memset(screen, 0, sizeof(screen)); break;
		default:
			assert_in_range(text[i], ' ', '~');
			assert_true(column < SCREEN);
			screen[column++] = text[i];
		}
	}
}

/* The screen shows the prompt and the line, blanks behind it, and the cursor where it is. */
static void expect_screen(void)
{
	unsigned n = (unsigned)strlen(e.prompt) + e.length;

	assert_int_equal(strlen(e.text), e.length);
	assert_true(!strncmp(screen, e.prompt, strlen(e.prompt)) &&
		    !strncmp(screen + strlen(e.prompt), e.text, e.length));
	assert_int_equal(strspn(screen + n, " "), strlen(screen + n));
	assert_int_equal(column, strlen(e.prompt) + e.cursor);
}

static void type_bytes(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (editor_feed(&e, (u8)text[i])) {
		case EDITOR_LINE:
			entered++;
			strcpy(line, e.text);
			editor_prompt(&e);
			break;
		case EDITOR_COMPLETE: completions++; break;
		case EDITOR_NONE: break;
		}
		expect_screen();
	}
}

static void type(const char *text)
{
	type_bytes(text, strlen(text));
}

static int setup(void **)
{
	e = (struct editor){ .prompt = "> ", .echo = terminal };
	memset(screen, 0, sizeof(screen));
	line[0] = 0;
	column = entered = completions = bells = 0;
	editor_prompt(&e);
	return 0;
}

static void test_lines(void **)
{
	type("vm list\r");
	assert_string_equal(line, "vm list");
	type("\n");
	assert_int_equal(entered, 1); /* one key, two bytes */
	type("node\n");
	assert_string_equal(line, "node");
	type("\r\r");
	assert_int_equal(entered, 4);
	assert_string_equal(line, "");
	type("half\x03whole\r");
	assert_string_equal(line, "whole");
}

static void test_editing(void **)
{
	type("lst\x1b[D\x1b[Di\r");
	assert_string_equal(line, "list");
	type("xlist\x01\x04\r");
	assert_string_equal(line, "list");
	type("lisxt\x02\x08\x05!\x7f\r");
	assert_string_equal(line, "list");
	type("one two  three\x17"
	     "3\r");
	assert_string_equal(line, "one two  3");
	type("one two\x02\x02\x0b\x15new\r");
	assert_string_equal(line, "new");
	type("abc\x1b[H\x1b[3~\x1b[F\x1b[4~\x1b[1~X\x1b[C\x06Y\r");
	assert_string_equal(line, "XbcY");
	type("abc\x01\x08\x02\x7f\x17\x15\x05\x04\x06\x0b\r");
	assert_string_equal(line, "abc");
	/* Sequences that mean nothing here leave nothing behind. */
	type("a\x1b[15~\x1b[1;5Cb\x1bOPc\x1bxd\x1b[Z\r");
	assert_string_equal(line, "abcd");
}

static void test_history(void **)
{
	type("one\rtwo\rtwo\r\r");
	type("\x1b[A\r");
	assert_string_equal(line, "two");
	type("\x10\x10\r");
	assert_string_equal(line, "one");
	type("\x10\x10\x0e\r");
	assert_string_equal(line, "one");
	type("\x1b[A\x1b[B\x1b[B\r");
	assert_string_equal(line, "");
	for (char c = 'a'; c <= 'z'; c++) {
		const char text[] = { c, '\r', 0 };

		type(text);
	}
	for (unsigned i = 0; i < 30; i++)
		type("\x10");
	type("\r");
	assert_string_equal(line, "s"); /* eight lines back from z */
}

static void test_full_line(void **)
{
	char text[EDITOR_MAX + 1];

	memset(text, 'x', EDITOR_MAX);
	text[EDITOR_MAX] = 0;
	type(text);
	assert_int_equal(bells, 0);
	type("y\x01y\x06z");
	assert_int_equal(bells, 3);
	type("\r");
	assert_string_equal(line, text);
}

static void test_garbage(void **)
{
	unsigned seed = 1;

	for (unsigned i = 0; i < 200000; i++) {
		char byte;

		seed = seed * 1103515245 + 12345;
		byte = (char)(seed >> 16);
		type_bytes(&byte, 1);
	}
	assert_true(entered > 100 && completions > 100);
	type("\x03vm\r");
	assert_string_equal(line, "vm");
}

static void test_show_and_insert(void **)
{
	type("vm li\x02");
	terminal("\r\n", 2);
	editor_show(&e);
	expect_screen();
	type("\x05\t");
	assert_int_equal(completions, 1);
	editor_insert(&e, "st ");
	type("\x0c\r");
	assert_string_equal(line, "vm list ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lines, setup),
		cmocka_unit_test_setup(test_editing, setup),
		cmocka_unit_test_setup(test_history, setup),
		cmocka_unit_test_setup(test_full_line, setup),
		cmocka_unit_test_setup(test_garbage, setup),
		cmocka_unit_test_setup(test_show_and_insert, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
