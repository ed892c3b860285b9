/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/virtio.sources @tests/unit/fake_vm.sources */
/*
 * Virtual PCI functions, the virtio transport, disks and the console against a driver, as virtio
 * 1.2 has it, and one that errs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/virtio_guest.h"
#include "tests/unit/fake_functions.h"
#include "vmm/vm/devices.h"

#define MODULE_SIZE (300 * 1024 + 100)
#define SECTORS (MODULE_SIZE / 512 + 1)
enum { NEXT = 1, WRITE = 2 };
enum { DATA = 0x40000, HEADER = 0x30000, ANSWER = 0x38000 };
#define EVENT_INDEX BIT(29)

extern const struct vdev *const __start_vdevs[], *const __stop_vdevs[];

static u8 module[MODULE_SIZE];

static int setup(void **)
{
	fake_host_reset();
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	for (unsigned i = 0; i < sizeof(module); i++)
		module[i] = (u8)(i * 7 + i / 512);
	fake_host.modules[0] = (struct host_module){ "root", "", module, sizeof(module) };
	fake_host.nr_modules = 1;
	fake_host.output_room = 1 << 20;
	fake_vm_config.nr_disks = 2;
	fake_vm_config.disk[0] = (struct vm_config_disk){ .name = "root" };
	fake_vm_config.disk[1] = (struct vm_config_disk){ .scratch = MIB(32), .line = 9 };
	fake_vm_config.virtio_console = true;
	return guest_start();
}

static int teardown(void **)
{
	for (unsigned i = 1; i < vm->nr_extents; i++)
		host_extent_free(&vm->extent[i]);
	fake_vm_destroy(vm);
	fake_vm_config.nr_disks = 0;
	fake_vm_config.virtio_console = false;
	return fake_host.freed_zero;
}

/* ---- functions ---- */

static void test_place(void **)
{
	assert_int_equal(ecam_at, GUEST_VIRTUAL_PCI_END - GUEST_VIRTUAL_PCI_SIZE);
	assert_int_equal(ecam_buses, GUEST_VIRTUAL_PCI_BUSES);
	assert_int_equal(pci.virtual_bus, 1);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(config_read(i, 0, 2), 0x1af4);
		assert_int_equal(config_read(i, 2, 2), i < 2 ? 0x1042 : 0x1043);
		assert_int_equal(function(i)->bar, ecam_at + MIB(8) + i * PCI_VIRTUAL_BAR_SIZE);
		assert_int_equal(config_read(i, PCI_REG_BAR, 4), function(i)->bar | 4);
	}
	assert_int_equal(config_read(3, 0, 4), 0xdead);
	assert_int_equal(config_read(0, 0x100, 4), ~0u);
	/* Other functions of a device: nobody. */
	assert_false(pci_virtual_read(vm, 0x101, 0, 4, &(u32){ 0 }));
	assert_false(pci_virtual_read(vm, 0x000, 0, 4, &(u32){ 0 }));
}

/*
 * Beside real functions, with RAM and BARs where the window would be: another bus, another place,
 * no second ECAM.
 */
static void test_place_beside(void **state)
{
	static struct fake_functions functions;
	u64 first = GUEST_VIRTUAL_PCI_END - GUEST_VIRTUAL_PCI_SIZE;

	teardown(state);
	fake_host_reset();
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	fake_vm_config.virtio_console = true;
	fake_functions(&pci, &functions);
	ecam_at = 0;
	vm = fake_vm_create(GUEST_RAM);
	vm->intc = &intc;
	vm->pci = &pci;
	pci.nr_functions = 2;
	pci.function[0] = (struct host_pci_function){ .address = { 0, 2, 0 },
						      .bar[0] = { first + 0x1000, 0x1000, 0 } };
	pci.function[1] = (struct host_pci_function){ .address = { 0, 1, 0 } };
	pci.ecam = true;
	pci.ecam_base = first - MIB(32);
	pci.last_bus = 31;
	assert_int_equal(pci_virtual_place(vm), 0);
	assert_int_equal(ecam_at, 0);
	assert_int_equal(pci.virtual_bus, 3);
	/* Nor on those of their VFs, which the guest finds there. */
	vfs_to = 4;
	assert_int_equal(pci_virtual_place(vm), 0);
	assert_int_equal(pci.virtual_bus, 5);
	vfs_to = 0;
	assert_int_equal(function(0)->bar, first - MIB(48) + MIB(8));
}

static void test_bar(void **)
{
	u64 at = function(0)->bar;

	/* Decoding is off at first. */
	assert_int_equal(get(0, QUEUES, 2), 0xffff);
	config_write(0, PCI_REG_COMMAND, 2, 0xffff);
	assert_int_equal(config_read(0, PCI_REG_COMMAND, 4), 0x00100406);
	assert_int_equal(get(0, QUEUES, 2), 1);
	/* Sized, then moved. */
	config_write(0, PCI_REG_BAR, 4, ~0u);
	config_write(0, PCI_REG_BAR + 4, 4, ~0u);
	assert_int_equal(config_read(0, PCI_REG_BAR, 4), 0xffffc004);
	assert_int_equal(config_read(0, PCI_REG_BAR + 4, 4), ~0u);
	config_write(0, PCI_REG_BAR, 4, 0x12344000);
	config_write(0, PCI_REG_BAR + 4, 4, 0x25);
	assert_int_equal(guest_load(vm, at + QUEUES, 2), 0xffff);
	assert_int_equal(guest_load(vm, 0x2512344000 + QUEUES, 2), 1);
	config_write(0, PCI_REG_COMMAND, 2, 0);
	assert_int_equal(guest_load(vm, 0x2512344000 + QUEUES, 2), 0xffff);
	/* What is fixed. */
	config_write(0, 0, 4, 0);
	config_write(0, PCI_REG_CAPABILITIES, 1, 0);
	assert_int_equal(config_read(0, 0, 4), 0x10421af4);
	assert_int_equal(config_read(0, PCI_REG_CAPABILITIES, 1), 0x40);
}

