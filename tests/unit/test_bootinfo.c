/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/boot/bootinfo.c kernel/boot/bootinfo_room.c kernel/boot/bootinfo_screen.c */
/*
 * Multiboot2 information: hand-built structures after the specification's section 3.6, and broken
 * ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/boot/bootinfo.h"

static u8 buf[65536];
static size_t used;
static struct bootinfo bi;

static void put(const void *p, size_t n)
{
	memcpy(buf + used, p, n);
	used += n;
}

static void put32(u32 v)
{
	put(&v, 4);
}

static void put64(u64 v)
{
	put(&v, 8);
}

static void begin(void)
{
	memset(buf, 0xcc, sizeof(buf));
	used = 0;
	put32(0);
	put32(0);
}

static size_t tag(u32 type)
{
	size_t at = used;

	put32(type);
	put32(0);
	return at;
}

static void end_tag(size_t at)
{
	u32 size = (u32)(used - at);

	memcpy(buf + at + 4, &size, 4);
	while (used % 8)
		buf[used++] = 0xcc;
}

static void string_tag(u32 type, const char *s)
{
	size_t at = tag(type);

	put(s, strlen(s) + 1);
	end_tag(at);
}

static void module_tag(u32 start, u32 end, const char *s)
{
	size_t at = tag(3);

	put32(start);
	put32(end);
	put(s, strlen(s) + 1);
	end_tag(at);
}

static size_t begin_mmap(void)
{
	size_t at = tag(6);

	put32(24);
	put32(0);
	return at;
}

static void entry(u64 base, u64 length, u32 type)
{
	put64(base);
	put64(length);
	put32(type);
	put32(0);
}

static void finish(void)
{
	u32 total;

	end_tag(tag(0));
	total = (u32)used;
	memcpy(buf, &total, 4);
}

static const char *parse(void)
{
	/* A copy of exactly the right size: AddressSanitizer sees any read beyond it. */
	u8 *exact = malloc(used);
	const char *reason;

	memcpy(exact, buf, used);
	reason = bootinfo_parse(exact, used, &bi);
	free(exact);
	return reason;
}

static void simple_map(void)
{
	size_t at = begin_mmap();

	entry(0, 0x9fc00, 1);
	entry(0x9fc00, 0x400, 2);
	entry(0xf0000, 0x10000, 2);
	entry(0x100000, 0x3fee0000, 1);
	entry(0x3ffe0000, 0x20000, 3);
	end_tag(at);
}

static void expect_range(unsigned i, u64 start, u64 end, enum boot_memory type)
{
	assert_true(i < bi.nr_ranges);
	assert_int_equal(bi.range[i].start, start);
	assert_int_equal(bi.range[i].end, end);
	assert_int_equal(bi.range[i].type, type);
}

static void test_all_tags(void **)
{
	struct acpi_rsdp rsdp = { .signature = "RSD PTR",
				  .revision = 2,
				  .xsdt_address = 0x1234567890 };
	size_t at;

	begin();
	string_tag(1, "console=com1 loglevel=debug");
	string_tag(2, "GRUB 2.06");
	simple_map();
	module_tag(0x1000000, 0x1800123, "vmlinuz");
	module_tag(0x2000000, 0x2000000, "");
	at = tag(14);
	put(&rsdp, 20);
	end_tag(at);
	at = tag(15);
	put(&rsdp, 36);
	end_tag(at);
	at = tag(12345); /* unknown: skipped */
	put32(1);
	end_tag(at);
	finish();
	assert_null(parse());
	assert_string_equal(bi.cmdline, "console=com1 loglevel=debug");
	assert_string_equal(bi.loader, "GRUB 2.06");
	assert_int_equal(bi.nr_modules, 2);
	assert_int_equal(bi.module[0].start, 0x1000000);
	assert_int_equal(bi.module[0].end, 0x1800123);
	assert_string_equal(bi.module[0].string, "vmlinuz");
	assert_string_equal(bi.module[1].string, "");
	assert_true(bi.has_rsdp);
	assert_int_equal(bi.rsdp.xsdt_address, 0x1234567890);
	/* The page that is only partly usable is not; the reserved pieces grow to whole pages. */
	assert_int_equal(bi.nr_ranges, 5);
	expect_range(0, 0, 0x9f000, BOOT_MEMORY_USABLE);
	expect_range(1, 0x9f000, 0xa0000, BOOT_MEMORY_RESERVED);
	expect_range(2, 0xf0000, 0x100000, BOOT_MEMORY_RESERVED);
	expect_range(3, 0x100000, 0x3ffe0000, BOOT_MEMORY_USABLE);
	expect_range(4, 0x3ffe0000, 0x40000000, BOOT_MEMORY_ACPI);
	assert_int_equal(bootinfo_usable(&bi), 0x9f000 + 0x3fee0000);
}

