/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the hardware check's dump as lines of text for a slow line that may lose characters.
 * An item is a line
 *
 *     dump: NUMBER TEXT[ data=SIZE] CRC
 *
 * and, where it has data, lines `dump: BASE64 CRC` of 45 bytes each, the last one with less and a
 * '.' behind. Every line's CRC-32 is that of all of its item up to there, without "dump: ", the
 * CRCs and the blanks before them. The bytes are groups of a byte of flags and what its bits, the
 * lowest first, stand for: 0, a byte; 1, a pair of bytes, the low one first: bits 10:0, how far
 * back, less one, the same stood; bits 15:11, how many bytes, less three. Data that ends early ends
 * in zeros. tools/margay-replay reads it.
 */
#ifndef VMM_HWCHECK_ENCODE_H
#define VMM_HWCHECK_ENCODE_H

#include <margay/string.h>

#define DUMP_RAW 45   /* bytes in a line, which stays below 80 columns */
#define DUMP_TEXT 160 /* for an item's number, text and size; a longer one makes no sense */

struct dump {
	void (*line)(const char *text); /* takes each line, without its end */
	unsigned items; /* so far */
	/* The module's own: */
	u32 crc;
	unsigned n;
	u8 raw[DUMP_RAW];
};

/* The CRC-32 of what had this one, 0 at first, and of the text behind it. */
u32 dump_crc(u32 crc, const char *text);

/* Writes an item; data NULL: a text alone. */
void dump_item(struct dump *d, const void *data, size_t size, const char *fmt, va_list ap)
	__printf(4, 0);

#endif
