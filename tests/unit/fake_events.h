/* SPDX-License-Identifier: GPL-2.0-only */
/* Events (vmm/slots/node_events.h) of what is tested, as text: the last, and what was refused. */
#ifndef TESTS_FAKE_EVENTS_H
#define TESTS_FAKE_EVENTS_H

#include <stdarg.h>
#include <stdio.h>

#include "vmm/slots/node_events.h"

static char event_told[200]; /* "SLOT WHAT words"; of a command "SLOT WHAT NAME starts ends" */

static void event_tell(unsigned slot, const char *what, const char *fmt, va_list ap)
{
	int n = snprintf(event_told, sizeof(event_told), "%u %s ", slot, what);

	vsnprintf(event_told + n, sizeof(event_told) - (size_t)n, fmt, ap);
}

void event_vm(unsigned slot, const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	event_tell(slot, what, fmt, ap);
	va_end(ap);
}

void event_often(unsigned slot, const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	event_tell(slot, what, fmt, ap);
	va_end(ap);
}

u64 event_command(unsigned slot, const char *name, const struct event_command *command)
{
	snprintf(event_told, sizeof(event_told), "%u %s %s %d %d by %s", slot, command->what, name,
		 command->starts, command->ends, command->by);
	return 7;
}

void event_refused(u64 number, const char *why)
{
	size_t n = strlen(event_told);

	snprintf(event_told + n, sizeof(event_told) - n, ", %lu refused: %s", number, why);
}

#endif
