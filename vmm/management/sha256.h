/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: SHA-256 (FIPS 180-4), of data that comes in pieces. */
#ifndef VMM_MANAGEMENT_SHA256_H
#define VMM_MANAGEMENT_SHA256_H

#include <margay/types.h>

/* 6.2.2 of `count` blocks of 64 bytes, at least one; k: the constants of 4.2.2. */
typedef void sha256_fn(u32 state[8], const u8 *blocks, u64 count, const u32 k[64]);

struct sha256 {
	u32 state[8];
	u64 bytes;
	sha256_fn *blocks;
	u8 block[64];
};

/* blocks: what the CPU has for it, host_sha256(); NULL: plain C. */
void sha256_begin(struct sha256 *s, sha256_fn *blocks);
void sha256_add(struct sha256 *s, const u8 *data, u64 size);
void sha256_end(struct sha256 *s, u8 digest[32]);

#endif
