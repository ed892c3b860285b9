/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/microcode.c */
/*
 * The vendors' files of microcode: which update a CPU gets of them, and each way in which a file
 * can be wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/microcode.h"

static const struct microcode_cpu intel = { CPU_INTEL, 0x50657, 1 << 7 };
static const struct microcode_cpu amd = { CPU_AMD, 0xa00f11, 0 };
static u8 file[16384];
static size_t size;
static struct microcode found;

static void put(size_t at, u32 value)
{
	memcpy(file + at, &value, sizeof(value));
}

/* What makes the words up to `end` sum up to 0, at `at`. */
static void checksum(size_t start, size_t end, size_t at)
{
	u32 sum = 0, v;

	put(at, 0);
	for (size_t i = start; i < end; i += 4) {
		memcpy(&v, file + i, sizeof(v));
		sum += v;
	}
	put(at, -sum);
}

/*
 * Appends an update with 512 bytes of data, and one more signature if that is not 0. Returns where
 * it begins.
 */
static size_t update(u32 signature, u32 platforms, u32 revision, u32 more, u32 more_platforms)
{
	size_t at = size, data = 48 + 512, total = 1024;
	const u32 header[] = { 1, revision, 0x07222026, signature, 0, 1, platforms, 512, 1024 };

	memset(file + at, 0x5a, total);
	memset(file + at, 0, 48);
	memcpy(file + at, header, sizeof(header));
	checksum(at, at + data, at + 16);
	memset(file + at + data, 0, total - data);
	if (more) {
		put(at + data, 1);
		put(at + data + 20, more);
		put(at + data + 24, more_platforms);
		checksum(at + data, at + data + 32, at + data + 4);
	}
	size += total;
	return at;
}

static const char *find(const struct microcode_cpu *cpu)
{
	/* Its end is watched by ASan. */
	u8 *copy = malloc(size ? size : 1);
	const char *error;

	memcpy(copy, file, size);
	error = microcode_find(copy, size, cpu, &found);
	if (error)
		assert_null(found.start);
	if (found.start)
		found.start = file + (found.start - copy);
	free(copy);
	return error;
}

static void test_intel(void **)
{
	size_t at;

	size = 0;
	update(0x50657, 0x80, 5, 0, 0);
	update(0x50654, 0x80, 90, 0, 0);
	at = update(0x50657, 0xbf, 7, 0, 0);
	update(0x50657, 0x80, 6, 0, 0);
	update(0x50657, 0x40, 91, 0, 0);
	update(0x50657, 0x80, 0x80000001, 0, 0); /* for tests: older than all */
	assert_null(find(&intel));
	assert_ptr_equal(found.start, file + at);
	assert_int_equal(found.size, 1024);
	assert_int_equal(found.revision, 7);
	assert_true(microcode_newer(&intel, 7, 0x80000001));
	assert_false(microcode_newer(&intel, 7, 7));
	/* By its second signature; platforms 0: any. */
	at = update(0x50656, 0, 8, 0x50657, 0x80);
	assert_null(find(&intel));
	assert_ptr_equal(found.start, file + at);
	update(0x50656, 0x80, 9, 0x50657, 0x40);
	at = update(0x50657, 0, 9, 0, 0);
	assert_null(find(&intel));
	assert_ptr_equal(found.start, file + at);
	size = 0;
	update(0x50654, 0x80, 90, 0, 0);
	assert_null(find(&intel));
	assert_null(found.start);
	/* A table of no signatures. */
	size = 68;
	memset(file, 0, size);
	memcpy(file, (const u32[]){ 1, 3, 0, 0x50657, 0, 1, 0, 0, 68 }, 36);
	put(28, 4);
	put(32, 72);
	size = 72;
	memset(file + 48, 0, 24);
	checksum(0, 52, 16);
	assert_null(find(&intel));
	assert_ptr_equal(found.start, file);
	put(32, 68);
	size = 68;
	checksum(0, 52, 16);
	assert_string_equal(find(&intel), "its table of signatures is larger than the update");
	/* The first ones had no sizes. */
	size = 2048;
	memset(file, 0, size);
	memcpy(file, (const u32[]){ 1, 3, 0, 0x50657, 0, 1, 0 }, 28);
	checksum(0, 2048, 16);
	assert_null(find(&intel));
	assert_int_equal(found.size, 2048);
}

