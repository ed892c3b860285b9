/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SR-IOV (PCI Express Base 5.0, 9.3.3) where one VM has the physical function
 * (PF) and others its virtual ones (VFs). The PF's guest sees a capability that
 * is mediated: as many VFs as its VM file says, which the host switches on and
 * whose BARs it places. In place of VFs it finds headers without anything
 * behind them, of a device ID that no driver takes. Who has which VF is
 * pci_vfs.c's.
 *
 * Switching them takes time: pci_sriov_write() answers PCI_CHANGED_VFS, which config_write() of
 * pci_root.c takes to pci_wait_begin(). step() of pci_wait.c calls pci_sriov_on() or
 * pci_sriov_off() until all is done; is_over() then pci_sriov_come(), which opens the VFs (open[]),
 * and pci_tell_waiting(), whose hook is start_waiting() of vmm/node/start_functions.c. That starts
 * each waiting VM whose VFs are all open. Such a VM takes its VF by pci_sriov_take(), from
 * assign_all() of pci_assign.c, and joins by pci_sriov_join() when pci_root.c makes its device.
 */
#include <margay/errno.h>

#include "vmm/pci/pci_sriov.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/vm.h"

#define NO_DEVICE 0xffffu
#define WAIT_S 70 /* a VM may be resetting its VF, which takes a minute at most */

static bool is_late(u64 since)
{
	return host_tsc() - since > WAIT_S * 1000 * host_tsc_khz();
}

int pci_sriov_off(unsigned pf, u64 since)
{
	struct host_pci_function f;

	if (!pci_vfs_are_free(pf)) {
		if (!is_late(since))
			return -EBUSY;
		/*
		 * Who has one still has what is not there any more. Left on, they would be gone
		 * with the card's reset.
		 */
		host_pci_function(pf, &f);
		host_log("margay: pci: " PCI_FORMAT
			 ": a VM does not let go of its virtual functions: they go all the same",
			 PCI_FORMAT_ARGS(f.address));
	}
	host_sriov_disable(pf);
	return 0;
}

int pci_sriov_prepare(struct vm *vm, const struct vm_pci *pci)
{
	unsigned able = 0;

	if (!vm->config->vfs)
		return 0;
	for (unsigned i = 0; i < pci->nr_functions; i++) {
		const struct host_pci_function *f = &pci->function[i];
		struct pci_info info;
		const char *why;

		if (!host_pci_info(f->index, &info) || !info.vfs)
			continue;
		why = host_sriov_prepare(f->index, vm->config->vfs);
		if (why)
			return pci_refuse(vm, PCI_FORMAT ": vfs = %u: %s",
					  PCI_FORMAT_ARGS(f->address), vm->config->vfs, why);
		able++;
	}
	return able ? 0 : pci_refuse(vm, "vfs: none of its functions has SR-IOV");
}

bool vm_pci_vf_window(const struct vm_pci *pci, unsigned n, unsigned bar, u64 *base, u64 *size)
{
	const struct pci_device *d = pci->device[n];
	struct host_pci_function vf;

	if (!d->sriov.at || !host_pci_function((unsigned)host_sriov_vf(d->host->index, 0), &vf) ||
	    !pci_bar_is_memory(&vf.bar[bar]))
		return false;
	*base = vf.bar[bar].base;
	*size = vf.bar[bar].size * d->vm->config->vfs;
	return true;
}

u8 vm_pci_last_bus(const struct host_pci_function *f)
{
	u8 last = f->address.bus;
	struct host_pci_function vf;
	int index = host_sriov_vf(f->index, 0);

	for (unsigned n = 1; index >= 0 && host_pci_function((unsigned)index, &vf); n++) {
		last = MAX(last, vf.address.bus);
		index = host_sriov_vf(f->index, n);
	}
	return last;
}

/* As after a reset. */
static void set_registers(struct pci_device *d)
{
	struct pci_sriov *s = &d->sriov;
	struct host_pci_function vf;

	s->count = s->control = 0;
	host_pci_function((unsigned)host_sriov_vf(d->host->index, 0), &vf);
	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		const struct pci_bar *b = &vf.bar[i];

		if (!b->size)
			continue;
		s->bar[i] = (u32)b->base | b->flags;
		s->mask[i] = (u32) ~(b->size - 1);
		if (!pci_bar_is_64(b) || i + 1 == PCI_ROM_BAR)
			continue;
		s->bar[++i] = (u32)(b->base >> 32);
		s->mask[i] = (u32)(~(b->size - 1) >> 32);
	}
}

void pci_sriov_show(struct pci_device *d, struct pci_cap *cap, unsigned nr)
{
	for (unsigned i = 0; d->vm->config->vfs && i < nr; i++) {
		if (!cap[i].extended || cap[i].id != PCI_EXT_CAP_SRIOV ||
		    host_sriov_vf(d->host->index, 0) < 0)
			continue;
		/* One that nobody knows, and that can be read. What is in it is this file's. */
		cap[i].id = 0;
		d->sriov.at = cap[i].offset;
		set_registers(d);
	}
}

