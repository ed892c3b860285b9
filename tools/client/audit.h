/* SPDX-License-Identifier: GPL-2.0-only */
/* Who calls margay, and a line in the system's journal of what he calls it for. */
#ifndef MARGAY_AUDIT_H
#define MARGAY_AUDIT_H

/*
 * Who has logged in, also behind sudo or su; else who sudo says, else whose process it is: a name,
 * or uid= and a number.
 */
const char *audit_user(void);
/* The command, and the words behind it. Without a journal nothing is written, and all goes on. */
void audit_command(const char *command, char *const *words);

#endif
