/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registers that the guest's FADT names for hardware-reduced ACPI:
 * SLEEP_CONTROL_REG, SLEEP_STATUS_REG (ACPI 6.4, 4.8.3.7) and RESET_REG (4.8.3.6).
 */
#include <margay/acpi.h>
#include "vmm/platform.h"
#include "vmm/vdev.h"

static u32 acpi_pm_read(void *dev, struct vcpu *vcpu, u16 offset, unsigned size)
{
	(void)dev;
	(void)vcpu;
	(void)offset;
	/* The control register's bits are write-only or ignored, and nothing ever wakes: WAK_STS is 0. */
	return size == 1 ? 0 : ~0u;
}

static void acpi_pm_write(void *dev, struct vcpu *vcpu, u16 offset, unsigned size, u32 value)
{
	const u32 s5 = ACPI_SLEEP_SLP_EN | ACPI_S5_TYPE << ACPI_SLEEP_SLP_TYP_SHIFT;
	const u32 mask = ACPI_SLEEP_SLP_EN | 7u << ACPI_SLEEP_SLP_TYP_SHIFT;

	(void)dev;
	if (size != 1)
		return;
	if (offset == GUEST_SLEEP_CONTROL_PORT - GUEST_SLEEP_CONTROL_PORT && (value & mask) == s5)
		vm_end(vcpu->vm, VM_END_POWEROFF);
	else if (offset == GUEST_RESET_PORT - GUEST_SLEEP_CONTROL_PORT && value == GUEST_RESET_VALUE)
		vm_end(vcpu->vm, VM_END_RESET_ACPI);
}

static const struct pio_ops acpi_pm_ops = { .read = acpi_pm_read, .write = acpi_pm_write };

static int acpi_pm_create(struct vm *vm, void **instance)
{
	*instance = NULL;
	return vm_register_pio(vm, GUEST_SLEEP_CONTROL_PORT, GUEST_ACPI_PORTS, &acpi_pm_ops, NULL);
}

static void acpi_pm_destroy(struct vm *vm, void *instance)
{
	(void)vm;
	(void)instance;
}

static const struct vdev acpi_pm_vdev = { .name = "acpi-pm", .create = acpi_pm_create, .destroy = acpi_pm_destroy };
VDEV(acpi_pm_vdev);
