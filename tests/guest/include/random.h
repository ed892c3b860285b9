/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers that look random and are the same in every run. */
#ifndef TINY_RANDOM_H
#define TINY_RANDOM_H

#include "cpu.h"

/* 32 bits, from any seed. */
static inline u32 random32(u32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8 ^ *seed << 16;
}

/* 64 bits; the seed is not 0. */
static inline u64 random64(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#endif
