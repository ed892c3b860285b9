/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's values as JSON's: numbers, booleans, null for what there is not. To standard output.
 */
#ifndef MARGAY_JSON_H
#define MARGAY_JSON_H

#include <stddef.h>

void json_text(const char *s, size_t n);
/*
 * "name":value for each of a line of name=value, behind `comma`, which is what stands before the
 * first.
 */
void json_members(const char *line, const char *comma);
/* All of a line as an object. */
void json_object(const char *line);

#endif
