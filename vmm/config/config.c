/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's parser. `key = value` lines, values to the end of
 * the line, `#` begins a comment line; docs/configuration.md is its reference.
 */
#include "vmm/config/config_parse.h"

#include <margay/errno.h>
#include <margay/string.h>

#define LINE_MAX (VM_CMDLINE_MAX + 256)

typedef int setter(struct parser *p, struct span value);

/*
 * With a setter, or with the words of which it takes one, whose index is stored, or with what this
 * image lacks for it. Setters of texts find in the parser which key it is and where the text goes.
 */
struct key {
	const char *name;
#ifdef MARGAY_CHECK
	/* what brings it, and what is said of that */
	const char *option;
	const char *wants;
#endif
	union {
		setter *set;
		const char *const *words;
		const char *needs; /* the option */
	};
	u16 line;     /* where struct vm_config has the number of the key's line; 0: nowhere */
	/*
	 * where it has the index or text; size 0: the key has a setter, at 0 too: it needs the
	 * option; at CONFIG_SEVERAL, where nothing is: it may stand in several lines
	 */
	u16 at;
	u16 size;
};
static_assert(offsetof(struct vm_config, name) > CONFIG_SEVERAL, "no field is there");

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static int copy(struct parser *p, char *dst, const char *what, unsigned max, struct span s)
{
	if (s.n > max)
		return config_fail(p, "%s: expected %s of at most %u bytes, found %zu", p->key,
				   what, max, s.n);
	memcpy(dst, s.p, s.n);
	dst[s.n] = 0;
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int set_vm_name(struct parser *p, struct span v)
{
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    c != '-' && c != '_')
			return config_wrong(p, p->key, "letters, digits, '-' and '_'", v);
	}
	return copy(p, p->text, "a name", VM_NAME_MAX, v);
}

int config_module_name(struct parser *p, struct span v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] <= ' ' || v.p[i] > '~')
			return config_wrong(p, p->key, "one module name without blanks", v);
	return copy(p, p->text, "a name", VM_MODULE_MAX, v);
}

/* `module = NAME arguments...`, as often as there are modules. */
int config_set_module(struct parser *p, struct span v)
{
	struct vm_config *c = p->config;
	struct vm_config_module *m = &c->module[c->nr_modules];
	size_t n = 0;

	if (c->nr_modules == VM_MODULES_MAX)
		return config_fail(p, "module: expected at most %u modules", VM_MODULES_MAX);
	while (n < v.n && !blank(v.p[n]))
		n++;
	if (copy(p, m->args, "arguments", VM_MODULE_ARGS_MAX,
		 span_trim((struct span){ v.p + n, v.n - n })))
		return -EINVAL;
	c->nr_modules++;
	m->line = p->line;
	p->text = m->name;
	return config_module_name(p, (struct span){ v.p, n });
}

static int set_cmdline(struct parser *p, struct span v)
{
	return copy(p, p->text, "text", VM_CMDLINE_MAX, v);
}

/* Options are written out here: tools/fixdep looks for their names. */
#define ALWAYS 1
#ifdef MARGAY_CHECK
#define BROUGHT_BY(name, text) .option = (name), .wants = (text),
#define KEY_LACKS(key) (image_has((key)->option) ? NULL : (key)->wants)
#else
#define BROUGHT_BY(name, text)
#define KEY_LACKS(key) ((key)->at ? NULL : (key)->needs)
#endif
/* What a key takes: one of words, whose index goes to a field; what a setter makes of it; text. */
#define TAKES_WORD(field, ...) \
	.words = (const char *const[]){ __VA_ARGS__, NULL }, \
	.at = offsetof(struct vm_config, field), .size = sizeof(((struct vm_config *)0)->field)
#define TAKES(fn) .set = (fn), .at = 1
/* Of a key that may stand in several lines. */
#define TAKES_LIST(fn) .set = (fn), .at = CONFIG_SEVERAL
#define TAKES_TEXT(fn, field) .set = (fn), .at = offsetof(struct vm_config, field)
/* That where the image has the option; `text` is what it lacks otherwise. */
#define BY(option, name, text, ...) \
	BROUGHT_BY(name, text) IF_ENABLED(option, (__VA_ARGS__), (.needs = (text)))
