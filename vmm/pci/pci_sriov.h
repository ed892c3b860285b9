/* SPDX-License-Identifier: GPL-2.0-only */
/* What a VM's functions have of SR-IOV: pci_sriov.c, pci_vfs.c and pci_sriov_shadow.c. */
#ifndef VMM_PCI_SRIOV_H
#define VMM_PCI_SRIOV_H

#include "vmm/pci/pci_device.h"

/* For all images; of the VFs that its VM has: pci_vfs.c. */
#if IS_ENABLED(CONFIG_SRIOV)
/* Has the VFs prepared that the VM's file lets others have. 0, or -EINVAL, printed. */
int pci_sriov_prepare(struct vm *vm, const struct vm_pci *pci);
/* Wants the VM a VF of *f, *f is that one now. 0, or -EINVAL, printed. */
int pci_sriov_take(struct vm *vm, const struct vm_config_pci *want, struct host_pci_function *f);
/*
 * Of a PF, from which no VM gets a VF any more: true: some may have one. Until they have not, which
 * each of them is asked, pci_sriov_off() is -EBUSY; then, or when it has been asked for too long
 * since that TSC, its VFs are off. d may be NULL.
 */
bool pci_sriov_close(struct pci_device *d);
int pci_sriov_off(unsigned pf, u64 since);
/* After its reset: as before, but off. 0 or -errno. */
int pci_sriov_restore(struct pci_device *d);
/*
 * As many as its guest wants come: host_sriov_enable(), once no VM has one from before; then it is
 * told how that went.
 */
int pci_sriov_on(const struct pci_device *d);
void pci_sriov_come(struct pci_device *d, int err);
/*
 * Function n of the VM, a VF that leaves it, has been reset, err: as pci_reset_step(); and its
 * guest is told, without the lock.
 */
void pci_sriov_pulled(struct vcpu *vcpu, unsigned n, int err);
void pci_sriov_tell(struct vcpu *vcpu);
#else
static inline int pci_sriov_prepare(struct vm *, const struct vm_pci *)
{
	return 0;
}

static inline int pci_sriov_take(struct vm *, const struct vm_config_pci *,
				 struct host_pci_function *)
{
	return 0;
}

static inline bool pci_sriov_close(struct pci_device *)
{
	return false;
}

static inline int pci_sriov_off(unsigned, u64)
{
	return 0;
}

static inline int pci_sriov_restore(struct pci_device *)
{
	return 0;
}

static inline int pci_sriov_on(const struct pci_device *)
{
	return 0;
}

static inline void pci_sriov_come(struct pci_device *, int) { }

static inline void pci_sriov_pulled(struct vcpu *, unsigned, int) { }

static inline void pci_sriov_tell(struct vcpu *) { }
#endif

/* For callers that are in images with SRIOV only: */
/*
 * pci_vfs.c: a VF is being made for its VM: its PF's VM may pull it out, until it has left. 0, or
 * -ENODEV, printed: it just went off.
 */
int pci_sriov_join(struct pci_device *d);
void pci_sriov_leave(struct pci_device *d);
/* The same file's: VMs may have that many of the PF's VFs from now on, the first ones. */
void pci_vfs_open(unsigned pf, unsigned count);
/*
 * And: has no VM one of its VFs any more? All that do are asked before any is waited for: each
 * resets its own, all at the same time.
 */
bool pci_vfs_are_free(unsigned pf);
/* Has the capability shown in place of the device's, in the list of nr, with nothing on. */
void pci_sriov_show(struct pci_device *d, struct pci_cap *cap, unsigned nr);
/*
 * Is this offset in it? Then these are to be called, aligned and of 1, 2 or 4 bytes, and not the
 * device's.
 */
bool pci_sriov_owns(const struct pci_device *d, u16 offset);
u32 pci_sriov_read(const struct pci_device *d, u16 offset, unsigned size);
/* PCI_CHANGED_VFS, or 0 */
unsigned pci_sriov_write(struct pci_device *d, u16 offset, unsigned size, u32 value);
/*
 * pci_sriov_shadow.c: where the VM has none of its functions: a VF of one of these, which is not
 * its own? *value: what is read.
 */
bool pci_sriov_shadow(const struct vm_pci *pci, u8 bus, u8 devfn, u16 offset, unsigned size,
		      u32 *value);

/* The same for all images; d may be NULL where a device is taken down. */
static inline int pci_vf_join(struct pci_device *d)
{
	return IS_ENABLED(CONFIG_SRIOV) ? pci_sriov_join(d) : 0;
}

static inline void pci_vf_leave(struct pci_device *d)
{
	if (IS_ENABLED(CONFIG_SRIOV) && d)
		pci_sriov_leave(d);
}

static inline void pci_vfs_show(struct pci_device *d, struct pci_cap *cap, unsigned nr)
{
	if (IS_ENABLED(CONFIG_SRIOV))
		pci_sriov_show(d, cap, nr);
}

static inline bool pci_shadow(const struct vm_pci *pci, u32 bdf, u16 offset, unsigned size,
			      u32 *value)
{
	return IS_ENABLED(CONFIG_SRIOV) &&
	       pci_sriov_shadow(pci, (u8)(bdf >> 8), (u8)bdf, offset, size, value);
}

static inline u32 pci_device_read(const struct pci_device *d, u16 offset, unsigned size)
{
	return IS_ENABLED(CONFIG_SRIOV) && pci_sriov_owns(d, offset)
		       ? pci_sriov_read(d, offset, size)
		       : pci_config_read(&d->config, offset, size);
}

static inline unsigned pci_device_write(struct pci_device *d, u16 offset, unsigned size, u32 value)
{
	unsigned changed = IS_ENABLED(CONFIG_SRIOV) && pci_sriov_owns(d, offset)
				   ? pci_sriov_write(d, offset, size, value)
				   : 0;

	return changed | pci_config_write(&d->config, offset, size, value);
}

#endif
