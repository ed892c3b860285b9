/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * margay-check: the hypervisor's own VM file parser (vmm/config/config.c) as a
 * command, so that a mistake is found before the node boots. Prints each error
 * in the words that the hypervisor would use.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vmm/config/config.h"

/* A VM file is a few lines; whatever is larger was given by mistake. */
#define FILE_MAX (1u << 20)

static const char usage[] =
	"usage: margay-check [--modules] [--module NAME]... FILE...\n"
	"Checks VM files as the hypervisor would read them.\n"
	"\n"
	"  --module NAME  a module that the boot loader will load by this name; given at\n"
	"                 least once, every kernel, initrd and module must be one of them\n"
	"  --modules      prints the names of all modules that the files need, a line each\n"
	"  --version      which Margay this is of\n"
	"  --help         this text\n"
	"\n"
	"Exit status: 0 when all files are right, 1 when one is not, 2 for wrong usage.\n";

struct modules {
	const char **name;
	unsigned count;
};

static bool module_exists(void *ctx, const char *name)
{
	const struct modules *m = ctx;

	for (unsigned i = 0; i < m->count; i++)
		if (!strcmp(m->name[i], name))
			return true;
	return false;
}

/* Reads up to FILE_MAX bytes. The caller frees; NULL after an error was printed. */
static char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *buf = NULL;

	if (!f) {
		fprintf(stderr, "margay-check: %s: %s\n", path, strerror(errno));
		return NULL;
	}
	buf = malloc(FILE_MAX + 1);
	if (!buf) {
		fprintf(stderr, "margay-check: %s: out of memory\n", path);
		goto out;
	}
	*size = fread(buf, 1, FILE_MAX + 1, f);
	if (ferror(f) || *size > FILE_MAX) {
		fprintf(stderr, "margay-check: %s: %s\n", path, ferror(f) ? strerror(errno) : "larger than 1M: not a VM file");
		free(buf);
		buf = NULL;
	}
out:
	fclose(f);
	return buf;
}

/* The hypervisor knows a file by its module name, which has no directory. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Prints what was asked for: never false. */
static bool print_module(void *, const char *name)
{
	return puts(name) != EOF;
}

static bool check(const char *path, struct modules *modules, bool list)
{
	struct config_error err;
	struct vm_config config;
	size_t size = 0;
	char *text = read_file(path, &size);
	int e;

	if (!text)
		return false;
	e = vm_config_parse(base_name(path), text, size, &config, &err);
	if (!e && modules->count)
		e = vm_config_check_modules(&config, module_exists, modules, &err);
	if (!e && list)
		e = vm_config_check_modules(&config, print_module, NULL, &err);
	if (e)
		fprintf(stderr, "%s\n", err.text);
	free(text);
	return !e;
}

static int bad_usage(const char *what)
{
	fprintf(stderr, "margay-check: %s\n%s", what, usage);
	return 2;
}

int main(int argc, char **argv)
{
	struct modules modules = { .name = calloc((size_t)argc, sizeof(char *)) };
	bool list = false;
	int status = 0, i;

	if (!modules.name)
		return 2;
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			goto out;
		}
		if (!strcmp(argv[i], "--version")) {
			puts("margay-check " MARGAY_VERSION);
			goto out;
		}
		if (!strcmp(argv[i], "--modules")) {
			list = true;
			continue;
		}
		if (strcmp(argv[i], "--module")) {
			status = bad_usage("unknown option");
			goto out;
		}
		if (++i == argc) {
			status = bad_usage("--module needs a name");
			goto out;
		}
		modules.name[modules.count++] = argv[i];
	}
	if (i == argc)
		status = bad_usage("no file given");
	for (; i < argc; i++)
		if (!check(argv[i], &modules, list))
			status = 1;
out:
	free(modules.name);
	return status;
}
