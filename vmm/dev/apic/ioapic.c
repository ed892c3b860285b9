/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O APIC with 24 pins, version 20H with the EOI register (82093AA data
 * sheet; Intel 100 series PCH data sheet, "APIC Indirect Memory Registers").
 * One per VM; every vCPU and every device thread of events may touch it.
 */
#include "vmm/dev/apic/lapic.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/guest_platform.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm.h"

/* Memory-mapped and indirect registers. */
enum { IOREGSEL = 0x00, IOWIN = 0x10, IOAPIC_EOIR = 0x40 };
enum { IOAPIC_REG_ID = 0, IOAPIC_REG_VERSION = 1, IOAPIC_REG_ARB = 2, IOAPIC_REG_RTE = 0x10 };
#define IOAPIC_VERSION 0x20u

/* Redirection table entry. */
#define RTE_LOGICAL BIT(11)
#define RTE_DELIVERY_STATUS BIT(12)
#define RTE_REMOTE_IRR BIT(14)
#define RTE_LEVEL BIT(15)
#define RTE_MASKED BIT(16)
/* all but the two read-only bits and the reserved ones */
#define RTE_WRITABLE 0xff0000000001afffull
/* writable where it has a meaning, lapic_destination() */
#define RTE_EXT_DEST 0x00fe000000000000ull

struct ioapic {
	struct vm *vm;
	struct spinlock lock; /* guards everything below */
	u8 select;
	u8 id;
	u32 lines; /* asserted inputs, by pin */
	u64 rte[GUEST_IOAPIC_PINS];
};

/* Are the machine's entries of its functions' lines the guest's? */
static bool owns_entries(const struct ioapic *io)
{
	return vm_direct(io->vm) && io->vm->pci;
}

/* Sends pin's interrupt. Called with the lock held. */
static void fire(struct ioapic *io, unsigned pin)
{
	u64 rte = io->rte[pin];
	const struct apic_msg msg = {
		.dest = lapic_destination(io->vm, rte >> 56, rte >> 49 & 0x7f),
		.logical = rte & RTE_LOGICAL,
		.level = rte & RTE_LEVEL,
		.vector = (u8)rte,
		.delivery = rte >> 8 & 7,
	};

	if (lapic_deliver(io->vm, NULL, &msg) && msg.level && !vm_direct(io->vm))
		io->rte[pin] |= RTE_REMOTE_IRR;
}

/* A level input that is asserted, open and not yet in service. Called with the lock held. */
static void fire_level(struct ioapic *io, unsigned pin)
{
	if ((io->rte[pin] & (RTE_LEVEL | RTE_MASKED | RTE_REMOTE_IRR)) == RTE_LEVEL &&
	    io->lines & BIT(pin))
		fire(io, pin);
}

void ioapic_line(struct vm *vm, unsigned gsi, bool level)
{
	struct ioapic *io = vm->ioapic;
	bool was;

	if (!io || gsi >= GUEST_IOAPIC_PINS)
		return;
	spin_lock(&io->lock);
	was = io->lines & BIT(gsi);
	if (level)
		io->lines |= BIT(gsi);
	else
		io->lines &= ~BIT(gsi);
	if (io->rte[gsi] & RTE_LEVEL)
		fire_level(io, gsi);
	else if (level && !was && !(io->rte[gsi] & RTE_MASKED))
		fire(io, gsi);
	spin_unlock(&io->lock);
}

void ioapic_eoi(struct vm *vm, u8 vector)
{
	struct ioapic *io = vm->ioapic;

	if (!io)
		return;
	spin_lock(&io->lock);
	for (unsigned pin = 0; pin < GUEST_IOAPIC_PINS; pin++) {
		if ((u8)io->rte[pin] != vector || !(io->rte[pin] & RTE_LEVEL))
			continue;
		io->rte[pin] &= ~RTE_REMOTE_IRR;
		if (vm->pci)
			pci_intx_end(vm->pci, pin, &io->lines);
		fire_level(io, pin);
	}
	spin_unlock(&io->lock);
}