/* The list ends, and has MSI-X and the five of virtio, which lie in the BAR (4.1.4). */
static void test_capabilities(void **)
{
	unsigned seen = 0, at = config_read(0, PCI_REG_CAPABILITIES, 1);

	config_write(0, PCI_REG_COMMAND, 2, 2);
	for (unsigned steps = 0; at; at = config_read(0, (u16)(at + 1), 1)) {
		assert_true(steps++ < 10 && at >= 0x40);
		if (config_read(0, (u16)at, 1) == PCI_CAP_MSIX) {
			assert_int_equal(config_read(0, (u16)at + 2, 2), PCI_VIRTUAL_VECTORS - 1);
			continue;
		}
		assert_int_equal(config_read(0, (u16)at, 1), PCI_CAP_VENDOR);
		assert_true(config_read(0, (u16)at + 2, 1) >= 16);
		seen |= 1u << config_read(0, (u16)at + 3, 1);
		if (config_read(0, (u16)at + 3, 1) != 5)
			assert_true(config_read(0, (u16)at + 8, 4) +
					    config_read(0, (u16)at + 12, 4) <=
				    PCI_VIRTUAL_BAR_SIZE);
		else
			assert_int_equal(function(0)->window, at);
	}
	assert_int_equal(seen, 0x3e);
	/* The window: offset and length say what the data is. */
	at = function(0)->window;
	config_write(0, (u16)at + 8, 4, QUEUES);
	config_write(0, (u16)at + 12, 4, 2);
	assert_int_equal(config_read(0, (u16)at + 16, 2), 1);
	assert_int_equal(config_read(0, (u16)at + 16, 4), 0);
	config_write(0, (u16)at + 8, 4, STATUS);
	config_write(0, (u16)at + 12, 4, 1);
	config_write(0, (u16)at + 16, 1, 3);
	assert_int_equal(get(0, STATUS, 1), 3);
	config_write(0, (u16)at + 8, 4, PCI_VIRTUAL_BAR_SIZE);
	assert_int_equal(config_read(0, (u16)at + 16, 1), 0);
}

static void test_messages(void **)
{
	struct pci_virtual *f = function(0);

	config_write(0, PCI_REG_COMMAND, 2, 6);
	pci_virtual_interrupt(f, 1);
	config_write(0, PCI_HEADER_END + 2, 2, PCI_MSIX_ENABLE);
	assert_int_equal(sent.count, 0);
	/* Masked at first, which is remembered; then sent once. */
	pci_virtual_interrupt(f, 1);
	pci_virtual_interrupt(f, 1);
	assert_int_equal(get(0, PCI_VIRTUAL_MSIX + 0x800, 4), 2);
	set_vector(0, 1, 0x51);
	assert_int_equal(sent.count, 1);
	assert_true(sent.address == 0xfee00000 && sent.data == 0x51);
	assert_int_equal(get(0, PCI_VIRTUAL_MSIX + 0x800, 4), 0);
	/* All masked. */
	config_write(0, PCI_HEADER_END + 2, 2, PCI_MSIX_ENABLE | PCI_MSIX_MASK_ALL);
	pci_virtual_interrupt(f, 1);
	assert_int_equal(sent.count, 1);
	config_write(0, PCI_HEADER_END + 2, 2, PCI_MSIX_ENABLE);
	assert_int_equal(sent.count, 2);
	/* Behind the table there is nothing, and no entry has half a word. */
	put(0, PCI_VIRTUAL_MSIX + PCI_VIRTUAL_VECTORS * 16, 4, ~0u);
	put(0, PCI_VIRTUAL_MSIX + 16, 2, 0xffff);
	assert_int_equal(get(0, PCI_VIRTUAL_MSIX + PCI_VIRTUAL_VECTORS * 16, 4), 0);
	assert_int_equal(get(0, PCI_VIRTUAL_MSIX + 16, 4), 0xfee00000);
	/* No interrupt, or there is no such vector. */
	set_vector(0, 1, 0x451);
	pci_virtual_interrupt(f, 1);
	pci_virtual_interrupt(f, PCI_VIRTUAL_VECTORS);
	assert_int_equal(sent.count, 2);
}

/*
 * Nothing behind the table is written, in no width; entries keep what they have bits for; two words
 * at once.
 */
