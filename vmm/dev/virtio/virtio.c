/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See virtio.h: registers of the transport (virtio 1.2, 4.1.4), and a device's way to its driver's
 * memory.
 */
#include "vmm/dev/virtio/virtio.h"

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/memory/guest_mem.h"
#include "vmm/node/pause.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

#define DEVICE_ID 0x1040u /* and the type */
#define STATUS_DRIVER_OK 4u
#define STATUS_FEATURES_OK 8u
#define STATUS_NEEDS_RESET 0x40u
/* what the driver sets: ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK, FAILED */
#define STATUS_DRIVERS 0x8fu
#define FEATURE_INDIRECT BIT(28)
#define FEATURE_EVENT_INDEX BIT(29)
#define FEATURE_VERSION_1 BIT(32)

#define AREA 0x1000u /* of each structure in the BAR */
enum { AREA_COMMON, AREA_DEVICE, AREA_NOTIFY };
#define ISR 0x800u /* in AREA_COMMON */
#define NOTIFY_STEP 4u
#define QUEUE_SIZE_DEFAULT 128

/* 4.1.4.3 */
struct common {
	u32 device_feature_select;
	u32 device_feature;
	u32 driver_feature_select;
	u32 driver_feature;
	u16 config_vector;
	u16 num_queues;
	u8 device_status;
	u8 config_generation;
	u16 queue_select;
	u16 queue_size;
	u16 queue_vector;
	u16 queue_enable;
	u16 queue_notify_off;
	u32 queue_area[6];
	u16 queue_notify_data;
	u16 queue_reset;
};
static_assert(offsetof(struct common, queue_area) == 0x20 && sizeof(struct common) == 0x3c,
	      "virtio 1.2, 4.1.4.3");

/*
 * 4.1.4: the type of the structure in the first dword, with the capability's length; offset;
 * length.
 */
#define CAP(type, length) ((length) * 4 << 16 | (u32)(type) << 24)
static const struct pci_virtual_cap caps[] = {
	{ PCI_CAP_VENDOR, 4, false, { CAP(1, 4), 0, AREA_COMMON *AREA, sizeof(struct common) } },
	{ PCI_CAP_VENDOR,
	  5,
	  false,
	  { CAP(2, 5), 0, AREA_NOTIFY *AREA, VIRTIO_QUEUES *NOTIFY_STEP, NOTIFY_STEP } },
	{ PCI_CAP_VENDOR, 4, false, { CAP(3, 4), 0, ISR, 1 } },
	{ PCI_CAP_VENDOR, 4, false, { CAP(4, 4), 0, AREA_DEVICE *AREA, AREA } },
	{ PCI_CAP_VENDOR, 5, true, { CAP(5, 5) } },
	{ 0 },
};

static bool ram(void *vm, u64 addr, struct gpa_window *w)
{
	return guest_window(vm, gpa(addr), w);
}

static void lost(void *vm)
{
	guest_lost(vm);
}

/* ---- for the devices ------------------------------------------------------------------ */

static void interrupt(struct virtio *v, unsigned queue)
{
	v->isr |= 1;
	if (v->queue[queue].vector != VIRTIO_NO_VECTOR)
		pci_virtual_interrupt(&v->pci, v->queue[queue].vector);
}

void virtio_interrupt(struct virtio *v, unsigned queue)
{
	if (!virtq_interrupts(&v->queue[queue]))
		return;
	spin_lock(&v->pci.others_lock);
	interrupt(v, queue);
	spin_unlock(&v->pci.others_lock);
}

void virtio_interrupt_by_other(struct virtio *v, unsigned queue)
{
	if (virtq_interrupts(&v->queue[queue]))
		interrupt(v, queue);
}

/* With the first lock only: another CPU may break it just now. */
static u8 status(const struct virtio *v)
{
	return __atomic_load_n(&v->status, __ATOMIC_RELAXED);
}

