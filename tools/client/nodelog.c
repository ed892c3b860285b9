/* SPDX-License-Identifier: GPL-2.0-only */
/* See nodelog.h. */
#include "nodelog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "margay.h"

static unsigned long number_of(const char *line, const char *key)
{
	char value[32] = "";

	margay_value(line, key, value, sizeof(value));
	return strtoul(value, NULL, 10);
}

unsigned long nodelog_ms(const char *line, const char *key)
{
	char value[40] = "", *point;
	unsigned long seconds;

	margay_value(line, key, value, sizeof(value));
	seconds = strtoul(value, &point, 10);
	return seconds * 1000 + (*point == '.' ? strtoul(point + 1, NULL, 10) : 0);
}

const char *nodelog_time(unsigned long ms, char text[NODELOG_TIME])
{
	time_t seconds = (time_t)(ms / 1000);
	char zone[16];
	size_t n;

	n = strftime(text, NODELOG_TIME, "%FT%T", localtime(&seconds));
	strftime(zone, sizeof(zone), "%z", localtime(&seconds));
	snprintf(text + n, NODELOG_TIME - n, ".%03lu%s", ms % 1000, zone);
	return text;
}

/* A request from a number on, and its answer's first line; NULL: the node does not know it. */
static char *ask_from(enum management_request what, unsigned long from)
{
	char text[24], *answer;
	int err;

	snprintf(text, sizeof(text), "%lu", from);
	err = margay_call(node, what, text, strlen(text), &answer, NULL);
	if (err < 0)
		fail_channel();
	if (err == ENOSYS)
		return NULL;
	if (err)
		fail(REFUSED, answer, NULL);
	return answer;
}

/*
 * All lines from *from on, which becomes where to go on, for free(); NULL: the node does not know
 * it. first: the answer's first line, without what is behind it.
 */
static char *read_all(struct nodelog *at, enum management_request what, unsigned long *from,
		      char first[200])
{
	unsigned long before;
	char *text = NULL, *answer, *lines;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	do {
		before = *from;
		answer = ask_from(what, before);
		lines = answer ? strchr(answer, '\n') : NULL;
		if (!to || (answer && !lines))
			fail(BROKEN, "an answer without a first line", NULL);
		if (!answer)
			break;
		snprintf(first, 200, "%.*s", (int)(lines - answer), answer);
		if (at->boot != number_of(first, "boot")) {
			*at = (struct nodelog){ .boot = number_of(first, "boot") };
			/* Not this, but the oldest there is. */
			before = 1;
			continue;
		}
		*from = number_of(first, "next");
		fputs(lines + 1, to);
	} while (*from != before);
	if (fclose(to))
		fail(BROKEN, "the node's log", strerror(errno));
	if (answer)
		return text;
	free(text);
	return NULL;
}

/* ---- the log ---------------------------------------------------------------------------- */

/* Takes "[   12.345] " off; lines without it have the time of the one before. */
static void take_stamp(struct nodelog *at, struct nodelog_line *line, unsigned long began)
{
	unsigned long seconds, ms;
	int n = 0;

	if (sscanf(line->text, "[%lu.%3lu] %n", &seconds, &ms, &n) == 2 && n) {
		at->stamp = seconds * 1000 + ms;
		line->text += n;
	}
	line->ms = began ? began + at->stamp : 0;
}

static void pass_lines(struct nodelog *at, char *lines, unsigned long began,
		       void (*fn)(const struct nodelog_line *line))
{
	for (char *text; (text = strsep(&lines, "\n")) && *text;) {
		struct nodelog_line line = { LOG_DEBUG, 0, text + 1 };

		if (*text == '0')
			line.priority = LOG_NOTICE;
		else if (*text == '1')
			line.priority = LOG_INFO;
		take_stamp(at, &line, began);
		fn(&line);
	}
}

int nodelog_lines(struct nodelog *at, void (*fn)(const struct nodelog_line *line))
{
	char first[200], *lines = read_all(at, MANAGEMENT_LOG_FROM, &at->offset, first);

	if (lines)
		pass_lines(at, lines, nodelog_ms(first, "began"), fn);
	free(lines);
	return lines != NULL;
}

/* ---- events ------------------------------------------------------------------------------- */

/* Its value behind the words, if it has one. */
static void put_value(const char *line, const char *before, const char *key, FILE *to)
{
	char value[200] = "";

	margay_value(line, key, value, sizeof(value));
	if (*value)
		fprintf(to, "%s%s", before, value);
}

void event_text(const char *line, FILE *to)
{
	char end[32] = "";

	margay_value(line, "end", end, sizeof(end));
	put_value(line, "", "event", to);
	put_value(line, " ", "vm", to);
	put_value(line, " ", "image", to);
	put_value(line, ": ", "end", to);
	if (!strcmp(end, "exit"))
		put_value(line, " ", "status", to);
	put_value(line, ", by ", "by", to);
	put_value(line, " for ", "user", to);
	put_value(line, ": ", "text", to);
}

int nodelog_events(struct nodelog *at, void (*fn)(const char *line))
{
	char first[200], *lines = read_all(at, MANAGEMENT_EVENTS, &at->number, first);

	for (const char *line = lines; line && *line; line = strchr(line, '\n') + 1)
		fn(line);
	free(lines);
	return lines != NULL;
}
