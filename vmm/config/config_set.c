/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: what is wrong with a VM file only beside the others of its node (config_set.h). */
#include "vmm/config/config_set.h"

#include <margay/string.h>

int vm_config_check_earlier(const struct vm_config *const file[], const char *const name[],
			    unsigned i, unsigned *after, struct config_error *err)
{
	const struct vm_config *c = file[i];

	*after = i;
	for (unsigned k = 0; k < i; k++) {
		if (file[k] && !strcmp(name[k], c->name))
			return vm_config_error(
				err, c->file, c->line_name,
				"name = %s: %s has that name already: choose another", c->name,
				file[k]->file);
		if (c->after[0] && !strcmp(name[k], c->after) && (file[k] || *after == i))
			*after = k;
	}
	if (c->after[0] && *after == i)
		return vm_config_error(
			err, c->file, c->line_after,
			"after = %s: no earlier VM file is of that name; the order is "
			"the boot loader's",
			c->after);
	return 0;
}

int vm_config_check_trusted(const struct vm_config *const file[], unsigned count, unsigned i,
			    struct config_error *err)
{
	const struct vm_config *c = file[i];

	if (!c->trusted)
		return 0;
	for (unsigned k = 0; k < count; k++)
		if (file[k] && !file[k]->trusted)
			return vm_config_error(err, c->file, c->line_trusted,
					       "trusted = yes: not beside %s, which is not "
					       "trusted: it could read that one's memory",
					       file[k]->file);
	return 0;
}
