/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's parser. `key = value` lines, values to the end of
 * the line, `#` begins a comment line; docs/configuration.md is its reference.
 */
#include "vmm/config.h"

#include <margay/errno.h>
#include <margay/string.h>

#define LINE_MAX (VM_CMDLINE_MAX + 256)
/* Characters of a wrong value that an error repeats. */
#define SHOWN_MAX 40

struct span {
	const char *p;
	size_t n;
};

struct parser {
	const char *file;
	unsigned line;
	struct vm_config *config;
	struct config_error *err;
};

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

static int __printf(2, 3) error(struct parser *p, const char *fmt, ...)
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

static struct span trim(struct span s)
{
	while (s.n && blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool equal(struct span s, const char *word)
{
	return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

static int wrong_value(struct parser *p, const char *key, const char *expected, struct span found)
{
	return error(p, "%s: expected %s, found '%.*s'%s", key, expected, (int)MIN(found.n, (size_t)SHOWN_MAX), found.p,
		     found.n > SHOWN_MAX ? "..." : "");
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

/* Leading decimal digits of *s, which it is left behind. False when there are none or they exceed 2^64-1. */
static bool number(struct span *s, u64 *out)
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

static int set_name(struct parser *p, struct span v)
{
	if (v.n > VM_NAME_MAX)
		return error(p, "name: expected at most %u characters, found %zu", VM_NAME_MAX, v.n);
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '-' && c != '_')
			return wrong_value(p, "name", "letters, digits, '-' and '_'", v);
	}
	copy(p->config->name, v);
	return 0;
}

static int set_module(struct parser *p, const char *key, char *dst, unsigned *line, struct span v)
{
	if (v.n > VM_MODULE_MAX)
		return error(p, "%s: expected a module name of at most %u characters, found %zu", key, VM_MODULE_MAX, v.n);
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] <= ' ' || v.p[i] > '~')
			return wrong_value(p, key, "one module name without blanks", v);
	copy(dst, v);
	*line = p->line;
	return 0;
}

static int set_kernel(struct parser *p, struct span v)
{
	return set_module(p, "kernel", p->config->kernel, &p->config->line_kernel, v);
}

static int set_initrd(struct parser *p, struct span v)
{
	return set_module(p, "initrd", p->config->initrd, &p->config->line_initrd, v);
}

static int set_cmdline(struct parser *p, struct span v)
{
	if (v.n > VM_CMDLINE_MAX)
		return error(p, "cmdline: expected at most %u bytes, found %zu", VM_CMDLINE_MAX, v.n);
	copy(p->config->cmdline, v);
	return 0;
}

/* One element of a CPU list, `a` or `a-b`, which *s is left behind. */
static bool cpu_range(struct span *s, u64 *first, u64 *last)
{
	if (!number(s, first))
		return false;
	*last = *first;
	if (!s->n || s->p[0] != '-')
		return true;
	s->p++;
	s->n--;
	return number(s, last) && *last >= *first;
}

static int add_cpus(struct parser *p, u64 first, u64 last)
{
	struct vm_config *c = p->config;

	if (last > VM_CPU_NUMBER_MAX)
		return error(p, "cpus: expected CPU numbers up to %u, found %llu", VM_CPU_NUMBER_MAX, (unsigned long long)last);
	for (u64 cpu = first; cpu <= last; cpu++) {
		for (unsigned i = 0; i < c->cpus; i++)
			if (c->cpu[i] == cpu)
				return error(p, "cpus: CPU %llu is named twice", (unsigned long long)cpu);
		if (c->cpus == VM_CPUS_MAX)
			return error(p, "cpus: expected at most %u CPUs", VM_CPUS_MAX);
		c->cpu[c->cpus++] = (u16)cpu;
	}
	return 0;
}

/* `4-7`, `1-3,6`: the CPUs of vCPU 0, 1, ... */
static int set_cpu_list(struct parser *p, struct span v)
{
	struct span rest = v;

	p->config->cpus = 0;
	p->config->pinned = true;
	for (;;) {
		u64 first, last;
		int err;

		if (!cpu_range(&rest, &first, &last) || (rest.n && rest.p[0] != ','))
			return wrong_value(p, "cpus", "a list of CPUs like 1-3,6", v);
		err = add_cpus(p, first, last);
		if (err || !rest.n)
			return err;
		rest.p++;
		rest.n--;
	}
}

