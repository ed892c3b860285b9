/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only in images with DEBUG_FAULT: a defect on purpose, for the test of what stands behind all
 * checks of addresses. An access to port 0x5fc reaches beyond the device registers that the
 * hypervisor has mapped, the local APIC's. A CPU that answers no kick: for so many seconds as are
 * written to port 0x5e8. And what the node cannot survive: reading MSR 0x4d475f00 is an undefined
 * instruction, on SVM where GS base and TR are the guest's (svm/lean.c); writing it overflows the
 * stack.
 */
#include <margay/errno.h>
#include <margay/host.h>

#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define DEBUG_FAULT_PORT 0x5fc
#define DEBUG_DEAF_PORT 0x5e8
#define DEBUG_TRAP_MSR 0x4d475f00

static u32 debug_fault_read(void *dev, struct vcpu *, u16, unsigned size)
{
	return (u32)host_mmio_read((volatile u8 *)dev + PAGE_SIZE, size);
}

static void debug_fault_write(void *dev, struct vcpu *, u16, unsigned size, u32 value)
{
	host_mmio_write((volatile u8 *)dev + PAGE_SIZE, size, value);
}

static const struct pio_ops debug_fault_ops = {
	.sizes = 1 | 2 | 4,
	.read = debug_fault_read,
	.write = debug_fault_write,
};

static u32 debug_deaf_read(void *, struct vcpu *, u16, unsigned)
{
	return 0;
}

static void debug_deaf_write(void *, struct vcpu *vcpu, u16, unsigned, u32 seconds)
{
	u64 end = host_tsc() + host_tsc_khz() * 1000 * seconds;

	vm_log(vcpu->vm, "deaf for %u s", seconds);
	while (host_tsc() < end)
		__builtin_ia32_pause();
}

static const struct pio_ops debug_deaf_ops = { .sizes = 4,
					       .read = debug_deaf_read,
					       .write = debug_deaf_write };

static int debug_trap_read(void *, struct vcpu *, u32, u64 *)
{
	asm volatile("ud2");
	return -EFAULT;
}

/* Until the guard page ends it: the number is never that. */
static noinline u64 deeper(u64 depth)
{
	volatile u64 kept = depth;

	return depth == ~0ull ? 0 : deeper(depth + 1) + kept;
}

static int debug_trap_write(void *, struct vcpu *, u32, u64)
{
	return (int)deeper(0);
}

static const struct msr_ops debug_trap_ops = { .read = debug_trap_read, .write = debug_trap_write };

static int debug_fault_create(struct vm *vm, void **)
{
	/* Where the machine has its own, too; what is mapped next does not lie behind it. */
	volatile void *page = host_mmio_map(hpa(GUEST_LAPIC_BASE), PAGE_SIZE);
	volatile void *next = host_mmio_map(hpa(GUEST_IOAPIC_BASE), PAGE_SIZE);
	int err;

	if (!page || !next)
		return -ENOMEM;
	err = vm_register_pio(vm, DEBUG_FAULT_PORT, 1, &debug_fault_ops, (void *)(uintptr_t)page);
	if (!err)
		err = vm_register_pio(vm, DEBUG_DEAF_PORT, 4, &debug_deaf_ops, NULL);
	if (!err)
		err = vm_register_msr(vm, DEBUG_TRAP_MSR, DEBUG_TRAP_MSR, &debug_trap_ops, NULL);
	return err;
}

static const struct vdev debug_fault_vdev = {
	.create = debug_fault_create,
};
VDEV(debug_fault_vdev);
