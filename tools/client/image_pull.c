/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * image pull: by the program margay-image-pull of Debian's package margay-image-node. Signatures,
 * JSON and HTTP are for libraries that others look after; this program stays static, and runs where
 * there is no Python.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "margay.h"

#define PROGRAM "margay-image-pull"

void command_image_pull(const struct words *w)
{
	const char *argv[8];
	unsigned n = 0;

	argv[n++] = PROGRAM;
	if (json)
		argv[n++] = "--json";
	if (w->allow_downgrade)
		argv[n++] = "--allow-downgrade";
	if (w->prefix) {
		argv[n++] = "--prefix";
		argv[n++] = w->prefix;
	}
	argv[n++] = "--";
	argv[n++] = w->arg[0];
	argv[n] = NULL;
	/* execvp() changes none of the words. */
	execvp(PROGRAM, (char *const *)argv);
	fail(BROKEN, PROGRAM,
	     errno == ENOENT ? "it is not here: install the package margay-image-node"
			     : strerror(errno));
}
