/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see raster.h. */
#include "kernel/console/raster.h"

#define MIN_WIDTH 320u
#define MIN_HEIGHT 200u
#define MAX_SIDE 16384u
#define MAX_SIZE MIB(256)
#define PHYS_LIMIT BIT(52)
#define BRIGHTNESS 0xc0u /* of 256: white on black is hard on the eyes */

/* A colour's part of a pixel; false when it has none, or none in the pixel. */
static bool add_color(const u8 color[2], u8 bpp, u32 *pixel)
{
	unsigned shift = color[0], bits = color[1];

	if (!bits || bits > 16 || shift + bits > bpp)
		return false;
	*pixel |= (BRIGHTNESS << bits >> 8) << shift;
	return true;
}

static const char *check(const struct boot_framebuffer *fb)
{
	u64 size = (u64)fb->pitch * fb->height;
	u32 unit;

	switch (fb->type) {
	case BOOT_SCREEN_RGB: break;
	case BOOT_SCREEN_NONE: return "the boot loader gives no framebuffer";
	case BOOT_SCREEN_TEXT: return "the boot loader left it in text mode";
	case BOOT_SCREEN_PALETTE: return "its colours are those of a palette";
	default: return "the boot loader's tag is wrong";
	}
	if (fb->bpp != 16 && fb->bpp != 24 && fb->bpp != 32)
		return "a pixel has neither 16, 24 nor 32 bits";
	if (fb->width < MIN_WIDTH || fb->height < MIN_HEIGHT || fb->width > MAX_SIDE ||
	    fb->height > MAX_SIDE)
		return "less than 320x200 pixels, or more than 16384x16384";
	/*
	 * Lines begin where a pixel may be written at once; one of three bytes is written by bytes.
	 */
	unit = fb->bpp == 32 ? 4 : 2;
	if (fb->pitch < fb->width * fb->bpp / 8 || fb->pitch % unit || size > MAX_SIZE)
		return "the length of its lines makes no sense";
	if (!fb->address || fb->address % 4 || fb->address > PHYS_LIMIT - size)
		return "its address makes no sense";
	return NULL;
}

const char *raster_init(struct raster *out, const struct boot_framebuffer *fb)
{
	const char *reason = check(fb);
	unsigned scale = 1;

	if (reason)
		return reason;
	while (fb->width / (FONT_WIDTH * scale) > RASTER_COLUMNS ||
	       fb->height / (FONT_HEIGHT * scale) > RASTER_ROWS)
		scale++;
	*out = (struct raster){
		.size = (u64)fb->pitch * fb->height,
		.pitch = fb->pitch,
		.scale = scale,
		.bytes = fb->bpp / 8,
		.columns = fb->width / (FONT_WIDTH * scale),
		.rows = fb->height / (FONT_HEIGHT * scale),
	};
	for (unsigned i = 0; i < ARRAY_SIZE(fb->color); i++)
		if (!add_color(fb->color[i], fb->bpp, &out->ink))
			return "its colours make no sense";
	return NULL;
}

void raster_clear(const struct raster *r)
{
	u64 at = 0;

	for (; at + 8 <= r->size; at += 8)
		*(volatile u64 *)(r->base + at) = 0;
	/* Lines have an even length. */
	for (; at < r->size; at += 2)
		*(volatile u16 *)(r->base + at) = 0;
}

/* One pixel of the framebuffer; returns where the next one is. */
static u8 *put(u8 *at, unsigned bytes, u32 value)
{
	if (bytes == 4) {
		*(volatile u32 *)at = value;
	} else if (bytes == 2) {
		*(volatile u16 *)at = (u16)value;
	} else {
		for (unsigned i = 0; i < bytes; i++)
			((volatile u8 *)at)[i] = (u8)(value >> 8 * i);
	}
	return at + bytes;
}

void raster_draw(const struct raster *r, unsigned column, unsigned row, u8 c)
{
	const u8 *glyph = screen_font[(u8)(c - FONT_FIRST) < FONT_COUNT ? c - FONT_FIRST : 0];
	u8 *line = r->base + (u64)row * FONT_HEIGHT * r->scale * r->pitch +
		   (u64)column * FONT_WIDTH * r->scale * r->bytes;

	for (unsigned y = 0; y < FONT_HEIGHT * r->scale; y++, line += r->pitch) {
		u8 bits = glyph[y / r->scale], *at = line;

		for (unsigned x = 0; x < FONT_WIDTH; x++, bits = (u8)(bits << 1))
			for (unsigned i = 0; i < r->scale; i++)
				at = put(at, r->bytes, bits & 0x80 ? r->ink : 0);
	}
}
