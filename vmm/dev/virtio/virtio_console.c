/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's fast console, hvc0 in Linux (virtio 1.2, 5.3), with console = virtio: beside the
 * UART, on whose place among those who share the node's serial line it writes. Output waits in a
 * buffer of its own, so that a driver that waits for its answer with interrupts off, as Linux'
 * does, does not wait for the line. What is typed comes here once the driver has given buffers.
 */
#include <margay/host.h>

#include "vmm/dev/virtio/virtio.h"
#include "vmm/slots/output_log.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/vdev.h"

#define TYPE_CONSOLE 3
#define CLASS_OTHER_COMMUNICATION 0x078000u
enum { QUEUE_INPUT, QUEUE_OUTPUT };
#define INPUT KIB(1)
#define OUTPUT KIB(16)
#define WORK_MAX KIB(64) /* as virtio_blk.c's */
/* buffers that are looked at for input at once: they may be without room */
#define CHAINS 64u

/* A ring of bytes; its size is the array's, a power of two. */
struct ring {
	u32 head;
	u32 count;
};

struct console {
	struct virtio virtio;
	struct second_console second;
	bool live;      /* vCPU 0 runs: there is an interrupt controller */
	bool ready;     /* the driver has given buffers for input since its reset */
	bool given;     /* a buffer, when the driver had offered so many */
	u16 offered;
	u64 sent;       /* bytes of the request in hand that are in out[] already */
	struct ring input;
	struct ring output;
	u8 in[INPUT];
	u8 out[OUTPUT];
};
#define CONSOLE_PAGES (unsigned)(ALIGN_UP(sizeof(struct console), PAGE_SIZE) / PAGE_SIZE)

/* ---- output --------------------------------------------------------------------------- */

/* Hands to the line what it takes. */
static void flush(struct console *c)
{
	struct vm *vm = c->virtio.pci.vm;
	struct ring *r = &c->output;
	u32 n;
	size_t sent;

	do {
		n = MIN(r->count, (u32)OUTPUT - r->head);
		sent = n ? host_console_write(vm->console, c->out + r->head, n) : 0;
		output_log_put(vm->id, c->out + r->head, sent);
		r->head = (r->head + (u32)sent) % OUTPUT;
		r->count -= (u32)sent;
	} while (sent && sent == n);
}

/* Of the request in the chain as much as there is room for; true: all of it is in the buffer. */
static bool put(struct console *c)
{
	u64 all = virtio_bytes(&c->virtio, false);
	struct ring *r = &c->output;

	while (c->sent < all && r->count < OUTPUT) {
		u32 tail = (r->head + r->count) % OUTPUT;
		u32 room = MIN((u32)OUTPUT - r->count, (u32)OUTPUT - tail);
		u64 n = MIN(all - c->sent, (u64)room);

		/* What is no RAM of its says nothing. */
		if (!virtio_read(&c->virtio, c->sent, c->out + tail, n)) {
			c->sent = all;
			break;
		}
		c->sent += n;
		r->count += (u32)n;
	}
	return c->sent >= all;
}

/*
 * A request that does not fit is looked up anew when there is room: so much of it is sent. True:
 * there is more.
 */
static bool take_output(struct console *c)
{
	struct virtio *v = &c->virtio;
	u64 done = 0;

	/* One without output costs something, too. */
	for (; done < WORK_MAX && virtio_next(v, QUEUE_OUTPUT);
	     done += MAX(virtio_bytes(v, false), (u64)512)) {
		if (!put(c)) {
			flush(c);
			if (!put(c)) {
				virtq_put_back(&v->queue[QUEUE_OUTPUT], 1);
				break;
			}
		}
		c->sent = 0;
		virtq_done(&v->queue[QUEUE_OUTPUT], v->chain.head, 0);
	}
	flush(c);
	virtio_interrupt(v, QUEUE_OUTPUT);
	return done >= WORK_MAX;
}

static void tx_room(struct second_console *second)
{
	struct console *c = container_of(second, struct console, second);
	struct virtio *v = &c->virtio;

	spin_lock(&v->pci.lock);
	flush(c);
	if (c->live && virtio_others_may(v, QUEUE_OUTPUT) && take_output(c))
		virtio_again(v, v->pci.vm->vcpus[0], QUEUE_OUTPUT);
	spin_unlock(&v->pci.lock);
}

/* ---- input ------------------------------------------------------------------------------ */

