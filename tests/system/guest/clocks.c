/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's clocks beside the reference clock that an image with DEBUG_CLOCK
 * shows at port 0x5f0 (vmm/dev/debug_clock.c).
 *
 * clocks drift SECONDS TIMES: a line "clocks: <reference> <monotonic> <window>
 *   <realtime> <window>" (ns) at once and every so many seconds. The reference
 *   was read within the window that ends with the clock's value.
 * clocks pause MS TIMES: pauses the VM so often, with such a line around each.
 * clocks ring THREADS READS: threads on as many CPUs take turns in reading
 *   CLOCK_MONOTONIC; prints "ok <reads> <largest step>" or how time went back.
 * clocks cost: TSC ticks of 1000 reads of each clock, the least of 100 tries.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <time.h>
#include <x86intrin.h>

#define PORT 0x5f0
#define TRIES 16

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t reference(void)
{
	uint32_t low = inl(PORT);

	return (uint64_t)inl(PORT + 4) << 32 | low;
}

static void line(void)
{
	uint64_t best[2] = { UINT64_MAX, UINT64_MAX }, at[2] = { 0 }, ref[2] = { 0 };

	for (int i = 0; i < 2 * TRIES; i++) {
		clockid_t clock = i % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
		uint64_t before = now(clock), r = reference(), after = now(clock);

		if (after - before < best[i % 2]) {
			best[i % 2] = after - before;
			at[i % 2] = after;
			ref[i % 2] = r;
		}
	}
	/* Both clocks for the same moment of the reference: the second is moved by what passed in between. */
	printf("clocks: %llu %llu %llu %llu %llu\n", (unsigned long long)ref[0], (unsigned long long)at[0],
	       (unsigned long long)best[0], (unsigned long long)(at[1] - (ref[1] - ref[0])), (unsigned long long)best[1]);
	fflush(stdout);
}

static int drift(unsigned seconds, unsigned times)
{
	line();
	for (unsigned i = 0; i < times; i++) {
		struct timespec t = { .tv_sec = seconds };

		nanosleep(&t, NULL);
		line();
	}
	return 0;
}

static int pause_vm(unsigned ms, unsigned times)
{
	line();
	for (unsigned i = 0; i < times; i++) {
		outl(ms, PORT + 8);
		line();
	}
	return 0;
}

struct ring {
	unsigned long turn __attribute__((aligned(64)));
	uint64_t last, step;
	unsigned threads;
	unsigned long reads;
	int bad;
};
static struct ring ring;

static void *ring_thread(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(me, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (;;) {
		unsigned long turn = __atomic_load_n(&ring.turn, __ATOMIC_ACQUIRE);
		uint64_t t;

		if (turn >= ring.reads)
			return NULL;
		if (turn % ring.threads != me) {
			_mm_pause();
			continue;
		}
		t = now(CLOCK_MONOTONIC);
		if (t < ring.last) {
			if (!ring.bad++)
				printf("back by %llu ns at read %lu on CPU %u\n", (unsigned long long)(ring.last - t), turn, me);
		} else if (turn && t - ring.last > ring.step) {
			ring.step = t - ring.last;
		}
		ring.last = t;
		__atomic_store_n(&ring.turn, turn + 1, __ATOMIC_RELEASE);
	}
}

static int run_ring(unsigned threads, unsigned long reads)
{
	pthread_t thread[64];

	if (!threads || threads > 64)
		return 1;
	ring.threads = threads;
	ring.reads = reads;
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, ring_thread, (void *)(uintptr_t)i))
			return 1;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (!ring.bad)
		printf("ok %lu %llu\n", ring.turn, (unsigned long long)ring.step);
	return ring.bad != 0;
}

static void cost(const char *name, clockid_t clock)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t start = __rdtsc(), ticks;

		for (int j = 0; j < 1000; j++)
			now(clock);
		ticks = __rdtsc() - start;
		best = ticks < best ? ticks : best;
	}
	printf("%s=%llu ", name, (unsigned long long)best);
}

int main(int argc, char **argv)
{
	unsigned long a = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, b = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "ring"))
		return run_ring((unsigned)a, b);
	if (!strcmp(what, "cost")) {
		cost("monotonic", CLOCK_MONOTONIC);
		cost("realtime", CLOCK_REALTIME);
		puts("");
		return 0;
	}
	if (iopl(3)) {
		perror("iopl");
		return 1;
	}
	if (!strcmp(what, "drift"))
		return drift((unsigned)a, (unsigned)b);
	if (!strcmp(what, "pause"))
		return pause_vm((unsigned)a, (unsigned)b);
	return 1;
}
