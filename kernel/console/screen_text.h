/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the text of a screen, kept in memory. A plain terminal: lines
 * wrap, and the screen scrolls. Of the sequences that begin with ESC it knows
 * those that erase what is behind the cursor; the others it leaves out.
 */
#ifndef KERNEL_SCREEN_TEXT_H
#define KERNEL_SCREEN_TEXT_H

#include "kernel/console/raster.h"

enum screen_escape { SCREEN_PLAIN, SCREEN_ESC, SCREEN_CSI, SCREEN_CSI_NUMBER, SCREEN_STRING };

struct screen_text {
	/* at most RASTER_COLUMNS, RASTER_ROWS */
	unsigned columns;
	unsigned rows;
	unsigned column;        /* of the next character; `columns`: it begins a line */
	/* counted from the top while the first lines fill the screen, then the last */
	unsigned row;
	unsigned top;           /* the cells' row that is the screen's first */
	u32 begun;              /* lines that ever were, modulo 2^32 */
	enum screen_escape escape;
	u8 cell[RASTER_ROWS][RASTER_COLUMNS];
};

/* Empty. */
void screen_text_init(struct screen_text *t, unsigned columns, unsigned rows);

/* Takes one byte of output. */
void screen_text_put(struct screen_text *t, u8 byte);

/* The characters of a row of the screen, all of 0x20-0x7e. */
const u8 *screen_text_row(const struct screen_text *t, unsigned row);

#endif
