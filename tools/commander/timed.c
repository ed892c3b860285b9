/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands that take their time: they ask the node again and again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "margay.h"

#define SHORTEST 0.1 /* seconds */
#define LONGEST 86400
#define STOP_SECONDS 60
#define AGAIN_MS 5000
_Static_assert(AGAIN_MS % POLL_MS == 0, "looked at every POLL_MS");

/* They may have a fraction. */
static double seconds_of(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= SHORTEST && seconds <= LONGEST))
		fail(USAGE, text, "expected seconds, 0.1 to 86400");
	return seconds;
}

/* CRASHED: nothing more will happen, but it has its CPUs and memory (on_crash = dump). */
enum { CRASHED = 2 };

static int is_over(const char *name)
{
	char state[32] = "";

	margay_value(ask(COMMANDER_SHOW, name, NULL), "state", state, sizeof(state));
	if (!strcmp(state, "crashed"))
		return CRASHED;
	return strcmp(state, "running") && strcmp(state, "paused") && strcmp(state, "changing") && strcmp(state, "waiting");
}

void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

void command_wait(char **args)
{
	while (!is_over(args[0]))
		pause_ms(POLL_MS);
	show(COMMANDER_SHOW, args[0]);
}

/* 0, or ENODEV: it does not run. All else ends the program. */
static int call(enum commander_request what, const char *name)
{
	char *answer;
	int err = margay_call(node, what, name, strlen(name), &answer, NULL);

	if (err < 0)
		fail(BROKEN, "the channel broke", strerror(errno));
	if (err == ENOSYS)
		fail(REFUSED, name, "this node gives guests no power button: kill ends it");
	if (err && err != ENODEV)
		fail(REFUSED, answer, NULL);
	return err;
}

/*
 * Presses its power button, and ends it as kill does if its guest has not ended by then. One that boots hears of a later press
 * only, one that does not even start yet is ended at once.
 */
void command_stop(char **args)
{
	const char *name = args[1] ? args[2] : args[0];
	double left = STOP_SECONDS;
	int runs, over = 0;

	if (!name || (args[1] && strcmp(args[0], "--timeout") != 0))
		fail(USAGE, "stop", "expected [--timeout SECONDS] VM");
	if (args[1])
		left = seconds_of(args[1]);
	runs = !call(COMMANDER_PRESS, name);
	for (long ms = POLL_MS; runs && !(over = is_over(name)) && left > 0; ms += POLL_MS, left -= POLL_MS / 1e3) {
		pause_ms(POLL_MS);
		if (ms % AGAIN_MS == 0)
			call(COMMANDER_PRESS, name);
	}
	if (!runs)
		ask(COMMANDER_STOP, name, NULL);
	else if (over != 1 && call(COMMANDER_STOP, name) == ENODEV)
		over = 1;
	printf("%s: %s\n", name, over == 1 ? "it has ended by itself" : "it is ended at once");
}

/* Prints again each period, until it is interrupted or the VM does not run any more. */
static void follow(const char *name, double seconds)
{
	long ns = (long)(seconds * 1e9);
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (const char *gap = "";; gap = "\n") {
		time_t now = time(NULL);
		char *lines = lines_of(COMMANDER_STATS, name);

		if (json) {
			answer_json_lines(lines, "time", (unsigned long)now);
		} else {
			char when[32];

			strftime(when, sizeof(when), "%F %T", localtime(&now));
			printf("%s%s\n", gap, when);
			answer_table(lines);
		}
		free(lines);
		if (fflush(stdout))
			fail(BROKEN, "standard output", strerror(errno));
		next.tv_nsec += ns % 1000000000;
		next.tv_sec += ns / 1000000000 + next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
	}
}

/* VM, or -f [SECONDS] VM. */
void command_stats(char **args)
{
	if (strcmp(args[0], "-f") != 0 && !args[1])
		show(COMMANDER_STATS, args[0]);
	else if (strcmp(args[0], "-f") != 0 || !args[1])
		fail(USAGE, "stats", "expected [-f [SECONDS]] VM");
	else
		follow(args[2] ? args[2] : args[1], args[2] ? seconds_of(args[1]) : 1);
}
