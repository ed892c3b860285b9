/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: what may stand among others' lines on a terminal: host_plain_text(). */
#include <margay/host_console.h>

#define BELL 7
#define ESC 27

static bool within(u8 byte, u8 first, u8 last)
{
	return byte >= first && byte <= last;
}

/* How many bytes the sequence takes that begins with ESC: ECMA-48 5.3-5.6, ECMA-35 13.2. */
static unsigned sequence(const u8 *s, unsigned n)
{
	unsigned i = 1;

	if (n > 1 && s[1] == '[') {
		for (i = 2; i < n && within(s[i], 0x20, 0x3f); i++)
			;
	} else if (n > 1 && (s[1] == ']' || s[1] == 'P' || s[1] == 'X' || within(s[1], '^', '_'))) {
		for (i = 2; i < n && s[i] != BELL && s[i] != ESC; i++)
			;
		/* ESC \ ends it; another one begins the next. */
		return i < n && s[i] == ESC && (i + 1 == n || s[i + 1] != '\\')
			       ? i
			       : i + 1 + (i < n && s[i] == ESC);
	} else {
		while (i < n && within(s[i], 0x20, 0x2f))
			i++;
	}
	/* The final byte; a control is none. */
	return i + (i < n && within(s[i], 0x30, 0x7e));
}

/* May it stand behind `first`? U+0080-U+009F are controls, and refused. */
static bool is_second(u8 first, u8 byte)
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
 * Bytes of a character of more than one: well-formed UTF-8 (Unicode, table 3-7), but neither one of
 * the controls U+0080-U+009F nor one that turns the text behind it round, U+202A-U+202E and
 * U+2066-U+2069 (Unicode, annex 9); else 0.
 */
static unsigned utf8(const u8 *s, unsigned n)
{
	unsigned size = 2 + (s[0] >= 0xe0) + (s[0] >= 0xf0);

	if (!within(s[0], 0xc2, 0xf4) || size > n || !is_second(s[0], s[1]))
		return 0;
	for (unsigned i = 2; i < size; i++)
		if (!within(s[i], 0x80, 0xbf))
			return 0;
	if (s[0] == 0xe2 && ((s[1] == 0x80 && within(s[2], 0xaa, 0xae)) ||
			     (s[1] == 0x81 && within(s[2], 0xa6, 0xa9))))
		return 0;
	return size;
}

unsigned host_plain_text(u8 *line, unsigned n)
{
	unsigned out = 0, taken;

	for (unsigned i = 0; i < n; i += taken) {
		if (line[i] == ESC) {
			taken = sequence(line + i, n - i);
			continue;
		}
		taken = line[i] >= 0x80 ? utf8(line + i, n - i)
					: line[i] == '\t' || within(line[i], 0x20, 0x7e);
		if (!taken) {
			line[i] = '?';
			taken = 1;
		}
		for (unsigned k = 0; k < taken; k++)
			line[out++] = line[i + k];
	}
	return out;
}
