/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a guest may do to the terminal of whoever reads its console: print. Bytes come in pieces of
 * any size.
 */
#include "plain.h"

#define BELL 7
#define ESC 27

static int within(unsigned char byte, unsigned char first, unsigned char last)
{
	return byte >= first && byte <= last;
}

/* May it stand behind `first`? */
static int is_second(unsigned char first, unsigned char byte)
{
	switch (first) {
	case 0xc2:
	case 0xe0: return within(byte, 0xa0, 0xbf);
	case 0xed: return within(byte, 0x80, 0x9f);
	case 0xf0: return within(byte, 0x90, 0xbf);
	case 0xf4: return within(byte, 0x80, 0x8f);
	default: return within(byte, 0x80, 0xbf);
	}
}

/*
 * What so many bytes are the beginning of: 1: a character of more than one (Unicode, table 3-7),
 * whole; 0: one that goes on; -1: none, one of the controls U+0080-U+009F, or one that turns the
 * text behind it round, U+202A-U+202E and U+2066-U+2069 (annex 9).
 */
static int utf8(const unsigned char *s, unsigned n)
{
	unsigned size = 2 + (s[0] >= 0xe0) + (s[0] >= 0xf0);

	if (!within(s[0], 0xc2, 0xf4) || (n > 1 && !is_second(s[0], s[1])))
		return -1;
	for (unsigned i = 2; i < n; i++)
		if (!within(s[i], 0x80, 0xbf))
			return -1;
	if (n < size)
		return 0;
	return s[0] == 0xe2 && ((s[1] == 0x80 && within(s[2], 0xaa, 0xae)) ||
				(s[1] == 0x81 && within(s[2], 0xa6, 0xa9)))
		       ? -1
		       : 1;
}

static void byte_in_text(struct plain *p, unsigned char byte, FILE *to);

/*
 * One more of a character; where it is none, its first byte is shown as none, and the others are
 * looked at again.
 */
static void byte_of_character(struct plain *p, unsigned char byte, FILE *to)
{
	unsigned char again[sizeof(p->character)];
	unsigned n = p->n;
	int is;

	p->character[p->n++] = byte;
	is = utf8(p->character, p->n);
	if (!is)
		return;
	p->n = 0;
	if (is > 0) {
		fwrite(p->character, 1, n + 1, to);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		again[i] = p->character[i + 1];
	putc('?', to);
	for (unsigned i = 0; i < n; i++)
		byte_in_text(p, again[i], to);
}

/*
 * Beside text what a line editor needs: its cursor goes back by CR and BS. A bell is neither text
 * nor rung.
 */
static void byte_in_text(struct plain *p, unsigned char byte, FILE *to)
{
	if (p->n || byte >= 0x80)
		byte_of_character(p, byte, to);
	else if (byte == ESC)
		p->state = PLAIN_ESCAPE;
	else if (within(byte, 0x20, 0x7e) || byte == '\n' || byte == '\r' || byte == '\t' ||
		 byte == '\b')
		putc(byte, to);
	else if (byte != BELL)
		putc('?', to);
}

/*
 * Sequences: ECMA-48 5.3-5.6, ECMA-35 13.2. A string ends at a line's end, too: none is hidden by
 * one that nobody ends.
 */
static void byte_in(struct plain *p, unsigned char byte, FILE *to)
{
	enum plain_state was = p->state;

	if (was == PLAIN_TEXT) {
		byte_in_text(p, byte, to);
		return;
	}
	if (was == PLAIN_STRING && byte != BELL && byte != ESC && byte != '\n')
		return;
	if (was == PLAIN_STRING && byte == ESC) {
		p->state = PLAIN_STRING_END;
		return;
	}
	if ((was == PLAIN_CONTROL && within(byte, 0x20, 0x3f)) ||
	    (was >= PLAIN_ESCAPE && within(byte, 0x20, 0x2f))) {
		p->state = was == PLAIN_CONTROL ? was : PLAIN_ESCAPE_MORE;
		return;
	}
	p->state = PLAIN_TEXT;
	if (was == PLAIN_ESCAPE || was == PLAIN_STRING_END) {
		if (byte == '[')
			p->state = PLAIN_CONTROL;
		else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
			p->state = PLAIN_STRING;
	}
	/*
	 * The final byte, and the backslash that ends a string, belong to it; a control does not.
	 */
	if (p->state == PLAIN_TEXT && !within(byte, 0x30, 0x7e))
		byte_in_text(p, byte, to);
}

void plain_write(struct plain *p, const char *bytes, size_t n, FILE *to)
{
	for (size_t i = 0; i < n; i++)
		byte_in(p, (unsigned char)bytes[i], to);
}
