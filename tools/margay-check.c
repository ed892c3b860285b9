/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * margay-check: what the hypervisor would refuse, found before a node boots. The judges are the hypervisor's own files: the
 * VM file's parser (vmm/config/), what looks at kernels (vmm/load/), at microcode, and at the command line (kernel/boot/).
 * Each error is said in the words that the hypervisor would use.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/boot/bootinfo.h"
#include "kernel/boot/cmdline.h"
#include "tools/check-kernel.h"
#include "tools/image_options.h"
#include "tools/own_module.h"
#include "vmm/config/config_set.h"
#include "vmm/load/load_check.h"

/* A VM file is a few lines; whatever is larger was given by mistake. */
#define FILE_MAX (1u << 20)

#define IMAGE "/boot/margay/margay.elf"

static const char usage[] =
	"usage: margay-check [OPTION]... FILE...\n"
	"Checks the VM files of a node as the hypervisor would: each, and all beside each other.\n"
	"The order of the files is that in which the boot loader will load them.\n"
	"\n"
	"  --each             the files are of different nodes: not beside each other\n"
	"  --module NAME=PATH a module that the boot loader will load by this name: given at least\n"
	"                     once, every kernel, initrd and module must be one of them; what is\n"
	"                     in the file is checked, too, unless =PATH is left out\n"
	"  --no-others        the boot loader will load no others, be it that none is given\n"
	"  --cmdline TEXT     the hypervisor's command line\n"
	"  --kernels          says of each Linux what it uses of KVM's bits; unpacks it for that\n"
	"  --image FILE       the image that is to take all this: what needs an option that it lacks\n"
	"                     is refused; without it " IMAGE ", if that is there, else\n"
	"                     an image with every option\n"
	"  --modules          prints the names of all modules that the files need, a line each\n"
	"  --version          which Margay this is of\n"
	"  --help             this text\n"
	"\n"
	"Exit status: 0 when all is right, 1 when something is not, 2 for wrong usage.\n";

struct module {
	const char *name, *path; /* path NULL: only its name is known */
	char *data;
	size_t size;
};

static struct module *modules;
static unsigned nr_modules;
static bool all_given, each, list, kernels; /* modules; --each, --modules, --kernels */
static struct vm_config *configs; /* of each file */
static const struct vm_config **files; /* those of them that are right; NULL where one is not */
static unsigned nr_files, errors;

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

/* Reads a file, up to max bytes of it (0: all). The caller frees; NULL after an error was printed. */
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

static const struct module *find_module(const char *name)
{
	for (unsigned i = 0; i < nr_modules; i++)
		if (!strcmp(modules[i].name, name))
			return &modules[i];
	return NULL;
}

static void check_modules(const struct vm_config *c)
{
	struct vm_config_name name;
	struct config_error err;
	bool is_linux = false; /* not known: only the kernel's name is given */

	for (unsigned i = 0; vm_config_name(c, i, &name); i++) {
		const struct module *m = find_module(name.name);

		if (all_given && !m)
			vm_config_error(&err, c->file, name.line, VM_CONFIG_NO_MODULE, name.key, name.name);
		else if (!m || !m->data || !load_check(c, &name, m->data, m->size, &is_linux, &err)) {
			if (list)
				puts(name.name);
			else if (name.name == c->kernel && (is_linux || !m || !m->data))
				errors += !check_kernel(c, m ? m->data : NULL, m ? m->size : 0, kernels);
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
					vm_config_error(&err, c->file, c->line_cpus, "cpus: CPU %u is %s's: give each VM its own, "
							"or let this one wait for that one's end by after =", c->cpu[n],
							files[k]->name);
					say(err.text);
					return;
				}
	}
}

static void check_together(void)
{
	unsigned *after = calloc(nr_files, sizeof(*after));
	const char **name = calloc(nr_files, sizeof(*name));
	struct config_error err;

	for (unsigned i = 0; after && name && i < nr_files; i++) {
		after[i] = i;
		name[i] = configs[i].name;
		if (files[i] && vm_config_check_earlier(files, name, i, &after[i], &err)) {
			say(err.text);
			files[i] = NULL;
		}
	}
	for (unsigned i = 0; after && i < nr_files; i++) {
		if (!files[i])
			continue;
		if (files[i]->pinned)
			check_cpus(after, i);
		if (vm_config_check_trusted(files, nr_files, i, &err))
			say(err.text);
		if (vm_config_check_vfs(files, nr_files, i, &err) || vm_config_check_control(files, nr_files, i, &err))
			say(err.text);
		if (vm_config_check_net(files, i, &err)) {
			say(err.text);
			files[i] = NULL;
		}
	}
	for (unsigned i = 0; i < nr_files; i++) {
		for (unsigned at = 0; files[i] && vm_config_lonely_net(files, nr_files, i, &at, &err);)
			fprintf(stderr, "%s\n", err.text);
	}
	free(after);
	free(name);
}