#define WORDS(option, ...) BY(option, #option, #option, TAKES_WORD(__VA_ARGS__))
#define SETTER(option, fn) BY(option, #option, #option, TAKES(fn))
#define LIST(option, fn) BY(option, #option, #option, TAKES_LIST(fn))
#define TEXT(option, fn, field) BY(option, #option, #option, TAKES_TEXT(fn, field))
#define LINE(field) .line = offsetof(struct vm_config, field)
#define PCI IS_ENABLED(CONFIG_PASSTHROUGH)
#define FOLLOW_UP IS_ENABLED(CONFIG_VM_FOLLOW_UP)
#define INJECT HAS_WORD(CONFIG_VM_MACHINE_CHECKS, "inject")
#define DUMP HAS_WORD(CONFIG_MANAGEMENT_VM, "dump")
#define THENS "stop", "restart", "poweroff_node", HAS_WORD(CONFIG_VM_FOLLOW_UP, "reboot_node")

/* clang-format off */
static const struct key keys[] = {
	{ "name", TEXT(ALWAYS, set_vm_name, name), LINE(line_name) },
	{ "kernel", TEXT(ALWAYS, config_module_name, kernel), LINE(line_kernel) },
	{ "initrd", TEXT(ALWAYS, config_module_name, initrd), LINE(line_initrd) },
	{ "cmdline", TEXT(ALWAYS, set_cmdline, cmdline), LINE(line_cmdline) },
	{ "cpus", SETTER(ALWAYS, config_set_cpus), LINE(line_cpus) },
	{ "memory", SETTER(ALWAYS, config_set_memory), LINE(line_memory) },
	{ "leaf", WORDS(ALWAYS, leaf, "4K", "2M", "1G") },
	{ "memory_map", WORDS(CONFIG_PASSTHROUGH, memory_map, "auto", "offset", "identity") },
	{ "remote_memory", WORDS(CONFIG_NUMA, remote_memory, "refuse", "allow") },
	{ "cache", SETTER(CONFIG_VM_RDT, config_set_cache), LINE(line_rdt) },
	{ "bandwidth", SETTER(CONFIG_VM_RDT, config_set_bandwidth), LINE(line_rdt) },
	{ "topology", WORDS(CONFIG_NUMA, flat, "node", "flat") },
	{ "allow_smt_sharing", WORDS(CONFIG_VM_SHARING, smt_sharing, "no", "yes") },
	{ "trusted", WORDS(CONFIG_MITIGATIONS, trusted, "no", "yes"), LINE(line_trusted) },
	{ "clock", BY(CONFIG_VM_PAUSE, "CONFIG_VM_PAUSE", "CONFIG_MONITOR_CONSOLE",
		TAKES_WORD(clock, "follow", "freeze")),
	  LINE(line_clock) },
	{ "interrupts", WORDS(CONFIG_DIRECT_INTERRUPTS, interrupts, "auto", "direct", "emulated"),
		LINE(line_direct) },
	{ "ipi", WORDS(CONFIG_DIRECT_INTERRUPTS, ipi_direct, "filtered", "direct"),
		LINE(line_ipi) },
	{ "cstates", WORDS(CONFIG_VM_CST, cstates_firmware, "cpu", "firmware"),
		LINE(line_cstates) },
	{ "watchdog", WORDS(CONFIG_VM_WATCHDOG, no_watchdog, "yes", "no") },
	{ "pvclock", WORDS(CONFIG_VM_TSC_ONLY, no_pvclock, "yes", "no"), LINE(line_pvclock) },
	{ "counters", WORDS(CONFIG_VM_COUNTERS, counters, "no", "yes"), LINE(line_counters) },
	{ "on_end", WORDS(ALWAYS, then[0], THENS), LINE(line_on_end) },
	{ "on_poweroff", WORDS(CONFIG_VM_FOLLOW_UP, then[ENDING_POWEROFF], THENS),
		LINE(line_on_one) },
	{ "on_reboot", WORDS(CONFIG_VM_FOLLOW_UP, then[ENDING_REBOOT], THENS), LINE(line_on_one) },
	{ "on_crash", WORDS(CONFIG_VM_FOLLOW_UP, then[ENDING_CRASH], THENS, DUMP),
		LINE(line_on_one) },
	{ "restart_limit", SETTER(CONFIG_VM_FOLLOW_UP, config_set_restart_limit) },
	{ "console_log", SETTER(CONFIG_VM_LOG, config_set_console_log) },
	{ "disk", LIST(CONFIG_VIRTIO, config_set_disk) },
	{ "net", LIST(CONFIG_VIRTIO_NET, config_set_net) },
	{ "meta", LIST(CONFIG_VIRTIO, config_set_meta) },
	{ "console", WORDS(CONFIG_VIRTIO, virtio_console, "uart", "virtio") },
	{ "control", WORDS(CONFIG_MANAGEMENT_VM, control.commands, "no", "yes"), LINE(line_control) },
	{ "control_may", SETTER(CONFIG_MANAGEMENT_VM, config_set_control_may), LINE(line_may) },
	{ "pci", SETTER(CONFIG_PASSTHROUGH, config_set_pci), LINE(line_pci) },
	{ "pci_irq", SETTER(CONFIG_PASSTHROUGH, config_set_pci_irq), LINE(line_facts) },
	{ "pci_node", SETTER(CONFIG_PASSTHROUGH, config_set_pci_node), LINE(line_facts) },
	{ "vfs", SETTER(CONFIG_SRIOV, config_set_vfs), LINE(line_vfs) },
	{ "dma", SETTER(CONFIG_PASSTHROUGH, config_set_dma), LINE(line_dma) },
	{ "on_fault", WORDS(CONFIG_IOMMU, on_fault, "report", "stop", "restart"),
		LINE(line_fault) },
	{ "on_mce", WORDS(CONFIG_MACHINE_CHECKS, on_mce, "stop", "restart", INJECT),
		LINE(line_mce) },
	{ "module", BY(CONFIG_VM_MODULES, "CONFIG_VM_MODULES", "CONFIG_MULTIBOOT",
		TAKES_LIST(config_set_module)) },
	{ "dmi", WORDS(CONFIG_SMBIOS, dmi_node, "none", "node") },
	{ "debug_exit", WORDS(CONFIG_VM_DEBUG_EXIT, debug_exit, "no", "yes") },
	{ "after", TEXT(CONFIG_VM_SHARING, set_vm_name, after), LINE(line_after) },
};
/* clang-format on */

