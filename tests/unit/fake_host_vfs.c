/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine without virtual functions, for tests of what asks whether there are some. */
#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/pci/pci_function.h"

/* ... but this one of that one, if a test says so. */
extern const struct pci_function *fake_vf, *fake_pf;
const struct pci_function *fake_vf, *fake_pf;

const struct pci_function *pci_physical(const struct pci_function *f)
{
	return f == fake_vf ? fake_pf : f;
}

u32 pci_vf_read(unsigned, u16, unsigned, u32 value)
{
	return value;
}

/* ... but for this one, which is not on. */
extern int fake_vf_gone;
int fake_vf_gone = -1;

bool host_sriov_is_vf(unsigned index)
{
	return (int)index == fake_vf_gone;
}

bool host_sriov_on(unsigned)
{
	return false;
}

const char *host_sriov_prepare(unsigned, unsigned)
{
	return "it has none";
}

int host_sriov_vf(unsigned, unsigned)
{
	return -1;
}

int host_sriov_enable(unsigned, unsigned)
{
	return -EINVAL;
}

void host_sriov_disable(unsigned) { }

bool host_sriov_text(unsigned, char *, size_t)
{
	return false;
}
