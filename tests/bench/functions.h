/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions by their addresses, of files as nm(1) and Linux' /proc/kallsyms write them, for
 * qemu_count.c.
 */
#ifndef BENCH_FUNCTIONS_H
#define BENCH_FUNCTIONS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTIONS 131072

struct functions {
	struct function {
		uint64_t address;
		char name[48];
	} *of;
	unsigned count;
};

static inline int function_order(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Puts a file's functions, sorted, behind those that are there. -1 and a line where that fails. */
static inline int functions_read(struct functions *f, const char *path)
{
	unsigned first = f->count;
	char line[512], type;
	FILE *file = fopen(path, "r");

	if (!file) {
		perror(path);
		return -1;
	}
	if (!f->of)
		f->of = calloc(MAX_FUNCTIONS, sizeof(*f->of));
	while (f->of && f->count < MAX_FUNCTIONS && fgets(line, sizeof(line), file)) {
		struct function *s = &f->of[f->count];

		if (sscanf(line, "%" SCNx64 " %c %47s", &s->address, &type, s->name) == 3 &&
		    strchr("tT", type))
			f->count++;
	}
	fclose(file);
	if (!f->of || f->count == MAX_FUNCTIONS) {
		fprintf(stderr, "%s: more than %d functions\n", path, MAX_FUNCTIONS);
		return -1;
	}
	qsort(f->of + first, f->count - first, sizeof(*f->of), function_order);
	return 0;
}

/* Of those from low to before high the last that begins at or before the address; -1: none. */
static inline int functions_find(const struct functions *f, uint64_t address, unsigned low,
				 unsigned high)
{
	unsigned first = low;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (f->of[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low == first ? -1 : (int)low - 1;
}

#endif
