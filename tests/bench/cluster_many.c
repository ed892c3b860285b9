// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two programs for the head of the cluster of cluster_many.py, small enough that they do not count.
 * `ssh HOST PROGRAM`: an order to the node's model, by a socket, and its answer. `NAME PROGRAM
 * ARGUMENT...`: runs it, and writes down what it took: NAME, CPU seconds of it and all its
 * children, KiB of the largest of them, seconds.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SOCKET "/mnt/nodes.socket"
#define USAGE "/mnt/usage"

static void copy(int from, int to)
{
	char data[65536];
	ssize_t size;

	while ((size = read(from, data, sizeof(data))) > 0) {
		if (write(to, data, size) != size)
			_exit(1);
	}
}

static int ssh(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		perror(SOCKET);
		return 255;
	}
	copy(STDIN_FILENO, fd);
	shutdown(fd, SHUT_WR);
	copy(fd, STDOUT_FILENO);
	return 0;
}

static double seconds(struct timeval time)
{
	return time.tv_sec + time.tv_usec / 1e6;
}

static int timed(char **words)
{
	struct rusage usage;
	struct timespec begin, end;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = fork();
	if (pid == 0) {
		execv(words[2], words + 2);
		_exit(127);
	}
	wait4(pid, &status, 0, &usage);
	clock_gettime(CLOCK_MONOTONIC, &end);
	FILE *file = fopen(USAGE, "a");
	if (file) {
		fprintf(file, "%s %.3f %ld %.3f\n", words[1],
			seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss,
			end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9);
		fclose(file);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int count, char **words)
{
	if (count == 3 && strcmp(words[2], "margay-node") == 0)
		return ssh();
	return count > 2 ? timed(words) : 2;
}
