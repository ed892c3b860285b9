/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ports of the management VM, `control = yes`: a console with several ports (virtio 1.2, 5.3),
 * each of which takes requests and gives their answers (docs/management-vm.md). A request is one
 * chain of the guest's, copied once, then judged; an image's data go where they stay. A guest that
 * does not read its answers gets no others.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/management/management.h"
#include "vmm/dev/virtio/virtio.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/vdev.h"

#define TYPE_CONSOLE 3
#define CLASS_OTHER_COMMUNICATION 0x078000u
#define FEATURE_MULTIPORT BIT(1)
/* of an answer that are looked at in one exit: an answer of 32 KiB takes 8 of Linux' */
#define CHAINS 64u
/* Of port n; those of control messages lie behind port 0's. */
#define QUEUE_IN(port) ((port) ? 2 + 2 * (port) : 0u)
#define QUEUE_OUT(port) (QUEUE_IN(port) + 1)
enum { QUEUE_CONTROL_IN = 2, QUEUE_CONTROL_OUT = 3 };
static_assert(QUEUE_OUT(MANAGEMENT_PORTS - 1) < VIRTIO_QUEUES, "each port has its queues");

/* 5.3.6.2 */
enum {
	DEVICE_READY,
	PORT_ADD,
	PORT_REMOVE,
	PORT_READY,
	CONSOLE_PORT,
	RESIZE,
	PORT_OPEN,
	PORT_NAME
};
struct control_message {
	u32 port;
	u16 event;
	u16 value;
};
static_assert(sizeof(struct control_message) == 8, "virtio 1.2, 5.3.6.2");

/* 5.3.4 */
struct config {
	u16 cols;
	u16 rows;
	u32 ports;
	u32 emergency;
};

struct port {
	u32 owed;         /* events that the guest shall hear of: a bit for each */
	bool late;        /* a request was not served, for its answer could not be kept */
	/* bytes of the answer that the guest has; all: there is none */
	u32 late_tag;
	u32 sent;

	struct management_answer answer;
};

struct control {
	struct virtio virtio;
	struct config config;
	struct port port[MANAGEMENT_PORTS];
	u8 request[MANAGEMENT_MAX];
};
#define CONTROL_PAGES (unsigned)(ALIGN_UP(sizeof(struct control), PAGE_SIZE) / PAGE_SIZE)

/* ---- control messages ------------------------------------------------------------------ */

static void tell_guest(struct control *c)
{
	struct virtio *v = &c->virtio;

	for (unsigned i = 0; i < MANAGEMENT_PORTS; i++)
		while (c->port[i].owed && virtio_next(v, QUEUE_CONTROL_IN)) {
			unsigned event = (unsigned)__builtin_ctz(c->port[i].owed);
			struct {
				struct control_message head;
				char name[16];
			} m = { { i, (u16)event, 1 }, "" };
			u32 n = sizeof(m.head);

			if (event == PORT_NAME)
				n += (u32)snprintf(m.name, sizeof(m.name), "margay.%u", i);
			virtio_write(v, 0, &m, n);
			virtq_done(&v->queue[QUEUE_CONTROL_IN], v->chain.head, n);
			c->port[i].owed &= ~(u32)BIT(event);
		}
	virtio_interrupt(v, QUEUE_CONTROL_IN);
}

static void close_port(struct control *c, unsigned i)
{
	struct port *p = &c->port[i];

	management_close(i);
	p->late = false;
	p->sent = p->answer.size = 0;
}

static void hear(struct control *c, const struct control_message *m)
{
	if (m->event == DEVICE_READY && m->value == 1)
		for (unsigned i = 0; i < MANAGEMENT_PORTS; i++)
			c->port[i].owed = BIT(PORT_ADD);
	if (m->port >= MANAGEMENT_PORTS)
		return;
	if (m->event == PORT_READY && m->value == 1)
		c->port[m->port].owed |= BIT(PORT_NAME) | BIT(PORT_OPEN);
	/* Opened or closed: what was before is over. */
	if (m->event == PORT_OPEN)
		close_port(c, m->port);
}

static bool take_control(struct control *c)
{
	struct virtio *v = &c->virtio;
	unsigned n = 0;

	for (; n < 2 * MANAGEMENT_PORTS && virtio_next(v, QUEUE_CONTROL_OUT); n++) {
		struct control_message m;

		if (virtio_bytes(v, false) >= sizeof(m) && virtio_read(v, 0, &m, sizeof(m)))
			hear(c, &m);
		virtq_done(&v->queue[QUEUE_CONTROL_OUT], v->chain.head, 0);
	}
	virtio_interrupt(v, QUEUE_CONTROL_OUT);
	if (virtio_runs(v, QUEUE_CONTROL_IN))
		tell_guest(c);
	return n == 2 * MANAGEMENT_PORTS;
}

/* ---- requests and answers ---------------------------------------------------------------- */