/* What a boot loader could take: usable, in one piece, below 4 GiB. */
static void test_module_room(void **)
{
	static struct bootinfo has;

	assert_int_equal(bootinfo_module_room(&has), 0);
	has.range[has.nr_ranges++] = (struct boot_range){ 0, 0x9f000, BOOT_MEMORY_USABLE };
	has.range[has.nr_ranges++] = (struct boot_range){ 0x100000, MIB(64), BOOT_MEMORY_USABLE };
	has.range[has.nr_ranges++] = (struct boot_range){ MIB(64), MIB(512), BOOT_MEMORY_RESERVED };
	has.range[has.nr_ranges++] = (struct boot_range){ MIB(512), MIB(540), BOOT_MEMORY_USABLE };
	has.range[has.nr_ranges++] = (struct boot_range){ GIB(4), GIB(64), BOOT_MEMORY_USABLE };
	assert_int_equal(bootinfo_module_room(&has), MIB(63));
	/* Of a piece that goes on above. */
	has.range[has.nr_ranges - 1].start = GIB(4) - MIB(100);
	assert_int_equal(bootinfo_module_room(&has), MIB(100));
}

static void test_old_rsdp_does_not_replace_new(void **)
{
	struct acpi_rsdp rsdp = { .revision = 2 }, old = { .revision = 0 };
	size_t at;

	begin();
	simple_map();
	at = tag(15);
	put(&rsdp, 36);
	end_tag(at);
	at = tag(14);
	put(&old, 20);
	end_tag(at);
	finish();
	assert_null(parse());
	assert_int_equal(bi.rsdp.revision, 2);
}

static void test_map_unsorted_overlapping(void **)
{
	size_t at;

	begin();
	at = begin_mmap();
	entry(0x200000, 0x100000, 1);
	entry(0x100000, 0x180000, 1); /* overlaps the first: merges */
	entry(0x180000, 0x1000, 2); /* a hole in it */
	entry(0x17f000, 0x3000, 3); /* weaker than the reserved one, stronger than usable */
	entry(0x300000, 0x1000, 1); /* adjacent: merges */
	entry(0xfffffffffffff000, 0x2000, 1); /* wraps: beyond any address */
	entry(0x400000, 0, 1);
	entry(0x500800, 0x900, 1); /* no whole page */
	end_tag(at);
	finish();
	assert_null(parse());
	assert_int_equal(bi.nr_ranges, 5);
	expect_range(0, 0x100000, 0x17f000, BOOT_MEMORY_USABLE);
	expect_range(1, 0x17f000, 0x180000, BOOT_MEMORY_ACPI);
	expect_range(2, 0x180000, 0x181000, BOOT_MEMORY_RESERVED);
	expect_range(3, 0x181000, 0x182000, BOOT_MEMORY_ACPI);
	expect_range(4, 0x182000, 0x301000, BOOT_MEMORY_USABLE);
}

static void test_length_is_clamped(void **)
{
	size_t at;

	begin();
	at = begin_mmap();
	entry(0x100000000, ~0ull, 1);
	end_tag(at);
	finish();
	assert_null(parse());
	assert_int_equal(bi.nr_ranges, 1);
	expect_range(0, 0x100000000, 1ull << 52, BOOT_MEMORY_USABLE);
}

