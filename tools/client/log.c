/* SPDX-License-Identifier: GPL-2.0-only */
/* margay log and margay events: what the node has kept, and with -f what comes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "margay.h"
#include "nodelog.h"

#define LINES "20"
#define FOLLOW_MS 500

static int follows;

/* What has come is printed; then a moment later there may be more. */
static void wait_for_more(void)
{
	if (fflush(stdout))
		fail(BROKEN, "standard output", strerror(errno));
	pause_ms(FOLLOW_MS);
}

static int objects; /* how many there have been */

/* Each in a line of its own, or all of them in an array. */
static void begin_object(void)
{
	if (!follows)
		printf("%s", objects ? ",\n " : "[");
	objects++;
}

static void end_object(void)
{
	if (follows)
		putchar('\n');
}

static void end_array(void)
{
	if (json)
		puts(objects ? "]" : "[]");
}

/* ---- log -------------------------------------------------------------------------------- */

static unsigned long skipped; /* lines that are not wanted, of those that come next */

static void count_line(const struct nodelog_line *)
{
	skipped++;
}

static void put_line(const struct nodelog_line *line)
{
	char when[NODELOG_TIME];

	if (skipped) {
		skipped--;
		return;
	}
	if (!json) {
		printf("%s%s%s\n", line->ms ? nodelog_time(line->ms, when) : "",
		       line->ms ? " " : "", line->text);
		return;
	}
	begin_object();
	printf("{\"time\":");
	if (line->ms)
		printf("%lu.%03lu", line->ms / 1000, line->ms % 1000);
	else
		printf("null");
	printf(",\"priority\":%d,\"text\":", line->priority);
	json_text(line->text, strlen(line->text));
	putchar('}');
	end_object();
}

/* A node that has no more than so many lines at once, without the time of day. */
static void put_old_log(const char *lines)
{
	char *answer = ask(MANAGEMENT_LOG, lines, NULL);
	struct nodelog_line line = { .priority = 5 };

	if (follows)
		fail(REFUSED, "log -f", "this node cannot go on with it");
	while ((line.text = strsep(&answer, "\n")) && *line.text)
		put_line(&line);
	end_array();
}

static unsigned long number_of_lines(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || *text < '0' || *text > '9')
		fail(USAGE, text, "expected a number of lines");
	return n;
}

void command_log(const struct words *w)
{
	const char *lines = w->n ? w->arg[0] : LINES;
	unsigned long wanted = number_of_lines(lines);
	struct nodelog at = { 0 }, again = { 0 };

	follows = w->follow;
	if (!nodelog_lines(&at, count_line)) {
		put_old_log(lines);
		return;
	}
	/* What comes between the two is one more. */
	skipped = skipped > wanted ? skipped - wanted : 0;
	nodelog_lines(&again, put_line);
	for (skipped = 0; follows; nodelog_lines(&again, put_line))
		wait_for_more();
	end_array();
}

/* ---- events ------------------------------------------------------------------------------- */

static void put_event(const char *line)
{
	char when[NODELOG_TIME];

	if (json) {
		begin_object();
		json_object(line);
		end_object();
		return;
	}
	printf("%s ", nodelog_time(nodelog_ms(line, "time"), when));
	event_text(line, stdout);
	putchar('\n');
}

void command_events(const struct words *w)
{
	struct nodelog at = { 0 };

	follows = w->follow;
	if (!nodelog_events(&at, put_event))
		fail(REFUSED, "events", "this node keeps none");
	for (; follows; nodelog_events(&at, put_event))
		wait_for_more();
	end_array();
}
