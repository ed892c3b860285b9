/* SPDX-License-Identifier: GPL-2.0-only */
/* See waiting.h. */
#include "waiting.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "margay.h"

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

char *wait_until(const char *name, waiting_fn *is, void *data, double seconds)
{
	double begin = now();

	for (;;) {
		char *lines = lines_of(COMMANDER_SHOW, name);

		if (is(lines, data))
			return lines;
		free(lines);
		if (seconds >= 0 && now() - begin >= seconds)
			return NULL;
		pause_ms(POLL_MS);
	}
}