static void efi_entry(u32 type, u64 start, u64 pages)
{
	put32(type);
	put32(0);
	put64(start);
	put64(0);
	put64(pages);
	put64(0xf);
	put64(0); /* descriptors may be longer than the structure */
}

static size_t begin_efi_map(void)
{
	size_t at = tag(17);

	put32(48);
	put32(1);
	return at;
}

static void test_efi_map(void **)
{
	size_t at;

	begin();
	at = begin_efi_map();
	efi_entry(7, 0x100000, 0x100); /* conventional */
	efi_entry(4, 0x200000, 0x100); /* boot services data */
	efi_entry(6, 0x300000, 0x10); /* runtime data */
	efi_entry(9, 0x310000, 0x10); /* ACPI reclaim */
	efi_entry(10, 0x320000, 0x10); /* NVS */
	efi_entry(14, 0x100000000, 0x10); /* persistent */
	end_tag(at);
	at = tag(12);
	put64(0x1000);
	end_tag(at);
	finish();
	assert_null(parse());
	assert_true(bi.efi);
	assert_int_equal(bi.nr_ranges, 5);
	expect_range(0, 0x100000, 0x300000, BOOT_MEMORY_USABLE);
	expect_range(1, 0x300000, 0x310000, BOOT_MEMORY_RESERVED);
	expect_range(2, 0x310000, 0x320000, BOOT_MEMORY_ACPI);
	expect_range(3, 0x320000, 0x330000, BOOT_MEMORY_NVS);
	expect_range(4, 0x100000000, 0x100010000, BOOT_MEMORY_RESERVED);
}

static void test_multiboot_map_wins_over_efi(void **)
{
	size_t at;

	begin();
	at = begin_efi_map();
	efi_entry(7, 0x100000000, 0x100);
	end_tag(at);
	simple_map();
	finish();
	assert_null(parse());
	expect_range(0, 0, 0x9f000, BOOT_MEMORY_USABLE);
	assert_int_equal(bi.range[bi.nr_ranges - 1].end, 0x40000000);
}

/*
 * As servers have it: hundreds of descriptors, which for us are one piece, or which nobody needs.
 */
static void efi_descriptors(unsigned count, u32 other)
{
	size_t at = begin_efi_map();

	for (unsigned i = 0; i < count; i++)
		efi_entry(i % 2 ? other : 7, 0x100000 + i * 0x1000ull, 1);
	end_tag(at);
}

static void test_long_efi_map(void **)
{
	begin();
	efi_descriptors(1000, 4);
	finish();
	assert_null(parse());
	assert_int_equal(bi.nr_ranges, 1);
	expect_range(0, 0x100000, 0x100000 + 1000 * 0x1000, BOOT_MEMORY_USABLE);

	begin();
	efi_descriptors(1000, 6);
	finish();
	assert_null(parse());
	assert_int_equal(bi.nr_ranges, 1000);
	assert_int_equal(bi.left_out, 0);

	/* Too many: the first ones stay. */
	begin();
	efi_descriptors(1200, 6);
	finish();
	assert_null(parse());
	assert_int_equal(bi.nr_ranges, BOOTINFO_RANGES);
	assert_int_equal(bi.left_out, 1200 - BOOTINFO_RANGES);
	expect_range(BOOTINFO_RANGES - 1, 0x100000 + (BOOTINFO_RANGES - 1) * 0x1000ull,
		     0x100000 + BOOTINFO_RANGES * 0x1000ull, BOOT_MEMORY_RESERVED);
	assert_int_equal(bootinfo_usable(&bi), BOOTINFO_RANGES / 2 * 0x1000);

	begin();
	efi_descriptors(1000, 6);
	simple_map();
	finish();
	assert_null(parse());
	expect_range(0, 0, 0x9f000, BOOT_MEMORY_USABLE);
}

