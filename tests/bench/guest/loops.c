/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loops NAME: a loop of what programs ask of a kernel, between markers 1 and
 * 2. NAME: fork (and exec), switch (context switches over a pipe), fault
 * (page faults), mmap, compute, memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../marker.h"
#include "work.h"

#define MIB (1ul << 20)

static void fork_exec(void)
{
	for (int i = 0; i < 100; i++)
		run_child();
}

static void context_switch(void)
{
	int there[2], back[2];
	char byte = 0;
	pid_t pid;

	check(pipe(there) == 0 && pipe(back) == 0, "pipe");
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1)
			check(write(back[1], &byte, 1) == 1, "write");
		_exit(0);
	}
	for (int i = 0; i < 5000; i++) {
		check(write(there[1], &byte, 1) == 1, "write");
		check(read(back[0], &byte, 1) == 1, "read");
	}
	close(there[1]);
	check(waitpid(pid, NULL, 0) == pid, "wait");
}

static void page_fault(void)
{
	for (int i = 0; i < 4; i++) {
		char *p = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		check(p != MAP_FAILED && madvise(p, 32 * MIB, MADV_NOHUGEPAGE) == 0, "mmap");
		for (size_t at = 0; at < 32 * MIB; at += 4096)
			p[at] = 1;
		munmap(p, 32 * MIB);
	}
}

static void map_unmap(void)
{
	for (int i = 0; i < 10000; i++) {
		void *p = mmap(NULL, 16 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		check(p != MAP_FAILED && munmap(p, 16 * 4096) == 0, "mmap");
	}
}

static void compute(void)
{
	double x = 0.5;

	for (int i = 0; i < 100000000; i++)
		x = 3.9 * x * (1 - x);
	check(x > 0 && x < 1, "logistic map");
}

static void memory(void)
{
	const size_t count = 8 * MIB;
	volatile unsigned long *p = calloc(count, sizeof(*p));
	unsigned long x = 1;

	check(p != NULL, "calloc");
	for (int i = 0; i < 20000000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		p[x >> 41] ^= x;
	}
	free((void *)p);
}

static const struct {
	const char *name;
	void (*run)(void);
} loop[] = {
	{ "fork", fork_exec }, { "switch", context_switch }, { "fault", page_fault },
	{ "mmap", map_unmap }, { "compute", compute },       { "memory", memory },
};

int main(int argc, char **argv)
{
	if (is_child(argc, argv))
		return 0;
	for (unsigned i = 0; argc > 1 && i < sizeof(loop) / sizeof(loop[0]); i++) {
		if (strcmp(loop[i].name, argv[1]))
			continue;
		MARKER(1);
		loop[i].run();
		MARKER(2);
		return 0;
	}
	fprintf(stderr, "loops: no such loop\n");
	return 2;
}
