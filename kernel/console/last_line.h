/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes a line the last one of a VM or of the node: only the log can write it. */
#ifndef MARGAY_KERNEL_CONSOLE_LAST_LINE_H
#define MARGAY_KERNEL_CONSOLE_LAST_LINE_H

#include <margay/types.h>

/*
 * Pure: does a user's next byte complete it? *matched: how many of its bytes the user's last ones
 * are; 0 where a line begins.
 */
static inline bool last_line_completes(unsigned *matched, u8 byte)
{
	static const char text[] = ": end=";

	*matched = byte == text[*matched] ? *matched + 1 : byte == text[0];
	if (*matched < sizeof(text) - 1)
		return false;
	*matched = 0;
	return true;
}

#endif
