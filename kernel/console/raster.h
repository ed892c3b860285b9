/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: characters as pixels. Nothing is ever read back from the
 * framebuffer, which would take microseconds for each pixel.
 */
#ifndef KERNEL_RASTER_H
#define KERNEL_RASTER_H

#include "kernel/boot/bootinfo.h"

#define FONT_WIDTH 8
#define FONT_HEIGHT 16
#define FONT_FIRST 0x20
#define FONT_COUNT 95

/* A byte for each line of pixels, bit 7 leftmost; made by tools/mkfont from a font of Debian's. */
extern const u8 screen_font[FONT_COUNT][FONT_HEIGHT];

/* Characters that are kept at most; on more pixels each is drawn larger. */
#define RASTER_COLUMNS 240
#define RASTER_ROWS 75

struct raster {
	u8 *base; /* where the framebuffer is mapped, `size` bytes; set by the caller */
	u64 size;
	u32 pitch;
	/* in characters; pixels of the framebuffer for one of the font's, each way */
	unsigned columns;
	unsigned rows;
	unsigned scale;
	unsigned bytes;                /* of a pixel */
	u32 ink;         /* what a pixel of a character is; that of the rest is 0 */
};

/* Fills *out but for the base. NULL, or why nothing can be drawn there. */
const char *raster_init(struct raster *out, const struct boot_framebuffer *fb);

/* All of it black. */
void raster_clear(const struct raster *r);

/*
 * Draws one character; what the font has not is left blank. column and row: less than the raster's.
 */
void raster_draw(const struct raster *r, unsigned column, unsigned row, u8 c);

#endif
