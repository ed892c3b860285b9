/* SPDX-License-Identifier: GPL-2.0-only */
/* See ends.h. */
#include "ends.h"

#include <stdlib.h>
#include <string.h>

#include "libmargay.h"

/* Statuses are never used for something else. 1 to 3 are what the program itself has to say. */
enum {
	WELL = 0,
	STOPPED = 10,
	RESET = 11,
	EXIT_STATUS = 12,
	PANICKED = 20,
	WATCHDOG = 21,
	MACHINE_CHECK = 22,
	BLOCKED = 23,
	CRASH = 24,
	NOT_STARTED = 30,
	UNKNOWN = 31
};

static const struct {
	const char *kind;
	int status;
} ends[] = {
	{ "poweroff", WELL },        { "exit", EXIT_STATUS },
	{ "stopped", STOPPED },      { "reset-acpi", RESET },
	{ "reset-kbd", RESET },      { "reset-cf9", RESET },
	{ "panicked", PANICKED },    { "triple-fault", PANICKED },
	{ "watchdog", WATCHDOG },    { "machine-check", MACHINE_CHECK },
	{ "blocked", BLOCKED },      { "crash", CRASH },
	{ "crashed", CRASH },        { "not-started", NOT_STARTED },
	{ "bad-file", NOT_STARTED },
};

void end_kind(const char *line, char *kind, unsigned long size)
{
	kind[0] = 0;
	margay_value(line, "end", kind, size);
	/* What cannot have run has not ended either. */
	if (!kind[0])
		margay_value(line, "state", kind, size);
}

int end_status(const char *line)
{
	char kind[32], status[16] = "";

	end_kind(line, kind, sizeof(kind));
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (strcmp(kind, ends[i].kind) != 0)
			continue;
		/* An older node does not say it: it may be 0. */
		margay_value(line, "status", status, sizeof(status));
		return ends[i].status == EXIT_STATUS && !atoi(status) ? WELL : ends[i].status;
	}
	return UNKNOWN;
}