/* 2.1.2: nothing more is done before a reset. The second lock is held. */
static void broken(struct virtio *v)
{
	if (v->status & STATUS_NEEDS_RESET)
		return;
	__atomic_store_n(&v->status, v->status | STATUS_NEEDS_RESET, __ATOMIC_RELAXED);
	vm_log(v->pci.vm,
	       "virtio device %u: its driver broke a queue: it stands still until it is reset",
	       v->pci.index);
	v->isr |= 2;
	if (v->status & STATUS_DRIVER_OK && v->config_vector != VIRTIO_NO_VECTOR)
		pci_virtual_interrupt(&v->pci, v->config_vector);
}

bool virtio_runs(const struct virtio *v, unsigned queue)
{
	return status(v) & STATUS_DRIVER_OK && queue < v->nr_queues && v->queue[queue].enabled &&
	       pci_virtual_is_master(&v->pci);
}

bool virtio_others_may(const struct virtio *v, unsigned queue)
{
	return virtio_runs(v, queue) && !vm_paused(v->pci.vm);
}

bool virtio_next(struct virtio *v, unsigned queue)
{
	int got = status(v) & STATUS_NEEDS_RESET ? 0 : virtq_next(&v->queue[queue], &v->chain);

	if (unlikely(got < 0)) {
		spin_lock(&v->pci.others_lock);
		broken(v);
		spin_unlock(&v->pci.others_lock);
	}
	return got > 0;
}

bool virtio_more(struct virtio *v, unsigned queue, struct virtq_chain *chain)
{
	int got = v->status & STATUS_NEEDS_RESET ? 0 : virtq_more(&v->queue[queue], chain);

	if (unlikely(got < 0))
		broken(v);
	return got > 0;
}

struct place virtio_place(const struct virtio *v, bool writable, u64 at)
{
	const struct piece *first = v->chain.piece, *middle = first + v->chain.readable;

	if (writable)
		return (struct place){ middle, first + v->chain.count, at };
	return (struct place){ first, middle, at };
}

bool virtio_copy(struct vm *to_vm, struct place *to, struct vm *from_vm, struct place *from,
		 u64 size)
{
	enum copied copied = pieces_copy(to, from, size);

	/* Whose it is: guest_lost() does nothing to others. */
	if (unlikely(copied == COPY_LOST)) {
		if (to_vm)
			guest_lost(to_vm);
		if (from_vm)
			guest_lost(from_vm);
	}
	return copied == COPY_DONE;
}

bool virtio_get(struct virtio *v, struct place *from, void *buf, u64 size)
{
	const struct piece flat = { buf, size };
	struct place to = { &flat, &flat + 1, 0 };

	return virtio_copy(NULL, &to, v->pci.vm, from, size);
}

bool virtio_put(struct virtio *v, struct place *to, const void *buf, u64 size)
{
	const struct piece flat = { (u8 *)(uintptr_t)buf, size };
	struct place from = { &flat, &flat + 1, 0 };

	return virtio_copy(v->pci.vm, to, NULL, &from, size);
}

bool virtio_read(struct virtio *v, u64 at, void *buf, u64 size)
{
	struct place from = virtio_place(v, false, at);

	return virtio_get(v, &from, buf, size);
}

bool virtio_write(struct virtio *v, u64 at, const void *buf, u64 size)
{
	struct place to = virtio_place(v, true, at);

	return virtio_put(v, &to, buf, size);
}

/* ---- registers --------------------------------------------------------------------------- */

static void reset(struct virtio *v)
{
	v->status = v->isr = 0;
	v->selected = 0;
	v->config_vector = VIRTIO_NO_VECTOR;
	v->feature_select[0] = v->feature_select[1] = 0;
	v->accepted = 0;
	v->again = 0;
	for (unsigned i = 0; i < VIRTIO_QUEUES; i++)
		v->queue[i] = (struct virtq){ .size = v->queue_size,
					      .vector = VIRTIO_NO_VECTOR,
					      .longest = v->longest };
	if (v->reset)
		v->reset(v);
}

