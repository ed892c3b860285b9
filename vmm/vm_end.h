/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a VM ends, and the ways to end it. */
#ifndef VMM_VM_END_H
#define VMM_VM_END_H

#include <margay/types.h>

struct vm;

/* Why a VM ended; also the text of its last line (vm_end_name()). */
enum vm_end {
	VM_RUNNING = 0,
	VM_END_POWEROFF,     /* ACPI S5 */
	VM_END_RESET_ACPI,   /* FADT RESET_REG */
	VM_END_RESET_KBD,    /* keyboard controller, port 0x64 */
	VM_END_RESET_CF9,    /* port 0xcf9 */
	VM_END_TRIPLE_FAULT,
	VM_END_PANICKED,     /* its kernel said so at the panic port */
	VM_END_WATCHDOG,
	VM_END_MACHINE_CHECK, /* it has used memory that the machine has lost */
	VM_END_EXIT,         /* by the debug-exit port, with vm->exit_status */
	VM_END_STOPPED,      /* by the operator */
	/*
	 * the IOMMU blocked a function of it, and its VM file wants that: only in images with IOMMU
	 */
	VM_END_FAULT,
	/*
	 * its Linux is no guest of KVM's, and starts again as such a one: only in images with
	 * VM_TSC_ONLY
	 */
	VM_END_ANEW,
	VM_END_CRASH, /* the monitor could not go on with it: the line before says why */
};

/*
 * Ends the VM: the first reason wins, every vCPU leaves its loop. Or, with on_crash = dump, a crash
 * keeps it paused in place of that (keeps()). Was it this one? From any CPU and any handler.
 */
bool vm_end(struct vm *vm, enum vm_end why);
const char *vm_end_name(enum vm_end why);
/* Ends the VM with the status that its guest wrote to the debug-exit port; the first one counts. */
void vm_exit(struct vm *vm, u32 status);

#endif
