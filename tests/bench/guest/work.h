/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What loops.c and loads.c share: an error ends them, and a fork with exec, of the program itself.
 */
#ifndef TESTS_BENCH_WORK_H
#define TESTS_BENCH_WORK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

/* Forks; the child executes this program anew, which is_child() has to end. */
static inline void run_child(void)
{
	int status;
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (pid == 0) {
		execl("/proc/self/exe", "work", "nothing", NULL);
		_exit(1);
	}
	check(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

static inline int is_child(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "nothing");
}

#endif
