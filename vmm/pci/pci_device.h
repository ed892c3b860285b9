/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to vmm/pci: one PCI function that a VM has. Everything in it is
 * guarded by the VM's stage-2 lock once vCPUs run (shootdown.h), but for what
 * the interrupt handler reads of a vector.
 */
#ifndef VMM_PCI_DEVICE_H
#define VMM_PCI_DEVICE_H

#include <margay/host.h>
#include "vmm/config/config.h"
#include "vmm/pci/pci_config.h"

#define PAGES_OF(s) (unsigned)(ALIGN_UP(sizeof(s), PAGE_SIZE) / PAGE_SIZE)

struct pci_device;
struct vcpu;
struct vm;
struct vm_pci;

/* One MSI-X entry, or MSI with all its messages. */
struct pci_vector {
	struct pci_device *dev;
	u64 address;              /* as the guest wrote them */
	u32 data;
	u32 control;
	/*
	 * what an interrupt means to the guest: data << 32 | address, as they were last good;
	 * atomic
	 */
	u64 message;
	struct host_msi msi; /* what the device sends */
	/* what it sent before: one that was under way then still arrives */
	struct host_msi old;
};

/*
 * Where a BAR's pages may not be mapped for the guest: [start, end) within it, whole pages but in a
 * BAR below a page.
 */
struct pci_trap {
	u64 start;
	u64 end;
	volatile u8 *regs; /* the host's view of it */
};
#define PCI_TRAPS 2 /* MSI-X table and pending bits */

struct pci_window {
	struct pci_device *dev;
	unsigned index;
	unsigned nr_traps;
	struct pci_trap trap[PCI_TRAPS]; /* sorted, apart */
	bool mapped;
	u64 at; /* guest-physical, while mapped */
};

/* What it does for longer than an exit may take: pci_wait.c. */
enum pci_busy { PCI_FREE, PCI_RESETS, PCI_LEAVES, PCI_VFS_COME, PCI_VFS_GO };

/* A reset, of a PF once its VFs are gone: pci_reset.c. May be moved between two steps. */
struct pci_reset {
	bool sriov; /* it is to be switched off first */
	u64 since; /* TSC */
	struct host_pci_reset host;
};

struct pci_device {
	struct vm *vm;
	const struct host_pci_function *host;
	/* it did not survive a reset: reads as ones, guarded as the rest */
	bool gone;
	/* free until pci_wait_begin(), then again by who waits, without the lock; atomic */
	enum pci_busy busy;
	struct vcpu *waits; /* for that; the only one to touch the reset until it is over */
	struct pci_reset reset;
	bool gated; /* before it: what the guest has said of its DMA holds on */
	struct pci_config config;
	struct pci_window bar[PCI_BARS];
	struct pci_vector msi;
	unsigned nr_msix; /* entries of the device's table; 0: none */
	/* of which the guest sees these: the IOMMU keeps entries for so many */
	unsigned served_msix;
	struct pci_vector *msix;
	struct host_messages kept;
	/* offsets in these BARs */
	u64 table;
	u64 pending;

	unsigned table_bar;
	unsigned pending_bar;
	/* Only in images with SRIOV: pci_sriov.c. */
	bool leaving; /* a VF that its PF's VM wants off; atomic, as gone is then */
	struct pci_sriov {
		u16 at; /* of the capability that the guest has; 0: none */
		u16 control;
		u16 count;
		/* as the guest has them, and what it can change */
		u32 bar[PCI_ROM_BAR];
		u32 mask[PCI_ROM_BAR];
	} sriov;
};

/* pci_intx.c */
/*
 * Takes the line of function n's interrupt pin, where that is to be had.
 * Negative, and printed, where it is not and the function has no other interrupt.
 */
int pci_intx_create(struct vm *vm, unsigned n);
/*
 * With interrupts = direct: no line reaches the VM's CPUs any more, nor has an interrupt in
 * service. Any CPU.
 */
void pci_intx_close(struct vm_pci *pci);
/* After all functions have been taken back: gives the lines back. */
void pci_intx_destroy(struct vm_pci *pci);

/* pci_assign.c */
/*
 * Takes what the VM's file asks for and fills pci->function[]. 0; -EINVAL: refused, printed; what
 * is there already is the VM's.
 */
int pci_assign(struct vm *vm, struct vm_pci *pci);
/* Others may have it again: it has been taken back. */
void pci_release(const struct host_pci_function *f);
/* Calls what vm_pci_on_free() wants. */
void pci_tell_waiting(void);
/* Its VM is over, and it is still being reset; or it will never stop. */
void pci_resets(const struct host_pci_function *f, bool still);
/*
 * A function of another VM's, or of one's that is over, in that group: pci_group(). Its index; -1:
 * there is none. *state: words.
 */
int pci_neighbour(const struct vm_config *c, const struct pci_address *group,
		  char name[VM_NAME_MAX + 1], const char **state);
/* Prints why a line of the VM's file cannot be had, with file and line; -EINVAL. */
int pci_refuse(struct vm *vm, const char *fmt, ...) __printf(2, 3);

