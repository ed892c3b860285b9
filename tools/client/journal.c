/* SPDX-License-Identifier: GPL-2.0-only */
/* See journal.h. */
#include "journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int to = -1;
static char entry[8192];
static size_t size;

void journal_close(void)
{
	if (to >= 0)
		close(to);
	to = -1;
}

int journal_open(int seconds)
{
	const struct timeval patience = { .tv_sec = seconds };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv(JOURNAL_VARIABLE);

	if (!path)
		path = JOURNAL_SOCKET;
	if (!*path || strlen(path) >= sizeof(address.sun_path))
		return 0;
	strcpy(address.sun_path, path);
	to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (to >= 0 && !setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) &&
	    !connect(to, (const struct sockaddr *)&address, sizeof(address)))
		return 1;
	journal_close();
	return 0;
}

void journal_begin(int priority, const char *identifier)
{
	size = 0;
	journal_field("PRIORITY", "%d", priority);
	journal_field("SYSLOG_IDENTIFIER", "%s", identifier);
}

void journal_field(const char *name, const char *format, ...)
{
	char value[2048];
	va_list ap;
	int n;

	va_start(ap, format);
	vsnprintf(value, sizeof(value), format, ap);
	va_end(ap);
	for (char *c = value; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	n = snprintf(entry + size, sizeof(entry) - size, "%s=%s\n", name, value);
	/* One that has no room is left out. */
	if (*value && (size_t)n < sizeof(entry) - size)
		size += (size_t)n;
}

int journal_end(void)
{
	ssize_t sent;

	do
		sent = send(to, entry, size, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}