/* What one exit gives; true: there is more. */
static bool give(struct control *c, unsigned i)
{
	struct virtio *v = &c->virtio;
	struct port *p = &c->port[i];
	unsigned chains = 0;

	for (; p->sent < p->answer.size && chains < CHAINS && virtio_next(v, QUEUE_IN(i));
	     chains++) {
		u32 n = (u32)MIN(virtio_bytes(v, true), (u64)(p->answer.size - p->sent));

		/* Where it cannot be written it is lost. */
		virtio_write(v, 0, p->answer.data + p->sent, n);
		virtq_done(&v->queue[QUEUE_IN(i)], v->chain.head, n);
		p->sent += n;
		if (p->sent == p->answer.size && p->late) {
			struct management_message *m = (struct management_message *)p->answer.data;

			*m = (struct management_message){ MANAGEMENT_MAGIC, MANAGEMENT_VERSION,
							  EBUSY, p->late_tag, 0 };
			p->answer.size = sizeof(*m);
			p->sent = 0;
			p->late = false;
		}
	}
	virtio_interrupt(v, QUEUE_IN(i));
	return chains == CHAINS;
}

/*
 * The request, at c->request, but what is behind its head: at *data. How long it is; 0: it could
 * not be read. What is too long is no message, whatever it says.
 */
static u32 read_request(struct control *c, unsigned i, const u8 **data)
{
	struct virtio *v = &c->virtio;
	const struct port *p = &c->port[i];
	struct management_message head;
	u32 size = (u32)MIN(virtio_bytes(v, false), (u64)UINT32_MAX),
	    whole = MIN(size, MANAGEMENT_MAX), first = MIN(whole, (u32)sizeof(head));
	u8 *to = NULL;

	if (!virtio_read(v, 0, c->request, first))
		return 0;
	memcpy(&head, c->request, sizeof(head));
	if (size > first && size == whole && p->sent == p->answer.size)
		to = management_place(i, &head, size);
	if (!to)
		to = c->request + first;
	*data = to;
	return virtio_read(v, first, to, whole - first) ? size : 0;
}

/* One request: true. */
static bool take(struct control *c, unsigned i)
{
	struct virtio *v = &c->virtio;
	struct port *p = &c->port[i];
	const u8 *data = c->request;
	u32 size;

	if (!virtio_next(v, QUEUE_OUT(i)))
		return false;
	size = read_request(c, i, &data);
	virtq_done(&v->queue[QUEUE_OUT(i)], v->chain.head, 0);
	if (p->sent < p->answer.size) {
		p->late = true;
		memcpy(&p->late_tag, c->request + offsetof(struct management_message, tag),
		       sizeof(p->late_tag));
		return true;
	}
	p->sent = 0;
	management_serve(v->pci.vm, i, c->request, data, size, &p->answer);
	return true;
}

static bool run(struct virtio *v, unsigned queue)
{
	struct control *c = container_of(v, struct control, virtio);
	unsigned i = queue < QUEUE_CONTROL_IN ? 0 : queue / 2 - 1;
	bool more = false;

	if (queue == QUEUE_CONTROL_OUT)
		return take_control(c);
	if (queue == QUEUE_CONTROL_IN) {
		tell_guest(c);
		return false;
	}
	if (queue == QUEUE_OUT(i)) {
		more = take(c, i);
		virtio_interrupt(v, queue);
	}
	if (virtio_runs(v, QUEUE_IN(i)))
		more |= give(c, i);
	return more;
}

static void reset(struct virtio *v)
{
	struct control *c = container_of(v, struct control, virtio);

	for (unsigned i = 0; i < MANAGEMENT_PORTS; i++) {
		close_port(c, i);
		c->port[i].owed = 0;
	}
}

/* ---- the device ---------------------------------------------------------------------------- */

static int control_create(struct vm *vm, void **instance)
{
	struct control *c;

	if (!vm->config->control.commands)
		return 0;
	c = *instance = host_pages_alloc(CONTROL_PAGES, -1);
	if (!c)
		return host_no_memory(vm->name);
	c->config.ports = MANAGEMENT_PORTS;
	c->virtio.type = TYPE_CONSOLE;
	c->virtio.nr_queues = 2 * (MANAGEMENT_PORTS + 1);
	c->virtio.features = FEATURE_MULTIPORT;
	c->virtio.config = &c->config;
	c->virtio.config_size = sizeof(c->config);
	c->virtio.run = run;
	c->virtio.reset = reset;
	vm_note(vm, "it is the management VM");
	return virtio_add(vm, &c->virtio, CLASS_OTHER_COMMUNICATION);
}

static void control_destroy(struct vm *, void *instance)
{
	struct control *c = instance;

	if (c)
		reset(&c->virtio);
	host_pages_free(c, CONTROL_PAGES);
}

static const struct vdev control_vdev = { .create = control_create, .destroy = control_destroy };
VDEV(control_vdev);
