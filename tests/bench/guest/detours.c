/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * detours SECONDS KHZ: reads the TSC in a loop and reports the gaps that are
 * longer than the loop itself: how many, and how much time they took in all
 * (the selfish-detour test). Then a fixed amount of work, again and again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>
#include "../marker.h"

#define WORK_LOOPS 20000
#define SAMPLES 1000

static uint64_t work(void)
{
	uint64_t start = __rdtsc();

	for (int i = 0; i < WORK_LOOPS; i++)
		asm volatile("" : : : "memory");
	return __rdtsc() - start;
}

int main(int argc, char **argv)
{
	uint64_t khz, span, least = ~0ull, lost = 0, detours = 0, start, last, now, best = ~0ull,
			    worst = 0, sum = 0;

	if (argc != 3)
		return 2;
	khz = strtoull(argv[2], NULL, 0);
	span = strtoull(argv[1], NULL, 0) * khz * 1000;
	if (!span)
		return 2;
	last = __rdtsc();
	for (int i = 0; i < 1000; i++) {
		now = __rdtsc();
		least = now - last < least ? now - last : least;
		last = now;
	}
	MARKER(1);
	start = last = __rdtsc();
	do {
		now = __rdtsc();
		if (now - last > 4 * least) {
			detours++;
			lost += now - last - least;
		}
		last = now;
	} while (now - start < span);
	MARKER(2);
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t t = work();

		best = t < best ? t : best;
		worst = t > worst ? t : worst;
		sum += t;
	}
	printf("margay-test: detours: %llu\n", (unsigned long long)detours);
	printf("margay-test: lost-ppm: %llu\n",
	       (unsigned long long)(lost * 1000000 / (now - start)));
	printf("margay-test: work: %llu %llu %llu\n", (unsigned long long)best,
	       (unsigned long long)(sum / SAMPLES), (unsigned long long)worst);
	return 0;
}