static int set_cpus(struct parser *p, struct span v)
{
	struct span rest = v;
	u64 n;

	p->config->line_cpus = p->line;
	if (!number(&rest, &n))
		return wrong_value(p, "cpus", "a number of vCPUs, or a list of CPUs like 1-3,6", v);
	if (rest.n && (rest.p[0] == '-' || rest.p[0] == ','))
		return set_cpu_list(p, v);
	if (rest.n)
		return wrong_value(p, "cpus", "a number of vCPUs, or a list of CPUs like 1-3,6", v);
	if (n < 1 || n > VM_CPUS_MAX)
		return error(p, "cpus: expected 1 to %u vCPUs, found %llu", VM_CPUS_MAX, (unsigned long long)n);
	p->config->cpus = (unsigned)n;
	return 0;
}

static int set_memory(struct parser *p, struct span v)
{
	static const struct {
		char letter;
		unsigned shift;
	} units[] = { { 'K', 10 }, { 'M', 20 }, { 'G', 30 } };
	struct span rest = v;
	unsigned shift = 0;
	u64 n;

	if (!number(&rest, &n) || rest.n != 1)
		return wrong_value(p, "memory", "a size with K, M or G, like 512M or 12G", v);
	for (unsigned i = 0; i < ARRAY_SIZE(units); i++)
		if (rest.p[0] == units[i].letter)
			shift = units[i].shift;
	if (!shift)
		return wrong_value(p, "memory", "a size with K, M or G, like 512M or 12G", v);
	if (n > VM_MEMORY_MAX >> shift || n << shift < VM_MEMORY_MIN)
		return error(p, "memory: expected %uM to %uG, found '%.*s'", (unsigned)(VM_MEMORY_MIN >> 20),
			     (unsigned)(VM_MEMORY_MAX >> 30), (int)MIN(v.n, (size_t)SHOWN_MAX), v.p);
	n <<= shift;
	if (!IS_ALIGNED(n, PAGE_SIZE_2M))
		return wrong_value(p, "memory", "a multiple of 2M", v);
	p->config->memory = n;
	p->config->line_memory = p->line;
	return 0;
}

static int set_on_end(struct parser *p, struct span v)
{
	static const char *const words[] = {
		[ON_END_STOP] = "stop",
		[ON_END_RESTART] = "restart",
		[ON_END_POWEROFF_NODE] = "poweroff_node",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		if (equal(v, words[i])) {
			p->config->on_end = (enum vm_on_end)i;
			return 0;
		}
	}
	return wrong_value(p, "on_end", "stop, restart or poweroff_node", v);
}

static const struct key keys[] = {
	{ "name", set_name }, { "kernel", set_kernel }, { "initrd", set_initrd }, { "cmdline", set_cmdline },
	{ "cpus", set_cpus }, { "memory", set_memory }, { "on_end", set_on_end },
};

/* Only the command line may say "nothing"; any other key is left out instead. */
static bool may_be_empty(const struct key *key)
{
	return key->set == set_cmdline;
}

static int assign(struct parser *p, struct span name, struct span value, unsigned *seen)
{
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!equal(name, keys[i].name))
			continue;
		if (seen[i])
			return error(p, "%s: given twice, first in line %u", keys[i].name, seen[i]);
		if (!value.n && !may_be_empty(&keys[i]))
			return error(p, "%s: expected a value after '='", keys[i].name);
		seen[i] = p->line;
		return keys[i].set(p, value);
	}
	return error(p, "unknown key '%.*s': expected name, kernel, initrd, cmdline, cpus, memory or on_end",
		     (int)MIN(name.n, (size_t)SHOWN_MAX), name.p);
}

static int parse_line(struct parser *p, struct span line, unsigned *seen)
{
	size_t eq;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (line.n > LINE_MAX)
		return error(p, "expected a line of at most %u bytes, found %zu", LINE_MAX, line.n);
	for (size_t i = 0; i < line.n; i++) {
		u8 c = (u8)line.p[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return error(p, "expected text, found control character 0x%02x", c);
	}
	line = trim(line);
	if (!line.n || line.p[0] == '#')
		return 0;
	for (eq = 0; eq < line.n && line.p[eq] != '='; eq++)
		;
	if (eq == line.n)
		return error(p, "expected 'key = value' or a '#' comment, found '%.*s'",
			     (int)MIN(line.n, (size_t)SHOWN_MAX), line.p);
	return assign(p, trim((struct span){ line.p, eq }), trim((struct span){ line.p + eq + 1, line.n - eq - 1 }), seen);
}

int vm_config_parse(const char *file, const char *text, size_t size, struct vm_config *out, struct config_error *err)
{
	struct parser p = { .file = file, .config = out, .err = err };
	unsigned seen[ARRAY_SIZE(keys)] = { 0 };
	size_t pos = 0;

	*out = (struct vm_config){ .file = file, .cpus = 1 };
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
	return 0;
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

	if (e || !config->initrd[0])
		return e;
	return check_module(config->file, "initrd", config->initrd, config->line_initrd, exists, ctx, err);
}
