/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/raster.c */
/*
 * Framebuffers that are refused, and what is drawn into a good one: all pixels, by the colours'
 * places, and none beside them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_font.h"

#define GUARD 0xa5

static const struct boot_framebuffer good = {
	.type = BOOT_SCREEN_RGB,
	.address = 0xfd000000,
	.pitch = 4096,
	.width = 1024,
	.height = 768,
	.bpp = 32,
	.color = { { 16, 8 }, { 8, 8 }, { 0, 8 } },
};
static struct raster r;

static struct boot_framebuffer shape(u8 bpp, u32 width, u32 height, u32 pitch)
{
	struct boot_framebuffer fb = good;

	fb.bpp = bpp;
	fb.width = width;
	fb.height = height;
	fb.pitch = pitch;
	if (bpp == 16) {
		static const u8 color[3][2] = { { 11, 5 }, { 5, 6 }, { 0, 5 } };

		memcpy(fb.color, color, sizeof(color));
	}
	return fb;
}

static void refused(struct boot_framebuffer fb, const char *why)
{
	const char *reason = raster_init(&r, &fb);

	assert_non_null(reason);
	assert_non_null(strstr(reason, why));
}

static void accepted(struct boot_framebuffer fb, unsigned columns, unsigned rows, unsigned scale)
{
	assert_null(raster_init(&r, &fb));
	assert_int_equal(r.columns, columns);
	assert_int_equal(r.rows, rows);
	assert_int_equal(r.scale, scale);
	assert_int_equal(r.size, (u64)fb.pitch * fb.height);
	assert_true(r.columns <= RASTER_COLUMNS && r.rows <= RASTER_ROWS);
}

static void test_kinds(void **)
{
	struct boot_framebuffer fb = good;

	accepted(good, 128, 48, 1);
	fb.type = BOOT_SCREEN_NONE;
	refused(fb, "gives no framebuffer");
	fb.type = BOOT_SCREEN_TEXT;
	refused(fb, "text mode");
	fb.type = BOOT_SCREEN_PALETTE;
	refused(fb, "palette");
	fb.type = BOOT_SCREEN_BAD_TAG;
	refused(fb, "tag is wrong");
}

static void test_depths(void **)
{
	static const u8 bad[] = { 0, 1, 4, 8, 15, 17, 31, 33, 48, 64, 255 };

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		refused(shape(bad[i], 1024, 768, 65536), "neither 16, 24 nor 32");
	accepted(shape(16, 1024, 768, 2048), 128, 48, 1);
	accepted(shape(24, 1024, 768, 3072), 128, 48, 1);
}

static void test_geometry(void **)
{
	struct boot_framebuffer fb = good;

	accepted(shape(32, 320, 200, 1280), 40, 12, 1);
	refused(shape(32, 319, 200, 1280), "320x200");
	refused(shape(32, 320, 199, 1280), "320x200");
	refused(shape(16, 16385, 200, 32772), "16384x16384");
	refused(shape(32, 320, 16385, 1280), "16384x16384");
	refused(shape(32, 0xffffffff, 0xffffffff, 0xffffffff), "16384x16384");
	/* A line that is shorter than its pixels, or that ends within one. */
	refused(shape(32, 1024, 768, 4092), "length of its lines");
	refused(shape(32, 1024, 768, 4098), "length of its lines");
	refused(shape(24, 1024, 768, 3071), "length of its lines");
	refused(shape(24, 1023, 768, 3071), "length of its lines");
	accepted(shape(24, 1023, 768, 3070), 127, 48, 1);
	refused(shape(16, 1024, 768, 2049), "length of its lines");
	refused(shape(32, 1024, 768, 0), "length of its lines");
	/* More than anybody has: pitch * height beyond 32 bits, and just beyond the limit. */
	refused(shape(32, 1024, 768, 0xfffffffc), "length of its lines");
	refused(shape(32, 1024, 256, 0x1000000), "length of its lines");
	refused(shape(32, 1024, 16384, 16388), "length of its lines");
	accepted(shape(32, 1024, 16384, 16384), 9, 73, 14);
	fb.address = 0;
	refused(fb, "address");
	fb.address = 0xfd000002;
	refused(fb, "address");
	fb.address = BIT(52) - 4096 * 768;
	accepted(fb, 128, 48, 1);
	fb.address += 4;
	refused(fb, "address");
	fb.address = ~3ull;
	refused(fb, "address");
}