static void test_intel_wrong(void **)
{
	/* clang-format off */
	static const struct {
		size_t at;
		u32 value;
		const char *what;
	} wrong[] = {
		{ 0, 2, "neither" }, { 20, 2, "unknown version" }, { 28, 514, "impossible sizes" },
		{ 32, 1026, "impossible sizes" }, { 28, 1024, "impossible sizes" },
		{ 32, 2048, "ends too early" },
		{ 100, 1, "wrong checksum" }, { 4, 8, "wrong checksum" },
		{ 560, 0x7fffffff, "larger than the update" },
		{ 580, 1, "signatures has a wrong checksum" },
		{ 560, 38, "larger than the update" },
		{ 560, 37, "signatures has a wrong checksum" },
	};
	/* clang-format on */

	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		size = 0;
		update(0x50657, 0x80, 7, 0x50654, 0x80);
		put(wrong[i].at, wrong[i].value);
		assert_non_null(find(&intel));
		if (!strstr(find(&intel), wrong[i].what))
			fail_msg("%zu: %s", wrong[i].at, find(&intel));
	}
	/* Cut anywhere, also behind a whole update. */
	size = 0;
	update(0x50657, 0x80, 7, 0, 0);
	update(0x50657, 0x80, 8, 0, 0);
	for (size = 1; size < 2048; size++)
		assert_int_equal(find(&intel) == NULL, size == 1024);
	size = 0;
	assert_non_null(find(&intel));
	update(0x50657, 0x80, 7, 0, 0);
	assert_string_equal(find(&amd), "it is for Intel's CPUs");
	assert_non_null(find(&(struct microcode_cpu){ CPU_OTHER, 0x50657, 0x80 }));
}

static void section(u32 type, u32 length)
{
	put(size, type);
	put(size + 4, length);
	memset(file + size + 8, 0, length);
	size += 8 + length;
}

/*
 * A table that says number 0xa011 for signature 0xa00f11, and others; then its end and what is no
 * more read.
 */
static void container(void)
{
	size_t at;

	put(size, 0x00414d44);
	size += 4;
	at = size + 8;
	section(0, 64);
	put(at, 0xa00f10);
	put(at + 12, 0xa010);
	put(at + 16, 0xa00f11);
	put(at + 28, 0xa011);
	put(at + 48, 0xa00f12);
	put(at + 60, 0xa012);
}

static size_t patch(u32 number, u32 revision, u32 chipset)
{
	size_t at = size + 8;

	section(1, 1000);
	put(at + 4, revision);
	put(at + 16, chipset);
	put(at + 24, number);
	return at;
}

static void test_amd(void **)
{
	size_t at;

	size = 0;
	container();
	patch(0xa010, 90, 0);
	at = patch(0xa011, 7, 0);
	patch(0xa011, 6, 0);
	patch(0xa011, 91, 0x1022);
	assert_null(find(&amd));
	assert_ptr_equal(found.start, file + at);
	assert_int_equal(found.size, 1000);
	assert_int_equal(found.revision, 7);
	assert_true(microcode_newer(&amd, 0x80000001, 7));
	assert_false(microcode_newer(&amd, 7, 7));
	/* A second container has a table of its own. */
	container();
	put(size - 64 + 28, 0xa099);
	patch(0xa011, 92, 0);
	at = patch(0xa099, 8, 0);
	assert_null(find(&amd));
	assert_ptr_equal(found.start, file + at);
	/* What stands behind the table's end is not of it. */
	assert_null(find(&(struct microcode_cpu){ CPU_AMD, 0xa00f12, 0 }));
	assert_null(found.start);
	patch(0, 93, 0);
	patch(1, 94, 0);
	assert_null(find(&(struct microcode_cpu){ CPU_AMD, 0xa00f12, 0 }));
	assert_null(found.start);
	assert_string_equal(find(&intel), "it is for AMD's CPUs");
	/* No more than its header. */
	size = 0;
	container();
	at = size + 8;
	section(1, 64);
	put(at + 4, 7);
	put(at + 24, 0xa011);
	assert_null(find(&amd));
	assert_ptr_equal(found.start, file + at);
	/* A table that ends with its last CPU. */
	size = 0;
	put(0, 0x00414d44);
	size = 4;
	section(0, 16);
	put(12, 0xa00f11);
	put(24, 0xa011);
	at = patch(0xa011, 7, 0);
	assert_null(find(&amd));
	assert_ptr_equal(found.start, file + at);
}

static void test_amd_wrong(void **)
{
	size_t whole;

	size = 0;
	container();
	patch(0xa011, 7, 0);
	whole = size;
	for (size = 0; size < whole; size++)
		assert_int_equal(find(&amd) == NULL, size == 76);
	size = whole;
	put(4, 1);
	assert_non_null(strstr(find(&amd), "wrong type"));
	put(4, 0);
	put(76, 0);
	assert_non_null(strstr(find(&amd), "wrong type"));
	put(76, 2);
	assert_non_null(strstr(find(&amd), "wrong type"));
	put(76, 1);
	assert_null(find(&amd));
	put(80, 2000);
	assert_non_null(strstr(find(&amd), "ends too early"));
	size = 76;
	section(1, 63);
	assert_non_null(strstr(find(&amd), "without its header"));
	/* A table that has no end. */
	size = 0;
	put(0, 0x00414d44);
	size = 4;
	section(0, 30);
	memset(file + 12, 1, 30);
	patch(0xa011, 7, 0);
	assert_null(find(&amd));
	assert_null(found.start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intel),
		cmocka_unit_test(test_intel_wrong),
		cmocka_unit_test(test_amd),
		cmocka_unit_test(test_amd_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