static void give_input(struct console *c)
{
	struct virtio *v = &c->virtio;
	struct ring *r = &c->input;

	/*
	 * Linux takes one buffer at an interrupt: the next one follows when that has been offered
	 * again (drivers/tty/hvc).
	 */
	for (unsigned chains = 0;
	     r->count && chains < CHAINS &&
	     !(c->given && virtq_watch(&v->queue[QUEUE_INPUT]) == c->offered) &&
	     virtio_next(v, QUEUE_INPUT);
	     chains++) {
		u64 room = virtio_bytes(v, true);
		u32 n = (u32)MIN(room, (u64)MIN(r->count, (u32)INPUT - r->head));

		/* Where it cannot be written it is lost. */
		virtio_write(v, 0, c->in + r->head, n);
		r->head = (r->head + n) % INPUT;
		r->count -= n;
		c->given = true;
		c->offered = virtq_watch(&v->queue[QUEUE_INPUT]);
		virtq_done(&v->queue[QUEUE_INPUT], v->chain.head, n);
		virtio_interrupt(v, QUEUE_INPUT);
	}
}

/*
 * Whoever types holds locks that others want, or is another guest's CPU, which has no time for this
 * guest's buffers: its own first vCPU looks at them.
 */
static bool rx(struct second_console *second, u8 byte)
{
	struct console *c = container_of(second, struct console, second);
	struct virtio *v = &c->virtio;
	struct ring *r = &c->input;
	bool mine;

	spin_lock(&v->pci.lock);
	mine = c->live && c->ready && virtio_runs(v, QUEUE_INPUT);
	/* One that does not take it loses it, as with the UART. */
	if (mine && r->count < INPUT) {
		c->in[(r->head + r->count++) % INPUT] = byte;
		virtio_again(v, v->pci.vm->vcpus[0], QUEUE_INPUT);
	}
	spin_unlock(&v->pci.lock);
	return mine;
}

/* ---- the device ---------------------------------------------------------------------------- */

static bool run(struct virtio *v, unsigned queue)
{
	struct console *c = container_of(v, struct console, virtio);

	if (queue == QUEUE_OUTPUT)
		return take_output(c);
	c->ready = true;
	give_input(c);
	return false;
}

static void reset(struct virtio *v)
{
	struct console *c = container_of(v, struct console, virtio);

	c->ready = c->given = false;
	c->sent = 0;
}

static int console_create(struct vm *vm, void **instance)
{
	struct console *c;

	if (!vm->config->virtio_console)
		return 0;
	c = *instance = host_pages_alloc(CONSOLE_PAGES, -1);
	if (!c)
		return host_no_memory(vm->name);
	c->virtio.type = TYPE_CONSOLE;
	c->virtio.nr_queues = 2;
	c->virtio.pci.others = true;
	c->virtio.run = run;
	c->virtio.reset = reset;
	c->second.rx = rx;
	c->second.tx_room = tx_room;
	vm->second = &c->second;
	return virtio_add(vm, &c->virtio, CLASS_OTHER_COMMUNICATION);
}

static void console_destroy(struct vm *vm, void *instance)
{
	/* Nobody calls it any more. */
	if (instance && vm->console)
		host_console_remove(vm->console);
	vm->console = instance ? NULL : vm->console;
	vm->second = NULL;
	host_pages_free(instance, CONSOLE_PAGES);
}

static void set_live(struct vcpu *vcpu, struct console *c, bool live)
{
	if (!c || vcpu->id != 0)
		return;
	spin_lock(&c->virtio.pci.lock);
	c->live = live;
	spin_unlock(&c->virtio.pci.lock);
}

static void console_vcpu_start(struct vcpu *vcpu, void *instance)
{
	set_live(vcpu, instance, true);
}

static void console_vcpu_stop(struct vcpu *vcpu, void *instance)
{
	set_live(vcpu, instance, false);
}

/* After a pause: what was typed meanwhile, and the output that there is room for now. */
static void console_vcpu_pause(struct vcpu *vcpu, void *instance, bool paused)
{
	struct console *c = instance;

	if (!c || vcpu->id != 0 || paused)
		return;
	spin_lock(&c->virtio.pci.lock);
	if (c->ready && virtio_runs(&c->virtio, QUEUE_INPUT))
		give_input(c);
	if (virtio_runs(&c->virtio, QUEUE_OUTPUT) && take_output(c))
		virtio_again(&c->virtio, vcpu, QUEUE_OUTPUT);
	spin_unlock(&c->virtio.pci.lock);
}

static const struct vdev console_vdev = {
	.create = console_create,
	.destroy = console_destroy,
	.vcpu_start = console_vcpu_start,
	.vcpu_stop = console_vcpu_stop,
	.vcpu_pause = VDEV_PAUSE(console_vcpu_pause),
};
VDEV(console_vdev);
