/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * margay-check: what the hypervisor would refuse, found before a node boots. The judges are the
 * hypervisor's own files: the VM file's parser (vmm/config/), what looks at kernels (vmm/load/), at
 * microcode, and at the command line (kernel/boot/). Each error is said in the words that the
 * hypervisor would use.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/boot/bootinfo.h"
#include "kernel/boot/cmdline.h"
#include "tools/check-kernel.h"
#include "tools/check-options.h"
#include "tools/image_options.h"
#include "tools/own_module.h"
#include "vmm/config/config_set.h"
#include "vmm/load/load_check.h"

/* A VM file is a few lines; whatever is larger was given by mistake. */
#define FILE_MAX (1u << 20)

static struct check_options options;
static bool all_given; /* modules */
static struct vm_config *configs; /* of each file */
static const struct vm_config **files; /* those of them that are right; NULL where one is not */
static unsigned errors;

static void say(const char *text)
{
	fprintf(stderr, "%s\n", text);
	errors++;
}

static void say_of(const char *what, const char *text)
{
	fprintf(stderr, "%s: %s\n", what, text);
	errors++;
}

/*
 * Reads a file, up to max bytes of it (0: all). The caller frees; NULL after an error was printed.
 */
static char *read_file(const char *path, size_t max, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *buf = NULL;
	size_t room = 0, got = 0;

	*size = 0;
	do {
		*size += got;
		if (*size == room) {
			char *larger = realloc(buf, room + FILE_MAX);

			if (!larger) {
				errno = ENOMEM;
				break;
			}
			buf = larger;
			room += FILE_MAX;
		}
		errno = f ? 0 : errno;
		got = f ? fread(buf + *size, 1, room - *size, f) : 0;
	} while (got && (!max || *size <= max));
	if (!errno && max && *size > max)
		errno = EFBIG;
	if (f)
		fclose(f);
	if (!errno)
		return buf;
	say_of(path, errno == EFBIG ? "larger than 1M: not a VM file" : strerror(errno));
	free(buf);
	return NULL;
}

/* The hypervisor knows a file by its module name, which has no directory. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct check_module *find_module(const char *name)
{
	for (unsigned i = 0; i < options.nr_modules; i++)
		if (!strcmp(options.modules[i].name, name))
			return &options.modules[i];
	return NULL;
}

static void check_modules(const struct vm_config *c)
{
	struct vm_config_name name;
	struct config_error err;
	bool is_linux = false; /* not known: only the kernel's name is given */

	for (unsigned i = 0; vm_config_name(c, i, &name); i++) {
		const struct check_module *m = find_module(name.name);

		if (all_given && !m)
			vm_config_error(&err, c->file, name.line, VM_CONFIG_NO_MODULE, name.key,
					name.name);
		else if (!m || !m->data ||
			 !load_check(c, &name, m->data, m->size, &is_linux, &err)) {
			if (options.list)
				puts(name.name);
			else if (name.name == c->kernel && (is_linux || !m || !m->data))
				errors += !check_kernel(c, m ? m->data : NULL, m ? m->size : 0,
							options.kernels);
			continue;
		}
		say(err.text);
	}
}

static void parse(const char *path, unsigned i)
{
	struct vm_config *c = &configs[i];
	struct config_error err;
	const char *hint;
	size_t size;
	char *text = read_file(path, FILE_MAX, &size);

	if (!text)
		return;
	hint = load_hint(text, size);
	if (hint)
		say_of(path, hint);
	else if (vm_config_parse(base_name(path), text, size, c, &err, say))
		say(err.text);
	else
		files[i] = c;
	free(text);
	if (!c->name[0])
		snprintf(c->name, sizeof(c->name), "vm%u", i);
}

/* ---- beside each other ---------------------------------------------------- */

/* Does i wait for the end of k, or of one that does? */
static bool waits_for(const unsigned *after, unsigned i, unsigned k)
{
	while (after[i] != i && i != k)
		i = after[i];
	return i == k;
}

/* The planner's word for it, which it has when the later one starts. */
static void check_cpus(const unsigned *after, unsigned i)
{
	const struct vm_config *c = files[i];
	struct config_error err;

	for (unsigned k = 0; k < i; k++) {
		if (!files[k] || !files[k]->pinned || waits_for(after, i, k))
			continue;
		for (unsigned n = 0; n < c->cpus; n++)
			for (unsigned m = 0; m < files[k]->cpus; m++)
				if (c->cpu[n] == files[k]->cpu[m]) {
					vm_config_error(
						&err, c->file, c->line_cpus,
						"cpus: CPU %u is %s's: give each VM its own, "
						"or let this one wait for that one's end by after =",
						c->cpu[n], files[k]->name);
					say(err.text);
					return;
				}
	}
}

