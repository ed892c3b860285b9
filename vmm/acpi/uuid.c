/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: UUIDs by name, RFC 9562 version 5, as `uuidgen --sha1 --namespace SPACE --name NAME`
 * makes them. SHA-1 (RFC 3174) is the standard's; that nobody gets back from the UUID to a node's
 * own is all that is asked of it here.
 */
#include <margay/string.h>

#include "vmm/acpi/acpi_build.h"

#define BLOCK 64
#define ROUNDS 80

static u32 rotate(u32 v, unsigned n)
{
	return v << n | v >> (32 - n);
}

/* Of a message that is one block, padding included. */
static void sha1(const u8 block[BLOCK], u32 h[5])
{
	static const u32 start[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	static const u32 constant[4] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
	u32 w[ROUNDS], v[5];

	memcpy(v, start, sizeof(v));
	memcpy(w, block, BLOCK);
	for (unsigned t = 0; t < ROUNDS; t++) {
		u32 f = v[1] ^ v[2] ^ v[3];

		w[t] = t < 16 ? __builtin_bswap32(w[t])
			      : rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
		if (t < 20)
			f = v[3] ^ (v[1] & (v[2] ^ v[3]));
		else if (t / 20 == 2)
			f = (v[1] & v[2]) | (v[3] & (v[1] | v[2]));
		f += rotate(v[0], 5) + v[4] + w[t] + constant[t / 20];
		memmove(v + 1, v, 4 * sizeof(v[0]));
		v[0] = f;
		v[2] = rotate(v[2], 30);
	}
	for (unsigned i = 0; i < 5; i++)
		h[i] = __builtin_bswap32(v[i] + start[i]);
}

void uuid_of_name(const u8 space[16], const char *name, u8 out[16])
{
	u8 block[BLOCK] = { 0 };
	size_t n = 16 + strlen(name);
	u32 hash[5];

	memcpy(block, space, 16);
	memcpy(block + 16, name, n - 16);
	block[n] = 0x80;
	/* Its bits: two bytes are enough. */
	block[BLOCK - 2] = (u8)(n >> 5);
	block[BLOCK - 1] = (u8)(n << 3);
	sha1(block, hash);
	memcpy(out, hash, 16);
	out[6] = (out[6] & 0x0f) | 0x50;
	out[8] = (out[8] & 0x3f) | 0x80;
}