static void test_table(void **)
{
	struct pci_virtual *f = function(0);

	config_write(0, PCI_REG_COMMAND, 2, 6);
	for (unsigned at = PCI_VIRTUAL_VECTORS * 16; at < PCI_VIRTUAL_BAR_SIZE - PCI_VIRTUAL_MSIX;
	     at += 4)
		for (unsigned size = 1; size <= 8; size *= 2)
			put(0, PCI_VIRTUAL_MSIX + (at & ~(size - 1)), size, ~0ull);
	assert_int_equal(get(0, QUEUES, 2), 1);
	assert_int_equal(get(0, DEVICE_CONFIG + 16, 4), 0);
	for (unsigned i = 0; i < 4; i++)
		put(0, PCI_VIRTUAL_MSIX + i * 4, 4, ~0u);
	assert_int_equal(get(0, PCI_VIRTUAL_MSIX, 4), ~3u);
	assert_int_equal(get(0, PCI_VIRTUAL_MSIX + 8, 4), ~0u);
	assert_int_equal(get(0, PCI_VIRTUAL_MSIX + 12, 4), 1);
	put(0, PCI_VIRTUAL_MSIX + 16, 8, 0x2500000004);
	assert_true(f->table[1][0] == 4 && f->table[1][1] == 0x25);
	assert_int_equal(guest_load(vm, f->bar + PCI_VIRTUAL_MSIX + 16, 8), 0x2500000004);
	/* What is smaller finds the bytes that are there. */
	assert_true(get(0, PCI_VIRTUAL_MSIX + 20, 1) == 0x25 &&
		    get(0, PCI_VIRTUAL_MSIX + 21, 1) == 0);
	assert_true(get(0, PCI_VIRTUAL_MSIX + 10, 2) == 0xffff &&
		    get(0, PCI_VIRTUAL_MSIX + 12, 2) == 1);
	/* A vector that there is not pends nowhere. */
	config_write(0, PCI_HEADER_END + 2, 2, PCI_MSIX_ENABLE | PCI_MSIX_MASK_ALL);
	pci_virtual_interrupt(f, PCI_VIRTUAL_VECTORS);
	assert_int_equal(get(0, PCI_VIRTUAL_MSIX + 0x800, 4), 0);
	/* The window has what is aligned only. */
	put(0, STATUS, 1, 3);
	config_write(0, (u16)(f->window + 8), 4, QUEUES + 1);
	config_write(0, (u16)(f->window + 12), 4, 2);
	assert_int_equal(config_read(0, (u16)(f->window + 16), 2), 0);
}

static void test_functions_enough(void **)
{
	static const struct pci_virtual_cap none[] = { { 0 } };
	static struct pci_virtual more[PCI_VIRTUAL_MAX];
	struct pci_virtual *first = vm->virtual;

	for (unsigned i = 3; i <= PCI_VIRTUAL_MAX; i++) {
		more[i - 3].caps = none;
		assert_int_equal(pci_virtual_add(vm, &more[i - 3]),
				 i < PCI_VIRTUAL_MAX ? 0 : -ENOSPC);
	}
	assert_non_null(strstr(fake_host.log, "more than 12 virtual PCI functions"));
	vm->virtual = first;
}

/* ---- the transport ---- */

static void test_negotiation(void **)
{
	config_write(0, PCI_REG_COMMAND, 2, 6);
	put(0, FEATURE_SELECT, 4, 0);
	assert_int_equal(get(0, FEATURE, 4), BIT(1) | BIT(2) | BIT(5) | BIT(28) | BIT(29));
	put(0, FEATURE_SELECT, 4, 1);
	assert_int_equal(get(0, FEATURE, 4), 1);
	put(0, FEATURE_SELECT, 4, 2);
	assert_int_equal(get(0, FEATURE, 4), 0);
	/* Without version 1, and with what was not offered. */
	put(0, STATUS, 1, 3);
	put(0, STATUS, 1, 11);
	assert_int_equal(get(0, STATUS, 1), 3);
	put(0, ACCEPT_SELECT, 4, 1);
	put(0, ACCEPT, 4, 3);
	put(0, STATUS, 1, 11);
	assert_int_equal(get(0, STATUS, 1), 3);
	put(0, ACCEPT, 4, 1);
	put(0, STATUS, 1, 11);
	assert_int_equal(get(0, STATUS, 1), 11);
	/* Not any more. */
	put(0, ACCEPT, 4, 0);
	assert_int_equal(get(0, ACCEPT, 4), 1);
	/* Nor by clearing bits: only a reset does (virtio 1.2, 2.1.1). */
	for (unsigned status = 1; status < 256; status++) {
		u32 before = get(0, STATUS, 1);

		put(0, STATUS, 1, status);
		assert_int_equal(get(0, STATUS, 1), (before | status) & 0x8f);
		put(0, ACCEPT, 4, 0);
		assert_int_equal(get(0, ACCEPT, 4), 1);
		put(0, ACCEPT_SELECT, 4, 0);
		put(0, ACCEPT, 4, ~0u);
		assert_int_equal(get(0, ACCEPT, 4), 0);
		put(0, ACCEPT_SELECT, 4, 1);
	}
	put(0, STATUS, 1, 0);
	assert_int_equal(get(0, STATUS, 1), 0);
	put(0, ACCEPT_SELECT, 4, 1);
	put(0, ACCEPT, 4, 1);
	/* What is refused is no bit of the other ones', which are set. */
	put(0, ACCEPT, 4, 3);
	put(0, STATUS, 1, 11);
	assert_int_equal(get(0, STATUS, 1), 3);
	put(0, ACCEPT, 4, 1);
	put(0, STATUS, 1, 8);
	assert_int_equal(get(0, STATUS, 1), 11);
	/* Where no features are. */
	put(0, ACCEPT_SELECT, 4, 2);
	put(0, ACCEPT, 4, 0);
	put(0, ACCEPT_SELECT, 4, 1);
	/* Queues: one; sizes are powers of two; a vector that is none reads as none. */
	put(0, QUEUE_SIZE, 2, 129);
	put(0, QUEUE_SIZE, 2, 96);
	put(0, QUEUE_SIZE, 2, 0);
	assert_int_equal(get(0, QUEUE_SIZE, 2), 128);
	put(0, QUEUE_SIZE, 2, 64);
	assert_int_equal(get(0, QUEUE_SIZE, 2), 64);
	put(0, QUEUE_VECTOR, 2, PCI_VIRTUAL_VECTORS);
	assert_int_equal(get(0, QUEUE_VECTOR, 2), 0xffff);
	put(0, SELECT, 2, 1);
	assert_int_equal(get(0, QUEUE_SIZE, 2), 0);
	put(0, QUEUE_ENABLE, 2, 1);
	assert_int_equal(get(0, QUEUE_ENABLE, 2), 0);
	/* Back to the beginning. */
	put(0, STATUS, 1, 0);
	put(0, SELECT, 2, 0);
	assert_int_equal(get(0, STATUS, 1), 0);
	assert_int_equal(get(0, ACCEPT, 4), 0);
	assert_int_equal(get(0, QUEUE_SIZE, 2), 128);
}

