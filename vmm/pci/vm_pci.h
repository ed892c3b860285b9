/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the core knows of a VM's PCI functions: made by vmm/pci/pci_root.c, shown in the ACPI
 * tables.
 */
#ifndef VMM_VM_PCI_H
#define VMM_VM_PCI_H

#include <margay/host.h>
#include <margay/spinlock.h>
#include "vmm/config/config.h"

#define VM_PCI_FUNCTIONS 64

struct pci_device;
struct pci_end;
struct vcpu;
struct vm;

/* A line interrupt of the machine's. */
struct vm_pci_line {
	struct vm *vm;
	/* the guest's; lines share one where there are more of them, as on a bus */
	unsigned gsi;
	struct host_intx at; /* the host's */
};

/* The line interrupt of a function. */
struct vm_pci_intx {
	u8 pin; /* 0: INTA */
	bool has_gsi; /* else there is none */
	u8 gsi; /* the guest's */
};

struct vm_pci {
	bool ecam; /* there is one, where the host has it */
	u8 last_bus;
	u64 ecam_base;
	u8 virtual_bus; /* of vm->virtual */
	/*
	 * VM_PCI_FUNCTIONS of each, where the VM file names functions; pci_root.c has them in one
	 * record.
	 */
	unsigned nr_functions;
	struct host_pci_function *function;
	struct pci_device **device; /* pci_device.h */
	struct vm_pci_intx *intx;
	unsigned nr_lines;
	struct vm_pci_line *line;
	struct spinlock lead_lock; /* guards where lines lead with interrupts = direct */
	/* Only in images with IOMMU. */
	unsigned attached; /* so many of them are, from the first on */
	bool stuck; /* one could not be detached */
	/* a bit for each function that shall send nothing any more; atomic */
	u64 silent;
	struct host_iommu_user user;
	bool told; /* that functions wait for their guest to confirm its DMA windows */
};

#if IS_ENABLED(CONFIG_PASSTHROUGH)
/* Has the VM functions of the machine's? */
static inline bool vm_pci_has_functions(const struct vm_pci *pci)
{
	return pci && pci->nr_functions;
}
#else
static inline bool vm_pci_has_functions(const struct vm_pci *)
{
	return false;
}
#endif

/*
 * pci_wait.c, for a vCPU that waits for what its guest has asked of a function (vcpu->pci_waits):
 * goes on with that.
 */
void pci_wait_go_on(struct vcpu *vcpu);

/*
 * pci_intx.c: lines by the pins of the guest's I/O APIC; nothing is done for a pin without one. Any
 * CPU.
 */
#if IS_ENABLED(CONFIG_PASSTHROUGH)
/*
 * The guest has ended its interrupt, which it shall be for the machine, too; lines: its asserted
 * pins.
 */
void pci_intx_end(struct vm_pci *pci, unsigned pin, u32 *lines);
/*
 * With interrupts = direct: the machine's entry is as the guest's, rte, if that leads to a CPU of
 * the VM as messages must.
 */
void pci_intx_lead(struct vm_pci *pci, unsigned pin, u64 rte);
/* With that: has a CPU not ended one yet? end: it is ended first. */
bool pci_intx_in_service(struct vm_pci *pci, unsigned pin, bool end);
#else
static inline void pci_intx_end(struct vm_pci *, unsigned, u32 *) { }

static inline void pci_intx_lead(struct vm_pci *, unsigned, u64) { }

static inline bool pci_intx_in_service(struct vm_pci *, unsigned, bool)
{
	return false;
}
#endif

/* Shall function n send nothing any more? */
static inline bool vm_pci_is_silent(const struct vm_pci *pci, unsigned n)
{
	return IS_ENABLED(CONFIG_IOMMU) && pci->silent & BIT(n);
}

/*
 * pci_iommu.c: what the i-th function of the machine reaches, in words; false: no IOMMU is used.
 */
#if IS_ENABLED(CONFIG_IOMMU)
bool pci_iommu_text(unsigned i, char *text, size_t size);
#else
static inline bool pci_iommu_text(unsigned, char *, size_t)
{
	return false;
}
#endif

/*
 * pci_vfs.c: are all VFs that the VM file wants switched on? Any CPU.
 */
#if IS_ENABLED(CONFIG_SRIOV)
bool vm_pci_has_vfs(const struct vm_config *config);
#else
static inline bool vm_pci_has_vfs(const struct vm_config *)
{
	return true;
}
#endif

/*
 * pci_sriov.c: where the registers of the VFs of the VM's n-th function lie that are other
 * VMs': for its guest just an address that is in use. False: it has none of that BAR.
 */
bool vm_pci_vf_window(const struct vm_pci *pci, unsigned n, unsigned bar, u64 *base, u64 *size);
/* The same file's: the bus of a function, or of the last of its VFs, if they are on later ones. */
#if IS_ENABLED(CONFIG_SRIOV)
u8 vm_pci_last_bus(const struct host_pci_function *f);
#else
static inline u8 vm_pci_last_bus(const struct host_pci_function *f)
{
	return f->address.bus;
}
#endif

/*
 * fn() is called, on any CPU, when VFs have been switched on or functions are to be had again.
 * Once, before any VM runs.
 */
void vm_pci_on_free(void (*fn)(void));

/*
 * The name of the VM that has the i-th function of the machine, into name[]; false: none has it.
 * From any CPU.
 */
#if IS_ENABLED(CONFIG_PASSTHROUGH)
bool vm_pci_owner(unsigned i, char name[VM_NAME_MAX + 1]);
/*
 * Is a function that the VM wants still being reset after a VM's end, or one that is not kept apart
 * from it? others: which was not its own. Any CPU.
 */
bool vm_pci_resetting(const struct vm_config *config, bool others);
/*
 * Has the VM of this file a function, also from a run that is over: one that did not stop? The file
 * stays as long. Any CPU.
 */
bool vm_pci_holds(const struct vm_config *config);
#else
static inline bool vm_pci_owner(unsigned, char[VM_NAME_MAX + 1])
{
	return false;
}

static inline bool vm_pci_holds(const struct vm_config *)
{
	return false;
}
#endif

#endif
