/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/load/linux_built.c vmm/load/elf.c @tests/unit/vm_files.sources lib/span.c */
/*
 * What a Linux kernel was built with, by its image: Debian's own (from build/guest, or
 * $MARGAY_GUEST_DIR), and small ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/load/linux_built.h"

#define BOTH (LINUX_BUILT_NO_KVM_GUEST | LINUX_BUILT_NO_X2APIC)
#define SIZE 8192u
#define SEGMENT 0x100u /* where the small image's one begins */

static const struct vm_config plain;

static u8 *read_kernel(const char *name, u64 *size)
{
	const char *dir = getenv("MARGAY_GUEST_DIR");
	char path[512];
	FILE *f;
	u8 *data;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "build/guest", name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("cannot open %s: run 'make guest' first", path);
	fseek(f, 0, SEEK_END);
	*size = (u64)ftell(f);
	rewind(f);
	data = malloc(*size);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *size, f), *size);
	fclose(f);
	return data;
}

/* Takes each word of that name out of the image; how many there were. */
static unsigned forget(u8 *data, u64 size, const char *word)
{
	const size_t n = strlen(word) + 1;
	unsigned found = 0;

	for (u64 i = 1; i + n <= size; i++)
		if (data[i] == (u8)word[0] && !data[i - 1] && !memcmp(data + i, word, n)) {
			data[i] = 'X';
			found++;
		}
	return found;
}

/*
 * Compressed it tells nothing; else what it was built with, and what not, once its words are gone
 * one by one.
 */
static void test_debian(void **)
{
	static const struct {
		const char *word;
		unsigned without;
	} rows[] = { { "nox2apic", LINUX_BUILT_NO_X2APIC },
		     { "no-kvmclock", BOTH },
		     { "loglevel", LINUX_BUILT_UNKNOWN } };
	u64 size;
	u8 *data = read_kernel("vmlinuz", &size);

	assert_int_equal(linux_built_without(data, size), LINUX_BUILT_UNKNOWN);
	free(data);
	data = read_kernel("vmlinux", &size);
	assert_int_equal(linux_built_without(data, size), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_not_equal(forget(data, size, rows[i].word), 0);
		assert_int_equal(linux_built_without(data, size), rows[i].without);
	}
	free(data);
}

/*
 * An image with one segment of `n` bytes at SEGMENT, with this text at its end: as a heap copy that
 * ends there.
 */
static unsigned small(const char *text, size_t len)
{
	static const u8 start[] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0,  0,
				    0,    0,   0,   0,   0, 0, 2, 0, 62, 0 };
	u8 *file = calloc(1, SIZE);
	u16 filesz = SIZE - SEGMENT;
	unsigned without;

	memcpy(file, start, sizeof(start));
	file[24 + 2] = 0x10; /* e_entry */
	file[32] = 64; /* e_phoff */
	file[54] = 56;
	file[56] = 1;
	file[64] = 1;
	file[64 + 9] = SEGMENT >> 8;
	file[64 + 18] = file[64 + 26] = 0x10;
	memcpy(file + 64 + 32, &filesz, 2);
	memcpy(file + 64 + 40, &filesz, 2);
	memcpy(file + SIZE - len, text, len);
	without = linux_built_without(file, SIZE);
	free(file);
	return without;
}
#define SMALL(text) small(text, sizeof(text)) /* with its terminator */

static void test_small(void **)
{
	assert_int_equal(SMALL("\0loglevel"), BOTH);
	assert_int_equal(SMALL("\0loglevel\0no-kvmclock"), LINUX_BUILT_NO_X2APIC);
	assert_int_equal(SMALL("\0nox2apic\0no-kvmclock\0loglevel"), 0);
	/* Parts of other texts, or not whole. */
	assert_int_equal(SMALL("\0loglevels\0no-kvmclock\0nox2apic"), LINUX_BUILT_UNKNOWN);
	assert_int_equal(SMALL("\0loglevel\0no-kvmclock-vsyscall\0anox2apic"), BOTH);
	assert_int_equal(small("\0nox2apic\0loglevel\0no-kvmclock", 30), LINUX_BUILT_NO_KVM_GUEST);
	/* Another kernel, and what is none. */
	assert_int_equal(SMALL(""), LINUX_BUILT_UNKNOWN);
	assert_int_equal(linux_built_without("loglevel", 9), LINUX_BUILT_UNKNOWN);
	assert_int_equal(linux_built_without("\177ELF", 4), LINUX_BUILT_UNKNOWN);
}

/* Words of the command line come before what the image tells. */
static void test_no_clock(void **)
{
	static struct vm_config config;
	u64 size;
	u8 *data = read_kernel("vmlinux", &size);

	assert_null(linux_no_clock(&plain, data, size));
	config.no_pvclock = true;
	assert_string_equal(linux_no_clock(&config, data, size), "pvclock = no");
	config.no_pvclock = false;
	strcpy(config.cmdline, "nopv");
	assert_string_equal(linux_no_clock(&config, data, size), "cmdline has nopv");
	forget(data, size, "no-kvmclock");
	assert_string_equal(linux_no_clock(&config, data, size), "cmdline has nopv");
	assert_string_equal(linux_no_clock(&plain, data, size), "built without KVM_GUEST");
	forget(data, size, "loglevel");
	assert_null(linux_no_clock(&plain, data, size));
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debian),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_no_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
