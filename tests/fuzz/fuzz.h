/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzz targets share: the check that ends a run, the reader that
 * turns an input into choices, and exact copies that ASan guards. A target is
 * one LLVMFuzzerTestOneInput(); libFuzzer or tests/fuzz/replay.c calls it.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <margay/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/*
 * An input is a life of a device; what it did meanwhile is counted by targets in which it does
 * much. tools/fuzz reads it.
 */
static unsigned long fuzz_actions;

__attribute__((destructor)) static void fuzz_say_actions(void)
{
	if (fuzz_actions)
		fprintf(stderr, "actions: %lu\n", fuzz_actions);
}

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

/* The bytes that are still to be read. Past the end everything reads as 0. */
struct fuzz_in {
	const u8 *p;
	size_t left;
};

static inline u8 fuzz_u8(struct fuzz_in *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

/* Little endian, of `bytes` bytes. */
static inline u64 fuzz_le(struct fuzz_in *in, unsigned bytes)
{
	u64 v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (u64)fuzz_u8(in) << 8 * i;
	return v;
}

static inline u32 fuzz_u32(struct fuzz_in *in)
{
	return (u32)fuzz_le(in, 4);
}

/*
 * A 64-bit number in few bytes: near a power of two, small, near the top, or eight bytes as they
 * are.
 */
static inline u64 fuzz_number(struct fuzz_in *in)
{
	u8 tag = fuzz_u8(in);

	switch (tag >> 6) {
	case 0: return BIT(tag & 63);
	case 1: return BIT(tag & 63) - 1 - fuzz_u8(in);
	case 2: return tag & 32 ? fuzz_le(in, 4) : (u64)(s64)(s8)fuzz_u8(in);
	default: return fuzz_le(in, 8);
	}
}

/* A copy of exactly this size, so that a byte read beyond it is found. free() it. */
static inline u8 *fuzz_copy(const void *data, size_t size)
{
	u8 *p = malloc(size ? size : 1);

	if (!p)
		abort();
	if (size)
		memcpy(p, data, size);
	return p;
}

#endif
