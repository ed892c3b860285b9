/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only in images with DEBUG_CLOCK: lets a test in the guest compare its clocks
 * with the node's reference clock, which the LWK reads for it then and there,
 * and stop its own VM for a while; not with interrupts = direct. Ports of 32 bits:
 *   0x5f0  read: takes the reference's time; the low half of it, ns
 *   0x5f4  read: the high half of what was taken last
 *   0x5f8  write: the VM is paused for so many milliseconds
 */
#include "vmm/node/pause.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define DEBUG_CLOCK_PORT 0x5f0
#define DEBUG_CLOCK_PORTS 12

struct debug_clock {
	struct host_timer timer; /* ends the pause */
	struct vm *vm;
	u64 taken;
};

static_assert(sizeof(struct debug_clock) <= PAGE_SIZE, "one page");

static u32 debug_clock_read(void *dev, struct vcpu *, u16 offset, unsigned)
{
	struct debug_clock *d = dev;

	if (offset == 0)
		d->taken = host_reference_ns();
	return (u32)(d->taken >> (offset == 4 ? 32 : 0));
}

static void pause_over(struct host_timer *timer)
{
	vm_resume(container_of(timer, struct debug_clock, timer)->vm);
}

static void debug_clock_write(void *dev, struct vcpu *vcpu, u16 offset, unsigned, u32 value)
{
	struct debug_clock *d = dev;

	if (offset != 8 || vm_pause(vcpu->vm))
		return;
	host_timer_arm(&d->timer, host_tsc() + value * host_tsc_khz());
}

static const struct pio_ops debug_clock_ops = { .sizes = 4,
						.read = debug_clock_read,
						.write = debug_clock_write };

static int debug_clock_create(struct vm *vm, void **instance)
{
	struct debug_clock *d;

	/* Where the timers are the guest's, nothing would end a pause. */
	if (vm_direct(vm))
		return 0;
	d = *instance = host_pages_alloc(1, -1);
	if (!d)
		return host_no_memory(vm->name);
	d->vm = vm;
	d->timer.fn = pause_over;
	return vm_register_pio(vm, DEBUG_CLOCK_PORT, DEBUG_CLOCK_PORTS, &debug_clock_ops, d);
}

static void debug_clock_stop(struct vcpu *vcpu, void *instance)
{
	struct debug_clock *d = instance;

	if (d && d->timer.cpu == vcpu->cpu)
		host_timer_cancel(&d->timer);
}

static const struct vdev debug_clock_vdev = {
	.create = debug_clock_create,
	.vcpu_stop = debug_clock_stop,
};
VDEV(debug_clock_vdev);
