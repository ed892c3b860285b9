/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/management/sha256.c arch/x86_64/cpu/sha256.c */
/*
 * SHA-256 by plain code, and by the CPU's instructions if this one has them: examples of FIPS 180-4
 * and of NIST, all lengths around blocks' ends, pieces of any length, and each other.
 * tests/system/test_sha256.py has the image's own code, with these instructions on any CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <margay/host_sha256.h>

#include "vmm/management/sha256.h"

/* In pieces of `piece` bytes. */
static void hash(sha256_fn *blocks, const u8 *data, u64 size, u64 piece, u8 digest[32])
{
	struct sha256 s;

	sha256_begin(&s, blocks);
	for (u64 at = 0; at < size; at += piece)
		sha256_add(&s, data + at, MIN(piece, size - at));
	sha256_end(&s, digest);
}

static void is(const u8 digest[32], const char *expected)
{
	char hex[65];

	for (unsigned i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(hex, expected);
}

static void known(sha256_fn *blocks)
{
	static const char *const examples[][2] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
		  "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	static u8 million[1000000];
	u8 digest[32];

	for (unsigned i = 0; i < ARRAY_SIZE(examples); i++) {
		const u8 *text = (const u8 *)examples[i][0];

		for (u64 piece = 1; piece < 120; piece++) {
			hash(blocks, text, strlen(examples[i][0]), piece, digest);
			is(digest, examples[i][1]);
		}
	}
	memset(million, 'a', sizeof(million));
	for (u64 piece = 63; piece < 1000000; piece = piece * 9 + 1) {
		hash(blocks, million, sizeof(million), piece, digest);
		is(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
}

/* Each length up to 300 bytes, which end where nothing may be read any more. */
static void lengths(sha256_fn *blocks)
{
	u8 *room = mmap(NULL, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	u8 digest[32];
	struct sha256 all;

	assert_true(room != MAP_FAILED && !mprotect(room + PAGE_SIZE, PAGE_SIZE, PROT_NONE));
	sha256_begin(&all, NULL);
	for (u64 n = 0; n <= 300; n++) {
		u8 *data = room + PAGE_SIZE - n;

		for (u64 i = 0; i < n; i++)
			data[i] = (u8)(7 * i + n);
		hash(blocks, data, n, MAX(n, 1u), digest);
		sha256_add(&all, digest, sizeof(digest));
	}
	sha256_end(&all, digest);
	/* Of all these digests: by Python's hashlib. */
	is(digest, "60d63ff40b5558727a9b786ac0be9300f7ca58fd9ddd3b2f3681b369018a87dc");
	munmap(room, 2 * PAGE_SIZE);
}

static void test_plain(void **)
{
	known(NULL);
	lengths(NULL);
}

static void test_extensions(void **)
{
	if (!host_sha256())
		skip();
	known(host_sha256());
	lengths(host_sha256());
}

/* What comes in pieces of any length and place. */
static void test_each_other(void **)
{
	static u8 data[70000];
	u8 plain[32], other[32];

	if (!host_sha256())
		skip();
	srandom(1);
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (u8)random();
	for (unsigned i = 0; i < 300; i++) {
		u64 from = (u64)random() % 100, size = (u64)random() % (sizeof(data) - from);

		hash(NULL, data + from, size, 1 + (u64)random() % 40000, plain);
		hash(host_sha256(), data + from, size, 1 + (u64)random() % 40000, other);
		assert_memory_equal(plain, other, sizeof(plain));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
