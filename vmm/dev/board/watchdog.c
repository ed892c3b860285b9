/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A watchdog that the guest's ACPI table WDAT describes (vmm/acpi/acpi_devices.c; Microsoft,
 * "Hardware Watchdog Timers Design Specification"), so that Linux' wdat_wdt drives it. Its bite
 * ends the VM, whatever the guest does: timers are the host's.
 */
#include "vmm/guest_platform.h"
#include "vmm/slots/slot_own.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define TICKS_PER_S (1000 / GUEST_WATCHDOG_TICK_MS)
static_assert(TICKS_PER_S == 10, "one decimal");

/* A VM's last end, or one before, was a bite of which its guest has not taken note. */
SLOT_OWN(bool, bitten);

struct watchdog {
	struct spinlock lock; /* guards the next two */
	u16 count;            /* ticks of GUEST_WATCHDOG_TICK_MS from one feeding to the bite */
	u64 deadline;         /* host TSC; 0: not running */
	/*
	 * Each feeding arms that vCPU's: so the last one's is always armed for the deadline, and
	 * the others find out.
	 */
	struct feeder {
		struct host_timer timer;
		struct vcpu *vcpu;
		struct watchdog *of;
	} feeder[]; /* by vCPU */
};

static u64 tick(void)
{
	return host_tsc_khz() * GUEST_WATCHDOG_TICK_MS;
}

static void timer_fired(struct host_timer *timer)
{
	struct feeder *f = container_of(timer, struct feeder, timer);
	struct vm *vm = f->vcpu->vm;
	bool bites;

	spin_lock(&f->of->lock);
	bites = f->of->deadline && host_tsc() >= f->of->deadline;
	spin_unlock(&f->of->lock);
	if (!bites || !vm_end(vm, VM_END_WATCHDOG))
		return;
	f->vcpu->died = true;
	bitten[vm->id] = true;
	vm_tell(vm, "its watchdog was not fed for %u.%u s", f->of->count / TICKS_PER_S,
		f->of->count % TICKS_PER_S);
}

static void feed(struct watchdog *w, struct vcpu *vcpu)
{
	struct feeder *f = &w->feeder[vcpu->id];

	f->timer.fn = timer_fired;
	f->vcpu = vcpu;
	f->of = w;
	w->deadline = host_tsc() + w->count * tick();
	host_timer_arm(&f->timer, w->deadline);
}

static u32 watchdog_read(void *dev, struct vcpu *vcpu, u16 offset, unsigned)
{
	struct watchdog *w = dev;
	u64 now = host_tsc();
	u32 value = 0;

	spin_lock(&w->lock);
	if (offset == GUEST_WATCHDOG_RUN)
		value = w->deadline != 0;
	else if (offset == GUEST_WATCHDOG_COUNT)
		value = w->count;
	else if (offset == GUEST_WATCHDOG_LEFT)
		value = w->deadline > now ? (u32)((w->deadline - now) / tick()) : 0;
	else if (offset == GUEST_WATCHDOG_STATUS)
		value = bitten[vcpu->vm->id];
	spin_unlock(&w->lock);
	return value;
}

static void watchdog_write(void *dev, struct vcpu *vcpu, u16 offset, unsigned size, u32 value)
{
	struct watchdog *w = dev;

	spin_lock(&w->lock);
	if (offset == GUEST_WATCHDOG_RUN && !(value & 1)) {
		w->deadline = 0;
	} else if (offset == GUEST_WATCHDOG_RUN || (offset == GUEST_WATCHDOG_FEED && w->deadline)) {
		feed(w, vcpu);
	} else if (offset == GUEST_WATCHDOG_COUNT && size == 2) {
		w->count = (u16)MAX(value, 1u);
		if (w->deadline)
			feed(w, vcpu);
	} else if (offset == GUEST_WATCHDOG_STATUS && value & 1) {
		bitten[vcpu->vm->id] = false;
	}
	spin_unlock(&w->lock);
}

static const struct pio_ops watchdog_ops = { .sizes = 1 | 2,
					     .read = watchdog_read,
					     .write = watchdog_write };

/* Nobody can feed it while the VM is paused; afterwards it has all of its time again. */
static void watchdog_pause(struct vcpu *vcpu, void *instance, bool paused)
{
	struct watchdog *w = instance;

	if (!w)
		return;
	spin_lock(&w->lock);
	host_timer_cancel(&w->feeder[vcpu->id].timer);
	if (!paused && w->deadline)
		feed(w, vcpu);
	spin_unlock(&w->lock);
}

static void watchdog_stop(struct vcpu *vcpu, void *instance)
{
	struct watchdog *w = instance;

	if (w)
		host_timer_cancel(&w->feeder[vcpu->id].timer);
}

static unsigned pages(const struct vm *vm)
{
	return (unsigned)(ALIGN_UP(sizeof(struct watchdog) + vm->nr_vcpus * sizeof(struct feeder),
				   PAGE_SIZE) /
			  PAGE_SIZE);
}

static void watchdog_destroy(struct vm *vm, void *instance)
{
	host_pages_free(instance, pages(vm));
}

static int watchdog_create(struct vm *vm, void **instance)
{
	struct watchdog *w;

	if (vm->config->no_watchdog)
		return 0;
	/* Where the timers are the guest's, nothing would bite. */
	if (vm_direct(vm) && !host_alarm()) {
		vm_note(vm, VM_CONFIG_NO_ALARM);
		return 0;
	}
	w = *instance = host_pages_alloc(pages(vm), -1);
	if (!w)
		return host_no_memory(vm->name);
	w->count = GUEST_WATCHDOG_MAX;
	return vm_register_pio(vm, GUEST_WATCHDOG_PORT, GUEST_WATCHDOG_PORTS, &watchdog_ops, w);
}

static const struct vdev watchdog_vdev = {
	.create = watchdog_create,
	.destroy = watchdog_destroy,
	.vcpu_stop = watchdog_stop,
	.vcpu_pause = watchdog_pause,
};
VDEV(watchdog_vdev);
