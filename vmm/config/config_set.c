/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: what is wrong with a VM file only beside the others of its node (config_set.h). */
#include "vmm/config/config_set.h"

#include <margay/string.h>

static const struct vm_config *named(const struct vm_config *const file[], unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (file[i] && !strcmp(file[i]->name, name))
			return file[i];
	return NULL;
}

int vm_config_check_earlier(const struct vm_config *const file[], unsigned i, unsigned *after, struct config_error *err)
{
	const struct vm_config *c = file[i], *twin = named(file, i, c->name), *first = named(file, i, c->after);

	*after = i;
	if (twin)
		return vm_config_error(err, c->file, c->line_name, "name = %s: %s has that name already: choose another", c->name,
				       twin->file);
	if (c->after[0] && !first)
		return vm_config_error(err, c->file, c->line_after, "after = %s: no earlier VM file is of that name; the order is "
				       "the boot loader's", c->after);
	while (first && file[*after] != first)
		--*after;
	return 0;
}

int vm_config_check_trusted(const struct vm_config *const file[], unsigned count, unsigned i, struct config_error *err)
{
	const struct vm_config *c = file[i];

	for (unsigned k = 0; c->trusted && k < count; k++)
		if (file[k] && !file[k]->trusted)
			return vm_config_error(err, c->file, c->line_trusted, "trusted = yes: not beside %s, which is not "
					       "trusted: it could read that one's memory", file[k]->file);
	return 0;
}
