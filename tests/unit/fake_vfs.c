/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMs without virtual functions, for tests of what asks whether there are some; the machine's:
 * fake_host_vfs.c.
 */
#include "vmm/acpi/acpi_build.h"
#include "vmm/monitor.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_sriov.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/slots/slot.h"

/* ... but for a test that says so. */
extern bool fake_vfs_off;
bool fake_vfs_off;

bool monitor_has_functions(struct slot *)
{
	return !fake_vfs_off;
}

bool monitor_wait_for_functions(struct slot *s)
{
	if (fake_vfs_off)
		s->state = WAITING;
	return fake_vfs_off;
}

void guest_acpi_sriov(const struct vm_pci *, unsigned, struct acpi_guest *,
		      struct acpi_guest_window *, struct acpi_guest_root *)
{
}

u8 vm_pci_last_bus(const struct host_pci_function *f)
{
	return f->address.bus;
}

int pci_sriov_prepare(struct vm *, const struct vm_pci *)
{
	return 0;
}

int pci_sriov_take(struct vm *, const struct vm_config_pci *, struct host_pci_function *)
{
	return 0;
}

int pci_sriov_join(struct pci_device *)
{
	return 0;
}

void pci_sriov_leave(struct pci_device *) { }

void pci_sriov_show(struct pci_device *, struct pci_cap *, unsigned) { }

bool pci_sriov_owns(const struct pci_device *, u16)
{
	return false;
}

u32 pci_sriov_read(const struct pci_device *, u16, unsigned)
{
	return 0;
}

unsigned pci_sriov_write(struct pci_device *, u16, unsigned, u32)
{
	return 0;
}

bool pci_sriov_close(struct pci_device *)
{
	return false;
}

int pci_sriov_off(unsigned, u64)
{
	return 0;
}

int pci_sriov_restore(struct pci_device *)
{
	return 0;
}

int pci_sriov_on(const struct pci_device *)
{
	return -1;
}

void pci_sriov_come(struct pci_device *, int) { }

void pci_sriov_pulled(struct vcpu *, unsigned, int) { }

void pci_sriov_tell(struct vcpu *) { }

__attribute__((weak)) void pci_tell_waiting(void) { }

bool pci_sriov_shadow(const struct vm_pci *, u8, u8, u16, unsigned, u32 *)
{
	return false;
}
