/* SPDX-License-Identifier: GPL-2.0-only */
/* See answers.h. */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS 24

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
	const char *name;
	const char *value;
	size_t name_n;
	size_t value_n;
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

#define SHOWN 32

/*
 * What stands in the table: the local time of a moment, and something where there is nothing, for
 * who counts columns.
 */
static void make_shown(struct field *f, char text[SHOWN])
{
	time_t when = (time_t)strtoul(f->value, NULL, 10);

	if (!f->value_n) {
		f->value = "-";
		f->value_n = 1;
	} else if (f->name_n == 5 && !strncmp(f->name, "ended", 5)) {
		f->value_n = strftime(text, SHOWN, "%FT%T%z", localtime(&when));
		f->value = text;
	}
}

static const char *next_line(const char *p)
{
	p += strcspn(p, "\n");
	return p + (*p == '\n');
}

static void put_line(const char *p, const size_t *width, int heading)
{
	struct field f;
	char text[SHOWN];

	for (unsigned k = 0; k < COLUMNS && *p && *p != '\n'; k++) {
		p = take(p, &f);
		make_shown(&f, text);
		size_t n = heading ? f.name_n : f.value_n;

		printf("%.*s%*s", (int)n, heading ? f.name : f.value,
		       *p && *p != '\n' ? (int)(width[k] - n + 2) : 0, "");
	}
	putchar('\n');
}

static void put_block(const char *from, const char *to)
{
	size_t width[COLUMNS] = { 0 };
	struct field f;
	char text[SHOWN];

	for (const char *line = from; line < to; line = next_line(line)) {
		const char *p = line;

		for (unsigned k = 0; k < COLUMNS && *p && *p != '\n'; k++) {
			p = take(p, &f);
			make_shown(&f, text);
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
