/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stamp MIB: a program as NUMA-aware ones are: a process per CPU, pinned, works
 * in memory that it touched first. Each page begins with "MARGAYPG", the CPU,
 * and how often the process has written to the page. When all have done their
 * work it asks for a line of input, so that somebody can look for the pages,
 * and ends.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define SWEEPS 10

struct stamp {
	char magic[8];
	uint32_t cpu;
	uint32_t writes;
};

static int die(const char *what)
{
	perror(what);
	exit(1);
}

/*
 * Its accesses are counted from outside (qemu_memory.c), by the address of this section
 * (tools/guest-image).
 */
__attribute__((noipa, section(".counted"))) static void sweep(char *memory, size_t size,
							      unsigned cpu)
{
	for (size_t at = 0; at < size; at += PAGE) {
		volatile struct stamp *s = (volatile struct stamp *)(memory + at);

		s->cpu = cpu;
		s->writes++;
	}
}

/* The magic is put together here, so that it stands in no page of the program itself. */
static void work(unsigned cpu, size_t size)
{
	static const char backwards[] = "GPYAGRAM";
	cpu_set_t set;
	char *memory;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	for (size_t at = 0; at < size; at += PAGE)
		for (int i = 0; i < 8; i++)
			*(volatile char *)(memory + at + i) = backwards[7 - i];
	for (int i = 0; i < SWEEPS; i++)
		sweep(memory, size, cpu);
}

int main(int argc, char **argv)
{
	size_t size = (argc > 1 ? strtoul(argv[1], NULL, 0) : 16) << 20;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int done[2], end[2];
	char line[80];

	if (pipe(done) || pipe(end))
		die("pipe");
	for (long cpu = 0; cpu < cpus; cpu++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		close(end[1]);
		work((unsigned)cpu, size);
		if (write(done[1], "d", 1) != 1 || read(end[0], line, 1) != 0)
			die("pipe");
		return 0;
	}
	for (long cpu = 0; cpu < cpus; cpu++)
		if (read(done[0], line, 1) != 1)
			die("pipe");
	printf("margay-test: stamped: %lu pages on each of %ld CPUs, %d writes each\n", size / PAGE,
	       cpus, SWEEPS);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		die("input");
	close(end[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}
