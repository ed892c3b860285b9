/* SPDX-License-Identifier: GPL-2.0-only */
/* See answers.h. */
#include "answers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 24

void answer_json_text(const char *s, size_t n)
{
	putchar('"');
	for (; n; s++, n--) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

/* What JSON reads as a number, and is none that one would add zeros to. */
static int is_number(const char *s, size_t n)
{
	if (!n || n > 15 || (n > 1 && *s == '0'))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			return 0;
	return 1;
}

static void put_json_line(const char *line)
{
	const char *comma = "";

	putchar('{');
	for (; *line && *line != '\n'; line += *line == '\t') {
		size_t key = strcspn(line, "=\t\n"), n;

		printf("%s", comma);
		answer_json_text(line, key);
		line += key + (line[key] == '=');
		n = strcspn(line, "\t\n");
		putchar(':');
		if (is_number(line, n))
			printf("%.*s", (int)n, line);
		else
			answer_json_text(line, n);
		line += n;
		comma = ",";
	}
	putchar('}');
}

void answer_json(const char *text)
{
	const char *comma = "";

	putchar('[');
	for (; *text; text += *text == '\n') {
		printf("%s", comma);
		put_json_line(text);
		text += strcspn(text, "\n");
		comma = ",\n ";
	}
	puts("]");
}

/* Columns as wide as what is in them; a heading wherever the names change. */
static int same_names(const char *a, const char *b)
{
	for (;;) {
		size_t n = strcspn(a, "=\t\n");

		if (n != strcspn(b, "=\t\n") || strncmp(a, b, n) != 0)
			return 0;
		a += strcspn(a, "\t\n");
		b += strcspn(b, "\t\n");
		if (*a != *b)
			return 0;
		if (*a != '\t')
			return 1;
		a++;
		b++;
	}
}

static void put_block(const char *from, const char *to)
{
	size_t width[COLUMNS] = { 0 }, n;
	unsigned k;

	for (const char *line = from; line < to; line += strcspn(line, "\n") + 1)
		for (k = 0, n = 0; k < COLUMNS && line[n] != '\n'; k++) {
			size_t key = strcspn(line + n, "="), value = strcspn(line + n + key + 1, "\t\n");

			width[k] = width[k] > key ? width[k] : key;
			width[k] = width[k] > value ? width[k] : value;
			n += key + 1 + value;
			n += line[n] == '\t';
		}
	for (const char *line = from, *heading = from; line < to; heading = NULL) {
		for (k = 0, n = 0; k < COLUMNS && line[n] != '\n'; k++) {
			size_t key = strcspn(line + n, "="), value = strcspn(line + n + key + 1, "\t\n");
			const char *text = heading ? line + n : line + n + key + 1;
			size_t shown = heading ? key : value;

			n += key + 1 + value;
			n += line[n] == '\t';
			printf("%.*s%*s", (int)shown, text, line[n] == '\n' ? 0 : (int)(width[k] - shown + 2), "");
		}
		putchar('\n');
		if (!heading)
			line += strcspn(line, "\n") + 1;
	}
}

void answer_table(const char *text)
{
	while (*text) {
		const char *end = text;

		while (*end && same_names(text, end))
			end += strcspn(end, "\n") + 1;
		put_block(text, end);
		text = end;
	}
}