/* Only the command line may say "nothing"; any other key is left out instead. */
static bool may_be_empty(const struct key *key)
{
	return key->set == set_cmdline;
}

static int unknown_key(struct parser *p, struct span name)
{
	char list[440];
	size_t n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(keys) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      keys[i].name);
	return config_fail(p, "unknown key '%.*s': expected one of %s",
			   (int)MIN(name.n, (size_t)CONFIG_SHOWN_MAX), name.p, list);
}

static int set_word(struct parser *p, const struct key *key, struct span value)
{
	unsigned n = 0;
	int err = config_word(p, key->name, value, key->words, &n);

	memcpy((u8 *)p->config + key->at, &n, key->size);
	return err;
}

static int assign(struct parser *p, struct span name, struct span value, unsigned *seen)
{
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!span_is(name, keys[i].name))
			continue;
		if (seen[i] && !config_is_list(keys[i].at))
			return config_fail(p, "%s: given twice, first in line %u", keys[i].name,
					   seen[i]);
		seen[i] = p->line;
		if (keys[i].line)
			memcpy((u8 *)p->config + keys[i].line, &p->line, sizeof(p->line));
		if (!value.n && !may_be_empty(&keys[i]))
			return config_fail(p, "%s: expected a value after '='", keys[i].name);
		if (KEY_LACKS(&keys[i]))
			return config_fail(p, "%s: needs %s", keys[i].name, KEY_LACKS(&keys[i]));
		p->key = keys[i].name;
		p->text = (char *)p->config + keys[i].at;
		return keys[i].size ? set_word(p, &keys[i], value) : keys[i].set(p, value);
	}
	return unknown_key(p, name);
}

