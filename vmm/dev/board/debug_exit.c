/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The debug-exit port of test kernels, at the address and of the size that
 * QEMU's isa-debug-exit has by custom: what is written ends the VM, as its
 * status. Only where the VM file says `debug_exit = yes`, so that no guest ends
 * by a stray write.
 */
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define DEBUG_EXIT_PORT 0xf4
#define DEBUG_EXIT_PORTS 4

static u32 debug_exit_read(void *, struct vcpu *, u16, unsigned)
{
	return ~0u;
}

static void debug_exit_write(void *, struct vcpu *vcpu, u16 offset, unsigned, u32 value)
{
	if (offset == 0)
		vm_exit(vcpu->vm, value);
}

static const struct pio_ops debug_exit_ops = { .sizes = 1 | 2 | 4,
					       .read = debug_exit_read,
					       .write = debug_exit_write };

static int debug_exit_create(struct vm *vm, void **)
{
	if (!vm->config->debug_exit)
		return 0;
	return vm_register_pio(vm, DEBUG_EXIT_PORT, DEBUG_EXIT_PORTS, &debug_exit_ops, NULL);
}

static const struct vdev debug_exit_vdev = {
	.create = debug_exit_create,
};
VDEV(debug_exit_vdev);
