/* SPDX-License-Identifier: GPL-2.0-only */
/* A VM's console: what its guest writes, and what is typed. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "margay.h"
#include "plain.h"

#define DETACH 0x1d /* Ctrl-] */
#define LAST_PIECES 8 /* of 32 KiB: more than is kept */

/*
 * Some of what it has written since *at: so many bytes. plain: what is text of them; NULL: as they
 * are.
 */
static size_t put_output(const char *name, unsigned long *at, struct plain *plain)
{
	char text[100], next[24], *answer, *output;
	size_t size;

	snprintf(text, sizeof(text), "%.60s %lu", name, *at);
	answer = ask(MANAGEMENT_READ, text, &size);
	output = strchr(answer, '\n');
	if (!output || !margay_value(answer, "next", next, sizeof(next)))
		fail(BROKEN, "an answer without an offset", NULL);
	*at = strtoul(next, NULL, 10);
	size -= (size_t)(output + 1 - answer);
	if (plain)
		plain_write(plain, output + 1, size, stdout);
	else
		fwrite(output + 1, 1, size, stdout);
	fflush(stdout);
	return size;
}

static struct termios before;

static void restore(void)
{
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void killed(int signal)
{
	restore();
	_exit(128 + signal);
}

static void make_raw(const char *name, int plain)
{
	struct termios raw = before;

	fprintf(stderr, "margay: %s: Ctrl-] leaves%s\n", name,
		plain ? "; without escape sequences (--raw)" : "");
	cfmakeraw(&raw);
	atexit(restore);
	signal(SIGTERM, killed);
	signal(SIGHUP, killed);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

/* To who types: it hears nothing of that until somebody lets it go on. */
static void say_if_paused(const char *name)
{
	char state[24], *vm = lines_of(MANAGEMENT_SHOW, name);

	if (margay_value(vm, "state", state, sizeof(state)) && !strcmp(state, "paused"))
		fprintf(stderr,
			"margay: %s is paused: it hears what is typed when margay resume %s lets it go on\n",
			name, name);
	free(vm);
}

void command_console(const struct words *w)
{
	int terminal = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &before);
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned long at = 0;
	char text[MANAGEMENT_TYPED + 64];
	struct plain state = { 0 }, *plain = w->raw ? NULL : &state;
	size_t head = (size_t)snprintf(text, sizeof(text), "%.60s\n", w->arg[0]);

	if (terminal) {
		say_if_paused(w->arg[0]);
		make_raw(w->arg[0], plain != NULL);
	}
	for (;;) {
		char *answer, *leave;
		int err, patience = put_output(w->arg[0], &at, plain) ? 0 : POLL_MS;
		ssize_t n;

		if (poll(&in, 1, patience) <= 0)
			continue;
		n = read(STDIN_FILENO, text + head, MANAGEMENT_TYPED);
		leave = n > 0 && terminal ? memchr(text + head, DETACH, (size_t)n) : NULL;
		if (leave)
			n = leave - text - (ssize_t)head;
		if (n > 0) {
			err = margay_call(node, MANAGEMENT_WRITE, text, head + (size_t)n, &answer,
					  NULL);
			if (err < 0)
				fail_channel();
			if (err)
				fail(REFUSED, answer, NULL);
		}
		if (n <= 0 || leave)
			break;
	}
	/* What is there now: it may never stop. */
	for (unsigned n = 0; n < LAST_PIECES && put_output(w->arg[0], &at, plain); n++)
		;
}
