/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loads NAME MILLISECONDS [1]: so much of a load by the clock, between markers 1
 * and 2; with 1 on all other CPUs, too. NAME: idle, compute, fork (and exec),
 * switch (context switches over a pipe), timer (sleeps of a millisecond),
 * console (lines), nvme (direct reads), igb (TCP to that card, where `loads sink`
 * takes what comes), or cpuid: no time, but that instruction, once.
 */
#define _GNU_SOURCE /* sched_setaffinity(), O_DIRECT */
#include <arpa/inet.h>
#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "../marker.h"
#include "work.h"

#define SECOND 1000000000ull
#define BEGIN() \
	do { \
		STOP(); \
		MARKER(1); \
	} while (0)
#define END() \
	do { \
		MARKER(2); \
		STOP(); \
	} while (0)

#define BLOCK 65536

static int there[2], back[2], disk, network;
static char block[BLOCK] __attribute__((aligned(4096)));
static unsigned long long window; /* in nanoseconds */

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * SECOND + (unsigned long long)t.tv_nsec;
}

static void idle(void)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(window / SECOND),
				      .tv_nsec = (long)(window % SECOND) },
		  NULL);
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
	static const char line[] =
		"load-console: what a guest says goes to the node's serial line\n";

	check(write(1, line, sizeof(line) - 1) == sizeof(line) - 1, "console");
}

static void open_disk(void)
{
	disk = open("/dev/nvme0n1", O_RDONLY | O_DIRECT);
	check(disk >= 0, "nvme0n1");
}

static void read_disk(void)
{
	static off_t at;

	check(pread(disk, block, BLOCK, at) == BLOCK, "nvme0n1");
	at = (at + BLOCK) % (256 << 20);
}

static struct sockaddr_in igb = { .sin_family = AF_INET };

static void connect_network(void)
{
	igb.sin_port = htons(9);
	igb.sin_addr.s_addr = inet_addr("10.0.0.2");
	network = socket(AF_INET, SOCK_STREAM, 0);
	check(network >= 0 && connect(network, (struct sockaddr *)&igb, sizeof(igb)) == 0,
	      "connect");
}

static void send_network(void)
{
	check(write(network, block, BLOCK) > 0, "send");
}

/* A process for each connection, to its end. */
static int sink(void)
{
	int listening = socket(AF_INET, SOCK_STREAM, 0), from;

	igb.sin_port = htons(9);
	signal(SIGCHLD, SIG_IGN);
	check(listening >= 0 && bind(listening, (struct sockaddr *)&igb, sizeof(igb)) == 0 &&
		      listen(listening, 8) == 0,
	      "sink");
	while ((from = accept(listening, NULL, NULL)) >= 0) {
		if (fork() == 0) {
			while (read(from, block, BLOCK) > 0)
				;
			_exit(0);
		}
		close(from);
	}
	return 1;
}

static const struct load {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
} load[] = {
	{ "idle", NULL, idle },           { "compute", NULL, compute },
	{ "fork", NULL, run_child },      { "switch", echo, context_switch },
	{ "timer", NULL, timer },         { "console", NULL, console },
	{ "nvme", open_disk, read_disk }, { "igb", connect_network, send_network },
};

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(sched_setaffinity(0, sizeof(set), &set) == 0, "sched_setaffinity");
}

/*
 * Has the load go on on each CPU but 0, in one process group for all, to which the caller does not
 * belong; and stays on 0.
 */
static pid_t run_elsewhere(const struct load *l)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pid_t group = 0;

	stay_on(0);
	for (int cpu = 1; cpu < cpus; cpu++) {
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (pid == 0) {
			stay_on(cpu);
			if (l->prepare)
				l->prepare();
			for (;;)
				l->run();
		}
		if (!group)
			group = pid;
		check(setpgid(pid, group) == 0, "setpgid");
	}
	/* All of them are where they stay by then. */
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	return group;
}

int main(int argc, char **argv)
{
	unsigned a, b, c, d;
	pid_t others = 0;

	if (is_child(argc, argv))
		return 0;
	if (argc > 1 && !strcmp(argv[1], "sink"))
		return sink();
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
		if (argc > 3)
			others = run_elsewhere(&load[i]);
		if (load[i].prepare)
			load[i].prepare();
		end = now() + window;
		BEGIN();
		while (now() < end)
			load[i].run();
		END();
		if (others)
			kill(-others, SIGKILL);
		return 0;
	}
	fprintf(stderr, "loads: no such load\n");
	return 2;
}
