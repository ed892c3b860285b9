/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pieces of text that are not terminated, and what readers of configuration take off their front.
 * lib/span.c
 */
#ifndef MARGAY_SPAN_H
#define MARGAY_SPAN_H

#include <margay/types.h>

struct span {
	const char *p;
	size_t n;
};

/* What a hexadecimal digit stands for; -1: it is none. */
int hex_digit(char c);

/* Of terminated text. */
struct span span_of(const char *text);
/* Without the blanks and tabs around it. */
struct span span_trim(struct span s);
bool span_is(struct span s, const char *word);
/* Takes a prefix off; false, and nothing is taken, when it is not there. */
bool span_skip(struct span *s, const char *prefix);
/* Takes what is before the first `end` off, and that, too; *found: there was one. */
struct span span_part(struct span *s, char end, bool *found);
/*
 * Takes the leading digits off, in base 10 or 16. False when there are none, or they exceed 2^64-1.
 */
bool span_number(struct span *s, unsigned base, u64 *out);

#endif