/*
 * What is fixed once a queue is enabled, or may not be done before; what a broken one says, and how
 * often.
 */
static void test_order(void **)
{
	config_write(2, PCI_REG_COMMAND, 2, 6);
	put(2, STATUS, 1, 3);
	put(2, ACCEPT_SELECT, 4, 2);
	put(2, ACCEPT, 4, ~0u);
	put(2, ACCEPT_SELECT, 4, 0);
	assert_int_equal(get(2, ACCEPT, 4), 0);
	put(2, QUEUE_DESC, 4, DESC(0));
	put(2, QUEUE_DESC + 8, 4, AVAIL(0));
	put(2, QUEUE_DESC + 16, 4, USED(0));
	put(2, QUEUE_ENABLE, 2, 1);
	assert_int_equal(get(2, QUEUE_ENABLE, 2), 0);
	drive(2, 1, 0);
	put(2, QUEUE_SIZE, 2, 64);
	put(2, QUEUE_DESC, 4, DATA);
	assert_int_equal(get(2, QUEUE_SIZE, 2), 128);
	assert_int_equal(get(2, QUEUE_DESC, 4), DESC(0));
	put(2, SELECT, 2, 1);
	put(2, QUEUE_DESC, 4, GUEST_RAM);
	put(2, QUEUE_ENABLE, 2, 1);
	put(2, QUEUE_ENABLE, 2, 1);
	assert_int_equal(get(2, QUEUE_ENABLE, 2), 0);
	assert_true(sent.count == 1 && sent.data == 0x30);
	assert_int_equal(get(2, 0x800, 1), 2);
	assert_int_equal(get(2, 0x800, 1), 0);
	put(2, STATUS, 1, 15);
	assert_int_equal(get(2, STATUS, 1), 15 | 0x40);
}

/* ---- disks ---- */

/* A request of three descriptors from 3 * n on, of `size` bytes of data at `at`. */
static void request(unsigned n, u32 type, u64 sector, u64 at, u32 size)
{
	u16 i = (u16)(3 * n);

	set_ram(HEADER + n * 16, type, 8);
	set_ram(HEADER + n * 16 + 8, sector, 8);
	set_ram(ANSWER + n, 0xff, 1);
	set_desc(0, i, HEADER + n * 16, 16, NEXT, i + 1);
	set_desc(0, i + 1u, at, size, type == 1 ? NEXT : NEXT | WRITE, i + 2);
	set_desc(0, i + 2u, ANSWER + n, 1, WRITE, 0);
	offer(0, i);
}

static u8 do_request(unsigned disk, u32 type, u64 sector, u64 at, u32 size)
{
	request(0, type, sector, at, size);
	put(disk, NOTIFY(0), 2, 0);
	return (u8)ram(ANSWER, 1);
}

static void test_read(void **)
{
	const u8 *data;

	drive(0, 1, 0);
	assert_int_equal(get(0, DEVICE_CONFIG, 4), SECTORS);
	assert_int_equal(get(0, DEVICE_CONFIG + 8, 4) * get(0, DEVICE_CONFIG + 12, 4), 65536);
	assert_int_equal(get(0, DEVICE_CONFIG + 16, 4), 0);
	data = guest_ptr(vm, gpa(DATA), 65536);
	assert_int_equal(do_request(0, 0, 5, DATA, 4096), 0);
	assert_memory_equal(data, module + 5 * 512, 4096);
	assert_true(sent.count == 1 && sent.data == 0x40);
	assert_true(ram(USED(0) + 2, 2) == 1 && ram(USED(0) + 4, 8) == 4097ull << 32);
	/* The last sector, which the module does not fill, and none beyond. */
	memset(guest_ptr(vm, gpa(DATA), 1024), 0xaa, 1024);
	assert_int_equal(do_request(0, 0, SECTORS - 1, DATA, 512), 0);
	assert_memory_equal(data, module + MODULE_SIZE - 100, 100);
	for (unsigned i = 100; i < 512; i++)
		assert_int_equal(data[i], 0);
	assert_int_equal(data[512], 0xaa);
	assert_int_equal(do_request(0, 0, SECTORS - 1, DATA, 1024), 1);
	assert_int_equal(do_request(0, 0, SECTORS, DATA, 512), 1);
	assert_int_equal(do_request(0, 0, ~0ull, DATA, 512), 1);
	assert_int_equal(do_request(0, 0, BIT(55), DATA, 512), 1);
	/* Not whole sectors, too much at once, not in RAM. */
	assert_int_equal(do_request(0, 0, 0, DATA, 511), 1);
	assert_int_equal(do_request(0, 0, 0, DATA, 65536 + 512), 1);
	assert_int_equal(ram(USED(0) + 4 + (ram(USED(0) + 2, 2) - 1) * 8 + 4, 4), 65537);
	assert_int_equal(do_request(0, 0, 0, GUEST_RAM - 512, 1024), 1);
	assert_int_equal(do_request(0, 0, 0, BIT(40), 512), 1);
	/* It is only read. */
	assert_int_equal(do_request(0, 1, 0, DATA, 512), 1);
	assert_int_equal(module[1], 7);
	/* Its name; others are not known. */
	assert_int_equal(do_request(0, 8, 0, DATA, 20), 0);
	assert_string_equal((const char *)data, "root");
	assert_int_equal(do_request(0, 8, 0, DATA, 19), 1);
	assert_int_equal(do_request(0, 99, 0, DATA, 512), 2);
}

