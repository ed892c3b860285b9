/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the commands of margay: all of them end the program where they cannot go on. */
#ifndef MARGAY_MARGAY_H
#define MARGAY_MARGAY_H

#include "libmargay.h"

/* REFUSED: the node does not do it, and says why; BROKEN: it cannot be asked. Others: ends.h. */
enum { OK, REFUSED, USAGE, BROKEN };
#define POLL_MS 50

/* What stands behind a command, in any order. */
struct words {
	char *arg[3]; /* NULL past the last */
	unsigned n;
	/*
	 * --timeout SECONDS, --output FILE, --sha256 HEX, --size BYTES, --prefix PREFIX; NULL: not
	 * there
	 */
	const char *timeout;
	const char *output;
	const char *sha256;
	const char *size;
	const char *prefix;
	/* --wait, --file, --raw, -f, --replace, --allow-downgrade */
	int wait;
	int file;
	int raw;
	int follow;
	int replace;
	int allow_downgrade;
	/* --dry-run, --prune, --each */
	int dry_run;
	int prune;
	int each;
};

extern int json;
extern struct margay *node;
extern int result; /* the status of the program when nothing fails */
extern const char *unfinished; /* a file that is no good yet: fail() removes it */

void fail(int status, const char *what, const char *why) __attribute__((noreturn));
/* errno of the channel. */
void fail_channel(void) __attribute__((noreturn));
/* Calls; says why the node refuses, and ends. */
char *ask(enum management_request what, const char *text, size_t *size);
/* All lines of an answer, for free(). */
char *lines_of(enum management_request what, const char *text);
/* Of one line, in JSON as its command has it (shapes.h). */
void show(enum management_request what, const char *text);
/* What has no answer is done. */
void done(void);
void pause_ms(long ms);
/* They may have a fraction. */
double seconds_of(const char *text);

/*
 * timed.c, waiting.c, console.c, image_put.c, image_pull.c, core.c, watch.c, apply.c, log.c, feed.c
 */
void command_wait(const struct words *w), command_stop(const struct words *w),
	command_stats(const struct words *w), command_start(const struct words *w),
	command_console(const struct words *w), command_image_put(const struct words *w),
	command_image_pull(const struct words *w), command_dump(const struct words *w),
	command_watch(const struct words *w), command_apply(const struct words *w),
	command_log(const struct words *w), command_events(const struct words *w),
	command_journal(const struct words *w);

#endif
