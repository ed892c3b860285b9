/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's parser. `key = value` lines, values to the end of
 * the line, `#` begins a comment line; docs/configuration.md is its reference.
 */
#include "vmm/config/config_parse.h"

#include <margay/errno.h>
#include <margay/string.h>

#define LINE_MAX (VM_CMDLINE_MAX + 256)

struct key {
	const char *name;
	int (*set)(struct parser *p, struct span value);
};

static int error_v(struct config_error *err, const char *file, unsigned line, const char *fmt, va_list ap)
{
	int n;

	if (line)
		n = snprintf(err->text, sizeof(err->text), "%.100s:%u: ", file, line);
	else
		n = snprintf(err->text, sizeof(err->text), "%.100s: ", file);
	vsnprintf(err->text + n, sizeof(err->text) - (size_t)n, fmt, ap);
	/* What the file says may be anything; the console gets printable text. */
	for (char *c = err->text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return -EINVAL;
}

int vm_config_error(struct config_error *err, const char *file, unsigned line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_v(err, file, line, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int config_fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_v(p->err, p->file, p->line, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

struct span config_trim(struct span s)
{
	while (s.n && blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

int config_list(struct parser *p, const char *key, const char *missing, struct span v,
		int (*one)(struct parser *p, struct span v))
{
	for (size_t n; v.n; v.p += n, v.n -= n) {
		int err;

		for (n = 0; n < v.n && v.p[n] != ','; n++)
			;
		err = one(p, config_trim((struct span){ v.p, n }));
		if (err)
			return err;
		if (n + 1 == v.n)
			return config_wrong(p, key, missing, v);
		n += n < v.n;
	}
	return 0;
}

bool config_equal(struct span s, const char *word)
{
	return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

int config_word(struct parser *p, const char *key, struct span v, const char *const *words, unsigned *out)
{
	char expected[80] = "";

	for (unsigned i = 0; words[i]; i++) {
		size_t used = strlen(expected);

		if (config_equal(v, words[i])) {
			*out = i;
			return 0;
		}
		snprintf(expected + used, sizeof(expected) - used, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	}
	return config_wrong(p, key, expected, v);
}

int config_wrong(struct parser *p, const char *key, const char *expected, struct span found)
{
	return config_fail(p, "%s: expected %s, found '%.*s'%s", key, expected,
			   (int)MIN(found.n, (size_t)CONFIG_SHOWN_MAX), found.p, found.n > CONFIG_SHOWN_MAX ? "..." : "");
}

static void copy(char *dst, struct span s)
{
	memcpy(dst, s.p, s.n);
	dst[s.n] = 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool config_number(struct span *s, u64 *out)
{
	u64 v = 0;
	size_t i;

	for (i = 0; i < s->n && is_digit(s->p[i]); i++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (u64)(s->p[i] - '0'), &v))
			return false;
	s->p += i;
	s->n -= i;
	*out = v;
	return i > 0;
}

static int too_long(struct parser *p, const char *key, const char *what, unsigned max, struct span found)
{
	return config_fail(p, "%s: expected %s of at most %u bytes, found %zu", key, what, max, found.n);
}

static int set_vm_name(struct parser *p, const char *key, char *dst, struct span v)
{
	if (v.n > VM_NAME_MAX)
		return too_long(p, key, "a name", VM_NAME_MAX, v);
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '-' && c != '_')
			return config_wrong(p, key, "letters, digits, '-' and '_'", v);
	}
	copy(dst, v);
	return 0;
}

static int set_name(struct parser *p, struct span v)
{
	return set_vm_name(p, "name", p->config->name, v);
}

static int set_after(struct parser *p, struct span v)
{
	p->config->line_after = p->line;
	return set_vm_name(p, "after", p->config->after, v);
}

static int set_module_name(struct parser *p, const char *key, char *dst, unsigned *line, struct span v)
{
	if (v.n > VM_MODULE_MAX)
		return too_long(p, key, "a name", VM_MODULE_MAX, v);
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] <= ' ' || v.p[i] > '~')
			return config_wrong(p, key, "one module name without blanks", v);
	copy(dst, v);
	*line = p->line;
	return 0;
}

static int set_kernel(struct parser *p, struct span v)
{
	return set_module_name(p, "kernel", p->config->kernel, &p->config->line_kernel, v);
}

static int set_initrd(struct parser *p, struct span v)
{
	return set_module_name(p, "initrd", p->config->initrd, &p->config->line_initrd, v);
}

/* `module = NAME arguments...`, as often as there are modules. */
static int set_module(struct parser *p, struct span v)
{
	struct vm_config *c = p->config;
	struct vm_config_module *m = &c->module[c->nr_modules];
	struct span args;
	size_t n = 0;

	if (c->nr_modules == VM_MODULES_MAX)
		return config_fail(p, "module: expected at most %u modules", VM_MODULES_MAX);
	while (n < v.n && !blank(v.p[n]))
		n++;
	args = config_trim((struct span){ v.p + n, v.n - n });
	if (args.n > VM_MODULE_ARGS_MAX)
		return too_long(p, "module", "arguments", VM_MODULE_ARGS_MAX, args);
	copy(m->args, args);
	c->nr_modules++;
	return set_module_name(p, "module", m->name, &m->line, (struct span){ v.p, n });
}

static int set_cmdline(struct parser *p, struct span v)
{
	if (v.n > VM_CMDLINE_MAX)
		return too_long(p, "cmdline", "text", VM_CMDLINE_MAX, v);
	copy(p->config->cmdline, v);
	return 0;
}

static int set_clock(struct parser *p, struct span v)
{
	static const char *const words[] = { "follow", "freeze", NULL };
	unsigned n = 0;
	int err = config_word(p, "clock", v, words, &n);

	p->config->clock = (enum vm_clock)n;
	p->config->line_clock = p->line;
	return err;
}

static int set_on_end(struct parser *p, struct span v)
{
	static const char *const words[] = { "stop", "restart", "poweroff_node", NULL };
	unsigned n = 0;
	int err = config_word(p, "on_end", v, words, &n);

	p->config->on_end = (enum vm_on_end)n;
	return err;
}

static int set_debug_exit(struct parser *p, struct span v)
{
	static const char *const words[] = { "no", "yes", NULL };
	unsigned n = 0;
	int err = config_word(p, "debug_exit", v, words, &n);

	p->config->debug_exit = n == 1;
	return err;
}

/* A key without a setter is of a feature that is not in this image. */
#define PASSTHROUGH(set) (IS_ENABLED(CONFIG_PASSTHROUGH) ? (set) : NULL)
#define NUMA(set) (IS_ENABLED(CONFIG_NUMA) ? (set) : NULL)
#define PAUSE(set) (IS_ENABLED(CONFIG_VM_PAUSE) ? (set) : NULL)
#define MODULES(set) (IS_ENABLED(CONFIG_VM_MODULES) ? (set) : NULL)
#define SHARING(set) (IS_ENABLED(CONFIG_VM_SHARING) ? (set) : NULL)
#define FLAT(set) (IS_ENABLED(CONFIG_VM_FLAT) ? (set) : NULL)
#define DEBUG_EXIT(set) (IS_ENABLED(CONFIG_VM_DEBUG_EXIT) ? (set) : NULL)

static const struct key keys[] = {
	{ "name", set_name }, { "kernel", set_kernel }, { "initrd", set_initrd }, { "cmdline", set_cmdline },
	{ "cpus", config_set_cpus }, { "memory", config_set_memory }, { "leaf", config_set_leaf },
	{ "memory_map", PASSTHROUGH(config_set_memory_map) }, { "remote_memory", NUMA(config_set_remote_memory) },
	{ "topology", FLAT(config_set_topology) }, { "allow_smt_sharing", SHARING(config_set_smt_sharing) },
	{ "clock", PAUSE(set_clock) }, { "on_end", set_on_end }, { "pci", PASSTHROUGH(config_set_pci) },
	{ "pci_irq", PASSTHROUGH(config_set_pci_irq) }, { "pci_node", PASSTHROUGH(config_set_pci_node) },
	{ "dma", PASSTHROUGH(config_set_dma) },
	{ "module", MODULES(set_module) }, { "debug_exit", DEBUG_EXIT(set_debug_exit) },
	{ "after", SHARING(set_after) },
};

/* Only the command line may say "nothing"; any other key is left out instead. */
static bool may_be_empty(const struct key *key)
{
	return key->set == set_cmdline;
}

static int unknown_key(struct parser *p, struct span name)
{
	char list[200];
	size_t n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(keys) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", keys[i].name);
	return config_fail(p, "unknown key '%.*s': expected one of %s", (int)MIN(name.n, (size_t)CONFIG_SHOWN_MAX),
			   name.p, list);
}

static int assign(struct parser *p, struct span name, struct span value, unsigned *seen)
{
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!config_equal(name, keys[i].name))
			continue;
		if (seen[i] && keys[i].set != set_module)
			return config_fail(p, "%s: given twice, first in line %u", keys[i].name, seen[i]);
		if (!value.n && !may_be_empty(&keys[i]))
			return config_fail(p, "%s: expected a value after '='", keys[i].name);
		if (!keys[i].set)
			return config_fail(p, "%s: this image was built without that feature", keys[i].name);
		seen[i] = p->line;
		return keys[i].set(p, value);
	}
	return unknown_key(p, name);
}

static int parse_line(struct parser *p, struct span line, unsigned *seen)
{
	size_t eq;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (line.n > LINE_MAX)
		return config_fail(p, "expected a line of at most %u bytes, found %zu", LINE_MAX, line.n);
	for (size_t i = 0; i < line.n; i++) {
		u8 c = (u8)line.p[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return config_fail(p, "expected text, found control character 0x%02x", c);
	}
	line = config_trim(line);
	if (!line.n || line.p[0] == '#')
		return 0;
	for (eq = 0; eq < line.n && line.p[eq] != '='; eq++)
		;
	if (eq == line.n)
		return config_fail(p, "expected 'key = value' or a '#' comment, found '%.*s'",
			     (int)MIN(line.n, (size_t)CONFIG_SHOWN_MAX), line.p);
	return assign(p, config_trim((struct span){ line.p, eq }),
		      config_trim((struct span){ line.p + eq + 1, line.n - eq - 1 }), seen);
}

int vm_config_parse(const char *file, const char *text, size_t size, struct vm_config *out, struct config_error *err)
{
	struct parser p = { .file = file, .config = out, .err = err };
	unsigned seen[ARRAY_SIZE(keys)] = { 0 };
	size_t pos = 0;

	*out = (struct vm_config){ .file = file, .cpus = 1, .leaf = VM_LEAF_1G };
	if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		return vm_config_error(err, file, 1, "begins with a byte-order mark: save the file as plain text without one");
	while (pos < size) {
		size_t end = pos;
		int e;

		while (end < size && text[end] != '\n')
			end++;
		p.line++;
		e = parse_line(&p, (struct span){ text + pos, end - pos }, seen);
		if (e)
			return e;
		pos = end + 1;
	}
	if (!out->line_kernel)
		return vm_config_error(err, file, 0, "required key 'kernel' is missing: the name of the module to boot");
	if (!out->line_memory)
		return vm_config_error(err, file, 0, "required key 'memory' is missing: a size like 512M or 12G");
	return IS_ENABLED(CONFIG_PASSTHROUGH) ? config_resolve_dma(&p) : 0;
}

static int check_module(const char *file, const char *key, const char *name, unsigned line,
			bool (*exists)(void *ctx, const char *name), void *ctx, struct config_error *err)
{
	if (exists(ctx, name))
		return 0;
	return vm_config_error(err, file, line, "%s = %s: the boot loader gave no module of that name", key, name);
}

int vm_config_check_modules(const struct vm_config *config, bool (*exists)(void *ctx, const char *name), void *ctx,
			    struct config_error *err)
{
	int e = check_module(config->file, "kernel", config->kernel, config->line_kernel, exists, ctx, err);

	if (!e && config->initrd[0])
		e = check_module(config->file, "initrd", config->initrd, config->line_initrd, exists, ctx, err);
	for (unsigned i = 0; IS_ENABLED(CONFIG_VM_MODULES) && !e && i < config->nr_modules; i++)
		e = check_module(config->file, "module", config->module[i].name, config->module[i].line, exists, ctx, err);
	return e;
}
