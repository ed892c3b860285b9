/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hand-built ACPI tables, byte by byte, for the tests of their readers. Each test that includes it
 * has a table of its own.
 */
#ifndef TESTS_ACPI_TABLE_H
#define TESTS_ACPI_TABLE_H

#include <stdlib.h>
#include <string.h>

#include <margay/types.h>

static u8 buf[131072];
static size_t used;

static inline void put8(unsigned v)
{
	buf[used++] = (u8)v;
}

static inline void put(u64 v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		put8((unsigned)(v >> (8 * i)));
}

static inline void zeros(unsigned n)
{
	while (n--)
		put8(0);
}

static inline void begin(const char *signature, unsigned revision)
{
	memset(buf, 0, sizeof(buf));
	used = 0;
	for (unsigned i = 0; i < 4; i++)
		put8((unsigned)signature[i]);
	zeros(4);
	put8(revision);
	zeros(27);
}

static inline void finish(void)
{
	u8 sum = 0;

	for (unsigned i = 0; i < 4; i++)
		buf[4 + i] = (u8)(used >> (8 * i));
	buf[9] = 0;
	for (size_t i = 0; i < used; i++)
		sum = (u8)(sum + buf[i]);
	buf[9] = (u8)-sum;
}

/*
 * Calls a reader on a copy of exactly the table's size, so that AddressSanitizer sees reads beyond
 * it.
 */
#define READ(reader, out) \
	({ \
		u8 *exact_ = malloc(used ? used : 1); \
		const char *reason_; \
		memcpy(exact_, buf, used); \
		reason_ = reader(exact_, used, out); \
		free(exact_); \
		reason_; \
	})

static inline void set32(size_t at, u32 v)
{
	memcpy(buf + at, &v, 4);
}

static inline void set64(size_t at, u64 v)
{
	memcpy(buf + at, &v, 8);
}

/* Random damage to the good table of `used` bytes, checksum repaired: no crash, no read outside. */
#define DAMAGE(reader, out) \
	do { \
		static u8 original_[sizeof(buf)]; \
		const size_t size_ = used; \
\
		memcpy(original_, buf, size_); \
		for (unsigned round_ = 0; round_ < 5000; round_++) { \
			memcpy(buf, original_, size_); \
			used = size_ - (size_t)(rand() % 3 ? 0 : (unsigned)rand() % (size_ - 36)); \
			for (int i_ = rand() % 5; i_ >= 0; i_--) \
				buf[36 + (size_t)rand() % (size_ - 36)] = (u8)rand(); \
			finish(); \
			READ(reader, out); \
		} \
	} while (0)

#endif