bool pci_sriov_owns(const struct pci_device *d, u16 offset)
{
	return d->sriov.at && offset >= d->sriov.at + 4 && offset < d->sriov.at + PCI_SRIOV_SIZE;
}

u32 pci_sriov_read(const struct pci_device *d, u16 offset, unsigned size)
{
	const struct pci_sriov *s = &d->sriov;
	unsigned at = (offset & ~3u) - s->at, vfs = d->vm->config->vfs;
	u32 value = 0;

	if (at == PCI_SRIOV_CONTROL)
		value = s->control;
	else if (at == PCI_SRIOV_VFS)
		value = vfs << 16 | vfs;
	else if (at == PCI_SRIOV_NUM_VFS)
		value = s->count | (host_pci_read(d->host->index, (u16)(s->at + at), 4) & 0xff0000);
	else if (at == PCI_SRIOV_OFFSET)
		value = host_pci_read(d->host->index, (u16)(s->at + at), 4);
	else if (at == PCI_SRIOV_DEVICE)
		value = NO_DEVICE << 16;
	else if (at == PCI_SRIOV_PAGES || at == PCI_SRIOV_PAGE)
		value = 1; /* of 4 KiB */
	else if (at >= PCI_SRIOV_BAR && at < PCI_SRIOV_BAR + 4 * PCI_ROM_BAR)
		value = s->bar[(at - PCI_SRIOV_BAR) / 4];
	value >>= (offset & 3) * 8;
	return size == 4 ? value : value & (u32)(BIT(size * 8) - 1);
}

bool pci_sriov_close(struct pci_device *d)
{
	if (!d || !d->sriov.at || host_sriov_vf(d->host->index, 0) < 0)
		return false;
	d->sriov.control &= (u16)~PCI_SRIOV_ENABLE;
	pci_vfs_open(d->host->index, 0);
	return true;
}

int pci_sriov_restore(struct pci_device *d)
{
	if (!d->sriov.at)
		return 0;
	set_registers(d);
	/* As before it, but off. */
	return host_sriov_prepare(d->host->index, d->vm->config->vfs) ? -EIO : 0;
}

int pci_sriov_on(const struct pci_device *d)
{
	if (!d->sriov.count)
		return -EINVAL;
	/* Another VM may have one from before, which is not there any more. */
	if (!pci_vfs_are_free(d->host->index))
		return is_late(d->reset.since) ? -EIO : -EBUSY;
	return host_sriov_enable(d->host->index, d->sriov.count);
}

void pci_sriov_come(struct pci_device *d, int err)
{
	if (err) {
		d->sriov.control &= (u16)~PCI_SRIOV_ENABLE;
		vm_log(d->vm, "pci: " PCI_FORMAT ": its %u virtual functions do not come",
		       PCI_FORMAT_ARGS(d->host->address), d->sriov.count);
		return;
	}
	pci_vfs_open(d->host->index, d->sriov.count);
	vm_log(d->vm, "pci: " PCI_FORMAT ": %u virtual functions are on",
	       PCI_FORMAT_ARGS(d->host->address), d->sriov.count);
}

unsigned pci_sriov_write(struct pci_device *d, u16 offset, unsigned size, u32 value)
{
	struct pci_sriov *s = &d->sriov;
	unsigned at = (offset & ~3u) - s->at, i = (at - PCI_SRIOV_BAR) / 4;
	u32 lanes = (size == 4 ? ~0u : (u32)BIT(size * 8) - 1) << (offset & 3) * 8,
	    old = s->control;

	value <<= (offset & 3) * 8;
	if (at == PCI_SRIOV_CONTROL) {
		/*
		 * They come or go, or the card starts anew: that ends first (9.3.3.3.1). None of
		 * them cannot come.
		 */
		u32 bits =
			lanes & (PCI_SRIOV_MEMORY | (d->busy || !s->count ? 0 : PCI_SRIOV_ENABLE));

		s->control = (u16)((old & ~bits) | (value & bits));
		return (old ^ s->control) & PCI_SRIOV_ENABLE ? PCI_CHANGED_VFS : 0;
	}
	if (at == PCI_SRIOV_NUM_VFS && !(old & PCI_SRIOV_ENABLE)) {
		u32 count = (s->count & ~lanes) | (value & lanes & 0xffff);

		/* More there are not (9.3.3.7). */
		if (count <= d->vm->config->vfs)
			s->count = (u16)count;
	} else if (at >= PCI_SRIOV_BAR && i < PCI_ROM_BAR) {
		/* The guest's note: what is placed stays. */
		s->bar[i] = (s->bar[i] & ~(s->mask[i] & lanes)) | (value & s->mask[i] & lanes);
	}
	return 0;
}
