/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * forks N: forks N processes one after the other; each writes to its own copy
 * of a page and hands back a value. Prints "ok N" or what went wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned page[1024] = { 1 };

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	for (unsigned long i = 0; i < n; i++) {
		int status;
		pid_t pid = fork();

		if (pid < 0) {
			printf("fork %lu failed\n", i);
			return 1;
		}
		if (pid == 0) {
			page[i % 1024] += (unsigned)i;
			_exit((int)(page[i % 1024] & 0x7f));
		}
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != (int)((page[i % 1024] + i) & 0x7f)) {
			printf("child %lu ended with status %#x\n", i, status);
			return 1;
		}
	}
	printf("ok %lu\n", n);
	return 0;
}
