/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the words of a guest kernel's command line by which a Linux does without KVM's
 * clock; without x2APIC mode, which it takes here because it is KVM's guest; or without any timer,
 * as there is no PIT. They are found as Linux finds them (its lib/cmdline.c and kernel/params.c).
 */
#include <margay/span.h>
#include <margay/string.h>

#include "vmm/config/config.h"

/*
 * value: the word's, or one of its list with commas; NULL: whatever it is, be it none. In Linux:
 * arch/x86/kernel/...
 */
static const struct {
	const char *name;
	const char *value;
	unsigned without;
	const char *why;
} words[] = {
	/* kvmclock.c */
	{ "no-kvmclock", NULL, LINUX_NO_CLOCK, "cmdline has no-kvmclock" },
	/* cpu/hypervisor.c */
	{ "nopv", NULL, LINUX_NO_CLOCK | LINUX_NO_X2APIC, "cmdline has nopv" },
	/* apic/apic.c */
	{ "nox2apic", NULL, LINUX_NO_X2APIC, "cmdline has nox2apic" },
	/*
	 * cpu/common.c: by the bit's name, or its number. Whom no hypervisor has is nobody's guest.
	 */
	{ "clearcpuid", "hypervisor", LINUX_NO_CLOCK | LINUX_NO_X2APIC,
	  "cmdline has clearcpuid=hypervisor" },
	{ "clearcpuid", "159", LINUX_NO_CLOCK | LINUX_NO_X2APIC,
	  "cmdline has clearcpuid=159 (hypervisor)" },
	{ "clearcpuid", "x2apic", LINUX_NO_X2APIC, "cmdline has clearcpuid=x2apic" },
	{ "clearcpuid", "149", LINUX_NO_X2APIC, "cmdline has clearcpuid=149 (x2apic)" },
	/* apic/apic.c; acpi/boot.c: without ACPI it does not find its local APIC. */
	{ "nolapic", NULL, LINUX_NO_TIMER, "cmdline has nolapic" },
	{ "disableapic", NULL, LINUX_NO_TIMER, "cmdline has disableapic" },
	{ "nolapic_timer", NULL, LINUX_NO_TIMER, "cmdline has nolapic_timer" },
	{ "noapictimer", NULL, LINUX_NO_TIMER, "cmdline has noapictimer" },
	{ "acpi", "off", LINUX_NO_TIMER, "cmdline has acpi=off" },
	{ "clearcpuid", "apic", LINUX_NO_TIMER, "cmdline has clearcpuid=apic" },
	{ "clearcpuid", "9", LINUX_NO_TIMER, "cmdline has clearcpuid=9 (apic)" },
};

/* A blank within quotes is none. */
static struct span next_word(struct span *rest)
{
	struct span word;
	bool quoted = false;

	*rest = span_trim(*rest);
	word = (struct span){ rest->p, 0 };
	while (rest->n && (quoted || (rest->p[0] != ' ' && rest->p[0] != '\t'))) {
		quoted = quoted != (rest->p[0] == '"');
		rest->p++;
		rest->n--;
		word.n++;
	}
	return word;
}

/* Without the quotes that may stand around a word, or around its value. */
static struct span unquoted(struct span s)
{
	if (s.n && s.p[0] == '"') {
		s.p++;
		s.n--;
	}
	if (s.n && s.p[s.n - 1] == '"')
		s.n--;
	return s;
}

/* '-' and '_' are one to Linux. */
static char folded(char c)
{
	return c == '-' ? '_' : c;
}

static bool named(struct span s, const char *name)
{
	size_t i = 0;

	while (i < s.n && name[i] && folded(s.p[i]) == folded(name[i]))
		i++;
	return i == s.n && !name[i];
}

static bool lists(struct span list, const char *value)
{
	bool found = !value, more = true;

	while (more && !found)
		found = span_is(span_part(&list, ',', &more), value);
	return found;
}

static const char *find(struct span word, unsigned without)
{
	bool has_value;
	struct span value = unquoted(word), name = span_part(&value, '=', &has_value);

	value = unquoted(value);
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].without & without && named(name, words[i].name) &&
		    lists(value, words[i].value))
			return words[i].why;
	return NULL;
}

/* Of one text; *over: "--" was found, behind which all is init's. */
static const char *find_in(const char *text, unsigned without, bool *over)
{
	struct span rest = span_of(text), word = next_word(&rest);
	const char *why = NULL;

	for (; word.n && !why && !*over; word = next_word(&rest)) {
		*over = span_is(word, "--");
		why = *over ? NULL : find(word, without);
	}
	return why;
}

const char *vm_config_linux(const struct vm_config *c, unsigned without)
{
	bool over = false;
	const char *why = find_in(c->cmdline, without, &over);

	/* What stands behind the modules' names goes behind the command line. */
	for (unsigned i = 0; i < c->nr_modules && !why; i++)
		why = find_in(c->module[i].args, without, &over);
	return why;
}
