/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The GPIO controller whose one pin wakes a guest that sleeps in suspend-to-idle, which any Linux
 * has. Linux keeps a generic event device's interrupt off there; of hardware-reduced ACPI's ways
 * only a pin of _AEI that is ExclusiveAndWake is armed (ACPI 6.4, 6.2.6 and 19.6.55). It is a
 * community of Intel's Atom E3800 (data sheet 329670, volume 3, "GPIO NCORE"), whose driver is
 * built into general kernels: pads of 16 bytes with CONF0 first and VAL third, and at 0x800 the
 * interrupts that pend, cleared by writing 1.
 */
#include <margay/errno.h>

#include "vmm/dev/apic/lapic.h"
#include "vmm/guest_platform.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define PADS 28u
#define PAD_SIZE 16u
#define PAD_CONF0 0u
#define PAD_VAL 8u
#define PAD_OF_PIN0 19u /* pins have pads in an order of their own */
#define INT_STAT 0x800u
#define CONF0_TRIG_POS BIT(25)

struct wake_pin {
	struct spinlock lock; /* guards everything below */
	u32 conf0[PADS];
	u32 val[PADS];
	bool pending;
};

/* The register of a pad at this offset, or NULL. */
static u32 *pad_register(struct wake_pin *w, u64 offset)
{
	u64 pad = offset / PAD_SIZE;

	if (pad >= PADS)
		return NULL;
	if (offset % PAD_SIZE == PAD_CONF0)
		return &w->conf0[pad];
	return offset % PAD_SIZE == PAD_VAL ? &w->val[pad] : NULL;
}

static u64 wake_pin_read(void *dev, struct vcpu *, u64 offset, unsigned)
{
	struct wake_pin *w = dev;
	u32 *reg = pad_register(w, offset);
	u32 value;

	spin_lock(&w->lock);
	value = reg ? *reg : offset == INT_STAT && w->pending;
	spin_unlock(&w->lock);
	return value;
}

static void wake_pin_write(void *dev, struct vcpu *, u64 offset, unsigned, u64 value)
{
	struct wake_pin *w = dev;
	u32 *reg = pad_register(w, offset);

	spin_lock(&w->lock);
	if (reg)
		*reg = (u32)value;
	else if (offset == INT_STAT && value & 1)
		w->pending = false;
	spin_unlock(&w->lock);
}

static const struct mmio_ops wake_pin_ops = { .sizes = 4,
					      .read = wake_pin_read,
					      .write = wake_pin_write };

/* A pulse, of which a guest that has not set the pin up hears nothing. */
static int wake_pin_press(struct vm *vm, void *instance, enum vm_button button)
{
	struct wake_pin *w = instance;
	bool armed;

	if (button != VM_BUTTON_POWER)
		return -ENOSYS;
	spin_lock(&w->lock);
	armed = w->conf0[PAD_OF_PIN0] & CONF0_TRIG_POS;
	if (armed)
		w->pending = true;
	spin_unlock(&w->lock);
	if (armed) {
		ioapic_line(vm, GUEST_WAKE_GSI, true);
		ioapic_line(vm, GUEST_WAKE_GSI, false);
	}
	return 0;
}

static int wake_pin_create(struct vm *vm, void **instance)
{
	struct wake_pin *w = *instance = host_pages_alloc(1, -1);

	if (!w)
		return host_no_memory(vm->name);
	return vm_register_mmio(vm, gpa(GUEST_WAKE_BASE), GUEST_WAKE_SIZE, &wake_pin_ops, w);
}

static const struct vdev_calls wake_pin_calls = { .press = wake_pin_press };
static const struct vdev wake_pin_vdev = { .create = wake_pin_create, .calls = &wake_pin_calls };
VDEV(wake_pin_vdev);