/* ---- what is no VM's ------------------------------------------------------- */

/* The hypervisor's own modules, which no VM file names. */
static void check_own_modules(void)
{
	for (unsigned i = 0; i < nr_modules; i++) {
		const struct module *m = &modules[i];
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
	for (unsigned i = 0; i < nr_files; i++)
		known |= !strcmp(configs[i].name, c.gdb_vm);
	if (c.gdb_port && !known && nr_files)
		say_of("command line: gdb= names a VM that no VM file describes", c.gdb_vm);
}

/* ---- options ----------------------------------------------------------------- */

static int bad_usage(const char *what)
{
	fprintf(stderr, "margay-check: %s\n%s", what, usage);
	return 2;
}

/* A module's name and path; reads it. Both may have a '=': of several the first counts behind which a file's path stands. */
static void add_module(char *item)
{
	struct module *m = &modules[nr_modules++];
	char *equals = strchr(item, '=');

	for (char *e = equals; e; e = strchr(e + 1, '='))
		if (!access(e + 1, F_OK)) {
			equals = e;
			break;
		}
	if (equals)
		*equals = 0;
	*m = (struct module){ .name = item, .path = equals ? equals + 1 : NULL };
	if (m->path)
		m->data = read_file(m->path, 0, &m->size);
}

static void check_all(char **path)
{
	for (unsigned i = 0; i < nr_files; i++)
		parse(path[i], i);
	for (unsigned i = 0; i < nr_files; i++)
		if (files[i])
			check_modules(files[i]);
	if (!each)
		check_together();
	check_own_modules();
	/* At least a kernel comes beside the VM files. */
	if (!each && nr_files + MAX(nr_modules, 1u) > BOOTINFO_MODULES) {
		fprintf(stderr, "%u VM files and %u more modules: the hypervisor takes %u in all\n", nr_files, MAX(nr_modules, 1u),
			BOOTINFO_MODULES);
		errors++;
	}
}

/* What is said where the value of an option that takes one is missing; NULL: it takes none. */
static const char *takes_value(const char *option)
{
	static const char *const missing[][2] = {
		{ "--module", "--module needs a name" }, { "--cmdline", "--cmdline needs a text" },
		{ "--image", "--image needs a file" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(missing); i++)
		if (!strcmp(option, missing[i][0]))
			return missing[i][1];
	return NULL;
}

/* The image at hand. One that does not say what it has is no error of these files. */
static void take_image(const char *path)
{
	const char *why = path || !access(IMAGE, F_OK) ? image_options_read(path ? path : IMAGE) : NULL;

	if (path && access(path, R_OK))
		say_of(path, strerror(errno));
	else if (why)
		fprintf(stderr, "%s: %s: taken for one with every option\n", path ? path : IMAGE, why);
}

int main(int argc, char **argv)
{
	const char *cmdline = NULL, *image = NULL;
	int i;

	modules = calloc((size_t)argc, sizeof(*modules));
	configs = calloc((size_t)argc, sizeof(*configs));
	files = calloc((size_t)argc, sizeof(*files));
	if (!modules || !configs || !files)
		return bad_usage("out of memory");
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		const char *takes = takes_value(argv[i]);

		if (!strcmp(argv[i], "--help"))
			return fputs(usage, stdout) < 0;
		if (!strcmp(argv[i], "--version"))
			return puts("margay-check " MARGAY_VERSION) < 0;
		if (!strcmp(argv[i], "--modules"))
			list = true;
		else if (!strcmp(argv[i], "--kernels"))
			kernels = true;
		else if (!strcmp(argv[i], "--each"))
			each = true;
		else if (!strcmp(argv[i], "--no-others"))
			all_given = true;
		else if (!takes)
			return bad_usage("unknown option");
		else if (i + 1 == argc)
			return bad_usage(takes);
		else if (!strcmp(argv[i++], "--cmdline"))
			cmdline = argv[i];
		else if (!strcmp(argv[i - 1], "--image"))
			image = argv[i];
		else if (!strncmp(argv[i], "vm:", 3))
			return bad_usage("a VM file is given without --module");
		else
			add_module(argv[i]);
	}
	all_given |= nr_modules > 0;
	nr_files = (unsigned)(argc - i);
	if (!nr_files && !cmdline)
		return bad_usage("no file given");
	take_image(image);
	check_all(argv + i);
	if (cmdline)
		check_cmdline(cmdline);
	return errors != 0;
}
