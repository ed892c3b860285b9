/* SPDX-License-Identifier: GPL-2.0-only */
/* The node's answers, lines of name=value that tabs part, as tables for people, and as JSON: an array of objects. */
#ifndef MARGAY_ANSWERS_H
#define MARGAY_ANSWERS_H

#include <stddef.h>

void answer_table(const char *text);
void answer_json(const char *text);
/* An object a line, each with this number as its first member. */
void answer_json_lines(const char *text, const char *name, unsigned long number);
/* A text of so many bytes as JSON has it. */
void answer_json_text(const char *s, size_t n);

#endif
