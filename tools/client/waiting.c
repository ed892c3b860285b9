/* SPDX-License-Identifier: GPL-2.0-only */
/* See waiting.h. */
#include "waiting.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "margay.h"
#include "watch.h"

#define SELDOM 20       /* a look takes so much of the time that has passed, */
#define LONGEST_MS 1000 /* but not more than this */

static int state_is(const char *lines, const char *const *states)
{
	char state[32] = "";

	margay_value(lines, "state", state, sizeof(state));
	for (; *states; states++)
		if (!strcmp(state, *states))
			return 1;
	return 0;
}

int vm_runs(const char *lines)
{
	return state_is(lines, (const char *const[]){ "running", "paused", NULL });
}

int vm_has_crashed(const char *lines)
{
	return state_is(lines, (const char *const[]){ "crashed", NULL });
}

int vm_is_over(const char *lines)
{
	return !vm_runs(lines) && !vm_has_crashed(lines) &&
	       !state_is(lines, (const char *const[]){ "changing", "waiting", NULL });
}

void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * By who watches for all; without him by oneself, the longer it has taken the more seldom. Who
 * watches; -1: nobody any more.
 */
static int wait_for_news(int watch, double passed, double seconds)
{
	struct pollfd news = { .fd = watch, .events = POLLIN };
	long ms = MIN(MAX((long)(passed * 1000 / SELDOM), POLL_MS), LONGEST_MS);
	int patience = seconds < 0 ? -1 : (int)((seconds - passed) * 1000) + 1;
	char bytes[64];

	if (watch < 0) {
		pause_ms(ms);
		return -1;
	}
	if (poll(&news, 1, patience) <= 0 || read(watch, bytes, sizeof(bytes)) > 0)
		return watch;
	close(watch);
	return -1;
}

char *wait_until(const char *name, waiting_fn *is, void *data, double seconds)
{
	int watch = watch_connect(name);
	double begin = now(), passed;
	char *lines;
	int so;

	for (;;) {
		lines = lines_of(MANAGEMENT_SHOW, name);
		so = is(lines, data);
		if (so > 0)
			break;
		free(lines);
		lines = NULL;
		passed = now() - begin;
		if (seconds >= 0 && passed >= seconds)
			break;
		if (so < 0)
			pause_ms(POLL_MS);
		else
			watch = wait_for_news(watch, passed, seconds);
	}
	if (watch >= 0)
		close(watch);
	return lines;
}
