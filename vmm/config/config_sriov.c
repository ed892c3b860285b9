/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the VM file's `vfs =` and `pci = vf:...`: who has a function of several VMs, and who
 * its virtual functions.
 */
#include "vmm/config/config_set.h"

#include <margay/errno.h>

#include "vmm/config/config_parse.h"

#define VFS_MAX 64

int config_set_vfs(struct parser *p, struct span v)
{
	struct span rest = v;
	u64 n;

	if (!span_number(&rest, 10, &n) || rest.n || !n || n > VFS_MAX)
		return config_wrong(p, "vfs",
				    "how many virtual functions other VMs may have, 1 to 64", v);
	p->config->vfs = (unsigned)n;
	return 0;
}

bool config_pci_vf(struct span s, struct vm_config_pci *out)
{
	struct span number;
	size_t colon = s.n;
	u64 n;

	if (!span_skip(&s, "vf:"))
		return false;
	for (colon = s.n; colon && s.p[colon - 1] != ':';)
		colon--;
	if (!colon)
		return false;
	number = (struct span){ s.p + colon, s.n - colon };
	if (!config_pci_address((struct span){ s.p, colon - 1 }, &out->address) ||
	    !span_number(&number, 10, &n) || number.n || n >= VFS_MAX)
		return false;
	out->by = VM_PCI_VF;
	out->vf = (unsigned)n;
	return true;
}

void config_resolve_vfs(struct parser *p)
{
	const struct vm_config *c = p->config;

	p->line = c->line_vfs;
	if (p->line && !c->line_pci)
		config_fail(p, "vfs: without pci no function has them");
	/* Each would wait for the other's to go. */
	if (!c->vfs)
		return;
	for (unsigned i = 0; i < c->nr_pci && !p->over; i++)
		if (c->pci[i].by == VM_PCI_VF) {
			config_fail(
				p,
				"vfs: not in a VM that has a virtual function itself (pci = vf:)");
			return;
		}
}

static bool has(const struct vm_config *c, const struct vm_config_pci *vf)
{
	for (unsigned i = 0; i < c->nr_pci; i++)
		if (c->pci[i].by == VM_PCI_ADDRESS &&
		    pci_same_address(&c->pci[i].address, &vf->address))
			return c->vfs > vf->vf;
	return false;
}

int vm_config_check_vfs(const struct vm_config *const file[], unsigned count, unsigned i,
			struct config_error *err)
{
	const struct vm_config *c = file[i];

	for (unsigned n = 0; n < c->nr_pci; n++) {
		const struct vm_config_pci *vf = &c->pci[n];
		unsigned k = 0;

		if (vf->by != VM_PCI_VF)
			continue;
		while (k < count && !(file[k] && has(file[k], vf)))
			k++;
		if (k == count)
			return vm_config_error(err, c->file, c->line_pci,
					       "pci = vf:" PCI_FORMAT
					       ":%u: no VM file has " PCI_FORMAT
					       " with vfs = %u or more",
					       PCI_FORMAT_ARGS(vf->address), vf->vf,
					       PCI_FORMAT_ARGS(vf->address), vf->vf + 1);
	}
	return 0;
}
