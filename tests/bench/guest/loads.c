/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loads NAME MILLISECONDS: so much of a load by the clock, between markers 1
 * and 2. NAME: idle, compute, fork (and exec), switch (context switches over a
 * pipe), timer (sleeps of a millisecond), console (lines), or cpuid: no time,
 * but that instruction, once.
 */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../marker.h"
#include "work.h"

#define SECOND 1000000000ull
#define BEGIN() do { STOP(); MARKER(1); } while (0)
#define END() do { MARKER(2); STOP(); } while (0)

static int there[2], back[2];
static unsigned long long window; /* in nanoseconds */

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * SECOND + (unsigned long long)t.tv_nsec;
}

static void idle(void)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(window / SECOND), .tv_nsec = (long)(window % SECOND) }, NULL);
}

static void compute(void)
{
	for (volatile int i = 0; i < 100000;)
		i = i + 1;
}

/* The other side of the pipe. */
static void echo(void)
{
	char byte;

	check(pipe(there) == 0 && pipe(back) == 0, "pipe");
	if (fork() == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1)
			check(write(back[1], &byte, 1) == 1, "write");
		_exit(0);
	}
}

static void context_switch(void)
{
	char byte = 0;

	check(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pipe");
}

static void timer(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void console(void)
{
	static const char line[] = "load-console: what a guest says goes to the node's serial line\n";

	check(write(1, line, sizeof(line) - 1) == sizeof(line) - 1, "console");
}

static const struct {
	const char *name;
	void (*prepare)(void), (*run)(void);
} load[] = {
	{ "idle", NULL, idle },           { "compute", NULL, compute }, { "fork", NULL, run_child },
	{ "switch", echo, context_switch }, { "timer", NULL, timer },     { "console", NULL, console },
};

int main(int argc, char **argv)
{
	unsigned a, b, c, d;

	if (is_child(argc, argv))
		return 0;
	if (argc > 1 && !strcmp(argv[1], "cpuid")) {
		BEGIN();
		__cpuid(0, a, b, c, d);
		END();
		return 0;
	}
	window = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000000 : 0;
	for (unsigned i = 0; window && i < sizeof(load) / sizeof(load[0]); i++) {
		unsigned long long end;

		if (strcmp(load[i].name, argv[1]))
			continue;
		if (load[i].prepare)
			load[i].prepare();
		end = now() + window;
		BEGIN();
		while (now() < end)
			load[i].run();
		END();
		return 0;
	}
	fprintf(stderr, "loads: no such load\n");
	return 2;
}
