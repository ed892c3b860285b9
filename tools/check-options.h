/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of margay-check: options and files, in whatever order. */
#ifndef TOOLS_CHECK_OPTIONS_H
#define TOOLS_CHECK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* judged for, where no other is given and this one is there */
#define CHECK_IMAGE "/boot/margay/margay.elf"

struct check_module {
	/* path NULL: only its name is known */
	const char *name;
	const char *path;
	char *data;              /* whoever reads it */
	size_t size;
};

struct check_options {
	struct check_module *modules;
	char **files;
	unsigned nr_modules;
	unsigned nr_files;
	/* NULL: not given */
	const char *cmdline;
	const char *image;

	bool each;
	bool list;
	bool kernels;
	bool no_others;
	bool quiet;
};

#define CHECK_GO_ON (-1)

/* CHECK_GO_ON, or the status to end with when all has been said. */
int check_options_parse(int argc, char **argv, struct check_options *out);

#endif
