/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Line interrupts of assigned functions (PCI Local Bus 3.0, 2.2.6). The host
 * masks its I/O APIC's input when it interrupts; the guest's pin stays asserted
 * until the guest ends the interrupt, by which time the device may have
 * withdrawn it. Only then is the host's input opened again. Functions of one VM
 * share a line as on the machine; two VMs never do.
 */
#include <margay/errno.h>

#include "vmm/intc.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

static_assert(GUEST_INTX_GSI > GUEST_UART_GSI && GUEST_INTX_GSI + VM_PCI_FUNCTIONS <= GUEST_IOAPIC_PINS, "a pin for each line");

/* In the interrupt window of a CPU of the VM; the host's input is masked. */
static void asserted(void *arg, unsigned)
{
	const struct vm_pci_line *l = arg;

	l->vm->intc->line(l->vm, GUEST_INTX_GSI + l->n, true);
}

static int take_line(struct vm *vm, const struct host_intx *at)
{
	struct vm_pci *pci = vm->pci;
	struct vm_pci_line *l = &pci->line[pci->nr_lines];
	int err = -ERANGE;

	for (unsigned i = 0; i < pci->nr_lines; i++)
		if (pci->line[i].gsi == at->gsi)
			return (int)i;
	*l = (struct vm_pci_line){ vm, pci->nr_lines, at->gsi };
	/* A CPU that no device reaches, or that has no vectors left: another of the VM's takes it. */
	for (unsigned i = 0; (err == -ERANGE || err == -ENOSPC) && i < vm->nr_vcpus; i++)
		err = host_intx_take(at, vm->vcpus[i]->cpu, asserted, l);
	return err ? err : (int)pci->nr_lines++;
}

static const char *reason(int err)
{
	switch (err) {
	case -ENOENT:
		return "firmware does not say where it leads: pci_irq can";
	case -EBUSY:
		return "it is another VM's or the host's own, too";
	default:
		return "no I/O APIC, or no vector, is there for it, or interrupts = direct is";
	}
}

static bool has_messages(const struct host_pci_function *f)
{
	struct pci_cap cap[PCI_CONFIG_CAPS];
	unsigned count = host_pci_caps(f->index, cap, ARRAY_SIZE(cap));

	for (unsigned i = 0; i < MIN(count, ARRAY_SIZE(cap)); i++)
		if (!cap[i].extended && (cap[i].id == PCI_CAP_MSI || cap[i].id == PCI_CAP_MSIX))
			return true;
	return false;
}

/* What the VM file says comes before what firmware says. */
static int route(const struct vm *vm, const struct host_pci_function *f, struct host_intx *at)
{
	int err = host_intx_route(f->index, at);

	for (unsigned i = 0; err != -ENXIO && vm->config && i < vm->config->pci_irq.count; i++) {
		const struct vm_config_pci_fact *irq = &vm->config->pci_irq.of[i];

		if (!pci_same_address(&irq->function, &f->address))
			continue;
		*at = (struct host_intx){ irq->value, true };
		return 0;
	}
	return err;
}

int pci_intx_create(struct vm *vm, unsigned n)
{
	const struct host_pci_function *f = &vm->pci->function[n];
	struct host_intx at;
	u32 command;
	int err = route(vm, f, &at);

	vm->pci->intx[n].line = -1;
	if (err == -ENXIO)
		return 0;
	vm->pci->intx[n].pin = (u8)(host_pci_read(f->index, PCI_REG_INTERRUPT_PIN, 1) - 1);
	if (!err)
		err = IS_ENABLED(CONFIG_VM_IOAPIC) && !vm_direct(vm) ? take_line(vm, &at) : -ENODEV;
	if (err < 0) {
		bool messages = has_messages(f);

		vm_refuse(vm, pci, "pci: " PCI_FORMAT " is %s its line interrupt: %s", PCI_FORMAT_ARGS(f->address),
			  messages ? "without" : "of no use without", reason(err));
		return messages ? 0 : -ENODEV;
	}
	vm->pci->intx[n].line = (s8)err;
	/* As after a reset: the guest's bit is 0. Nothing comes before the line is opened. */
	command = host_pci_read(f->index, PCI_REG_COMMAND, 2);
	host_pci_write(f->index, PCI_REG_COMMAND, 2, command & ~(u32)PCI_COMMAND_NO_INTX);
	host_intx_open(vm->pci->line[err].gsi);
	return 0;
}

void pci_intx_destroy(struct vm_pci *pci)
{
	for (unsigned i = 0; i < pci->nr_lines; i++)
		host_intx_release(pci->line[i].gsi);
}
