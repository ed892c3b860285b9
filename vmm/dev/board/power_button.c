/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's power button: its press is an edge of its pin of the I/O APIC (vmm/acpi/acpi_button.c
 * says so to the guest), and of the pin that wakes one that sleeps (wake_pin.c), where that edge is
 * not heard. A guest that powers off later has been stopped: what its VM file says of a power-off
 * does not follow.
 */
#include <margay/errno.h>

#include "vmm/dev/apic/lapic.h"
#include "vmm/guest_platform.h"
#include "vmm/vm.h"
#include "vmm/vm/vdev.h"

static int power_button_press(struct vm *vm, void *, enum vm_button button)
{
	if (button != VM_BUTTON_POWER)
		return -ENOSYS;
	__atomic_store_n(&vm->asked, true, __ATOMIC_RELEASE);
	ioapic_line(vm, GUEST_BUTTON_GSI, true);
	ioapic_line(vm, GUEST_BUTTON_GSI, false);
	return 0;
}

static const struct vdev_calls power_button_calls = { .press = power_button_press };
static const struct vdev power_button_vdev = { .calls = &power_button_calls };
VDEV(power_button_vdev);
