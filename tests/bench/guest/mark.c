/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mark N: executes marker N (1..3), so that a script can say where it is. mark run PROGRAM
 * [ARGUMENT]...: marker 1, the program, and marker 2 at its end. What starts this one, exits in a
 * guest for its C library's CPUIDs among it, is not between them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../marker.h"

static int run(char **command)
{
	int status;
	pid_t child;

	MARKER(1);
	child = fork();
	if (!child) {
		execv(command[0], command);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 2;
	MARKER(2);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "run"))
		return run(argv + 2);
	switch (argc > 1 ? atoi(argv[1]) : 0) {
	case 1: MARKER(1); return 0;
	case 2: MARKER(2); return 0;
	case 3: MARKER(3); return 0;
	default: return 2;
	}
}