/* Reserved ones that come too late take along what they lie in. */
static void test_too_many_reserved(void **)
{
	size_t at;

	begin();
	at = begin_efi_map();
	for (unsigned i = 0; i < BOOTINFO_RANGES; i++)
		efi_entry(7, 0x100000 + i * 0x10000ull, 8);
	efi_entry(6, 0x100000 + 5 * 0x10000ull + 0x4000, 1);
	efi_entry(6, 0x100000 + 7 * 0x10000ull - 0x1000, 1); /* between two */
	efi_entry(6, 0x100000 + 9 * 0x10000ull + 0x8000, 1); /* behind one */
	efi_entry(7, 0x100000 + 5 * 0x10000ull, 8);
	end_tag(at);
	finish();
	assert_null(parse());
	assert_int_equal(bi.left_out, 4);
	assert_int_equal(bi.nr_ranges, BOOTINFO_RANGES - 1);
	for (unsigned i = 0; i < bi.nr_ranges; i++)
		expect_range(i, 0x100000 + (i + (i > 4)) * 0x10000ull,
			     0x108000 + (i + (i > 4)) * 0x10000ull, BOOT_MEMORY_USABLE);
}

static void test_boot_services_running(void **)
{
	begin();
	simple_map();
	end_tag(tag(18));
	finish();
	assert_non_null(strstr(parse(), "boot services"));
}

/* 3.6.12; `cut` bytes are missing at its end. */
static void framebuffer_tag(u8 type, unsigned cut)
{
	size_t at = tag(8);

	put64(0x123456789000);
	put32(4352);
	put32(1080);
	put32(720);
	put(&(u8[]){ 32, type, 0xcc, 0xcc }, 4);
	if (type == 1)
		put(&(u8[]){ 16, 8, 9, 7, 0, 6 }, 6);
	used -= cut;
	end_tag(at);
}

static const struct boot_framebuffer *framebuffer(u8 type, unsigned cut)
{
	begin();
	simple_map();
	framebuffer_tag(type, cut);
	finish();
	assert_null(parse());
	return &bi.framebuffer;
}

static void test_framebuffer(void **)
{
	static const u8 color[3][2] = { { 16, 8 }, { 9, 7 }, { 0, 6 } };
	const struct boot_framebuffer *fb = framebuffer(1, 0);

	assert_int_equal(fb->type, BOOT_SCREEN_RGB);
	assert_int_equal(fb->address, 0x123456789000);
	assert_int_equal(fb->pitch, 4352);
	assert_int_equal(fb->width, 1080);
	assert_int_equal(fb->height, 720);
	assert_int_equal(fb->bpp, 32);
	assert_memory_equal(fb->color, color, sizeof(color));
	assert_int_equal(framebuffer(0, 0)->type, BOOT_SCREEN_PALETTE);
	assert_int_equal(framebuffer(2, 0)->type, BOOT_SCREEN_TEXT);
	assert_int_equal(framebuffer(2, 0)->color[0][1], 0);
}

/* Without the tag, or with one that is wrong, the node boots all the same. */
static void test_no_framebuffer(void **)
{
	begin();
	simple_map();
	finish();
	assert_null(parse());
	assert_int_equal(bi.framebuffer.type, BOOT_SCREEN_NONE);
	assert_int_equal(framebuffer(3, 0)->type, BOOT_SCREEN_BAD_TAG);
	assert_int_equal(framebuffer(0xff, 0)->type, BOOT_SCREEN_BAD_TAG);
	for (unsigned cut = 1; cut <= 30; cut++) {
		assert_int_equal(framebuffer(1, cut)->type, BOOT_SCREEN_BAD_TAG);
		assert_int_equal(framebuffer(1, cut)->address, 0);
	}
	for (unsigned cut = 1; cut <= 24; cut++)
		assert_int_equal(framebuffer(2, cut)->type, BOOT_SCREEN_BAD_TAG);
}

static void test_no_memory(void **)
{
	begin();
	finish();
	assert_non_null(parse());
}

static void test_too_many_modules(void **)
{
	begin();
	simple_map();
	for (unsigned i = 0; i < BOOTINFO_MODULES; i++)
		module_tag(0x1000000 + i * 0x1000, 0x1001000 + i * 0x1000, "m");
	finish();
	assert_null(parse());
	assert_int_equal(bi.nr_modules, BOOTINFO_MODULES);
	begin();
	simple_map();
	for (unsigned i = 0; i <= BOOTINFO_MODULES; i++)
		module_tag(0x1000000 + i * 0x1000, 0x1001000 + i * 0x1000, "m");
	finish();
	assert_non_null(strstr(parse(), "modules"));
}

