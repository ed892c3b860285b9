/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's power button: its press is an edge of its pin of the I/O APIC (vmm/acpi/acpi_button.c says so to the guest), and of
 * the pin that wakes one that sleeps, where that edge is not heard. A guest that powers off later has been stopped: what its VM
 * file says of a power-off does not follow.
 */
#include "vmm/dev/lapic.h"
#include "vmm/dev/wake_pin.h"
#include "vmm/guest_platform.h"
#include "vmm/vm.h"
#include "vmm/vm_end.h"

void vm_press_button(struct vm *vm)
{
	__atomic_store_n(&vm->asked, true, __ATOMIC_RELEASE);
	ioapic_line(vm, GUEST_BUTTON_GSI, true);
	ioapic_line(vm, GUEST_BUTTON_GSI, false);
	wake_pin_pulse(vm);
}
