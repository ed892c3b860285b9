/* SPDX-License-Identifier: GPL-2.0-only */
/* The node's log and its events, from a place on that is kept: lines, and where to go on. */
#ifndef MARGAY_NODELOG_H
#define MARGAY_NODELOG_H

#include <stdio.h>

/* Where to go on. Of another boot, or zero: from the oldest that there is. */
struct nodelog {
	unsigned long boot;
	unsigned long offset; /* of the log */
	unsigned long number; /* of the next event */
	unsigned long stamp; /* of the last line that had one: milliseconds since the log began */
};

struct nodelog_line {
	int priority; /* as syslog has it */
	unsigned long ms; /* since 1970; 0: it is not known */
	const char *text;
};

/*
 * All lines there are now. 0: this node does not know it, and nothing was called; what else is
 * wrong ends the program.
 */
int nodelog_lines(struct nodelog *at, void (*fn)(const struct nodelog_line *line));
/* The same of events, each a line of name=value. */
int nodelog_events(struct nodelog *at, void (*fn)(const char *line));

/* The words of one, without its time. */
void event_text(const char *line, FILE *to);

#define NODELOG_TIME 40
/* Local time, with milliseconds and its distance from UTC. */
const char *nodelog_time(unsigned long ms, char text[NODELOG_TIME]);
/* The value as a time: seconds with three decimals. */
unsigned long nodelog_ms(const char *line, const char *key);

#endif
