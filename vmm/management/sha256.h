/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: SHA-256 (FIPS 180-4), of data that comes in pieces. */
#ifndef VMM_MANAGEMENT_SHA256_H
#define VMM_MANAGEMENT_SHA256_H

#include <margay/types.h>

struct sha256 {
	u32 state[8];
	u64 bytes;
	u8 block[64];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const u8 *data, u64 size);
void sha256_end(struct sha256 *s, u8 digest[32]);

#endif