static void write_status(struct virtio *v, u8 value)
{
	if (!value) {
		reset(v);
		return;
	}
	/*
	 * 2.1.1: nothing but a reset clears a bit. A driver that could take FEATURES_OK back would
	 * change features under way.
	 */
	value &= STATUS_DRIVERS & (u8)~v->status;
	/* 3.1.1: it does not take what was not offered, nor a driver of old. */
	if (value & STATUS_FEATURES_OK &&
	    (v->accepted & ~v->features || !(v->accepted & FEATURE_VERSION_1)))
		value &= (u8)~STATUS_FEATURES_OK;
	v->status |= value;
}

static void enable(struct virtio *v, struct virtq *q)
{
	if (q->enabled || !(v->status & STATUS_FEATURES_OK))
		return;
	q->event_index = v->accepted & FEATURE_EVENT_INDEX;
	q->quiet = v->quiet && v->quiet(v, v->selected);
	if (virtq_enable(q, ram, lost, v->pci.vm))
		broken(v);
}

static u16 vector(u32 value)
{
	return value < PCI_VIRTUAL_VECTORS ? (u16)value : VIRTIO_NO_VECTOR;
}

static u32 half(u64 features, u32 select)
{
	return select < 2 ? (u32)(features >> select * 32) : 0;
}

static u32 read_common(const struct virtio *v, u32 offset, unsigned size)
{
	struct common c = {
		.device_feature_select = v->feature_select[0],
		.device_feature = half(v->features, v->feature_select[0]),
		.driver_feature_select = v->feature_select[1],
		.driver_feature = half(v->accepted, v->feature_select[1]),
		.config_vector = v->config_vector,
		.num_queues = (u16)v->nr_queues,
		.device_status = v->status,
		.queue_select = v->selected,
	};
	u32 value = 0;

	if (v->selected < v->nr_queues) {
		const struct virtq *q = &v->queue[v->selected];

		c.queue_size = q->size;
		c.queue_vector = q->vector;
		c.queue_enable = q->enabled;
		c.queue_notify_off = v->selected;
		memcpy(c.queue_area, q->area, sizeof(c.queue_area));
	}
	/* All of it is in there: it is aligned, and the structure ends where a dword does. */
	memcpy(&value, (const u8 *)&c + offset, size);
	return value;
}

/* What concerns the selected queue; its shape is fixed once it is enabled. */
static void write_queue(struct virtio *v, u32 offset, u32 value)
{
	struct virtq *q;

	if (v->selected >= v->nr_queues)
		return;
	q = &v->queue[v->selected];
	if (offset == offsetof(struct common, queue_vector))
		q->vector = vector(value);
	else if (q->enabled)
		return;
	else if (offset == offsetof(struct common, queue_size) && value && value <= v->queue_size &&
		 !(value & (value - 1)))
		q->size = (u16)value;
	else if (offset == offsetof(struct common, queue_enable) && value == 1)
		enable(v, q);
	else if (offset - offsetof(struct common, queue_area) < sizeof(q->area))
		memcpy((u8 *)q->area + (offset - offsetof(struct common, queue_area)), &value,
		       sizeof(value));
}