/* Pixels too small to read are drawn larger. */
static void test_scale(void **)
{
	accepted(shape(32, 1920, 1200, 7680), 240, 75, 1);
	accepted(shape(32, 1928, 1200, 7712), 120, 37, 2);
	accepted(shape(32, 1920, 1216, 7680), 120, 38, 2);
	accepted(shape(32, 3840, 2160, 15360), 240, 67, 2);
	accepted(shape(32, 7680, 4320, 30720), 240, 67, 4);
}

static void test_colors(void **)
{
	static const u8 bad[][2] = { { 0, 0 },  { 25, 8 },  { 255, 8 },
				     { 0, 17 }, { 0, 255 }, { 32, 1 } };
	struct boot_framebuffer fb;

	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < ARRAY_SIZE(bad); k++) {
			fb = good;
			memcpy(fb.color[i], bad[k], 2);
			refused(fb, "colours");
		}
	accepted(good, 128, 48, 1);
	assert_int_equal(r.ink, 0xc0c0c0);
	accepted(shape(16, 1024, 768, 2048), 128, 48, 1);
	assert_int_equal(r.ink, 24 << 11 | 48 << 5 | 24);
	fb = good;
	memcpy(fb.color, (u8[3][2]){ { 20, 10 }, { 10, 10 }, { 0, 10 } }, 6);
	accepted(fb, 128, 48, 1);
	assert_int_equal(r.ink, 0x300u << 20 | 0x300 << 10 | 0x300);
}

static u32 pixel(unsigned x, unsigned y)
{
	u32 value = 0;

	memcpy(&value, r.base + (u64)y * r.pitch + (u64)x * r.bytes, r.bytes);
	return value;
}

/*
 * One character: its pixels are the glyph's; all others, also those between the lines' ends, are as
 * they were.
 */
static void drawn(unsigned column, unsigned row, u8 c, const u8 *glyph)
{
	static u8 none[16];
	unsigned width = FONT_WIDTH * r.scale, height = FONT_HEIGHT * r.scale;
	u8 *before = r.base;

	r.base = malloc(r.size);
	memset(before, GUARD, r.size);
	memset(r.base, GUARD, r.size);
	raster_draw(&r, column, row, c);
	for (unsigned y = 0; y < height; y++)
		for (unsigned x = 0; x < width; x++) {
			bool ink = (glyph ? glyph : none)[y / r.scale] << x / r.scale & 0x80;

			assert_int_equal(pixel(column * width + x, row * height + y),
					 ink ? r.ink : 0);
		}
	for (unsigned y = 0; y < height; y++)
		memset(r.base + (row * height + y) * r.pitch + (u64)column * width * r.bytes, GUARD,
		       (u64)width * r.bytes);
	assert_memory_equal(r.base, before, r.size);
	free(before);
}

static void draw_all(struct boot_framebuffer fb)
{
	assert_null(raster_init(&r, &fb));
	r.base = malloc(r.size);
	for (unsigned c = FONT_FIRST; c < FONT_FIRST + FONT_COUNT; c += 31)
		drawn(c % r.columns, c % r.rows, (u8)c, screen_font[c - FONT_FIRST]);
	drawn(0, 0, 'A', screen_font['A' - FONT_FIRST]);
	drawn(r.columns - 1, r.rows - 1, '~', screen_font['~' - FONT_FIRST]);
	/* What the font has not. */
	drawn(1, 1, 0x1f, NULL);
	drawn(1, 1, 0x7f, NULL);
	drawn(1, 1, 0xff, NULL);
	memset(r.base, GUARD, r.size);
	raster_clear(&r);
	for (u64 i = 0; i < r.size; i++)
		assert_int_equal(r.base[i], 0);
	free(r.base);
}

static void test_draw(void **)
{
	draw_all(shape(32, 340, 205, 1376));
	draw_all(shape(24, 341, 203, 1026));
	draw_all(shape(16, 339, 201, 682));
	draw_all(shape(24, 2000, 205, 6002));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),    cmocka_unit_test(test_depths),
		cmocka_unit_test(test_geometry), cmocka_unit_test(test_scale),
		cmocka_unit_test(test_colors),   cmocka_unit_test(test_draw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
