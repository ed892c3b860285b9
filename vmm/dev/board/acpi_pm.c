/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registers that the guest's FADT names for hardware-reduced ACPI:
 * SLEEP_CONTROL_REG, SLEEP_STATUS_REG (ACPI 6.4, 4.8.3.7) and RESET_REG (4.8.3.6).
 */
#include <margay/acpi.h>
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define QEMU_SLP_TYP (7u << 10)
#define QEMU_SLP_EN BIT(13)

static u32 acpi_pm_read(void *, struct vcpu *, u16, unsigned)
{
	/*
	 * The control register's bits are write-only or ignored, and nothing ever wakes: WAK_STS is
	 * 0.
	 */
	return 0;
}

static void power_off(struct vm *vm)
{
	vm_end(vm, vm_is_asked(vm) ? VM_END_STOPPED : VM_END_POWEROFF);
}

static void acpi_pm_write(void *, struct vcpu *vcpu, u16 offset, unsigned, u32 value)
{
	const u32 s5 = ACPI_SLEEP_SLP_EN | ACPI_S5_TYPE << ACPI_SLEEP_SLP_TYP_SHIFT;
	const u32 mask = ACPI_SLEEP_SLP_EN | 7u << ACPI_SLEEP_SLP_TYP_SHIFT;

	if (offset == GUEST_SLEEP_CONTROL_PORT - GUEST_SLEEP_CONTROL_PORT && (value & mask) == s5)
		power_off(vcpu->vm);
	else if (offset == GUEST_RESET_PORT - GUEST_SLEEP_CONTROL_PORT &&
		 value == GUEST_RESET_VALUE)
		vm_end(vcpu->vm, VM_END_RESET_ACPI);
}

static const struct pio_ops acpi_pm_ops = { .sizes = 1,
					    .read = acpi_pm_read,
					    .write = acpi_pm_write };

/*
 * PM1_CNT (ACPI 6.4, 4.8.3.2.1) where QEMU's machines have it, whose S5 is type 0: kernels without
 * ACPI that were written for these power off by it. No table names it, and it reads as if nobody
 * were there.
 */
static u32 qemu_pm_read(void *, struct vcpu *, u16, unsigned size)
{
	return size == 1 ? 0xff : 0xffff;
}

static void qemu_pm_write(void *, struct vcpu *vcpu, u16, unsigned size, u32 value)
{
	if (size == 2 && (value & (QEMU_SLP_EN | QEMU_SLP_TYP)) == QEMU_SLP_EN)
		power_off(vcpu->vm);
}

static const struct pio_ops qemu_pm_ops = { .sizes = 1 | 2,
					    .read = qemu_pm_read,
					    .write = qemu_pm_write };

/*
 * What a CPU finds at its reset vector in real mode. Linux on hardware-reduced
 * ACPI without EFI restarts through there by default: it takes the way of the
 * reset register.
 */
static void write_reset_vector(struct vm *vm)
{
	static const u8 code[] = {
		0xba,
		GUEST_RESET_PORT & 0xff,
		GUEST_RESET_PORT >> 8, /* mov dx, port */
		0xb0,
		GUEST_RESET_VALUE, /* mov al, value */
		0xee, /* out dx, al */
		0xf4,
		0xeb,
		0xfd, /* hlt; jmp to it */
	};

	static_assert(sizeof(code) <= 16, "the vector is 16 bytes below 1 MiB");
	/* A VM without RAM there has no such way out, and its loader will refuse it. */
	(void)guest_write(vm, gpa(GUEST_RESET_VECTOR), code, sizeof(code));
}

static int acpi_pm_create(struct vm *vm, void **)
{
	int err =
		vm_register_pio(vm, GUEST_SLEEP_CONTROL_PORT, GUEST_ACPI_PORTS, &acpi_pm_ops, NULL);

	write_reset_vector(vm);
	return err ? err : vm_register_pio(vm, GUEST_QEMU_PM_PORT, 2, &qemu_pm_ops, NULL);
}

static const struct vdev acpi_pm_vdev = { .create = acpi_pm_create };
VDEV(acpi_pm_vdev);
