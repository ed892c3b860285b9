/* SPDX-License-Identifier: GPL-2.0-only */
/* What a VM's ACPI tables say of its PCI functions. */
#include "vmm/acpi/guest_acpi_parts.h"
#include "vmm/pci/dma_windows.h"
#include "vmm/pci/pci_virtual.h"
#include "vmm/vm.h"

/* A node of the host's that the guest does not see is none. */
static void add_root(struct acpi_collected *c, u8 bus, int host_node)
{
	struct acpi_guest_root *root = c->root;
	unsigned n = 0;

	while (n < c->guest.nr_roots && root[n].bus != bus)
		n++;
	if (n == c->guest.nr_roots)
		root[c->guest.nr_roots++] = (struct acpi_guest_root){ bus, bus, -1, false };
	if (host_node >= 0 && c->guest.nr_nodes > 1 &&
	    c->host_node[guest_acpi_domain(c, host_node)] == host_node)
		root[n].node = (int)guest_acpi_domain(c, host_node);
}

/* One entry for a pin that functions of a device share. */
static void add_intx(struct acpi_collected *c, const struct vm_pci *pci, unsigned n)
{
	const struct acpi_guest_intx new = {
		pci->function[n].address.bus,
		PCI_DEVICE(pci->function[n].address.devfn),
		pci->intx[n].pin,
		pci->intx[n].gsi,
	};

	if (!pci->intx[n].has_gsi)
		return;
	for (unsigned i = 0; i < c->guest.nr_intx; i++)
		if (c->intx[i].bus == new.bus && c->intx[i].device == new.device &&
		    c->intx[i].pin == new.pin)
			return;
	c->intx[c->guest.nr_intx++] = new;
}

/*
 * Each bus with a function is a root bus, so that functions keep their
 * addresses without the bridges before them; bus 0 is always there. Their
 * windows are exactly the BARs: all that the guest's map has of them.
 */
static void collect_functions(struct acpi_collected *c, const struct vm *vm)
{
	const struct vm_pci *pci = vm->pci;

	c->guest.ecam = pci->ecam;
	c->guest.ecam_base = pci->ecam_base;
	c->guest.ecam_last_bus = pci->last_bus;
	c->guest.roots = c->root;
	c->guest.windows = c->window;
	c->guest.intx = c->intx;
	add_root(c, 0, -1);
	for (unsigned i = 0; i < pci->nr_functions; i++) {
		const struct host_pci_function *f = &pci->function[i];

		add_root(c, f->address.bus, f->node);
		for (unsigned k = 0; k < PCI_BARS; k++)
			if (f->bar[k].size && f->bar[k].base)
				c->window[c->guest.nr_windows++] = (struct acpi_guest_window){
					f->address.bus,
					pci_bar_is_io(&f->bar[k]),
					f->bar[k].base,
					f->bar[k].size,
				};
		guest_acpi_sriov(pci, i, &c->guest, c->window, c->root);
		add_intx(c, pci, i);
	}
	if (!vm_virtual(vm))
		return;
	c->root[c->guest.nr_roots++] =
		(struct acpi_guest_root){ pci->virtual_bus, pci->virtual_bus, -1, true };
	for (const struct pci_virtual *f = vm->virtual; f; f = f->next)
		c->window[c->guest.nr_windows++] =
			(struct acpi_guest_window){ pci->virtual_bus, false, f->bar,
						    PCI_VIRTUAL_BAR_SIZE };
}

void guest_acpi_pci(struct acpi_collected *c, const struct vm *vm)
{
	if (vm->pci)
		collect_functions(c, vm);
	if (vm->windows) {
		c->guest.dma = vm->windows->window;
		c->guest.nr_dma = vm->windows->count;
	}
}
