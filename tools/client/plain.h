/* SPDX-License-Identifier: GPL-2.0-only */
/* A guest's output without all that tells a terminal to do something. */
#ifndef TOOLS_CLIENT_PLAIN_H
#define TOOLS_CLIENT_PLAIN_H

#include <stddef.h>
#include <stdio.h>

/*
 * Of what the next byte is a part: CONTROL: of a control sequence; STRING: of a string, which ESC
 * may end; then behind ESC.
 */
enum plain_state {
	PLAIN_TEXT,
	PLAIN_CONTROL,
	PLAIN_STRING,
	PLAIN_ESCAPE,
	PLAIN_ESCAPE_MORE,
	PLAIN_STRING_END
};

/* Zeroed at first. */
struct plain {
	enum plain_state state;
	unsigned char character[4]; /* of which n bytes have come */
	unsigned n;
};

/* Writes what is text. What a piece ends within goes on with the next one. */
void plain_write(struct plain *p, const char *bytes, size_t n, FILE *to);

#endif
