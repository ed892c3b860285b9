/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the two that look at the serial line, by its interrupt (console.c) and without
 * (console_poll.c).
 */
#ifndef MARGAY_KERNEL_CONSOLE_CALLBACKS_H
#define MARGAY_KERNEL_CONSOLE_CALLBACKS_H

#include <margay/types.h>

#define RX_BATCH 64 /* characters taken from the line at once */

/*
 * Gives n characters, or SERIAL_BREAKs, to whose they are, and tells who waits for room. On one CPU
 * at a time, no lock.
 */
void console_hand_on(const u16 *buf, unsigned n);

/* Says once a boot that input is lost. No lock. */
void console_report_overrun(bool overrun);

#endif
