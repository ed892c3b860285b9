/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands that take their time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "ends.h"
#include "json.h"
#include "margay.h"
#include "shapes.h"
#include "waiting.h"

#define SHORTEST 0.1 /* seconds */
#define LONGEST 86400
#define STOP_SECONDS 60
#define AGAIN_SECONDS 5

double seconds_of(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= SHORTEST && seconds <= LONGEST))
		fail(USAGE, text, "expected seconds, 0.1 to 86400");
	return seconds;
}

static void put_vm(char *lines)
{
	if (json)
		shape_answer(MANAGEMENT_SHOW, lines);
	else
		answer_table(lines);
	free(lines);
}

/* ---- wait, start ------------------------------------------------------------------------ */

static int goes_no_further(const char *lines, void *)
{
	return vm_is_over(lines) || vm_has_crashed(lines);
}

void command_wait(const struct words *w)
{
	char *lines = wait_until(w->arg[0], goes_no_further, NULL, -1);

	result = end_status(lines);
	put_vm(lines);
}

static unsigned long starts_of(const char *lines)
{
	char starts[24] = "0";

	margay_value(lines, "starts", starts, sizeof(starts));
	return strtoul(starts, NULL, 10);
}

struct start {
	unsigned long before; /* starts */
	unsigned over; /* how often it has been seen over without one more */
};

/*
 * Between the end of its last run and this start it may be seen as over, once: a second look finds
 * it over if it stays so.
 */
static int has_started(const char *lines, void *data)
{
	struct start *s = data;
	int over = vm_is_over(lines);

	if (over && starts_of(lines) == s->before)
		return ++s->over > 1 ? 1 : -1;
	return over || vm_runs(lines) || vm_has_crashed(lines);
}

/* Why it does not run: its file with the line of it, and the node's words. */
static void fail_start(const char *name, const char *lines)
{
	char kind[32], why[300] = "", file[70] = "", line[16] = "0", text[500];
	int status = end_status(lines), started;

	end_kind(lines, kind, sizeof(kind));
	started = strcmp(kind, "not-started") != 0;
	margay_value(lines, "why", why, sizeof(why));
	margay_value(lines, "file", file, sizeof(file));
	margay_value(lines, "line", line, sizeof(line));
	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s",
		 started ? "it has ended: " : "it has not started", started ? kind : "",
		 *why ? ": " : "", strcmp(line, "0") != 0 ? file : "",
		 strcmp(line, "0") != 0 ? ":" : "", strcmp(line, "0") != 0 ? line : "",
		 strcmp(line, "0") != 0 ? ": " : "");
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", why);
	fail(status ? status : REFUSED, name, text);
}

void command_start(const struct words *w)
{
	struct start s = { 0 };
	char *lines;

	if (!w->wait) {
		ask(MANAGEMENT_START, w->arg[0], NULL);
		done();
		return;
	}
	lines = lines_of(MANAGEMENT_SHOW, w->arg[0]);
	s.before = starts_of(lines);
	free(lines);
	ask(MANAGEMENT_START, w->arg[0], NULL);
	lines = wait_until(w->arg[0], has_started, &s, -1);
	if (!vm_runs(lines))
		fail_start(w->arg[0], lines);
	if (json)
		put_vm(lines);
}

/* ---- stop ------------------------------------------------------------------------------- */

/* 0, or ENODEV: it does not run. All else ends the program. */
static int call(enum management_request what, const char *name)
{
	char *answer;
	int err = margay_call(node, what, name, strlen(name), &answer, NULL);

	if (err < 0)
		fail_channel();
	if (err == ENOSYS)
		fail(REFUSED, name, "this node gives guests no power button: kill ends it");
	if (err && err != ENODEV)
		fail(REFUSED, answer, NULL);
	return err;
}

static int is_over(const char *lines, void *)
{
	return vm_is_over(lines);
}

/*
 * Presses its power button, and ends it as kill does if its guest has not ended by then; it is over
 * when this returns. One that boots hears of a later press only, one that does not even start yet
 * is ended at once.
 */
void command_stop(const struct words *w)
{
	const char *name = w->arg[0];
	double left = w->timeout ? seconds_of(w->timeout) : STOP_SECONDS;
	char *lines = NULL;
	int runs = !call(MANAGEMENT_PRESS, name), killed;

	while (runs && left > 0) {
		lines = wait_until(name, goes_no_further, NULL,
				   left < AGAIN_SECONDS ? left : AGAIN_SECONDS);
		left -= AGAIN_SECONDS;
		if (lines)
			break;
		if (left > 0)
			call(MANAGEMENT_PRESS, name);
	}
	killed = !lines || !vm_is_over(lines);
	free(lines);
	if (!runs)
		ask(MANAGEMENT_STOP, name, NULL);
	else if (killed && call(MANAGEMENT_STOP, name) == ENODEV)
		killed = 0;
	if (killed)
		free(wait_until(name, is_over, NULL, -1));
	if (!json) {
		printf("%s: %s\n", name, killed ? "it is ended at once" : "it has ended by itself");
		return;
	}
	printf("{\"name\":");
	json_text(name, strlen(name));
	printf(",\"killed\":%s}\n", killed ? "true" : "false");
}

/* ---- stats ------------------------------------------------------------------------------ */

/* Prints again each period, until it is interrupted or the VM does not run any more. */
static void follow(const char *name, double seconds)
{
	long ns = (long)(seconds * 1e9);
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (const char *gap = "";; gap = "\n") {
		time_t now = time(NULL);
		char *lines = lines_of(MANAGEMENT_STATS, name);

		if (json) {
			shape_stats_at((unsigned long)now, lines);
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
void command_stats(const struct words *w)
{
	if (!w->follow && w->n > 1)
		fail(USAGE, "stats", "expected [-f [SECONDS]] VM");
	if (w->follow)
		follow(w->arg[w->n - 1], w->n > 1 ? seconds_of(w->arg[0]) : 1);
	else
		show(MANAGEMENT_STATS, w->arg[0]);
}
