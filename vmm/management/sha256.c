/* SPDX-License-Identifier: GPL-2.0-only */
/* See sha256.h. */
#include "vmm/management/sha256.h"

#include <margay/string.h>

/* 4.2.2: of the cube roots of the first 64 primes. */
static const u32 k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static u32 right(u32 x, unsigned n)
{
	return x >> n | x << (32 - n);
}

/* 6.2.2 */
static void digest_block(u32 state[8], const u8 *block)
{
	u32 w[64], a[8];

	for (unsigned i = 0; i < 16; i++) {
		u32 big;

		memcpy(&big, block + 4 * i, sizeof(big));
		w[i] = __builtin_bswap32(big);
	}
	for (unsigned i = 16; i < 64; i++)
		w[i] = w[i - 16] + (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       w[i - 7] + (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(a, state, sizeof(a));
	for (unsigned i = 0; i < 64; i++) {
		u32 t1 = a[7] + (right(a[4], 6) ^ right(a[4], 11) ^ right(a[4], 25)) +
			 ((a[4] & a[5]) ^ (~a[4] & a[6])) + k[i] + w[i];
		u32 t2 = (right(a[0], 2) ^ right(a[0], 13) ^ right(a[0], 22)) +
			 ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));

		memmove(a + 1, a, 7 * sizeof(*a));
		a[4] += t1;
		a[0] = t1 + t2;
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += a[i];
}

void sha256_begin(struct sha256 *s)
{
	*s = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
					 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *s, const u8 *data, u64 size)
{
	for (u64 n; size; data += n, size -= n) {
		u64 at = s->bytes % sizeof(s->block);

		n = MIN(size, sizeof(s->block) - at);
		if (n == sizeof(s->block)) {
			digest_block(s->state, data);
		} else {
			memcpy(s->block + at, data, n);
			if (at + n == sizeof(s->block))
				digest_block(s->state, s->block);
		}
		s->bytes += n;
	}
}

/* 5.1.1 */
void sha256_end(struct sha256 *s, u8 digest[32])
{
	static const u8 padding[64] = { 0x80 };
	u64 bits = __builtin_bswap64(s->bytes * 8);

	sha256_add(s, padding, 1 + (119 - s->bytes % 64) % 64);
	sha256_add(s, (const u8 *)&bits, sizeof(bits));
	for (unsigned i = 0; i < 8; i++) {
		u32 big = __builtin_bswap32(s->state[i]);

		memcpy(digest + 4 * i, &big, sizeof(big));
	}
}
