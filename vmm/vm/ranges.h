/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ports, MMIO and MSRs that a VM's devices own: who answers, and how a device registers itself
 * for them.
 */
#ifndef VMM_RANGES_H
#define VMM_RANGES_H

#include <margay/types.h>

struct vcpu;
struct vm;

/*
 * Port, MMIO and MSR handlers. `offset` counts from the start of the registered range. An access is
 * aligned, begins in the range, with MMIO ends there too, and has a size in bytes that `sizes`, a
 * sum of 1, 2, 4 and 8, holds; a value that is written has no bits beyond that size. Memory
 * accesses that are not aligned the core splits; of any other access the device hears nothing, it
 * reads as ones.
 */
struct pio_ops {
	u8 sizes;
	u32 (*read)(void *dev, struct vcpu *vcpu, u16 offset, unsigned size);
	void (*write)(void *dev, struct vcpu *vcpu, u16 offset, unsigned size, u32 value);
};
struct mmio_ops {
	u8 sizes;
	u64 (*read)(void *dev, struct vcpu *vcpu, u64 offset, unsigned size);
	void (*write)(void *dev, struct vcpu *vcpu, u64 offset, unsigned size, u64 value);
};
struct msr_ops {
	/*
	 * 0, or -EFAULT: the guest gets #GP, nothing was done, and it may be asked again. read()
	 * may be called while GS and TR are the guest's (vmm/svm/lean.c): it uses nothing
	 * of the CPU that it runs on.
	 */
	int (*read)(void *dev, struct vcpu *vcpu, u32 msr, u64 *value);
	int (*write)(void *dev, struct vcpu *vcpu, u32 msr, u64 value);
};

/*
 * Register a handler range at VM creation, before any vCPU runs. 0, -EEXIST
 * when it overlaps another, -ENOSPC when the table is full (printed).
 */
int vm_register_pio(struct vm *vm, u16 base, u16 count, const struct pio_ops *ops, void *dev);
int vm_register_mmio(struct vm *vm, gpa_t base, u64 size, const struct mmio_ops *ops, void *dev);
int vm_register_msr(struct vm *vm, u32 first, u32 last, const struct msr_ops *ops, void *dev);
/*
 * Moves the MMIO range of a device that has one; size 0: nowhere. What another vCPU is just doing
 * may still go to the old place.
 */
void vm_set_mmio(struct vm *vm, const void *dev, u64 base, u64 size);

#define VM_MAX_PIO 32
#define PIO_BLOCK 256u /* ports */
#define PIO_NONE 0xffu
#define PIO_BLOCKS (0x10000 / PIO_BLOCK)
/*
 * Two APICs, the pin that wakes, and those of some functions; with more of these in pages of their
 * own.
 */
#define VM_FEW_MMIO (IS_ENABLED(CONFIG_PASSTHROUGH) ? 16 : 2 + IS_ENABLED(CONFIG_VM_POWER_BUTTON))
#define VM_MAX_MMIO (IS_ENABLED(CONFIG_PASSTHROUGH) ? 512 : VM_FEW_MMIO)
#define VM_MANY_MMIO (VM_MAX_MMIO > VM_FEW_MMIO) /* is there room of their own for more? */
#define VM_MAX_MSR 16

struct pio_range {
	u16 base;
	u16 count;
	const struct pio_ops *ops;
	void *dev;
};
struct mmio_range {
	u64 base;
	u64 size;
	const struct mmio_ops *ops;
	void *dev;
};
struct msr_range {
	/* inclusive */
	u32 first;
	u32 last;

	const struct msr_ops *ops;
	void *dev;
};

struct vm_ranges {
	unsigned nr_pio;
	unsigned nr_mmio;
	unsigned nr_msr;
	struct pio_range pio[VM_MAX_PIO]; /* by port */
	/* by block of ports: the first in pio that has one of it, or PIO_NONE */
	u8 pio_from[PIO_BLOCKS];
	struct mmio_range *mmio; /* the few, or pages with VM_MAX_MMIO */
	struct mmio_range few[VM_FEW_MMIO];
	struct msr_range msr[VM_MAX_MSR];
	const struct msr_range *x2apic; /* of these */
};

#endif
