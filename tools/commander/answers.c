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

/* What JSON reads as a number, unless it is somebody's choice of a name. */
static int is_number(const char *key, size_t key_size, const char *s, size_t n)
{
	static const char *const texts[] = { "name", "owner", "file", "commander", "kernel", "initrd", "module", "disk", "sha256" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (key_size == strlen(texts[i]) && !strncmp(key, texts[i], key_size))
			return 0;
	if (!n || n > 15 || (n > 1 && *s == '0'))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			return 0;
	return 1;
}

/* Behind what begins the object. */
static void put_json_members(const char *line, const char *comma)
{
	for (; *line && *line != '\n'; line += *line == '\t') {
		size_t key = strcspn(line, "=\t\n"), n;
		const char *name = line;

		printf("%s", comma);
		answer_json_text(line, key);
		line += key + (line[key] == '=');
		n = strcspn(line, "\t\n");
		putchar(':');
		if (is_number(name, key, line, n))
			printf("%.*s", (int)n, line);
		else
			answer_json_text(line, n);
		line += n;
		comma = ",";
	}
	putchar('}');
}

static void put_json_line(const char *line)
{
	putchar('{');
	put_json_members(line, "");
}

void answer_json_lines(const char *text, const char *name, unsigned long number)
{
	for (; *text; text += *text == '\n') {
		printf("{\"%s\":%lu", name, number);
		put_json_members(text, ",");
		putchar('\n');
		text += strcspn(text, "\n");
	}
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

struct field {
	const char *name, *value;
	size_t name_n, value_n;
};

/* Returns where the next one begins, or the line's end. */
static const char *take(const char *p, struct field *f)
{
	f->name = p;
	f->name_n = strcspn(p, "=\t\n");
	p += f->name_n;
	p += *p == '=';
	f->value = p;
	f->value_n = strcspn(p, "\t\n");
	p += f->value_n;
	return p + (*p == '\t');
}

static const char *next_line(const char *p)
{
	p += strcspn(p, "\n");
	return p + (*p == '\n');
}

static void put_line(const char *p, const size_t *width, int heading)
{
	struct field f;

	for (unsigned k = 0; k < COLUMNS && *p && *p != '\n'; k++) {
		p = take(p, &f);
		size_t n = heading ? f.name_n : f.value_n;

		printf("%.*s%*s", (int)n, heading ? f.name : f.value, *p && *p != '\n' ? (int)(width[k] - n + 2) : 0, "");
	}
	putchar('\n');
}

static void put_block(const char *from, const char *to)
{
	size_t width[COLUMNS] = { 0 };
	struct field f;

	for (const char *line = from; line < to; line = next_line(line)) {
		const char *p = line;

		for (unsigned k = 0; k < COLUMNS && *p && *p != '\n'; k++) {
			p = take(p, &f);
			width[k] = width[k] > f.name_n ? width[k] : f.name_n;
			width[k] = width[k] > f.value_n ? width[k] : f.value_n;
		}
	}
	put_line(from, width, 1);
	for (const char *line = from; line < to; line = next_line(line))
		put_line(line, width, 0);
}

void answer_table(const char *text)
{
	while (*text) {
		const char *end = text;

		while (*end && same_names(text, end))
			end = next_line(end);
		put_block(text, end);
		text = end;
	}
}
