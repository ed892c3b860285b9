/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: a line of somebody who has not the foreground, as it may stand among others' on any terminal: text only. What
 * would move the cursor, colour or ring is left out or a question mark.
 */
#ifndef KERNEL_PLAIN_H
#define KERNEL_PLAIN_H

#include <margay/types.h>

/*
 * In place; returns what is left of the n bytes. Escape sequences (ECMA-48: CSI, strings, others) go, also one that the line's
 * end cuts; other controls, and bytes that are no well-formed UTF-8, become '?'.
 */
unsigned plain_text(u8 *line, unsigned n);

#endif
