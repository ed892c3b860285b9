/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's power button: its press is an edge of its pin of the I/O APIC (vmm/acpi/acpi_button.c says so to the guest). */
#include "vmm/dev/lapic.h"
#include "vmm/guest_platform.h"
#include "vmm/vm_end.h"

void vm_press_button(struct vm *vm)
{
	ioapic_line(vm, GUEST_BUTTON_GSI, true);
	ioapic_line(vm, GUEST_BUTTON_GSI, false);
}
