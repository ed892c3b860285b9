/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memtest PERCENT: fills that share of the available memory with a pattern
 * that differs in each word, reads it back, then the same inverted. Prints
 * "ok <MiB>" or the first wrong word.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t available_kib(void)
{
	char line[128];
	unsigned long long kib = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

static uint64_t pattern(size_t i, uint64_t invert)
{
	return (i * 0x9e3779b97f4a7c15ull) ^ invert;
}

static int pass(uint64_t *mem, size_t words, uint64_t invert)
{
	for (size_t i = 0; i < words; i++)
		mem[i] = pattern(i, invert);
	for (size_t i = 0; i < words; i++) {
		if (mem[i] != pattern(i, invert)) {
			printf("wrong word %zu: %#llx, expected %#llx\n", i,
			       (unsigned long long)mem[i], (unsigned long long)pattern(i, invert));
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long percent = argc > 1 ? strtoul(argv[1], NULL, 10) : 80;
	size_t size = (available_kib() * percent / 100) << 10;
	uint64_t *mem;

	if (!size || percent > 95) {
		printf("no size: %lu %% of %llu KiB\n", percent,
		       (unsigned long long)available_kib());
		return 1;
	}
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED) {
		printf("cannot map %zu bytes\n", size);
		return 1;
	}
	if (pass(mem, size / sizeof(*mem), 0) || pass(mem, size / sizeof(*mem), ~0ull))
		return 1;
	printf("ok %zu\n", size >> 20);
	return 0;
}
