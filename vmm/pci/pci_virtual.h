/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PCI functions that no machine has: how a device of vmm/dev/ gets one, on a root bus of their own
 * in the guest's configuration space (PCI Local Bus 3.0, chapter 6), with one memory BAR of 64
 * bits, all of which exits, and MSI-X.
 */
#ifndef VMM_PCI_VIRTUAL_H
#define VMM_PCI_VIRTUAL_H

#include <margay/pci_regs.h>
#include <margay/spinlock.h>

struct vcpu;
struct vm;

#define PCI_VIRTUAL_BAR_SIZE 0x4000u
/* from here on the BAR is not the device's: the MSI-X table, pending bits */
#define PCI_VIRTUAL_MSIX 0x3000u
#define PCI_VIRTUAL_VECTORS 8u
#define PCI_VIRTUAL_MAX 12u /* functions of a VM */

/*
 * A capability of a table: its ID, its dwords, of which the first holds what stands in bits 31:16;
 * window: one by which configuration space reaches the BAR: the dwords 2, 3 and 4 are offset,
 * length and data (virtio 1.2, 4.1.4.9).
 */
struct pci_virtual_cap {
	u8 id;
	u8 dwords;
	bool window;
	u32 dword[5];
};

struct pci_virtual {
	/* The device's, before pci_virtual_add(). */
	/* of vendor 0x1af4 */
	u32 device_id;
	u32 class_code;
	const struct pci_virtual_cap *caps; /* ended by ID 0; MSI-X comes before them */
	/*
	 * Registers: aligned accesses of 1, 2 or 4 bytes below PCI_VIRTUAL_MSIX, on a vCPU's CPU.
	 * To read, both locks are held; to write, the first: the device takes the other one itself,
	 * or works without.
	 */
	u32 (*read)(struct pci_virtual *f, u32 offset, unsigned size);
	void (*write)(struct pci_virtual *f, struct vcpu *vcpu, u32 offset, unsigned size,
		      u32 value);
	/* after pci_virtual_again(), the first lock held */
	void (*go_on)(struct pci_virtual *f, struct vcpu *vcpu);
	/*
	 * CPUs of others write to its guest's memory, with one of the locks held, while its VM is
	 * not paused
	 */
	bool others;
	/*
	 * In this order. The first is held for an access, and for the work that it begins: who has
	 * it may take another device's second one, one at a time. The second guards what CPUs of
	 * other VMs use of the device, who take it without the first: registers, messages, the
	 * queues that they fill. Who has it takes no device's lock. What both guard changes under
	 * both, and may be read under either.
	 */
	struct spinlock lock;
	struct spinlock others_lock;
	/* pci_virtual.c's, from there on. */
	struct vm *vm;
	struct pci_virtual *next; /* with the index before its own */
	u64 bar; /* where it is at first */
	/* devices on the bus are numbered by that; where a capability is that is a window */
	unsigned index;
	unsigned window;
	/* MSI-X: pending bits by vector; by vector address, upper address, data, control. */
	u32 config[PCI_STANDARD_END / 4];
	u32 writable[PCI_STANDARD_END / 4];
	u32 pending;
	u32 table[PCI_VIRTUAL_VECTORS][4];
};

/*
 * The VM has this function, from create() of its device until the VM's end. 0 or -errno, printed.
 */
int pci_virtual_add(struct vm *vm, struct pci_virtual *f);
/*
 * When all devices are made: gives the functions a bus and addresses that nothing else of the VM's
 * has. 0 or -errno, printed.
 */
int pci_virtual_place(struct vm *vm);
/*
 * Sends the guest's message n, or keeps it while that is masked. The second lock is held; from any
 * CPU.
 */
void pci_virtual_interrupt(struct pci_virtual *f, unsigned n);
/*
 * Waits for who has seen the VM before it was paused, and still writes to its memory for a device.
 * No lock of these is held.
 */
void pci_virtual_settle(struct vm *vm);
/* May it reach the guest's memory (Bus Master Enable)? */
bool pci_virtual_is_master(const struct pci_virtual *f);
/*
 * Enough has been done at once: this vCPU calls go_on() when it has looked at what may keep it from
 * its guest. From any CPU.
 */
void pci_virtual_again(struct pci_virtual *f, struct vcpu *vcpu);
void pci_virtual_go_on(struct vcpu *vcpu);
#if IS_ENABLED(CONFIG_VIRTIO)
/*
 * The configuration space of bus << 8 | devfn: false where no such function is. Aligned, size 1, 2
 * or 4.
 */
bool pci_virtual_read(struct vm *vm, u32 bdf, u16 offset, unsigned size, u32 *value);
bool pci_virtual_write(struct vcpu *vcpu, u32 bdf, u16 offset, unsigned size, u32 value);
#else
static inline bool pci_virtual_read(struct vm *, u32, u16, unsigned, u32 *)
{
	return false;
}

static inline bool pci_virtual_write(struct vcpu *, u32, u16, unsigned, u32)
{
	return false;
}
#endif

#endif
