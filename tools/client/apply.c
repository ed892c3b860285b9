/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * apply: by the program margay-apply of the package of that name: folders, JSON and plans are no
 * matter for a static program.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "margay.h"

#define PROGRAM "margay-apply"

void command_apply(const struct words *w)
{
	const char *argv[10];
	unsigned n = 0;

	argv[n++] = PROGRAM;
	if (json)
		argv[n++] = "--json";
	if (w->dry_run)
		argv[n++] = "--dry-run";
	if (w->prune)
		argv[n++] = "--prune";
	if (w->each)
		argv[n++] = "--each";
	if (w->timeout) {
		argv[n++] = "--timeout";
		argv[n++] = w->timeout;
	}
	argv[n++] = "--";
	argv[n++] = w->arg[0];
	argv[n] = NULL;
	/* execvp() changes none of the words. */
	execvp(PROGRAM, (char *const *)argv);
	fail(BROKEN, PROGRAM,
	     errno == ENOENT ? "it is not here: install the package margay-apply"
			     : strerror(errno));
}
