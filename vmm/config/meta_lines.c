/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what a VM file's `meta =` lines say to its guest. They are kept as one text,
 * KEY=VALUE and a line feed each (config_disk.c).
 */
#include <margay/span.h>

#include "vmm/config/config.h"

bool vm_config_meta(const struct vm_config *c, unsigned i, struct span *key, struct span *value)
{
	struct span text = span_of(c->meta);
	bool found;

	do {
		*value = span_part(&text, '\n', &found);
	} while (found && i--);
	*key = span_part(value, '=', &(bool){ false });
	return found;
}

struct span vm_config_meta_name(const struct vm_config *c, const char *key, const char *otherwise)
{
	struct span k, value;

	for (unsigned i = 0; vm_config_meta(c, i, &k, &value); i++)
		if (span_is(k, key))
			return value;
	return span_of(otherwise);
}

bool vm_config_meta_oem(struct span key)
{
	return span_skip(&key, "io.systemd.credential:") ||
	       span_skip(&key, "io.systemd.credential.binary:");
}
