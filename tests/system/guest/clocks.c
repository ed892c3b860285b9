/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's clocks beside the reference clock that an image with DEBUG_CLOCK
 * shows at port 0x5f0 (vmm/dev/board/debug_clock.c), or beside the HPET itself where
 * Linux shows one: on the bare machine.
 *
 * clocks drift SECONDS TIMES: a line "clocks: <reference> <monotonic> <window>
 *   <realtime> <window>" (ns) at once and every so many seconds. The reference
 *   was read within the window that ends with the clock's value.
 * clocks pause MS TIMES: pauses the VM so often, with such a line around each.
 * clocks ring THREADS READS: threads on as many CPUs read CLOCK_MONOTONIC one
 *   after the other; prints "ok <reads> <of these, after another CPU's>" or how
 *   time went back.
 * clocks late US TIMES: sleeps until absolute times so far apart; by how many ns
 *   it woke late, and how often early.
 * clocks doze US: sleeps for so long, again and again, for ever.
 * clocks cost: TSC ticks of 1000 reads of each clock, the least of 100 tries.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#define PORT 0x5f0
/* IA-PC HPET specification 1.0a, 2.3: 64-bit words of its registers. */
#define HPET_BYTES 4096
#define HPET_CAPABILITIES (0x00 / 8) /* bits 63:32: femtoseconds per tick */
#define HPET_COUNTER (0xf0 / 8)
#define FS_PER_NS 1000000
#define TRIES 16
#define PATIENCE 200

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static const volatile uint64_t *hpet;

/* The HPET, or else access to the port. */
static bool find_reference(void)
{
	int fd = open("/dev/hpet", O_RDONLY);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, HPET_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (map != MAP_FAILED)
		hpet = map;
	return hpet || (fd < 0 && !iopl(3));
}

static uint64_t reference(void)
{
	uint32_t low;

	if (hpet)
		return (uint64_t)((unsigned __int128)hpet[HPET_COUNTER] *
				  (hpet[HPET_CAPABILITIES] >> 32) / FS_PER_NS);
	low = inl(PORT);

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
	/*
	 * Both clocks for the same moment of the reference: the second is moved by what passed in
	 * between.
	 */
	printf("clocks: %llu %llu %llu %llu %llu\n", (unsigned long long)ref[0],
	       (unsigned long long)at[0], (unsigned long long)best[0],
	       (unsigned long long)(at[1] - (ref[1] - ref[0])), (unsigned long long)best[1]);
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
	int lock __attribute__((aligned(64)));
	uint64_t last;
	unsigned long reads;
	unsigned long handovers;
	unsigned long left;
	unsigned owner;
	unsigned bad;
};
static struct ring ring;

/* Who has the lock reads the clock: after the last reading, whichever CPU that was on. */
static void *ring_thread(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(me, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
		perror("sched_setaffinity");
		exit(1);
	}
	for (bool more = true; more;) {
		uint64_t t;

		while (__atomic_exchange_n(&ring.lock, 1, __ATOMIC_ACQUIRE))
			while (__atomic_load_n(&ring.lock, __ATOMIC_RELAXED))
				_mm_pause();
		t = now(CLOCK_MONOTONIC);
		if (t < ring.last && !ring.bad++)
			printf("back by %llu ns at read %lu, from CPU %u to %u\n",
			       (unsigned long long)(ring.last - t), ring.reads, ring.owner, me);
		ring.last = t;
		ring.handovers += ring.owner != me;
		__atomic_store_n(&ring.owner, me, __ATOMIC_RELAXED);
		ring.reads++;
		more = ring.left > 0;
		ring.left -= more;
		__atomic_store_n(&ring.lock, 0, __ATOMIC_RELEASE);
		/*
		 * Another one's turn, unless none runs just now: an emulator has fewer CPUs than it
		 * shows.
		 */
		for (int i = 0;
		     i < PATIENCE && __atomic_load_n(&ring.owner, __ATOMIC_RELAXED) == me; i++)
			_mm_pause();
	}
	return NULL;
}

static int run_ring(unsigned threads, unsigned long reads)
{
	pthread_t thread[64];

	if (!threads || threads > 64)
		return 1;
	ring.left = reads;
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, ring_thread, (void *)(uintptr_t)i))
			return 1;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (!ring.bad)
		printf("ok %lu %lu\n", ring.reads, ring.handovers);
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

/* What cyclictest measures: how long after the time that it asked for a sleeper runs again. */
static int late(unsigned us, unsigned times)
{
	struct sched_param fifo = { .sched_priority = 80 };
	unsigned long long least = ~0ull, most = 0, sum = 0, early = 0;
	uint64_t want = now(CLOCK_MONOTONIC);

	if (!times || sched_setscheduler(0, SCHED_FIFO, &fifo))
		return 1;
	for (unsigned i = 0; i < times; i++) {
		struct timespec t;
		uint64_t woken;

		want += us * 1000ull;
		t.tv_sec = (time_t)(want / 1000000000);
		t.tv_nsec = (long)(want % 1000000000);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		woken = now(CLOCK_MONOTONIC);
		if (woken < want) {
			early++;
			continue;
		}
		least = woken - want < least ? woken - want : least;
		most = woken - want > most ? woken - want : most;
		sum += woken - want;
	}
	printf("early=%llu least=%llu average=%llu most=%llu\n", early, least, sum / times, most);
	return 0;
}

static void doze(unsigned us)
{
	struct timespec t = { .tv_nsec = us * 1000l };

	for (;;)
		nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	unsigned long a = argc > 2 ? strtoul(argv[2], NULL, 10) : 0,
		      b = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "ring"))
		return run_ring((unsigned)a, b);
	if (!strcmp(what, "cost")) {
		cost("monotonic", CLOCK_MONOTONIC);
		cost("realtime", CLOCK_REALTIME);
		puts("");
		return 0;
	}
	if (!strcmp(what, "late"))
		return late((unsigned)a, (unsigned)b);
	if (!strcmp(what, "doze"))
		doze((unsigned)a);
	if (!find_reference()) {
		perror("neither /dev/hpet nor the port");
		return 1;
	}
	if (!strcmp(what, "drift"))
		return drift((unsigned)a, (unsigned)b);
	if (!strcmp(what, "pause"))
		return pause_vm((unsigned)a, (unsigned)b);
	return 1;
}
