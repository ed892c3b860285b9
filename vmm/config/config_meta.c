/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's key for what its guest is told: `meta = KEY=VALUE`. What the lines
 * mean is meta_lines.c's.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/config/config_parse.h"

static bool is_word_char(char c)
{
	char lower = c | 0x20;

	return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') || c == '-' || c == '_' ||
	       c == '.';
}

static bool is_word(struct span s)
{
	size_t n = 0;

	while (n < s.n && is_word_char(s.p[n]))
		n++;
	return n && n == s.n;
}

static bool same(struct span a, struct span b)
{
	return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

/* May it stand in several lines? Each is a line of a file, or one key of several. */
static bool repeats(struct span key)
{
	return span_is(key, VM_META_USER) || span_is(key, VM_META_NETWORK) ||
	       span_is(key, VM_META_SSH);
}

/* Names that stand in the guest's serial number, too. */
static bool is_name(struct span key)
{
	return span_is(key, VM_META_ID) || span_is(key, VM_META_HOST) || span_is(key, VM_META_MODE);
}

static int check(struct parser *p, struct span line, struct span key, struct span value)
{
	struct span before_key, before, name = key;

	if (vm_config_meta_oem(name))
		span_part(&name, ':', &(bool){ false });
	if (!is_word(name))
		return config_wrong(p, "meta",
				    "KEY=VALUE, a key of letters, digits, '-', '_' and '.', or "
				    "io.systemd.credential:NAME=VALUE",
				    line);
	if (vm_config_meta_oem(key) && !HAS(CONFIG_SMBIOS))
		return config_fail(p, "meta: io.systemd.credential: needs CONFIG_SMBIOS");
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < ' ' || value.p[i] > '~')
			return config_wrong(p, "meta", "a value of ASCII without tabs", value);
	if (is_name(key) && (!is_word(value) || value.n > VM_META_NAME_MAX))
		return config_wrong(p, "meta",
				    "at most 63 letters, digits, '-', '_' and '.' as " VM_META_ID
				    ", " VM_META_HOST " or " VM_META_MODE,
				    value);
	for (unsigned i = 0; vm_config_meta(p->config, i, &before_key, &before); i++)
		if (same(key, before_key) && !repeats(key))
			return config_fail(p, "meta: %.*s: given twice",
					   (int)MIN(key.n, (size_t)CONFIG_SHOWN_MAX), key.p);
	return 0;
}

int config_set_meta(struct parser *p, struct span v)
{
	struct vm_config *c = p->config;
	struct span value = v, key;
	size_t used = strlen(c->meta);
	bool found;

	key = span_trim(span_part(&value, '=', &found));
	value = span_trim(value);
	if (!found)
		key.n = 0;
	if (check(p, v, key, value))
		return -EINVAL;
	if (used + key.n + value.n + 2 > VM_META_MAX)
		return config_fail(p, "meta: expected at most %u bytes in all lines together",
				   VM_META_MAX);
	snprintf(c->meta + used, sizeof(c->meta) - used, "%.*s=%.*s\n", (int)key.n, key.p,
		 (int)value.n, value.p);
	return 0;
}