static char counts[2][200];
static unsigned told;

static void hear_counts(const char *text)
{
	snprintf(counts[told++], sizeof(counts[0]), "%s", text);
}

/* Of what went well, bytes; all else is an error. */
static void test_counts(void **state)
{
	drive(0, 1, 0);
	assert_int_equal(do_request(0, 0, 5, DATA, 4096), 0);
	assert_int_equal(do_request(0, 1, 5, DATA, 4096), 1);
	assert_int_equal(do_request(0, 99, 5, DATA, 4096), 2);
	told = 0;
	vm_device_counts(vm, hear_counts);
	assert_string_equal(
		counts[0], "disk=0\treads=1\tread_bytes=4096\twrites=0\twritten_bytes=0\terrors=2");
	assert_string_equal(counts[1],
			    "disk=1\treads=0\tread_bytes=0\twrites=0\twritten_bytes=0\terrors=0");
	teardown(state);
	setup(state);
	drive(1, 1, 0);
	assert_int_equal(do_request(1, 0, 8, DATA, 1024), 0);
	assert_int_equal(do_request(1, 1, 8, DATA, 512), 0);
	assert_int_equal(do_request(1, 1, 9, DATA, 1024), 0);
	assert_int_equal(do_request(1, 4, 0, DATA, 0), 0);
	assert_int_equal(do_request(1, 0, ~0ull, DATA, 512), 1);
	told = 0;
	vm_device_counts(vm, hear_counts);
	assert_true(told == 2 && !strncmp(counts[0], "disk=0\treads=0\t", 15));
	assert_string_equal(
		counts[1],
		"disk=1\treads=1\tread_bytes=1024\twrites=2\twritten_bytes=1536\terrors=1");
}

static void test_scratch(void **)
{
	u8 *data;

	drive(1, 1, 0);
	assert_int_equal(get(1, DEVICE_CONFIG, 4), MIB(32) / 512);
	data = guest_ptr(vm, gpa(DATA), 65536);
	memset(data, 0x55, 4096);
	assert_int_equal(do_request(1, 0, 8, DATA, 4096), 0);
	for (unsigned i = 0; i < 4096; i++)
		assert_int_equal(data[i], 0);
	memset(data, 0x77, 512);
	assert_int_equal(do_request(1, 1, MIB(32) / 512 - 1, DATA, 512), 0);
	assert_int_equal(do_request(1, 1, MIB(32) / 512, DATA, 512), 1);
	memset(data, 0, 512);
	assert_int_equal(do_request(1, 4, 0, DATA, 0), 0);
	assert_int_equal(do_request(1, 0, MIB(32) / 512 - 1, DATA, 512), 0);
	assert_true(data[0] == 0x77 && data[511] == 0x77);
}

/*
 * What was zero when it was taken is not any more: nobody else shall get it as that. And more than
 * there is, is refused.
 */
static void test_scratch_memory(void **state)
{
	teardown(state);
	fake_host_reset();
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	fake_host.extents_zero = true;
	fake_vm_config.nr_disks = 1;
	fake_vm_config.disk[0] = (struct vm_config_disk){ .scratch = MIB(32), .line = 9 };
	assert_int_equal(guest_start(), 0);
	vm->extent[0].zero = false;
	for (const struct vdev *const *d = __start_vdevs; d < __stop_vdevs; d++) {
		void *instance = NULL;

		/* The one that has the VM's only function. */
		instance = vm->device[d - __start_vdevs];
		if (!instance || (uintptr_t)vm->virtual - (uintptr_t)instance >= PAGE_SIZE)
			continue;
		instance = NULL;
		fake_vm_config.disk[0].scratch = GIB(1024);
		assert_int_equal((*d)->create(vm, &instance), -ENOMEM);
		(*d)->destroy(vm, instance);
		assert_non_null(strstr(
			fake_host.log,
			"vm0: vm0.conf:9: disk = scratch:1048576M: so much memory is not free"));
	}
	/* Nobody has written to what it had taken by then. */
	fake_host.freed_zero = false;
}

/*
 * No more than 64 KiB, or as many requests, between two looks at what may keep the vCPU from its
 * guest; all of it in the end.
 */
