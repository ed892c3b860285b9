/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a hardware check with `dump`: all that tools/margay-replay needs of the machine, in the log. */
#ifndef VMM_HWCHECK_DUMP_H
#define VMM_HWCHECK_DUMP_H

/* Boot CPU, before any VM exists; the other CPUs have no work. Takes as long as the console's line needs for it. */
void hwcheck_dump(void);

#endif