static int parse_line(struct parser *p, struct span line, unsigned *seen)
{
	struct span name, rest;
	bool found;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (line.n > LINE_MAX)
		return config_fail(p, "expected a line of at most %u bytes, found %zu", LINE_MAX,
				   line.n);
	for (size_t i = 0; i < line.n; i++) {
		u8 c = (u8)line.p[i];

		p->over = (c < ' ' && c != '\t') || c == 0x7f;
		if (p->over)
			return config_fail(p, "expected text, found control character 0x%02x", c);
	}
	line = span_trim(line);
	if (!line.n || line.p[0] == '#')
		return 0;
	rest = line;
	name = span_trim(span_part(&rest, '=', &found));
	if (!found)
		return config_fail(p, "expected 'key = value' or a '#' comment, found '%.*s'",
				   (int)MIN(line.n, (size_t)CONFIG_SHOWN_MAX), line.p);
	return assign(p, name, span_trim(rest), seen);
}

/* counters = yes: what cannot be had with it. */
static void resolve_counters(struct parser *p)
{
	const struct vm_config *c = p->config;

	p->line = c->line_counters;
	if (c->counters && c->smt_sharing)
		config_fail(
			p,
			"counters = yes: not with allow_smt_sharing = yes, which lets others use its cores");
}

static void parse_lines(struct parser *p, struct span text)
{
	unsigned seen[ARRAY_SIZE(keys)] = { 0 };
	bool more;

	for (p->line = 1; text.n && !p->over; p->line++)
		parse_line(p, span_part(&text, '\n', &more), seen);
	p->line = 0;
}

static void check_required(struct parser *p)
{
	if (!p->over && !p->config->line_kernel)
		config_fail(p, "required key 'kernel' is missing: the name of the module to boot");
	if (!p->over && !p->config->line_memory)
		config_fail(p, "required key 'memory' is missing: a size like 512M or 12G");
}

/* What all lines together must be, and what follows of them. */
static void resolve_all(struct parser *p)
{
	const struct vm_config *c = p->config;

	if (FOLLOW_UP && !p->over)
		config_resolve_ends(p);
	if (PCI && !p->over)
		config_resolve_dma(p);
	if (!p->over)
		config_resolve_vfs(p);
	if (IS_ENABLED(CONFIG_MANAGEMENT_VM) && !p->over && c->line_may && !c->control.commands)
		config_fail(p, "control_may: without control = yes it may nothing");
	config_resolve_direct(p);
	if (IS_ENABLED(CONFIG_VM_COUNTERS) && !p->over)
		resolve_counters(p);
}

int vm_config_parse(const char *file, const char *text, size_t size, struct vm_config *out,
		    struct config_error *err, void (*tell)(const char *text))
{
	struct parser p = { .file = file, .line = 1, .config = out, .err = err, .tell = tell };

	*out = (struct vm_config){ .file = file, .cpus = 1, .leaf = VM_LEAF_1G, .console_log = 64 };
	if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		return config_fail(&p, "begins with a byte-order mark: save it without one");
	parse_lines(&p, (struct span){ text, size });
	check_required(&p);
	resolve_all(&p);
	return p.errors ? -EINVAL : 0;
}

bool vm_config_name(const struct vm_config *c, unsigned i, struct vm_config_name *out)
{
	unsigned modules = vm_config_modules(c);

	if (!i)
		*out = (struct vm_config_name){ "kernel", c->kernel, c->line_kernel };
	else if (i <= modules)
		*out = (struct vm_config_name){ "module", c->module[i - 1].name,
						c->module[i - 1].line };
	else if (IS_ENABLED(CONFIG_VIRTIO) && (i > modules + 1 || !c->initrd[0]))
		return config_disk_name(c, i - modules - 1 - (c->initrd[0] != 0), out);
	else
		*out = (struct vm_config_name){ "initrd", c->initrd, c->line_initrd };
	return i <= modules || (i == modules + 1 && c->initrd[0]);
}