static void test_bounded(void **)
{
	drive(0, 1, 0);
	for (unsigned n = 0; n < 4; n++)
		request(n, 0, n * 64, DATA + n * 32768, 32768);
	put(0, NOTIFY(0), 2, 0);
	assert_int_equal(ram(USED(0) + 2, 2), 2);
	assert_int_equal(vm->vcpus[0]->unfinished, 1);
	assert_true(vm->vcpus[0]->look || fake_host.kicks[0]);
	assert_int_equal(finish(), 1);
	assert_int_equal(ram(USED(0) + 2, 2), 4);
	assert_memory_equal(guest_ptr(vm, gpa(DATA), 131072), module, 131072);
	/* What does not fit beside another waits. */
	request(0, 0, 0, DATA, 512);
	request(1, 0, 0, DATA, 65536);
	put(0, NOTIFY(0), 2, 0);
	assert_int_equal(ram(USED(0) + 2, 2), 5);
	assert_int_equal(finish(), 1);
	assert_int_equal(ram(USED(0) + 2, 2), 6);
	/* A chain that is offered again and again ends, too. */
	for (unsigned n = 0; n < 128; n++) {
		set_desc(0, n, ANSWER, 1, WRITE, 0);
		offer(0, (u16)n);
	}
	put(0, NOTIFY(0), 2, 0);
	assert_int_equal(ram(USED(0) + 2, 2), 6 + 128);
	assert_int_equal(finish(), 0);
}

/* One without data costs as much as a sector. */
static void test_bounded_without_data(void **)
{
	drive(0, 1, 0);
	request(0, 0, 0, DATA, 32768);
	for (unsigned n = 3; n < 103; n++) {
		set_desc(0, n, ANSWER, 1, WRITE, 0);
		offer(0, (u16)n);
	}
	put(0, NOTIFY(0), 2, 0);
	assert_int_equal(ram(USED(0) + 2, 2), 1 + 32768 / 512);
	assert_int_equal(finish(), 1);
	assert_int_equal(ram(USED(0) + 2, 2), 101);
}

/* What a VM's file says by `meta =` is a disk behind the others, which is only read. */
static void test_cidata(void **state)
{
	static const char *const metas[] = { "a=b\n", "a=c\n" };

	for (unsigned disks = 0; disks < 2; disks++) {
		char id[20] = "";

		teardown(state);
		fake_host_reset();
		fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
		fake_vm_config.nr_disks = disks;
		fake_vm_config.disk[0] = (struct vm_config_disk){ .scratch = MIB(32), .line = 9 };
		strcpy(fake_vm_config.meta, metas[disks]);
		assert_int_equal(guest_start(), 0);
		fake_vm_config.meta[0] = 0;
		drive(disks, 1, 0);
		assert_int_equal(do_request(disks, 0, 0, DATA, 512), 0);
		assert_memory_equal(guest_ptr(vm, gpa(DATA + 0x2b), 11), "cidata     ", 11);
		assert_int_equal(do_request(disks, 0, 31, DATA, 512), 0);
		assert_int_equal(do_request(disks, 0, 32, DATA, 512), 1);
		assert_int_equal(do_request(disks, 1, 0, DATA, 512), 1);
		assert_int_equal(do_request(disks, 8, 0, DATA, 20), 0);
		memcpy(id, guest_ptr(vm, gpa(DATA), 20), 19);
		assert_string_equal(id, "cidata");
		assert_non_null(strstr(fake_host.log, "disk: cidata, 16 KiB, read-only"));
	}
}

/* Memory in pieces is one disk. */
static void test_scratch_in_pieces(void **state)
{
	u8 *data;

	teardown(state);
	fake_host_reset();
	fake_host.ram[0].size = MIB(64);
	fake_host.nr_ram = 2;
	fake_host.ram[1] = fake_host.ram[0];
	fake_host.ram[1].base = hpa(FAKE_RAM_BASE + GIB(1));
	fake_vm_config.nr_disks = 1;
	fake_vm_config.disk[0] = (struct vm_config_disk){ .scratch = MIB(96), .line = 9 };
	assert_int_equal(guest_start(), 0);
	drive(0, 1, 0);
	data = guest_ptr(vm, gpa(DATA), 65536);
	for (unsigned i = 0; i < 96; i++) {
		memset(data, (int)i + 1, 512);
		assert_int_equal(do_request(0, 1, i * 2048 + 2047, DATA, 512), 0);
	}
	for (unsigned i = 0; i < 96; i++) {
		assert_int_equal(do_request(0, 0, i * 2048 + 2047, DATA, 512), 0);
		assert_true(data[0] == i + 1 && data[511] == i + 1);
	}
}

