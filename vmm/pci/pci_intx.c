/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Line interrupts of assigned functions (PCI Local Bus 3.0, 2.2.6). The host
 * masks its I/O APIC's input when it interrupts; the guest's pin stays asserted
 * until the guest ends the interrupt, by which time the device may have
 * withdrawn it. Only then is the host's input opened again; with interrupts =
 * direct its entry is the guest's, but for trigger mode and polarity, and the
 * EOI of the guest's CPU ends the interrupt. Functions of one VM share a line as
 * on the machine, and lines share the guest's pins where there are more of them;
 * two VMs never do.
 */
#include <margay/errno.h>

#include "vmm/vm/intc.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

/*
 * An entry of the I/O APIC (82093AA data sheet, 3.2.4), and the message that it is (SDM vol. 3,
 * 11.11).
 */
#define RTE_MESSAGE 0x7ffu /* vector and delivery mode, as in the message's data */
#define RTE_LOGICAL BIT(11)
#define RTE_LEVEL BIT(15)
#define RTE_MASKED BIT(16)
#define MESSAGE_ADDRESS 0xfee00000u
#define MESSAGE_LOGICAL BIT(2)

/* The pins of the guest's I/O APIC that lines take in turn. */
#define INTX_PINS (GUEST_IOAPIC_PINS - GUEST_INTX_GSI)

static_assert(GUEST_INTX_GSI > GUEST_VFS_GSI, "they are no device's of the guest's platform");

/* In the interrupt window of a CPU of the VM; the host's input is masked. */
static void asserted(void *arg, unsigned)
{
	const struct vm_pci_line *l = arg;

	l->vm->intc->line(l->vm, l->gsi, true);
}

static int take_line(struct vm *vm, const struct host_intx *at)
{
	struct vm_pci *pci = vm->pci;
	struct vm_pci_line *l = &pci->line[pci->nr_lines];
	int err = -ERANGE;

	for (unsigned i = 0; i < pci->nr_lines; i++)
		if (pci->line[i].at.gsi == at->gsi)
			return (int)i;
	*l = (struct vm_pci_line){ vm, GUEST_INTX_GSI + pci->nr_lines % INTX_PINS, *at };
	/*
	 * A CPU that no device reaches, or that has no vectors left: another of the VM's takes it.
	 */
	for (unsigned i = 0; (err == -ERANGE || err == -ENOSPC) && i < vm->nr_vcpus; i++)
		err = host_intx_take(at, vm->vcpus[i]->cpu, vm_direct(vm) ? NULL : asserted, l);
	return err ? err : (int)pci->nr_lines++;
}

static const char *reason(int err)
{
	switch (err) {
	case -ENOENT: return "firmware does not say where it leads: pci_irq can";
	case -EBUSY: return "it is another VM's or the host's own, too";
	default: return "no I/O APIC, or no vector, is there for it";
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

	if (err == -ENXIO || !vm->config)
		return err;
	for (unsigned i = 0; i < vm->config->pci_irq.count; i++) {
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

	vm->pci->intx[n].has_gsi = false;
	if (err == -ENXIO)
		return 0;
	vm->pci->intx[n].pin = (u8)(host_pci_read(f->index, PCI_REG_INTERRUPT_PIN, 1) - 1);
	if (!err)
		err = IS_ENABLED(CONFIG_VM_IOAPIC) ? take_line(vm, &at) : -ENODEV;
	if (err < 0) {
		bool messages = has_messages(f);

		vm_refuse(vm, pci, "pci: " PCI_FORMAT " is %s its line interrupt: %s",
			  PCI_FORMAT_ARGS(f->address), messages ? "without" : "of no use without",
			  reason(err));
		return messages ? 0 : -ENODEV;
	}
	vm->pci->intx[n].gsi = (u8)vm->pci->line[err].gsi;
	vm->pci->intx[n].has_gsi = true;
	/* As after a reset: the guest's bit is 0. Nothing comes before the line is opened. */
	command = host_pci_read(f->index, PCI_REG_COMMAND, 2);
	host_pci_write(f->index, PCI_REG_COMMAND, 2, command & ~(u32)PCI_COMMAND_NO_INTX);
	if (!vm_direct(vm))
		host_intx_open(at.gsi);
	return 0;
}

/* The next line at that pin, of those from *i on; NULL past the last. */
static const struct vm_pci_line *next_line(const struct vm_pci *pci, unsigned pin, unsigned *i)
{
	while (*i < pci->nr_lines) {
		const struct vm_pci_line *l = &pci->line[(*i)++];

		if (l->gsi == pin)
			return l;
	}
	return NULL;
}

void pci_intx_end(struct vm_pci *pci, unsigned pin, u32 *lines)
{
	unsigned i = 0;
	const struct vm_pci_line *l = next_line(pci, pin, &i);

	if (!l)
		return;
	if (vm_direct(l->vm))
		pci_intx_in_service(pci, pin, true);
	/* All that share the pin: whoever of them is asserted still interrupts again. */
	for (; l && !vm_direct(l->vm) && *lines & BIT(pin); l = next_line(pci, pin, &i))
		host_intx_open(l->at.gsi);
	*lines &= ~BIT(pin);
}

bool pci_intx_in_service(struct vm_pci *pci, unsigned pin, bool end)
{
	const struct vm_pci_line *l;
	bool found = false;

	spin_lock(&pci->lead_lock);
	for (unsigned i = 0; (l = next_line(pci, pin, &i));)
		found = host_intx_in_service(l->at.gsi, end) || found;
	spin_unlock(&pci->lead_lock);
	return found;
}

/*
 * The entry's message, if the VM's CPUs may get it, is what the line sends; a VM that has ended
 * gets nothing.
 */
static void lead(const struct vm_pci_line *l, u64 rte)
{
	u64 address =
		MESSAGE_ADDRESS | (rte >> 56) << 12 | (rte & RTE_LOGICAL ? MESSAGE_LOGICAL : 0);
	const struct vcpu *to = NULL;

	if (!(rte & RTE_MASKED) && __atomic_load_n(&l->vm->end, __ATOMIC_ACQUIRE) == VM_RUNNING)
		to = l->vm->intc->msi_vcpu(l->vm, address, rte & RTE_MESSAGE);
	host_intx_lead(&l->at, to ? to->apic_id : 0, to ? (u8)rte : 0);
	/* Turning to edge is how old drivers end a stuck one. */
	if (!(rte & RTE_LEVEL))
		host_intx_in_service(l->at.gsi, true);
}

void pci_intx_lead(struct vm_pci *pci, unsigned pin, u64 rte)
{
	const struct vm_pci_line *l;

	spin_lock(&pci->lead_lock);
	for (unsigned i = 0; (l = next_line(pci, pin, &i));)
		lead(l, rte);
	spin_unlock(&pci->lead_lock);
}

void pci_intx_close(struct vm_pci *pci)
{
	/* As an edge: with nothing in service. */
	for (unsigned pin = GUEST_INTX_GSI; pin < GUEST_IOAPIC_PINS; pin++)
		pci_intx_lead(pci, pin, RTE_MASKED);
}

void pci_intx_destroy(struct vm_pci *pci)
{
	for (unsigned i = 0; i < pci->nr_lines; i++)
		host_intx_release(pci->line[i].at.gsi);
}
