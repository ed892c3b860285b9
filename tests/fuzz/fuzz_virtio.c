/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/virtio.sources @tests/unit/fake_vm.sources -lcmocka */
/* FUZZ: -max_len=2000 -len_control=0 vmm/dev/virtio/virtio.c vmm/dev/virtio/virtio_blk.c vmm/dev/virtio/virtio_console.c vmm/dev/virtio/virtqueue.c vmm/dev/virtio/pieces.c vmm/pci/pci_virtual.c */
/*
 * A hostile virtio driver: the input is registers and configuration space written, rings and
 * descriptors that say anything, and what is typed. Checked: a disk that is a module stays as it
 * is; nobody reads or writes beyond it or the guest's RAM (ASan, and what is not mapped around
 * that); work ends; and after a reset a driver that keeps the rules reads what is on the disk.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/virtio_guest.h"

#define MODULE_SIZE 5000u
#define STEPS 250
#define ROUNDS 300 /* of go_on(), for all that was offered: VIRTQ_SIZE requests by two queues */

static u8 *module;
static u8 before[MODULE_SIZE];

/* Somewhere in the rings, or near the end of RAM, or anywhere. */
static u64 address(struct fuzz_in *in)
{
	u8 tag = fuzz_u8(in);

	switch (tag & 3) {
	case 0: return 0x40000 + tag * 64u;
	case 1: return RING(tag >> 2 & 1) + fuzz_le(in, 2) * 2;
	case 2: return GUEST_RAM - (tag >> 2);
	default: return fuzz_number(in);
	}
}

static u32 length(struct fuzz_in *in)
{
	u8 tag = fuzz_u8(in);

	if (tag < 128)
		return tag;
	return tag < 192 ? (tag - 128u) * 512 : (u32)fuzz_number(in);
}

/* A request as a driver would make it, but for what the input says. */
static void request(struct fuzz_in *in, unsigned queue)
{
	u8 op = fuzz_u8(in), i = op & 31;

	set_ram(0x30000, fuzz_u8(in) & 15, 8);
	set_ram(0x30008, op & 64 ? fuzz_number(in) : fuzz_u8(in) & 15, 8);
	set_desc(queue, i, 0x30000, 16, 1, (u16)(i + 1));
	set_desc(queue, i + 1u, address(in), length(in), op & 128 ? 3 : 1, (u16)(i + 2));
	set_desc(queue, i + 2u, 0x38000, 1, 2, 0);
	offer(queue, i);
}

static void work(void)
{
	for (unsigned rounds = 0; vm->vcpus[0]->unfinished; rounds++) {
		CHECK(rounds < ROUNDS);
		pci_virtual_go_on(vm->vcpus[0]);
	}
}

static void step(struct fuzz_in *in)
{
	u8 op = fuzz_u8(in), device = (op >> 4) % 3, queue = op >> 6 & 1;

	switch (op & 0xf) {
	case 0: { /* a descriptor */
		u8 i = fuzz_u8(in) & 127;

		set_desc(queue, i, address(in), length(in), fuzz_u8(in) & 7, fuzz_u8(in));
		break;
	}
	case 1: offer(queue, fuzz_u8(in)); break;
	case 2:
	case 3:
		put(device, NOTIFY(queue), 2, queue);
		work();
		break;
	case 4: /* RAM: rings under way */
		set_ram(RING(queue) + (fuzz_le(in, 2) & 0xfffe), fuzz_le(in, 2), 2);
		break;
	case 5: { /* any register */
		u32 at = (u32)fuzz_le(in, 2) & 0x3fff;
		unsigned size = 1u << (op >> 6);

		put(device, at & ~(size - 1), size, fuzz_number(in));
		get(device, at & ~(size - 1), size);
		work();
		break;
	}
	case 6: { /* the common structure */
		static const u8 reg[] = { 0,  4,  8,  12, 16, 20, 22, 24,
					  26, 28, 32, 36, 40, 44, 48, 52 };
		u8 n = fuzz_u8(in);

		unsigned small = n & 128 ? 1 : 2;

		put(device, reg[n & 15], n & 64 ? 4 : small, fuzz_number(in));
		break;
	}
	case 7: {
		u16 at = fuzz_u8(in);

		config_write(device, at & 0xfc, 4, (u32)fuzz_number(in));
		config_read(device, at & 0xfc, 4);
		work();
		break;
	}
	case 8: drive(device, 2, op & 128 ? BIT(29) : 0); break;
	case 9:
		request(in, 0);
		put(device, NOTIFY(0), 2, 0);
		work();
		break;
	case 10: fake_host_type("typed"); break;
	case 11:
		fake_host.output_len = 0;
		fake_host_drain(fuzz_u8(in) * 16u);
		work();
		break;
	case 12: { /* output */
		set_desc(1, 0, address(in), length(in), 0, 0);
		offer(1, 0);
		put(2, NOTIFY(1), 2, 1);
		work();
		break;
	}
	case 13: /* where the driver's index is, or not */
		set_ram(AVAIL(queue) + 2, fuzz_le(in, 2), 2);
		offered[queue] = (u16)ram(AVAIL(queue) + 2, 2);
		break;
	case 14:
		memset(guest_ptr(vm, gpa(RING(queue)), 0xa000), 0, 0xa000);
		offered[queue] = 0;
		break;
	default: put(device, STATUS, 1, fuzz_u8(in));
	}
}

/* A driver that keeps the rules, after whatever another has left. */
static void check_works(void)
{
	memset(guest_ptr(vm, gpa(RING(0)), 0x20000), 0, 0x20000);
	memset(offered, 0, sizeof(offered));
	config_write(0, PCI_REG_BAR, 4, (u32)function(0)->bar);
	config_write(0, PCI_REG_BAR + 4, 4, 0);
	config_write(1, PCI_REG_COMMAND, 2, 0);
	config_write(2, PCI_REG_COMMAND, 2, 0);
	drive(0, 1, 0);
	set_ram(0x30000, 0, 8);
	set_ram(0x30008, 1, 8);
	set_ram(0x38000, 0xff, 1);
	set_desc(0, 0, 0x30000, 16, 1, 1);
	set_desc(0, 1, 0x50000, 1024, 3, 2);
	set_desc(0, 2, 0x38000, 1, 2, 0);
	offer(0, 0);
	sent.count = 0;
	put(0, NOTIFY(0), 2, 0);
	CHECK(ram(0x38000, 1) == 0 && ram(USED(0) + 2, 2) == 1 && sent.count == 1);
	CHECK(!memcmp(guest_ptr(vm, gpa(0x50000), 1024), before + 512, 1024));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in input = { data, size };

	fake_host_reset();
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	for (unsigned i = 0; i < MODULE_SIZE; i++)
		before[i] = (u8)(i * 3 + i / 512);
	module = fuzz_copy(before, MODULE_SIZE);
	fake_host.modules[0] = (struct host_module){ "root", "", module, MODULE_SIZE };
	fake_host.nr_modules = 1;
	fake_vm_config.nr_disks = 2;
	fake_vm_config.disk[0] = (struct vm_config_disk){ .name = "root" };
	fake_vm_config.disk[1] = (struct vm_config_disk){ .scratch = MIB(32) };
	fake_vm_config.virtio_console = true;
	CHECK(!guest_start());
	for (unsigned i = 0; i < 3; i++)
		drive(i, i < 2 ? 1 : 2, 0);
	for (unsigned i = 0; input.left && i < STEPS; i++, fuzz_actions++)
		step(&input);
	CHECK(!memcmp(module, before, MODULE_SIZE));
	check_works();
	fake_vm_destroy(vm);
	free(module);
	return 0;
}
