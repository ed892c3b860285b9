/* SPDX-License-Identifier: GPL-2.0-only */
/* See editor.h. Moves by backspaces and repainted characters: no terminal needs to be known. */
#include "vmm/console/editor.h"

#include <margay/string.h>

enum {
	KEY_A = 1,
	KEY_B,
	KEY_C,
	KEY_D,
	KEY_E,
	KEY_F,
	KEY_K = 11,
	KEY_L,
	KEY_N = 14,
	KEY_P = 16,
	KEY_U = 21,
	KEY_W = 23,
	KEY_BACKSPACE = 8,
	KEY_TAB = 9,
	KEY_LF = 10,
	KEY_CR = 13,
	KEY_ESC = 27,
	KEY_RUBOUT = 127,
};

static void echo(struct editor *e, const char *text)
{
	e->echo(text, strlen(text));
}

static void left(struct editor *e, unsigned n)
{
	while (n--)
		echo(e, "\b");
}

static void move(struct editor *e, unsigned to)
{
	if (to < e->cursor)
		left(e, e->cursor - to);
	else
		e->echo(e->text + e->cursor, to - e->cursor);
	e->cursor = to;
}

/* Shows what is behind the cursor again, with blanks over `gone` characters more. */
static void repaint(struct editor *e, unsigned gone)
{
	e->echo(e->text + e->cursor, e->length - e->cursor);
	for (unsigned i = 0; i < gone; i++)
		echo(e, " ");
	left(e, gone + e->length - e->cursor);
}

static void insert(struct editor *e, char c)
{
	if (e->length == EDITOR_MAX) {
		echo(e, "\a");
		return;
	}
	memmove(e->text + e->cursor + 1, e->text + e->cursor, e->length + 1 - e->cursor);
	e->text[e->cursor++] = c;
	e->length++;
	e->echo(&c, 1);
	if (e->cursor < e->length)
		repaint(e, 0);
}

/* Deletes from `from` to the cursor, or from the cursor to `from`. */
static void delete(struct editor *e, unsigned from)
{
	unsigned start = MIN(from, e->cursor), end = MAX(from, e->cursor);

	move(e, start);
	memmove(e->text + start, e->text + end, e->length + 1 - end);
	e->length -= end - start;
	repaint(e, end - start);
}

static unsigned word_start(const struct editor *e)
{
	unsigned i = e->cursor;

	while (i && e->text[i - 1] == ' ')
		i--;
	while (i && e->text[i - 1] != ' ')
		i--;
	return i;
}

static void replace(struct editor *e, const char *text)
{
	move(e, 0);
	delete (e, e->length);
	editor_insert(e, text);
}

/* Older or younger lines; past the youngest there is an empty one. */
static void browse(struct editor *e, bool older)
{
	unsigned last = older ? e->nr_history : 0;

	if (e->browsed == last)
		return;
	e->browsed += older ? 1 : -1u;
	replace(e, e->browsed ? e->history[e->browsed - 1] : "");
}

static void remember(struct editor *e)
{
	if (!e->length || (e->nr_history && !strcmp(e->history[0], e->text)))
		return;
	memmove(e->history[1], e->history[0], sizeof(e->history) - sizeof(e->history[0]));
	memcpy(e->history[0], e->text, sizeof(e->history[0]));
	e->nr_history = MIN(e->nr_history + 1, (unsigned)EDITOR_HISTORY);
}

static enum editor_event enter(struct editor *e)
{
	echo(e, "\r\n");
	remember(e);
	return EDITOR_LINE;
}

static void control(struct editor *e, u8 key)
{
	switch (key) {
	case KEY_A: move(e, 0); break;
	case KEY_B: move(e, e->cursor - (e->cursor > 0)); break;
	case KEY_C:
		echo(e, "^C\r\n");
		editor_prompt(e);
		break;
	case KEY_D: delete (e, e->cursor + (e->cursor < e->length)); break;
	case KEY_E: move(e, e->length); break;
	case KEY_F: move(e, e->cursor + (e->cursor < e->length)); break;
	case KEY_K: delete (e, e->length); break;
	case KEY_L:
		echo(e, "\r\n");
		editor_show(e);
		break;
	case KEY_N: browse(e, false); break;
	case KEY_P: browse(e, true); break;
	case KEY_U: delete (e, 0); break;
	case KEY_W: delete (e, word_start(e)); break;
	case KEY_BACKSPACE:
	case KEY_RUBOUT: delete (e, e->cursor - (e->cursor > 0)); break;
	case KEY_ESC: e->state = EDITOR_ESC; break;
	default: break;
	}
}

/* The end of ESC [ number letter, as VT100 and xterm send keys. */
static void sequence(struct editor *e, u8 byte)
{
	/* clang-format off */
	static const struct {
		u8 byte;
		u8 parameter;
		u8 key;
	} keys[] = {
		{ 'A', 0, KEY_P },
		{ 'B', 0, KEY_N },
		{ 'C', 0, KEY_F },
		{ 'D', 0, KEY_B },
		{ 'H', 0, KEY_A },
		{ 'F', 0, KEY_E },
		{ '~', 1, KEY_A },
		{ '~', 3, KEY_D },
		{ '~', 4, KEY_E },
	};
	/* clang-format on */

	if (byte >= '0' && byte <= '9') {
		e->parameter = (u8)(byte - '0');
		return;
	}
	if (byte < 0x40 && byte >= 0x20)
		return; /* a further parameter */
	e->state = EDITOR_PLAIN;
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].byte == byte && keys[i].parameter == e->parameter)
			control(e, keys[i].key);
}

enum editor_event editor_feed(struct editor *e, u8 byte)
{
	bool after_cr = e->after_cr;

	e->after_cr = byte == KEY_CR;
	if (byte == KEY_CR || (byte == KEY_LF && !after_cr)) {
		e->state = EDITOR_PLAIN;
		return enter(e);
	}
	switch (e->state) {
	case EDITOR_ESC:
		/* O is what a keypad in application mode sends. */
		e->state = byte == '[' || byte == 'O' ? EDITOR_CSI : EDITOR_PLAIN;
		e->parameter = 0;
		return EDITOR_NONE;
	case EDITOR_CSI: sequence(e, byte); return EDITOR_NONE;
	case EDITOR_PLAIN: break;
	}
	if (byte == KEY_TAB)
		return EDITOR_COMPLETE;
	if (byte >= ' ' && byte < KEY_RUBOUT)
		insert(e, (char)byte);
	else
		control(e, byte);
	return EDITOR_NONE;
}

void editor_prompt(struct editor *e)
{
	e->length = e->cursor = e->browsed = 0;
	e->text[0] = 0;
	echo(e, e->prompt);
}

void editor_show(struct editor *e)
{
	unsigned cursor = e->cursor;

	echo(e, e->prompt);
	e->cursor = 0;
	move(e, e->length);
	move(e, cursor);
}

void editor_insert(struct editor *e, const char *text)
{
	for (; *text; text++)
		insert(e, *text);
}