static u32 indirect_read(struct ioapic *io)
{
	unsigned index = io->select - IOAPIC_REG_RTE;

	switch (io->select) {
	case IOAPIC_REG_ID:
	case IOAPIC_REG_ARB: return (u32)io->id << 24;
	case IOAPIC_REG_VERSION: return IOAPIC_VERSION | (GUEST_IOAPIC_PINS - 1) << 16;
	}
	if (index >= 2 * GUEST_IOAPIC_PINS)
		return ~0u;
	if (owns_entries(io) && index % 2 == 0 &&
	    pci_intx_in_service(io->vm->pci, index / 2, false))
		return (u32)(io->rte[index / 2] | RTE_REMOTE_IRR);
	return (u32)(io->rte[index / 2] >> (index % 2 * 32));
}

static void indirect_write(struct ioapic *io, u32 value)
{
	unsigned index = io->select - IOAPIC_REG_RTE, pin = index / 2;
	u64 *rte, field;

	if (io->select == IOAPIC_REG_ID)
		io->id = value >> 24 & 0xf;
	if (index >= 2 * GUEST_IOAPIC_PINS)
		return;
	rte = &io->rte[pin];
	field = (0xffffffffull << (index % 2 * 32)) &
		(RTE_WRITABLE | (io->vm->wide_ids ? RTE_EXT_DEST : 0));
	*rte = (*rte & ~field) | ((u64)value << (index % 2 * 32) & field);
	/*
	 * An edge input has no remote IRR; turning to edge is also how old drivers end a stuck one.
	 */
	if (!(*rte & RTE_LEVEL))
		*rte &= ~RTE_REMOTE_IRR;
	if (owns_entries(io))
		pci_intx_lead(io->vm->pci, pin, *rte);
	fire_level(io, pin);
}

static u64 mmio_read(void *dev, struct vcpu *, u64 offset, unsigned)
{
	struct ioapic *io = dev;
	u32 value = 0;

	spin_lock(&io->lock);
	if (offset == IOREGSEL)
		value = io->select;
	else if (offset == IOWIN)
		value = indirect_read(io);
	spin_unlock(&io->lock);
	return value;
}

static void mmio_write(void *dev, struct vcpu *, u64 offset, unsigned, u64 value)
{
	struct ioapic *io = dev;

	if (offset == IOAPIC_EOIR) {
		ioapic_eoi(io->vm, (u8)value);
		return;
	}
	spin_lock(&io->lock);
	if (offset == IOREGSEL)
		io->select = (u8)value;
	else if (offset == IOWIN)
		indirect_write(io, (u32)value);
	spin_unlock(&io->lock);
}

static const struct mmio_ops ioapic_mmio_ops = { .sizes = 4,
						 .read = mmio_read,
						 .write = mmio_write };

static_assert(sizeof(struct ioapic) <= PAGE_SIZE, "one page");

static int ioapic_create(struct vm *vm, void **instance)
{
	struct ioapic *io = *instance = host_pages_alloc(1, -1);

	if (!io)
		return host_no_memory(vm->name);
	io->vm = vm;
	io->id = GUEST_IOAPIC_ID;
	for (unsigned pin = 0; pin < GUEST_IOAPIC_PINS; pin++)
		io->rte[pin] = RTE_MASKED;
	vm->ioapic = io;
	return vm_register_mmio(vm, gpa(GUEST_IOAPIC_BASE), GUEST_IOAPIC_SIZE, &ioapic_mmio_ops,
				io);
}

static void ioapic_destroy(struct vm *vm, void *instance)
{
	vm->ioapic = NULL;
	host_pages_free(instance, 1);
}

static const struct vdev ioapic_vdev = { .create = ioapic_create, .destroy = ioapic_destroy };
VDEV(ioapic_vdev);
