/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's key for disks: `disk = NAME` of a boot module, or `disk =
 * scratch:SIZE`.
 */
#include <margay/errno.h>

#include "vmm/config/config_parse.h"

int config_set_disk(struct parser *p, struct span v)
{
	struct vm_config *c = p->config;
	struct vm_config_disk *d = &c->disk[c->nr_disks];
	int err;

	if (c->nr_disks == VM_DISKS_MAX)
		return config_fail(p, "disk: expected at most %u disks", VM_DISKS_MAX);
	p->text = d->name;
	if (span_skip(&v, "scratch:"))
		err = config_size(p, v, &d->scratch);
	else
		err = config_module_name(p, v);
	if (err)
		return err;
	d->line = p->line;
	c->nr_disks++;
	return 0;
}

bool config_disk_name(const struct vm_config *c, unsigned i, struct vm_config_name *out)
{
	for (unsigned n = 0; n < c->nr_disks; n++) {
		if (!c->disk[n].name[0] || i--)
			continue;
		*out = (struct vm_config_name){ "disk", c->disk[n].name, c->disk[n].line };
		return true;
	}
	return false;
}
