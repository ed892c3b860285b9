/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of the log's lines (LOG_PART() of kernel/log/printk.h) that need a clock or memory, and
 * begin when there is one.
 */
#ifndef KERNEL_LOG_PARTS_H
#define KERNEL_LOG_PARTS_H

#include "kernel/log/printk.h"

#if IS_ENABLED(CONFIG_LOG_TIME)
/*
 * log_time.c: each line begins with the time since the first, "[ 1.234] "; 0.000 until the clock's
 * rate is known. A line with the wall clock's.
 */
void log_time_tell(void);
#else
static inline void log_time_tell(void) { }
#endif
extern u64 log_first; /* its TSC; only in images with LOG_TIME */

#if IS_ENABLED(CONFIG_MONITOR_CONSOLE)
/*
 * log_keep.c: the log's lines also go to a part of the image that no loader writes to, with a
 * checksum, so that the next boot finds them if the machine was reset and not switched off. Looks
 * for those of the boot before, says so, and begins; boot CPU, when pages can be had.
 */
void log_keep(void);
extern struct log_ring *log_before; /* NULL: nothing of it is left */
#else
static inline void log_keep(void) { }
#endif

#endif