static void test_long_strings(void **)
{
	char text[2000];

	memset(text, 'x', sizeof(text));
	text[BOOTINFO_CMDLINE] = 0;
	begin();
	simple_map();
	string_tag(1, text);
	finish();
	assert_non_null(strstr(parse(), "command line"));
	text[BOOTINFO_CMDLINE - 1] = 0;
	begin();
	simple_map();
	string_tag(1, text);
	finish();
	assert_null(parse());
	assert_int_equal(strlen(bi.cmdline), BOOTINFO_CMDLINE - 1);
	text[BOOTINFO_MODULE_STRING] = 0;
	begin();
	simple_map();
	module_tag(0, 1, text);
	finish();
	assert_non_null(strstr(parse(), "module"));
}

static void test_unterminated_string(void **)
{
	size_t at;

	begin();
	simple_map();
	at = tag(1);
	put("abcd", 4);
	end_tag(at);
	finish();
	assert_null(parse());
	assert_string_equal(bi.cmdline, "abcd");
}

static void test_backward_module(void **)
{
	begin();
	simple_map();
	module_tag(0x2000, 0x1000, "x");
	finish();
	assert_non_null(strstr(parse(), "ends before"));
}

static void test_bad_tag_lengths(void **)
{
	static const u32 lengths[] = { 0, 7, 0x10000, 0xffffffff };
	size_t at;

	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		begin();
		at = used;
		simple_map();
		finish();
		memcpy(buf + at + 4, &lengths[i], 4);
		assert_non_null(parse());
	}
}

static void test_bad_entry_size(void **)
{
	static const u32 sizes[] = { 0, 8, 23, 0x7fffffff, 0xffffffff };
	size_t at;

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin();
		at = used;
		simple_map();
		finish();
		memcpy(buf + at + 8, &sizes[i], 4);
		assert_non_null(strstr(parse(), "entry size"));
	}
}

/*
 * Every truncation, and random bytes everywhere: no crash, no read outside, and what is accepted is
 * in order.
 */
static void test_hostile(void **)
{
	static u8 original[4096];
	size_t n;

	begin();
	string_tag(1, "console=com1");
	simple_map();
	module_tag(0x1000000, 0x1800123, "vmlinuz quiet");
	finish();
	n = used;
	memcpy(original, buf, n);
	for (used = 0; used < n; used++)
		assert_non_null(parse());
	srand(1);
	for (unsigned round = 0; round < 20000; round++) {
		memcpy(buf, original, n);
		used = n;
		for (int i = rand() % 6; i >= 0; i--)
			buf[(size_t)rand() % n] = (u8)rand();
		if (parse())
			continue;
		for (unsigned i = 0; i < bi.nr_ranges; i++) {
			assert_true(bi.range[i].start < bi.range[i].end);
			assert_true(IS_ALIGNED(bi.range[i].start | bi.range[i].end, PAGE_SIZE));
			if (i)
				assert_true(bi.range[i - 1].end <= bi.range[i].start);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_tags),
		cmocka_unit_test(test_module_room),
		cmocka_unit_test(test_old_rsdp_does_not_replace_new),
		cmocka_unit_test(test_map_unsorted_overlapping),
		cmocka_unit_test(test_length_is_clamped),
		cmocka_unit_test(test_efi_map),
		cmocka_unit_test(test_multiboot_map_wins_over_efi),
		cmocka_unit_test(test_long_efi_map),
		cmocka_unit_test(test_too_many_reserved),
		cmocka_unit_test(test_boot_services_running),
		cmocka_unit_test(test_framebuffer),
		cmocka_unit_test(test_no_framebuffer),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_too_many_modules),
		cmocka_unit_test(test_long_strings),
		cmocka_unit_test(test_unterminated_string),
		cmocka_unit_test(test_backward_module),
		cmocka_unit_test(test_bad_tag_lengths),
		cmocka_unit_test(test_bad_entry_size),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