static void write_common(struct virtio *v, u32 offset, unsigned size, u32 value)
{
	/* clang-format off */
	static const u8 sizes[] = {
		[offsetof(struct common, device_feature_select)] = 4,
		[offsetof(struct common, driver_feature_select)] = 4,
		[offsetof(struct common, driver_feature)] = 4,
		[offsetof(struct common, config_vector)] = 2,
		[offsetof(struct common, device_status)] = 1,
		[offsetof(struct common, queue_select)] = 2,
		[offsetof(struct common, queue_size)] = 2,
		[offsetof(struct common, queue_vector)] = 2,
		[offsetof(struct common, queue_enable)] = 2, [0x20] = 4, [0x24] = 4, [0x28] = 4,
		[0x2c] = 4, [0x30] = 4, [0x34] = 4,
	};
	/* clang-format on */

	u32 select = v->feature_select[1];

	/* 4.1.3.1: fields are written whole, those of 64 bits by halves. */
	if (offset >= ARRAY_SIZE(sizes) || sizes[offset] != size)
		return;
	switch (offset) {
	case offsetof(struct common, device_feature_select): v->feature_select[0] = value; break;
	case offsetof(struct common, driver_feature_select): v->feature_select[1] = value; break;
	case offsetof(struct common, driver_feature):
		if (select < 2 && !(v->status & STATUS_FEATURES_OK))
			v->accepted = (v->accepted & ~(0xffffffffull << select * 32)) |
				      (u64)value << select * 32;
		break;
	case offsetof(struct common, config_vector): v->config_vector = vector(value); break;
	case offsetof(struct common, device_status): write_status(v, (u8)value); break;
	case offsetof(struct common, queue_select): v->selected = (u16)value; break;
	default: write_queue(v, offset, value);
	}
}

static void run(struct virtio *v, struct vcpu *vcpu, unsigned queue)
{
	if (virtio_runs(v, queue) && v->run(v, queue))
		virtio_again(v, vcpu, queue);
}

void virtio_again(struct virtio *v, struct vcpu *vcpu, unsigned queue)
{
	v->again |= (u16)BIT(queue);
	pci_virtual_again(&v->pci, vcpu);
}

/*
 * One queue: what is done while the lock is held is what the device does of one. The next in turn,
 * so that each comes.
 */
static void go_on(struct pci_virtual *f, struct vcpu *vcpu)
{
	struct virtio *v = container_of(f, struct virtio, pci);
	u32 todo = v->again, later = todo & ~0u << v->turn;
	unsigned queue;

	if (!todo)
		return;
	queue = (unsigned)__builtin_ctz(later ? later : todo);
	v->turn = (u16)(queue + 1);
	v->again = (u16)(todo & ~BIT(queue));
	run(v, vcpu, queue);
	if (v->again)
		pci_virtual_again(f, vcpu);
}

static u32 bar_read(struct pci_virtual *f, u32 offset, unsigned size)
{
	struct virtio *v = container_of(f, struct virtio, pci);
	u32 in_area = offset % AREA, value = 0;

	if (offset / AREA == AREA_DEVICE && in_area < v->config_size)
		memcpy(&value, (const u8 *)v->config + in_area,
		       MIN(size, v->config_size - in_area));
	if (offset == ISR) {
		value = v->isr;
		v->isr = 0;
	}
	return offset < sizeof(struct common) ? read_common(v, offset, size) : value;
}

static void bar_write(struct pci_virtual *f, struct vcpu *vcpu, u32 offset, unsigned size,
		      u32 value)
{
	struct virtio *v = container_of(f, struct virtio, pci);

	if (offset / AREA == AREA_NOTIFY) {
		run(v, vcpu, offset % AREA / NOTIFY_STEP);
	} else if (offset < sizeof(struct common)) {
		spin_lock(&f->others_lock);
		write_common(v, offset, size, value);
		spin_unlock(&f->others_lock);
	}
}

int virtio_add(struct vm *vm, struct virtio *v, u32 class_code)
{
	v->pci.device_id = DEVICE_ID + v->type;
	v->pci.class_code = class_code;
	v->pci.caps = caps;
	v->pci.read = bar_read;
	v->pci.write = bar_write;
	v->pci.go_on = go_on;
	v->queue_size = v->queue_size ? v->queue_size : QUEUE_SIZE_DEFAULT;
	v->features |= FEATURE_VERSION_1 | FEATURE_INDIRECT | FEATURE_EVENT_INDEX;
	reset(v);
	return pci_virtual_add(vm, &v->pci);
}
