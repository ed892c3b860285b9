/* SPDX-License-Identifier: GPL-2.0-only */
/* The node's numbers for Prometheus, in its text format 0.0.4. */
#ifndef MARGAY_METRICS_H
#define MARGAY_METRICS_H

#include <stdio.h>

#include "libmargay.h"

/*
 * Asks the node and writes all of them: 0, or the error number of the node's, or -1 when the
 * channel broke (errno).
 */
int metrics_write(struct margay *m, FILE *to);
/*
 * Into a file, which has the old ones or the new ones at any time, for node_exporter's textfile
 * collector. As above.
 */
int metrics_write_file(struct margay *m, const char *path);

#endif
