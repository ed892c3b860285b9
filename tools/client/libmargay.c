/* SPDX-License-Identifier: GPL-2.0-only */
/* See libmargay.h. */
#include "libmargay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port.h"

struct margay {
	/* -1: no port is open; beyond an answer */
	int fd;
	int held;
	/* the node has been told of the user, by the port that is open */
	int introduced;
	char user[MARGAY_USER_MAX + 1];

	u32 tag;
	union {
		struct management_message head;
		char bytes[MANAGEMENT_MAX + 1];
	} out, in;
};

struct margay *margay_open(char *error, size_t size)
{
	struct margay *m = port_there(error, size) ? calloc(1, sizeof(*m)) : NULL;

	if (!m)
		return NULL;
	m->fd = -1;
	/* An answer to who was here before has another tag. */
	m->tag = (u32)getpid() << 12;
	return m;
}

void margay_close(struct margay *m)
{
	margay_hold(m, 0);
	free(m);
}

int margay_hold(struct margay *m, int hold)
{
	if (hold && m->fd < 0)
		m->fd = port_open();
	else if (!hold && m->fd >= 0)
		close(m->fd);
	if (!hold) {
		m->fd = -1;
		m->introduced = 0;
	}
	m->held = hold && m->fd >= 0;
	return hold && m->fd < 0 ? -1 : 0;
}

/* ---- requests ------------------------------------------------------------------------------- */

static int get(int fd, char *to, size_t n)
{
	while (n) {
		ssize_t got = read(fd, to, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : EPIPE;
			return -1;
		}
		to += got;
		n -= (size_t)got;
	}
	return 0;
}

char *margay_place(struct margay *m)
{
	return m->out.bytes + sizeof(m->out.head);
}

/* With its port open. */
static int call(struct margay *m, enum management_request what, const void *data, size_t n)
{
	ssize_t sent;

	if (n > MARGAY_DATA_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	m->out.head = (struct management_message){ MANAGEMENT_MAGIC, MANAGEMENT_VERSION, (u16)what,
						   ++m->tag, (u32)n };
	if (data != margay_place(m))
		memmove(margay_place(m), data, n);
	do
		sent = write(m->fd, m->out.bytes, sizeof(m->out.head) + n);
	while (sent < 0 && errno == EINTR);
	if (sent != (ssize_t)(sizeof(m->out.head) + n)) {
		errno = sent < 0 ? errno : EIO;
		return -1;
	}
	/* An answer to somebody who was here before may still be on its way. */
	do {
		if (get(m->fd, m->in.bytes, sizeof(m->in.head)))
			return -1;
		if (m->in.head.magic != MANAGEMENT_MAGIC || m->in.head.size > MARGAY_DATA_MAX) {
			errno = EPROTO;
			return -1;
		}
		if (get(m->fd, m->in.bytes + sizeof(m->in.head), m->in.head.size))
			return -1;
	} while (m->in.head.tag != m->tag);
	return 0;
}

void margay_set_user(struct margay *m, const char *user)
{
	snprintf(m->user, sizeof(m->user), "%s", user ? user : "");
	m->introduced = 0;
}

/* Is it one whose event says who has sent it? */
static int names_user(enum management_request what)
{
	static const enum management_request those[] = {
		MANAGEMENT_CREATE, MANAGEMENT_DESTROY, MANAGEMENT_START,       MANAGEMENT_STOP,
		MANAGEMENT_PRESS,  MANAGEMENT_RESTART, MANAGEMENT_PAUSE,       MANAGEMENT_RESUME,
		MANAGEMENT_NMI,    MANAGEMENT_IMAGE,   MANAGEMENT_IMAGE_REMOVE
	};

	for (unsigned i = 0; i < sizeof(those) / sizeof(*those); i++)
		if (what == those[i])
			return 1;
	return 0;
}

/* By the port that is open: a node that does not know that answers all the same. */
static int introduce(struct margay *m)
{
	char text[sizeof("user=") + MARGAY_USER_MAX];
	int n = snprintf(text, sizeof(text), "user=%s", m->user);

	m->introduced = 1;
	return call(m, MANAGEMENT_HELLO, text, (size_t)n);
}

int margay_call(struct margay *m, enum management_request what, const void *data, size_t n,
		char **answer, size_t *size)
{
	int held = m->held, err = 0, why;

	if (!held && margay_hold(m, 1))
		return -1;
	if (m->user[0] && !m->introduced && names_user(what))
		err = introduce(m);
	if (!err)
		err = call(m, what, data, n);
	why = errno;
	if (!held)
		margay_hold(m, 0);
	errno = why;
	if (err)
		return -1;
	*answer = m->in.bytes + sizeof(m->in.head);
	(*answer)[m->in.head.size] = 0;
	if (size)
		*size = m->in.head.size;
	return m->in.head.what;
}

int margay_value(const char *text, const char *key, char *value, size_t size)
{
	size_t n = strlen(key);

	for (; *text && *text != '\n'; text += strcspn(text, "\t\n"), text += *text == '\t') {
		if (strncmp(text, key, n) != 0 || text[n] != '=')
			continue;
		snprintf(value, size, "%.*s", (int)strcspn(text + n + 1, "\t\n"), text + n + 1);
		return 1;
	}
	return 0;
}

/*
 * Takes the last line of an answer that did not fit off: the line to ask on from, 0: it is whole.
 */
static unsigned long take_cut(char *answer)
{
	static const char cut[] = "truncated=yes\tfrom=";
	char *last = answer + strlen(answer);
	unsigned long from;

	while (last > answer && (last[-1] != '\n' || !*last))
		last--;
	if (strncmp(last, cut, sizeof(cut) - 1) != 0)
		return 0;
	from = strtoul(last + sizeof(cut) - 1, NULL, 10);
	*last = 0;
	return from;
}

int margay_lines(struct margay *m, enum management_request what, const char *text, char **lines)
{
	unsigned long from = 0, before = 0;
	size_t size = 0, n;
	char ask[200], *answer, *more;
	int err;

	*lines = NULL;
	do {
		snprintf(ask, sizeof(ask), from ? "%.100s\nfrom=%lu" : "%.100s", text, from);
		err = margay_call(m, what, ask, strlen(ask), &answer, NULL);
		if (err < 0)
			break;
		before = from;
		from = err ? 0 : take_cut(answer);
		n = strlen(answer);
		/* An error is all there is to say. */
		size = err ? 0 : size;
		more = realloc(*lines, size + n + 1);
		if (!more || (from && from <= before)) {
			errno = more ? EPROTO : ENOMEM;
			*lines = more ? more : *lines;
			err = -1;
			break;
		}
		*lines = more;
		memcpy(*lines + size, answer, n + 1);
		size += n;
	} while (from);
	if (err < 0) {
		free(*lines);
		*lines = NULL;
	}
	return err;
}
