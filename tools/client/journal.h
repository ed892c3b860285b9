/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries for systemd-journald, by its own protocol (systemd's docs/JOURNAL_NATIVE_PROTOCOL): one
 * datagram of fields, a line each. One entry at a time.
 */
#ifndef MARGAY_JOURNAL_H
#define MARGAY_JOURNAL_H

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define JOURNAL_VARIABLE "MARGAY_JOURNAL" /* another one in its place; empty: none */

/* Is journald there? seconds: as long as it may keep an entry waiting; 0: for ever. */
int journal_open(int seconds);
void journal_close(void);
void journal_begin(int priority, const char *identifier);
/* What the value has that is no text of one line becomes ?. An empty one is left out. */
void journal_field(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* 0; -1: errno. */
int journal_end(void);

#endif
