/* SPDX-License-Identifier: GPL-2.0-only */
/* The node's answers, lines of name=value that tabs part, as tables for people. */
#ifndef MARGAY_ANSWERS_H
#define MARGAY_ANSWERS_H

void answer_table(const char *text);

#endif
