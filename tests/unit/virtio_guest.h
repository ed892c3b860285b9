/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest with virtio functions: the root of its configuration space, which is not linked, and a
 * driver for one device, by the registers of virtio 1.2, 4.1.4. Queue n has its areas at RING(n);
 * they are in the guest's RAM, which begins at 0.
 */
#ifndef TESTS_VIRTIO_GUEST_H
#define TESTS_VIRTIO_GUEST_H

#include <string.h>

#include "tests/unit/fake_vm.h"
#include "vmm/guest_platform.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_virtual.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/vcpu.h"
#include "vmm/vm/intc.h"

#define RING(n) (0x10000u + (n) * 0x10000u)
#define DESC(n) RING(n)
#define AVAIL(n) (RING(n) + 0x4000u)
#define USED(n) (RING(n) + 0x8000u)
#define GUEST_RAM MIB(4)

/* Registers of the common structure. */
enum {
	FEATURE_SELECT = 0,
	FEATURE = 4,
	ACCEPT_SELECT = 8,
	ACCEPT = 12,
	CONFIG_VECTOR = 16,
	QUEUES = 18,
	STATUS = 20,
	SELECT = 22,
	QUEUE_SIZE = 24,
	QUEUE_VECTOR = 26,
	QUEUE_ENABLE = 28,
	QUEUE_NOTIFY_OFF = 30,
	QUEUE_DESC = 32
};
#define DEVICE_CONFIG 0x1000u
#define NOTIFY(n) (0x2000u + 4 * (n))

static struct vm *vm;
static struct vm_pci pci;
static u64 ecam_at;
static u8 ecam_buses;
static struct {
	unsigned count;
	u64 address;
	u32 data;
	const struct vm *to;
} sent; /* messages */
static void (*on_message)(void); /* once */
static u16 offered[10]; /* by queue: the driver's index */

int pci_root_ecam(struct vm *, u64 base, u8 last_bus)
{
	ecam_at = base;
	ecam_buses = last_bus + 1;
	return 0;
}

static u8 vfs_to; /* the last bus of the functions' VFs; 0: they have none */

u8 vm_pci_last_bus(const struct host_pci_function *f)
{
	return MAX(f->address.bus, vfs_to);
}

static void take_message(struct vm *to, u64 address, u32 data)
{
	void (*then)(void) = on_message;

	sent.to = to;
	sent.count++;
	sent.address = address;
	sent.data = data;
	on_message = NULL;
	if (then)
		then();
}

static const struct vcpu *judge_message(struct vm *which, u64 address, u32 data)
{
	return address >> 20 == 0xfee && !(data & 0x700) ? which->vcpus[0] : NULL;
}

static void ignore_line(struct vm *, unsigned, bool) { }

static const struct intc_ops intc = { .msi = take_message,
				      .msi_vcpu = judge_message,
				      .line = ignore_line };

/* fake_vm_config says which devices. */
static inline int guest_start(void)
{
	memset(&sent, 0, sizeof(sent));
	memset(&pci, 0, sizeof(pci));
	memset(offered, 0, sizeof(offered));
	ecam_at = 0;
	vm = fake_vm_create(GUEST_RAM);
	vm->intc = &intc;
	vm->pci = &pci;
	return pci_virtual_place(vm);
}

static inline struct pci_virtual *function(unsigned index)
{
	struct pci_virtual *f = vm->virtual;

	while (f->index != index)
		f = f->next;
	return f;
}

static inline u32 config_read(unsigned index, u16 offset, unsigned size)
{
	u32 value = 0;

	return pci_virtual_read(vm, (u32)pci.virtual_bus << 8 | index << 3, offset, size, &value)
		       ? value
		       : 0xdead;
}

static inline void config_write(unsigned index, u16 offset, unsigned size, u32 value)
{
	pci_virtual_write(vm->vcpus[0], (u32)pci.virtual_bus << 8 | index << 3, offset, size,
			  value);
}

static inline u32 get(unsigned index, u32 offset, unsigned size)
{
	return (u32)guest_load(vm, function(index)->bar + offset, size);
}

static inline void put(unsigned index, u32 offset, unsigned size, u64 value)
{
	guest_store(vm, function(index)->bar + offset, size, value);
}

static inline void set_ram(u64 at, u64 value, unsigned size)
{
	memcpy(guest_ptr(vm, gpa(at), size), &value, size);
}

static inline u64 ram(u64 at, unsigned size)
{
	u64 value = 0;

	memcpy(&value, guest_ptr(vm, gpa(at), size), size);
	return value;
}

/* The vector of MSI-X entry n, not masked. */
static inline void set_vector(unsigned index, unsigned n, u32 data)
{
	put(index, PCI_VIRTUAL_MSIX + n * 16, 4, 0xfee00000);
	put(index, PCI_VIRTUAL_MSIX + n * 16 + 4, 4, 0);
	put(index, PCI_VIRTUAL_MSIX + n * 16 + 8, 4, data);
	put(index, PCI_VIRTUAL_MSIX + n * 16 + 12, 4, 0);
}

/* As a driver begins (3.1.1): vector 0 is for configuration, n + 1 for queue n. */
static inline void drive(unsigned index, unsigned queues, u32 low_features)
{
	config_write(index, PCI_REG_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	config_write(index, PCI_HEADER_END + PCI_MSIX_CONTROL, 2, PCI_MSIX_ENABLE);
	put(index, STATUS, 1, 0);
	put(index, STATUS, 1, 3);
	put(index, ACCEPT_SELECT, 4, 0);
	put(index, ACCEPT, 4, low_features);
	put(index, ACCEPT_SELECT, 4, 1);
	put(index, ACCEPT, 4, 1);
	put(index, STATUS, 1, 11);
	put(index, CONFIG_VECTOR, 2, 0);
	for (unsigned n = 0; n < queues; n++) {
		set_vector(index, n + 1, 0x40 + n);
		put(index, SELECT, 2, n);
		put(index, QUEUE_VECTOR, 2, n + 1);
		put(index, QUEUE_SIZE, 2, 128);
		put(index, QUEUE_DESC, 8, DESC(n));
		put(index, QUEUE_DESC + 8, 4, AVAIL(n));
		put(index, QUEUE_DESC + 12, 4, 0);
		put(index, QUEUE_DESC + 16, 8, USED(n));
		put(index, QUEUE_ENABLE, 2, 1);
	}
	set_vector(index, 0, 0x30);
	put(index, STATUS, 1, 15);
}

static inline void set_desc(unsigned queue, unsigned i, u64 addr, u32 len, u16 flags, u16 next)
{
	set_ram(DESC(queue) + i * 16, addr, 8);
	set_ram(DESC(queue) + i * 16 + 8, len | (u64)flags << 32 | (u64)next << 48, 8);
}

static inline void offer(unsigned queue, u16 head)
{
	set_ram(AVAIL(queue) + 4 + offered[queue]++ % 128u * 2, head, 2);
	set_ram(AVAIL(queue) + 2, offered[queue], 2);
}

/* What vcpu.c does between an exit and the next entry. Returns how often. */
static inline unsigned finish(void)
{
	unsigned times = 0;

	for (; vm->vcpus[0]->unfinished; times++)
		pci_virtual_go_on(vm->vcpus[0]);
	return times;
}

#endif
