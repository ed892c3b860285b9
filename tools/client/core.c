/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM's memory and registers as a file: it is paused meanwhile, if that may be, and goes on
 * whatever becomes of the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "margay.h"

#define DUMP_POLLS 100

static volatile sig_atomic_t interrupted;

static void interrupt(int)
{
	interrupted = 1;
}

static int stops(void)
{
	return interrupted;
}

/* Is it paused now, and was not before? All its vCPUs stand still then. */
static int pauses(const char *name)
{
	char paused[4] = "", may[100] = "", *answer;
	int err = 0, asked = 0;

	margay_value(ask(MANAGEMENT_HELLO, "", NULL), "may", may, sizeof(may));
	for (unsigned n = 0; n < DUMP_POLLS; n++) {
		answer = ask(MANAGEMENT_DUMP, name, NULL);
		margay_value(answer, "paused", paused, sizeof(paused));
		if (!strcmp(paused, "yes"))
			return asked;
		/* Who may not let it go on does not stop it. */
		if (!strstr(may, "create") || !strstr(may, "destroy")) {
			fprintf(stderr,
				"margay: %s runs on meanwhile: control_may does not have create and destroy\n",
				name);
			return 0;
		}
		if (!asked)
			err = margay_call(node, MANAGEMENT_PAUSE, name, strlen(name), &answer,
					  NULL);
		if (err < 0)
			fail_channel();
		asked = asked || !err;
		pause_ms(POLL_MS);
	}
	fprintf(stderr, "margay: %s: some of its vCPUs do not stand still\n", name);
	return asked;
}

void command_dump(const struct words *w)
{
	int fd = open(w->arg[1], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), paused, err, why;
	char *answer, said[500];

	if (fd < 0)
		fail(BROKEN, w->arg[1], strerror(errno));
	/* It goes on whatever becomes of the dump. */
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	signal(SIGHUP, interrupt);
	unfinished = w->arg[1];
	paused = pauses(w->arg[0]);
	err = margay_dump(node, w->arg[0], fd, stops, &answer);
	why = errno;
	if (!err && close(fd)) {
		err = -1;
		why = errno;
	}
	if (err)
		snprintf(said, sizeof(said), "%s", err > 0 ? answer : strerror(why));
	if (paused &&
	    margay_call(node, MANAGEMENT_RESUME, w->arg[0], strlen(w->arg[0]), &answer, NULL))
		fprintf(stderr, "margay: %s stays paused: resume it\n", w->arg[0]);
	if (err)
		fail(err > 0 ? REFUSED : BROKEN, err > 0 ? said : w->arg[1], err > 0 ? NULL : said);
	unfinished = NULL;
	done();
}
