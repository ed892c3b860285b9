/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the commands of margay: all of them end the program where they cannot go on. */
#ifndef MARGAY_MARGAY_H
#define MARGAY_MARGAY_H

#include "libmargay.h"

/* REFUSED: the node does not do it, and says why; BROKEN: it cannot be asked. */
enum { OK, REFUSED, USAGE, BROKEN };
#define POLL_MS 50

extern int json;
extern struct margay *node;

void fail(int status, const char *what, const char *why) __attribute__((noreturn));
/* Calls; says why the node refuses, and ends. */
char *ask(enum commander_request what, const char *text, size_t *size);
/* All lines of an answer, for free(). */
char *lines_of(enum commander_request what, const char *text);
void show(enum commander_request what, const char *text);

/* timed.c */
void pause_ms(long ms);
void command_wait(char **args), command_stop(char **args), command_stats(char **args);

#endif
