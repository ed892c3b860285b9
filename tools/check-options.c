/* SPDX-License-Identifier: GPL-2.0-only */
/* See check-options.h. */
#include "tools/check-options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <margay/types.h>

#define WRONG 2

static const char usage[] =
	"usage: margay-check [OPTION]... FILE...\n"
	"Checks the VM files of a node as the hypervisor would: each, and all beside each other.\n"
	"The order of the files is that in which the boot loader will load them. Options may stand\n"
	"anywhere before a --.\n"
	"\n"
	"  --each             the files are of different nodes: not beside each other\n"
	"  --module NAME=PATH a module that the boot loader will load by this name: given at least\n"
	"                     once, every kernel, initrd and module must be one of them; what is\n"
	"                     in the file is checked, too, unless =PATH is left out\n"
	"  --no-others        the boot loader will load no others, be it that none is given\n"
	"  --cmdline TEXT     the hypervisor's command line\n"
	"  --kernels          says of each Linux what it uses of KVM's bits; unpacks it for that\n"
	"  --image FILE       the image that is to take all this: what needs an option that it lacks\n"
	"                     is refused; without it " CHECK_IMAGE ", if that is there, else\n"
	"                     an image with every option\n"
	"  --modules          prints the names of all modules that the files need, a line each, and\n"
	"                     nothing else when all is right\n"
	"  --quiet            says nothing when all is right\n"
	"  --version          which Margay this is of\n"
	"  --help             this text\n"
	"\n"
	"Exit status: 0 when all is right, and one line says so; 1 when something is not, 2 for wrong usage.\n";

static const struct {
	const char *name;
	size_t at; /* its bool in struct check_options */
} flags[] = {
	{ "--each", offsetof(struct check_options, each) },
	{ "--no-others", offsetof(struct check_options, no_others) },
	{ "--kernels", offsetof(struct check_options, kernels) },
	{ "--modules", offsetof(struct check_options, list) },
	{ "--quiet", offsetof(struct check_options, quiet) },
};

static int bad_usage(const char *what)
{
	fprintf(stderr, "margay-check: %s\n%s", what, usage);
	return WRONG;
}

/*
 * A module's name and path. Both may have a '=': of several the first counts behind which a file's
 * path stands.
 */
static void add_module(struct check_options *out, char *item)
{
	char *equals = strchr(item, '=');

	for (char *e = equals; e; e = strchr(e + 1, '='))
		if (!access(e + 1, F_OK)) {
			equals = e;
			break;
		}
	if (equals)
		*equals = 0;
	out->modules[out->nr_modules++] =
		(struct check_module){ .name = item, .path = equals ? equals + 1 : NULL };
}

static bool take_flag(const char *word, struct check_options *out)
{
	for (unsigned i = 0; i < ARRAY_SIZE(flags); i++)
		if (!strcmp(word, flags[i].name)) {
			*(bool *)((char *)out + flags[i].at) = true;
			return true;
		}
	return false;
}

/*
 * What is said where the value of an option that takes one is missing; NULL: there is no such
 * option.
 */
static const char *missing_value(const char *word)
{
	static const char *const missing[][2] = {
		{ "--module", "--module needs a name" },
		{ "--cmdline", "--cmdline needs a text" },
		{ "--image", "--image needs a file" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(missing); i++)
		if (!strcmp(word, missing[i][0]))
			return missing[i][1];
	return NULL;
}

/* An option with a value, which is NULL where the line ends. NULL, or what is wrong. */
static const char *take_value(const char *word, char *value, struct check_options *out)
{
	const char *missing = missing_value(word);

	if (!missing)
		return "unknown option";
	if (!value)
		return missing;
	if (!strcmp(word, "--cmdline"))
		out->cmdline = value;
	else if (!strcmp(word, "--image"))
		out->image = value;
	else if (!strncmp(value, "vm:", 3))
		return "a VM file is given without --module";
	else
		add_module(out, value);
	return NULL;
}

int check_options_parse(int argc, char **argv, struct check_options *out)
{
	bool options = true;

	*out = (struct check_options){ .modules = calloc((size_t)argc, sizeof(*out->modules)),
				       .files = calloc((size_t)argc, sizeof(*out->files)) };
	if (!out->modules || !out->files)
		return bad_usage("out of memory");
	for (int i = 1; i < argc; i++) {
		const char *wrong;

		if (!options || argv[i][0] != '-') {
			out->files[out->nr_files++] = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--help"))
			return fputs(usage, stdout) < 0;
		if (!strcmp(argv[i], "--version"))
			return puts("margay-check " MARGAY_VERSION) < 0;
		options = strcmp(argv[i], "--") != 0;
		if (!options || take_flag(argv[i], out))
			continue;
		wrong = take_value(argv[i], argv[i + 1], out);
		if (wrong)
			return bad_usage(wrong);
		i++;
	}
	return out->nr_files || out->cmdline ? CHECK_GO_ON : bad_usage("no file given");
}