static void check_together(void)
{
	unsigned *after = calloc(options.nr_files, sizeof(*after));
	const char **name = calloc(options.nr_files, sizeof(*name));
	struct config_error err;

	for (unsigned i = 0; after && name && i < options.nr_files; i++) {
		after[i] = i;
		name[i] = configs[i].name;
		if (files[i] && vm_config_check_earlier(files, name, i, &after[i], &err)) {
			say(err.text);
			files[i] = NULL;
		}
	}
	for (unsigned i = 0; after && i < options.nr_files; i++) {
		if (!files[i])
			continue;
		if (files[i]->pinned)
			check_cpus(after, i);
		if (vm_config_check_trusted(files, options.nr_files, i, &err))
			say(err.text);
		if (vm_config_check_vfs(files, options.nr_files, i, &err) ||
		    vm_config_check_control(files, options.nr_files, i, &err))
			say(err.text);
		if (vm_config_check_net(files, i, &err)) {
			say(err.text);
			files[i] = NULL;
		}
	}
	for (unsigned i = 0; i < options.nr_files; i++) {
		for (unsigned at = 0;
		     files[i] && vm_config_lonely_net(files, options.nr_files, i, &at, &err);)
			fprintf(stderr, "%s\n", err.text);
	}
	free(after);
	free(name);
}

/* ---- what is no VM's ------------------------------------------------------- */

/* The hypervisor's own modules, which no VM file names. */
static void check_own_modules(void)
{
	for (unsigned i = 0; i < options.nr_modules; i++) {
		const struct check_module *m = &options.modules[i];
		char why[OWN_MODULE_TEXT];

		if (m->data && own_module_wrong(m->name, m->data, m->size, why))
			say(why);
		if (find_module(m->name) != m)
			say_of(m->name, "two modules have this name: the second one is not found");
	}
}

static void say_cmdline(const char *text)
{
	say_of("command line", text);
}

static void check_cmdline(const char *text)
{
	struct cmdline c;
	bool known = false;

	cmdline_parse(text, &c, say_cmdline);
	for (unsigned i = 0; i < options.nr_files; i++)
		known |= !strcmp(configs[i].name, c.gdb_vm);
	if (c.gdb_port && !known && options.nr_files)
		say_of("command line: gdb= names a VM that no VM file describes", c.gdb_vm);
}

/* ---- all of it ----------------------------------------------------------------- */

static void check_all(void)
{
	unsigned others = MAX(options.nr_modules, 1u);

	for (unsigned i = 0; i < options.nr_modules; i++)
		if (options.modules[i].path)
			options.modules[i].data =
				read_file(options.modules[i].path, 0, &options.modules[i].size);
	for (unsigned i = 0; i < options.nr_files; i++)
		parse(options.files[i], i);
	for (unsigned i = 0; i < options.nr_files; i++)
		if (files[i])
			check_modules(files[i]);
	if (!options.each)
		check_together();
	check_own_modules();
	/* At least a kernel comes beside the VM files. */
	if (!options.each && options.nr_files + others > BOOTINFO_MODULES) {
		fprintf(stderr, "%u VM files and %u more modules: the hypervisor takes %u in all\n",
			options.nr_files, others, BOOTINFO_MODULES);
		errors++;
	}
}

/*
 * The image at hand, of which it is said what it is. One that does not say what it has is no error
 * of these files.
 */
static const char *take_image(const char *path)
{
	const char *why = NULL;

	if (path && access(path, R_OK))
		say_of(path, strerror(errno));
	else if (path || !access(CHECK_IMAGE, F_OK))
		why = image_options_read(path ? path : CHECK_IMAGE);
	else
		return "an image with every option";
	if (!path)
		path = CHECK_IMAGE;
	if (!why)
		return path;
	fprintf(stderr, "%s: %s: taken for one with every option\n", path, why);
	return "an image with every option";
}

/* What was found right, and by what it was judged. */
static void say_right(const char *image)
{
	unsigned n = options.nr_files;

	if (n)
		printf("%u VM file%s%s right for %s%s\n", n, n == 1 ? "" : "s",
		       n == 1 ? " is" : " are", image,
		       all_given ? ""
				 : "; without --module nobody has looked for kernels and disks");
	else
		printf("the command line is right for %s\n", image);
}

int main(int argc, char **argv)
{
	int status = check_options_parse(argc, argv, &options);
	const char *image;

	if (status != CHECK_GO_ON)
		return status;
	configs = calloc(options.nr_files + 1, sizeof(*configs));
	files = calloc(options.nr_files + 1, sizeof(*files));
	if (!configs || !files) {
		say("margay-check: out of memory");
		return 1;
	}
	all_given = options.no_others || options.nr_modules;
	image = take_image(options.image);
	check_all();
	if (options.cmdline)
		check_cmdline(options.cmdline);
	if (!errors && !options.quiet && !options.list)
		say_right(image);
	return errors != 0;
}