/* pci_bars.c */
/* The host's view of `size` bytes of a BAR that are trapped; NULL: they are not, or not all. */
static inline volatile u8 *pci_window_reg(const struct pci_window *b, u64 offset, unsigned size)
{
	for (unsigned i = 0; i < b->nr_traps; i++)
		if (offset >= b->trap[i].start && offset < b->trap[i].end &&
		    size <= b->trap[i].end - offset)
			return b->trap[i].regs + (offset - b->trap[i].start);
	return NULL;
}

/*
 * What is to be trapped, and the first mapping, where the host has the BARs. Before vCPUs run. 0 or
 * -errno, printed.
 */
int pci_bars_create(struct pci_device *d);
/* Moves the mappings to where the guest's configuration space says. */
void pci_bars_update(struct vcpu *vcpu, struct pci_device *d);
/* Opens the I/O BARs' ports to a vCPU, on its CPU. */
void pci_bars_open_ports(struct vcpu *vcpu, struct pci_device *d);

/* pci_root.c */
/* Makes the guest's view of what the device is now. *nr_caps: its capabilities. 0 or -errno. */
int pci_root_configure(struct pci_device *d, unsigned *nr_caps);
/* Is its line interrupt passed through? */
bool pci_root_has_line(const struct pci_device *d);

/* pci_reset.c */
/* Ends the function's DMA; sriov: a PF's VFs go first, which pci_sriov_close() has closed. */
void pci_reset_begin(struct pci_reset *r, unsigned index, bool sriov);
/*
 * Waits for nothing. -EBUSY: another step, soon; else it is over, as host_pci_reset_step() has it.
 * Any CPU, one at a time.
 */
int pci_reset_step(struct pci_reset *r);

/*
 * pci_wait.c; the function is not busy, and the lock held: it is from here on, and this vCPU waits
 * for it in its loop.
 */
void pci_wait_begin(struct vcpu *vcpu, struct pci_device *d, enum pci_busy busy);
/* Its registers are nobody's meanwhile. */
static inline bool pci_is_away(const struct pci_device *d)
{
	enum pci_busy busy = __atomic_load_n(&d->busy, __ATOMIC_ACQUIRE);

	return d->gone || busy == PCI_RESETS || busy == PCI_LEAVES;
}

/* pci_iommu.c */
#if IS_ENABLED(CONFIG_IOMMU)
/*
 * Is another VM's function not kept apart from this one? Asked once this is taken, so that of two
 * VMs one sees the other. 0, or -EINVAL, printed.
 */
int pci_iommu_check_group(struct vm *vm, const struct pci_info *info);

/*
 * Makes what the VM's functions reach, where the node has IOMMUs: its memory. 0 or -errno, printed.
 */
int pci_iommu_create(struct vm *vm, struct vm_pci *pci);
/*
 * Once they are made: and each other's registers; from here on they reach that. 0 or -errno,
 * printed.
 */
int pci_iommu_attach(struct vm *vm, struct vm_pci *pci);
/* Function n reaches none of it any more. False: it may, if it was not made quiet. */
bool pci_iommu_block(struct vm_pci *pci, unsigned n);
/* After that, of all. */
void pci_iommu_destroy(struct vm *vm, const struct vm_pci *pci);
#else
static inline int pci_iommu_check_group(struct vm *, const struct pci_info *)
{
	return 0;
}

static inline int pci_iommu_create(struct vm *, struct vm_pci *)
{
	return 0;
}

static inline int pci_iommu_attach(struct vm *, struct vm_pci *)
{
	return 0;
}

static inline bool pci_iommu_block(struct vm_pci *, unsigned)
{
	return false;
}

static inline void pci_iommu_destroy(struct vm *, const struct vm_pci *) { }
#endif

/*
 * pci_root.c: a VM without real functions has an ECAM there. Before vCPUs run. 0 or -errno,
 * printed.
 */
int pci_root_ecam(struct vm *vm, u64 base, u8 last_bus);

/* pci_master.c */
/* Keeps the function silent where its VM has windows, until pci_master_confirm(). */
void pci_master_create(struct pci_device *d);
/*
 * The guest says that bus << 8 | devfn translates by the DMA windows, or does not. 0, or -ENODEV:
 * not the VM's.
 */
int pci_master_confirm(struct vcpu *vcpu, u16 bdf, bool on);
/*
 * After a write to the command register: tells the operator, once, that a function waits for its
 * guest's word.
 */
void pci_master_tell(const struct pci_device *d);

/* pci_msi.c */
/* Finds the MSI-X table; all of it masked. 0 or -errno, printed. */
int pci_msi_create(struct pci_device *d);
/* After the function has been taken back: gives all vectors back. */
void pci_msi_destroy(struct pci_device *d);
/* The guest has written to one of the two capabilities. */
void pci_msi_update(struct pci_device *d);
void pci_msix_update(struct pci_device *d);
/* The device has been reset: no message, all of MSI-X masked. */
void pci_msi_reset(struct pci_device *d);
/*
 * And what the device itself still has of the one that had it before. Once its BARs are made; no
 * guest has them mapped.
 */
void pci_msi_clean(const struct pci_device *d);
/* Is this offset of a BAR in the MSI-X table? Accesses of 4 or 8 bytes to it. */
bool pci_msix_owns(const struct pci_device *d, unsigned bar, u64 offset);
u64 pci_msix_read(struct pci_device *d, u64 offset, unsigned size);
void pci_msix_write(struct pci_device *d, u64 offset, unsigned size, u64 value);

#endif
