/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One shape for each answer, as margay.schema.json has it: each thing is an object with the same
 * names, whatever it has.
 */
#ifndef MARGAY_SHAPES_H
#define MARGAY_SHAPES_H

#include "libmargay.h"

/* Prints the lines that answer the request as JSON, and a newline. */
void shape_answer(enum management_request what, const char *lines);
/* The vCPUs' exits at a time, as one line. */
void shape_stats_at(unsigned long seconds, const char *lines);

#endif
