/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see screen_text.h. ECMA-48: 5.4 (control sequences), 5.6 (control strings). */
#include "kernel/console/screen_text.h"

#include <margay/string.h>

#define TAB 8u

static u8 *cells(struct screen_text *t)
{
	return t->cell[(t->top + t->row) % t->rows];
}

const u8 *screen_text_row(const struct screen_text *t, unsigned row)
{
	return t->cell[(t->top + row) % t->rows];
}

void screen_text_init(struct screen_text *t, unsigned columns, unsigned rows)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->rows = rows;
	memset(t->cell, ' ', sizeof(t->cell));
}

static void new_line(struct screen_text *t)
{
	t->begun++;
	t->column = 0;
	if (t->row + 1 < t->rows)
		t->row++;
	else
		t->top = (t->top + 1) % t->rows;
	memset(cells(t), ' ', t->columns);
}

static void show(struct screen_text *t, u8 c)
{
	/*
	 * Not before there is something to show there: a line may be as long as the screen is wide.
	 */
	if (t->column >= t->columns)
		new_line(t);
	cells(t)[t->column++] = c;
}

static void erase_right(struct screen_text *t)
{
	memset(cells(t) + t->column, ' ', t->columns - t->column);
}

static void control(struct screen_text *t, u8 byte)
{
	switch (byte) {
	case '\n': new_line(t); break;
	case '\r': t->column = 0; break;
	case '\b': t->column -= t->column > 0; break;
	case '\t': t->column = MIN((t->column / TAB + 1) * TAB, t->columns - 1); break;
	case 0x1b: t->escape = SCREEN_ESC; break;
	}
}

/* The byte after ESC, of 0x20 to 0x7e. */
static enum screen_escape begin(u8 byte)
{
	if (byte == '[')
		return SCREEN_CSI;
	if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
		return SCREEN_STRING;
	return byte < 0x30 ? SCREEN_ESC : SCREEN_PLAIN; /* one in front of the last */
}

static void escape(struct screen_text *t, u8 byte)
{
	if (t->escape == SCREEN_STRING)
		return;
	if (t->escape == SCREEN_ESC) {
		t->escape = begin(byte);
	} else if (byte < 0x40) {
		t->escape = SCREEN_CSI_NUMBER;
	} else {
		/*
		 * The cursor is always in the last line: to erase the screen behind it is the same.
		 */
		if (t->escape == SCREEN_CSI && (byte == 'K' || byte == 'J'))
			erase_right(t);
		t->escape = SCREEN_PLAIN;
	}
}

void screen_text_put(struct screen_text *t, u8 byte)
{
	if (byte < 0x20 || byte == 0x7f) {
		/*
		 * A line's end ends a sequence, too: one that is garbage does not take the rest
		 * with it.
		 */
		if (byte == '\n' || byte == 0x07)
			t->escape = SCREEN_PLAIN;
		control(t, byte);
	} else if (byte >= 0x80) {
		/* One for a character of UTF-8, which begins with 0xc0 or more. */
		if (t->escape == SCREEN_PLAIN && byte >= 0xc0)
			show(t, '?');
	} else if (t->escape != SCREEN_PLAIN) {
		escape(t, byte);
	} else {
		show(t, byte);
	}
}
