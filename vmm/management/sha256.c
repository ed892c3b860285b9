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

/* The message schedule. Three rotations of one value are two, of what is rotated already. */
static void schedule(u32 w[64], const u8 *block)
{
	/* Not by memcpy(), which is a call in the image. */
	typedef u32 word __attribute__((aligned(1), may_alias));

	for (unsigned i = 0; i < 16; i++)
		w[i] = __builtin_bswap32(((const word *)block)[i]);
	for (unsigned i = 16; i < 64; i++) {
		u32 x = w[i - 15], y = w[i - 2];

		w[i] = w[i - 16] + (right(right(x, 11) ^ x, 7) ^ x >> 3) + w[i - 7] +
		       (right(right(y, 2) ^ y, 17) ^ y >> 10);
	}
}

/* One round; what was D has E from now on, what was H has A. kw: the constant and the word. */
static inline void one_round(u32 a, u32 b, u32 c, u32 *d, u32 e, u32 f, u32 g, u32 *h, u32 kw)
{
	*h += kw + right(right(right(e, 14) ^ e, 5) ^ e, 6) + (((f ^ g) & e) ^ g);
	*d += *h;
	*h += right(right(right(a, 9) ^ a, 11) ^ a, 2) + (((a ^ b) & (b ^ c)) ^ b);
}

/* 6.2.2, in C: eight rounds at once, after which each letter has its place again. */
static void by_plain_code(u32 state[8], const u8 *blocks, u64 count, const u32 constants[64])
{
	u32 w[64];

	for (; count; count--, blocks += 64) {
		u32 a = state[0], b = state[1], c = state[2], d = state[3];
		u32 e = state[4], f = state[5], g = state[6], h = state[7];

		schedule(w, blocks);
		for (unsigned i = 0; i < 64; i += 8) {
			one_round(a, b, c, &d, e, f, g, &h, constants[i] + w[i]);
			one_round(h, a, b, &c, d, e, f, &g, constants[i + 1] + w[i + 1]);
			one_round(g, h, a, &b, c, d, e, &f, constants[i + 2] + w[i + 2]);
			one_round(f, g, h, &a, b, c, d, &e, constants[i + 3] + w[i + 3]);
			one_round(e, f, g, &h, a, b, c, &d, constants[i + 4] + w[i + 4]);
			one_round(d, e, f, &g, h, a, b, &c, constants[i + 5] + w[i + 5]);
			one_round(c, d, e, &f, g, h, a, &b, constants[i + 6] + w[i + 6]);
			one_round(b, c, d, &e, f, g, h, &a, constants[i + 7] + w[i + 7]);
		}
		state[0] += a;
		state[1] += b;
		state[2] += c;
		state[3] += d;
		state[4] += e;
		state[5] += f;
		state[6] += g;
		state[7] += h;
	}
}

void sha256_begin(struct sha256 *s, sha256_fn *blocks)
{
	*s = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
					 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 },
			      .blocks = blocks ? blocks : by_plain_code };
}

void sha256_add(struct sha256 *s, const u8 *data, u64 size)
{
	u64 at = s->bytes % sizeof(s->block), n = MIN(size, sizeof(s->block) - at);

	s->bytes += size;
	if (at) {
		memcpy(s->block + at, data, n);
		if (at + n < sizeof(s->block))
			return;
		s->blocks(s->state, s->block, 1, k);
		data += n;
		size -= n;
	}
	n = size / sizeof(s->block);
	if (n)
		s->blocks(s->state, data, n, k);
	memcpy(s->block, data + n * sizeof(s->block), size % sizeof(s->block));
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