/* A driver that may not, or does not yet, reach memory; and one that breaks its queue. */
static void test_not_run(void **)
{
	drive(0, 1, 0);
	config_write(0, PCI_REG_COMMAND, 2, PCI_COMMAND_MEMORY);
	request(0, 0, 0, DATA, 512);
	put(0, NOTIFY(0), 2, 0);
	assert_int_equal(ram(USED(0) + 2, 2), 0);
	config_write(0, PCI_REG_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	put(0, NOTIFY(1), 2, 0);
	put(0, NOTIFY(0), 4, 0);
	assert_int_equal(ram(USED(0) + 2, 2), 1);
	sent.count = 0;
	for (unsigned i = 0; i < 3; i++) {
		offer(0, 128);
		put(0, NOTIFY(0), 2, 0);
	}
	assert_int_equal(get(0, STATUS, 1), 15 | 0x40);
	assert_true(sent.count == 1 && sent.data == 0x30);
	request(0, 0, 0, DATA, 512);
	put(0, NOTIFY(0), 2, 0);
	assert_int_equal(ram(USED(0) + 2, 2), 1);
	assert_non_null(strstr(fake_host.log, "virtio device 0: its driver broke a queue"));
	memset(fake_host.log, 0, 1);
	/*
	 * After a reset it goes on; and it may be again and again, which is said sixteen times,
	 * then once in ten seconds.
	 */
	offered[0] = 0;
	set_ram(AVAIL(0) + 2, 0, 2);
	set_ram(USED(0) + 2, 0, 2);
	drive(0, 1, 0);
	assert_int_equal(do_request(0, 0, 0, DATA, 512), 0);
	for (unsigned i = 2; i <= 30; i++) {
		offered[0] = 0;
		set_ram(AVAIL(0) + 2, 0, 2);
		drive(0, 1, 0);
		fake_host.log[0] = 0;
		offer(0, 128);
		put(0, NOTIFY(0), 2, 0);
		assert_int_equal(!strstr(fake_host.log, "broke"), i > 16);
	}
	fake_host.tsc += 10001 * fake_host.tsc_khz;
	drive(0, 1, 0);
	set_ram(AVAIL(0) + 2, 0, 2);
	offered[0] = 0;
	offer(0, 128);
	put(0, NOTIFY(0), 2, 0);
	assert_non_null(strstr(fake_host.log, "until it is reset, 14 more since the last line\n"));
}

/* ---- the console ---- */

static void print(const char *text, u16 i)
{
	size_t n = strlen(text);

	memcpy(guest_ptr(vm, gpa(DATA + i * 1024u), n), text, n);
	set_desc(1, i, DATA + i * 1024u, (u32)n, 0, 0);
	offer(1, i);
	put(2, NOTIFY(1), 2, 1);
}

static void test_output(void **)
{
	drive(2, 2, EVENT_INDEX);
	print("hello ", 0);
	print("world\n", 1);
	assert_int_equal(fake_host.output_len, 12);
	assert_memory_equal(fake_host.output, "hello world\n", 12);
	assert_int_equal(ram(USED(1) + 2, 2), 2);
	/*
	 * A line that takes nothing: it is given back all the same, and comes when there is room.
	 */
	fake_host.output_room = 3;
	print("abcdef", 2);
	assert_int_equal(fake_host.output_len, 15);
	assert_int_equal(ram(USED(1) + 2, 2), 3);
	fake_host_drain(100);
	assert_memory_equal(fake_host.output + 12, "abcdef", 6);
	/* And behind the UART's, by whose turn it comes. */
	guest_out(vm, GUEST_UART_PORT, 1, 'u');
	assert_memory_equal(fake_host.output + 12, "abcdefu", 7);
}

/* More than waits at once: the driver waits for the rest. */
static void test_output_long(void **)
{
	u8 *data;

	drive(2, 2, 0);
	data = guest_ptr(vm, gpa(DATA), 40000);
	for (unsigned i = 0; i < 40000; i++)
		data[i] = (u8)(i % 251);
	fake_host.output_room = 1000;
	set_desc(1, 0, DATA, 40000, 0, 0);
	offer(1, 0);
	put(2, NOTIFY(1), 2, 1);
	assert_int_equal(fake_host.output_len, 1000);
	assert_int_equal(ram(USED(1) + 2, 2), 0);
	for (unsigned i = 0; i < 100 && fake_host.output_len < 40000; i++)
		fake_host_drain(2000);
	assert_int_equal(fake_host.output_len, 40000);
	assert_int_equal(ram(USED(1) + 2, 2), 1);
	assert_memory_equal(fake_host.output, data, 40000);
}

/* And the guest's first vCPU looks at what has been typed. */
static void type(const char *text)
{
	fake_host_type(text);
	finish();
}

static void test_input(void **)
{
	/* The UART has it until the driver has given buffers. */
	fake_host_type("a");
	assert_int_equal(guest_in(vm, GUEST_UART_PORT, 1), 'a');
	drive(2, 2, EVENT_INDEX);
	set_desc(0, 0, DATA, 4, WRITE, 0);
	set_desc(0, 1, DATA + 16, 4, WRITE, 0);
	offer(0, 0);
	offer(0, 1);
	put(2, NOTIFY(0), 2, 0);
	type("b");
	type("c");
	assert_int_equal(guest_in(vm, GUEST_UART_PORT + 5, 1) & 1, 0);
	assert_int_equal(ram(DATA, 1), 'b');
	assert_true(sent.count >= 1 && sent.data == 0x40);
	assert_int_equal(ram(USED(0) + 2, 2), 1);
	/*
	 * One buffer, until the driver has offered another one: it may take no more at an
	 * interrupt.
	 */
	type("def");
	assert_int_equal(ram(USED(0) + 2, 2), 1);
	assert_int_equal(ram(USED(0) + 4 + 128 * 8, 2), 2);
	offer(0, 0);
	put(2, NOTIFY(0), 2, 0);
	assert_int_equal(ram(USED(0) + 2, 2), 2);
	assert_int_equal(ram(DATA + 16, 4), 'c' | 'd' << 8 | 'e' << 16 | (u32)'f' << 24);
	/* After a reset it is the UART's again. */
	put(2, STATUS, 1, 0);
	fake_host_type("g");
	assert_int_equal(guest_in(vm, GUEST_UART_PORT, 1), 'g');
}

static void clear_rings(void)
{
	memset(guest_ptr(vm, gpa(RING(0)), 0x20000), 0, 0x20000);
	memset(offered, 0, sizeof(offered));
}

/*
 * What was begun before a reset is forgotten, and what waits for the line does not reach for a
 * queue that is gone.
 */
static void test_output_reset(void **)
{
	drive(2, 2, 0);
	fake_host.output_room = 100;
	set_desc(1, 0, DATA, 40000, 0, 0);
	offer(1, 0);
	put(2, NOTIFY(1), 2, 1);
	assert_int_equal(ram(USED(1) + 2, 2), 0);
	put(2, STATUS, 1, 0);
	for (unsigned i = 0; i < 10; i++)
		fake_host_drain(10000);
	clear_rings();
	drive(2, 2, 0);
	fake_host.output_len = 0;
	print("after", 0);
	assert_int_equal(ram(USED(1) + 2, 2), 1);
	assert_int_equal(fake_host.output_len, 5);
	assert_memory_equal(fake_host.output, "after", 5);
}

/*
 * What is not in RAM is given back and says nothing; requests without output cost something, too.
 */
static void test_output_nothing(void **)
{
	drive(2, 2, 0);
	set_desc(1, 0, GUEST_RAM, 512, 0, 0);
	offer(1, 0);
	put(2, NOTIFY(1), 2, 1);
	assert_int_equal(ram(USED(1) + 2, 2), 1);
	assert_int_equal(fake_host.output_len, 0);
	for (unsigned n = 0; n < 128; n++) {
		set_desc(1, n, DATA, 0, 0, 0);
		offer(1, (u16)n);
	}
	put(2, NOTIFY(1), 2, 1);
	assert_int_equal(ram(USED(1) + 2, 2), 129);
	assert_int_equal(finish(), 1);
}

/*
 * A paused VM's memory stays as it is: what is typed, and room for its output, wait until it goes
 * on.
 */
static void test_console_paused(void **)
{
	static u8 before[GUEST_RAM];
	const struct vdev *const *d = __start_vdevs;

	drive(2, 2, 0);
	set_desc(0, 0, DATA + 0x8000, 4, WRITE, 0);
	offer(0, 0);
	put(2, NOTIFY(0), 2, 0);
	fake_host.output_room = 100;
	set_desc(1, 0, DATA, 20000, 0, 0);
	offer(1, 0);
	put(2, NOTIFY(1), 2, 1);
	vm->paused = true;
	memcpy(before, guest_ptr(vm, gpa(0), GUEST_RAM), GUEST_RAM);
	fake_host_type("ab");
	fake_host_drain(30000);
	assert_memory_equal(before, guest_ptr(vm, gpa(0), GUEST_RAM), GUEST_RAM);
	assert_int_equal(guest_in(vm, GUEST_UART_PORT + 5, 1) & 1, 0);
	vm->paused = false;
	for (; d < __stop_vdevs; d++)
		if ((*d)->vcpu_pause)
			(*d)->vcpu_pause(vm->vcpus[0], vm->device[d - __start_vdevs], false);
	assert_int_equal(ram(DATA + 0x8000, 2), 'a' | 'b' << 8);
	assert_int_equal(ram(USED(1) + 2, 2), 1);
	assert_int_equal(fake_host.output_len, 20000);
}

/* More than the buffer holds is lost at its end; and it goes round. */
static void test_input_much(void **)
{
	drive(2, 2, 0);
	put(2, NOTIFY(0), 2, 0);
	for (unsigned i = 0; i < 1024; i++)
		fake_host_type("a");
	fake_host_type("lost");
	set_desc(0, 0, DATA, 1024, WRITE, 0);
	offer(0, 0);
	put(2, NOTIFY(0), 2, 0);
	assert_int_equal(ram(USED(0) + 8, 4), 1024);
	assert_int_equal(ram(DATA, 4), 0x61616161);
	for (unsigned i = 0; i < 600; i++) {
		offer(0, 0);
		put(2, NOTIFY(0), 2, 0);
		type(i & 1 ? "x" : "y");
		assert_int_equal(ram(DATA, 1), i & 1 ? 'x' : 'y');
	}
	offer(0, 0);
	put(2, NOTIFY(0), 2, 0);
	for (unsigned i = 0; i < 1000; i++)
		fake_host_type("0");
	/* Buffers of an earlier time do not count after a reset. */
	put(2, STATUS, 1, 0);
	clear_rings();
	drive(2, 2, 0);
	fake_host_type("h");
	assert_int_equal(guest_in(vm, GUEST_UART_PORT, 1), 'h');
}

/*
 * Who types, under the monitor's lock perhaps, does not walk the guest's ring, however long that
 * is: the guest's own CPU does, once for all that came meanwhile.
 */
static void test_input_later(void **)
{
	char text[257] = "";

	drive(2, 2, 0);
	for (unsigned n = 0; n < 128; n++) {
		set_desc(0, n, DATA + n * 16, 1, WRITE, 0);
		offer(0, (u16)n);
	}
	put(2, NOTIFY(0), 2, 0);
	memset(text, 'a', 256);
	fake_host_type(text);
	assert_int_equal(ram(USED(0) + 2, 2), 0);
	assert_int_equal(ram(DATA, 1), 0);
	assert_int_equal(vm->vcpus[0]->unfinished, 4);
	assert_int_equal(finish(), 1);
	assert_int_equal(ram(USED(0) + 2, 2), 1);
	assert_int_equal(ram(DATA, 1), 'a');
}

int main(void)
{
	/* clang-format off */
	static const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(test_place), TEST(test_place_beside), TEST(test_bar), TEST(test_capabilities),
		TEST(test_messages),
		TEST(test_negotiation), TEST(test_read), TEST(test_counts), TEST(test_scratch),
		TEST(test_scratch_memory), TEST(test_cidata),
		TEST(test_bounded), TEST(test_not_run),
		TEST(test_output), TEST(test_output_long), TEST(test_input),
		TEST(test_table), TEST(test_functions_enough), TEST(test_order),
		TEST(test_bounded_without_data),
		TEST(test_scratch_in_pieces), TEST(test_output_reset), TEST(test_output_nothing),
		TEST(test_input_much),
		TEST(test_input_later), TEST(test_console_paused),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
