/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/plain.c */
/* What a line may hold that stands among others': text, and nothing that a terminal obeys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host_console.h>

/* Each line in memory of its own, so that nothing behind it is read. */
static void check(const char *in, const char *expected)
{
	size_t n = strlen(in);
	u8 *line = malloc(n ? n : 1);
	char text[300];

	memcpy(line, in, n);
	snprintf(text, sizeof(text), "%.*s", (int)host_plain_text(line, (unsigned)n),
		 (const char *)line);
	assert_string_equal(text, expected);
	free(line);
}

static void test_sequences(void **)
{
	check("", "");
	check("plain text\twith ~ and 0", "plain text\twith ~ and 0");
	check("[ \x1b[0;32m  OK  \x1b[0m ] Started", "[   OK   ] Started");
	check("\x1b[2J\x1b[1;1Htop\x1b[?25l\x1b[>4;2m\x1b[ q", "top");
	check("\x1b]0;title\a$ \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "$ link");
	check("\x1bPq#0\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd");
	check("\x1b(B\x1b)0\x1b#8\x1b%Ga\x1b"
	      "7b\x1b"
	      "8\x1b=\x1b>c\x1b"
	      "c\x1bMd",
	      "abcd");
	/* Cut by the end of the line, by another sequence, by a control. */
	check("a\x1b", "a");
	check("a\x1b[", "a");
	check("a\x1b[12;", "a");
	check("a\x1b(", "a");
	check("a\x1b]0;title", "a");
	check("a\x1b]0;title\x1b", "a");
	check("a\x1b]0;b\x1b[1mc", "ac");
	check("a\x1b\x1b[1mb", "ab");
	check("a\x1b[1\bb", "a?b");
	check("a\x1b\rb", "a?b");
}

static void test_bytes(void **)
{
	char in[2] = "";

	for (unsigned b = 1; b < 256; b++) {
		in[0] = (char)b;
		if (b == 27)
			check(in, "");
		else
			check(in, b == 9 || (b >= 0x20 && b < 0x7f) ? in : "?");
	}
	check("K\xc3\xa4se \xe2\x80\xa6 \xf0\x9f\x98\x80 \xc2\xa0",
	      "K\xc3\xa4se \xe2\x80\xa6 \xf0\x9f\x98\x80 \xc2\xa0");
	check("\xef\xbf\xbf\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80",
	      "\xef\xbf\xbf\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80");
	/* C1 controls, as bytes and as characters: CSI is U+009B. */
	check("a\x9b"
	      "2J\xc2\x9b"
	      "2J\xc2\x80",
	      "a?2J??2J??");
	/* What turns the text behind it round; its neighbours do not. */
	check("a\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9"
	      "b",
	      "a????????????b");
	check("\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xe3\x80\xaa\xe2\x82\xa6",
	      "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xe3\x80\xaa\xe2\x82\xa6");
	/* Too long, surrogates, above U+10FFFF, cut, out of order. */
	check("\xc0\x80\xc1\xbf\xe0\x9f\xbf\xf0\x8f\xbf\xbf", "???????????");
	check("\xed\xa0\x80\xf4\x90\x80\x80\xf5\x80\x80\x80", "???????????");
	check("\xc3", "?");
	check("\xe2\x80", "??");
	check("\xf0\x9f\x98", "???");
	check("\xc3\xc3\xa4\xa4", "?\xc3\xa4?");
	check("\xe2\x80)", "??"
			   ")");
	check("\xf0\x9f\x98"
	      "a",
	      "???a");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sequences),
					    cmocka_unit_test(test_bytes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
