/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * margay journal: the node's log and events as entries of the journal of this VM, which keeps them
 * as long as its administrator wants. Where to go on is kept in a file, when all before it has been
 * written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "ends.h"
#include "journal.h"
#include "margay.h"
#include "nodelog.h"

#define DIRECTORY "STATE_DIRECTORY" /* systemd's */
#define AGAIN_MS 1000
#define BAD_END 12 /* and all above it: ends.c */

static struct nodelog at;

static void end_entry(void)
{
	if (journal_end())
		fail(BROKEN, "the journal", strerror(errno));
}

static void feed_line(const struct nodelog_line *line)
{
	char when[NODELOG_TIME];

	journal_begin(line->priority, "margay-node");
	journal_field("MESSAGE", "%s", line->text);
	journal_field("MARGAY_TIME", "%s", line->ms ? nodelog_time(line->ms, when) : "");
	end_entry();
}

static int priority_of(const char *line, const char *event)
{
	static const char *const bad[] = { "fault", "cpu-lost", "memory-lost", "not-started",
					   NULL };

	for (const char *const *b = bad; *b; b++)
		if (!strcmp(event, *b))
			return LOG_WARNING;
	return !strcmp(event, "ended") && end_status(line) >= BAD_END ? LOG_WARNING : LOG_NOTICE;
}

static void feed_event(const char *line)
{
	/* What they are in the answer, and here. */
	static const char *const fields[][2] = {
		{ "number", "MARGAY_NUMBER" }, { "event", "MARGAY_EVENT" },
		{ "vm", "MARGAY_VM" },         { "image", "MARGAY_IMAGE" },
		{ "end", "MARGAY_END" },       { "status", "MARGAY_STATUS" },
		{ "by", "MARGAY_BY" },         { "user", "MARGAY_USER" },
		{ "text", "MARGAY_TEXT" },
	};
	char value[200], event[32] = "", when[NODELOG_TIME], *said = NULL;
	size_t n;
	FILE *to = open_memstream(&said, &n);

	margay_value(line, "event", event, sizeof(event));
	journal_begin(priority_of(line, event), "margay-event");
	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		value[0] = 0;
		margay_value(line, fields[i][0], value, sizeof(value));
		journal_field(fields[i][1], "%s", value);
	}
	if (!to)
		fail(BROKEN, "events", strerror(errno));
	event_text(line, to);
	fclose(to);
	journal_field("MESSAGE", "%s", said);
	free(said);
	journal_field("MARGAY_TIME", "%s", nodelog_time(nodelog_ms(line, "time"), when));
	end_entry();
}

/* ---- where to go on ----------------------------------------------------------------------- */

static const char *state_path(char path[300], const char *suffix)
{
	const char *directory = getenv(DIRECTORY);

	snprintf(path, 300, "%.200s/at%s", directory ? directory : "", suffix);
	return directory ? path : NULL;
}

static void load(void)
{
	char path[300];
	FILE *f = state_path(path, "") ? fopen(path, "re") : NULL;

	if (f && fscanf(f, "%lu %lu %lu", &at.boot, &at.offset, &at.number) != 3)
		at = (struct nodelog){ 0 };
	if (f)
		fclose(f);
}

/* The old one or the new one is there, never a half. */
static void save(void)
{
	static struct nodelog saved;
	char path[300], new[300];
	FILE *f;

	if (!state_path(path, "") || !memcmp(&saved, &at, sizeof(at)))
		return;
	f = fopen(state_path(new, ".new"), "we");
	if (!f || fprintf(f, "%lu %lu %lu\n", at.boot, at.offset, at.number) < 0 || fclose(f) ||
	    rename(new, path))
		fail(BROKEN, new, strerror(errno));
	saved = at;
}

void command_journal(const struct words *)
{
	if (!journal_open(0))
		fail(BROKEN, "the journal", strerror(errno));
	load();
	for (;; pause_ms(AGAIN_MS)) {
		if (!nodelog_lines(&at, feed_line) || !nodelog_events(&at, feed_event))
			fail(REFUSED, "journal", "this node is too old for it");
		save();
	}
}
