/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The screen's font of the unit tests, for a file that is one test: no two glyphs are alike, and
 * only the blank is blank.
 */
#ifndef TESTS_FAKE_FONT_H
#define TESTS_FAKE_FONT_H

#include "kernel/console/raster.h"

#define GLYPH(n) { (n), (u8)((n) << 1), 0x80, 0x01, (u8) ~(n), (n) & 1 ? 0xff : 0x18 }
#define EIGHT(n) \
	[n] = GLYPH(n), GLYPH((n) + 1), GLYPH((n) + 2), GLYPH((n) + 3), GLYPH((n) + 4), \
	GLYPH((n) + 5), GLYPH((n) + 6)

const u8 screen_font[FONT_COUNT][FONT_HEIGHT] = {
	[0] = { 0 }, EIGHT(1),  EIGHT(8),         EIGHT(15), EIGHT(22), EIGHT(29),
	EIGHT(36),   EIGHT(43), EIGHT(50),        EIGHT(57), EIGHT(64), EIGHT(71),
	EIGHT(78),   EIGHT(85), [92] = GLYPH(92), GLYPH(93), GLYPH(94),
};

#endif
