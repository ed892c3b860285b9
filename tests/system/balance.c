/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first program of a guest of two NUMA nodes with a CPU each: test_numa_balancing.py. It writes
 * memory on one CPU, then goes on doing so on the other, and says how many pages Linux has moved.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define PAGES 4096u
#define PAGE 4096u
#define SECONDS 60

static void end(void)
{
	fflush(stdout);
	tcdrain(1);
	reboot(RB_POWER_OFF);
}

static void must(const char *what, long result)
{
	if (result < 0) {
		printf("balance: failed: %s: %s\n", what, strerror(errno));
		end();
	}
}

static unsigned long migrated(void)
{
	static char text[65536];
	int fd = open("/proc/vmstat", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	const char *at;

	must("/proc/vmstat", n);
	close(fd);
	text[n] = 0;
	at = strstr(text, "numa_pages_migrated ");
	must("numa_pages_migrated", at ? 0 : -1);
	return strtoul(at + strlen("numa_pages_migrated "), NULL, 10);
}

static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must("sched_setaffinity", sched_setaffinity(0, sizeof(set), &set));
}

static void touch(volatile char *memory)
{
	for (unsigned i = 0; i < PAGES; i++)
		memory[i * PAGE]++;
}

int main(void)
{
	unsigned long before, now;
	char *memory;
	time_t begun;

	mount("proc", "/proc", "proc", 0, NULL);
	go_to(0);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	must("mmap", memory == MAP_FAILED ? -1 : 0);
	must("madvise", madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE));
	touch(memory);
	before = now = migrated();
	go_to(1);
	for (begun = time(NULL); time(NULL) - begun < SECONDS && now - before < PAGES / 2;) {
		touch(memory);
		now = migrated();
	}
	printf("balance: %lu of %u pages moved\n", now - before, PAGES);
	end();
	for (;;)
		pause();
}
