/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Network interfaces (virtio 1.2, 5.1): making them, joining them to segments, and what their
 * drivers say by the control queue.
 */
#include "vmm/dev/virtio/virtio_net.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/vdev.h"

#define TYPE_NET 1
#define CLASS_ETHERNET 0x020000u
#define LINK_UP 1
#define QUEUE_SIZE 1024 /* a TCP stream fills it with as much as a window holds */
#define COMMANDS_MAX 8u /* in one go: a driver waits for each */

static_assert(VM_MTU_MAX <= NET_MTU_MAX && VM_VLAN_MAX < NET_VLANS, "what a VM file may say");

/* 5.1.6.5 */
enum { CLASS_MQ = 4, MQ_PAIRS_SET = 0 };
enum { ACK_OK, ACK_ERROR };
struct command {
	u8 class;
	u8 command;
	u16 pairs;
} __packed;

struct ports {
	unsigned count;
	struct port port[];
};

static struct spinlock segments_lock; /* guards the list */
static struct lan *segments;

#define SEGMENT_PAGES (unsigned)(ALIGN_UP(sizeof(struct lan), PAGE_SIZE) / PAGE_SIZE)

#define BRIDGE_PAGES \
	(unsigned)(ALIGN_UP(NET_LEARNED * sizeof(struct net_learned), PAGE_SIZE) / PAGE_SIZE)

static unsigned ports_pages(unsigned count)
{
	return (unsigned)(ALIGN_UP(sizeof(struct ports) + count * sizeof(struct port), PAGE_SIZE) /
			  PAGE_SIZE);
}

/* ---- segments --------------------------------------------------------------------------- */

/*
 * The segment of that name, which is all of an array, with one member more; NULL: there is no
 * memory.
 */
static struct lan *get_segment(const char *name)
{
	struct lan *s, *new = host_pages_alloc(SEGMENT_PAGES, -1);

	spin_lock(&segments_lock);
	for (s = segments; s && strcmp(s->name, name) != 0;)
		s = s->next;
	if (!s && new) {
		s = new;
		new = NULL;
		memcpy(s->name, name, sizeof(s->name));
		s->next = segments;
		segments = s;
	}
	if (s)
		s->members++;
	spin_unlock(&segments_lock);
	host_pages_free(new, SEGMENT_PAGES);
	return s;
}

static void put_segment(struct lan *s)
{
	struct lan **at = &segments;
	bool last;

	spin_lock(&segments_lock);
	last = !--s->members;
	while (last && *at != s)
		at = &(*at)->next;
	if (last)
		*at = s->next;
	spin_unlock(&segments_lock);
	if (last)
		host_pages_free(s, SEGMENT_PAGES);
}

/* ---- the control queue ---------------------------------------------------------------------- */

/* 5.1.2: behind those of all pairs, of one where the driver knows no more. */
static unsigned control_queue(const struct virtio *v)
{
	const struct port *p = container_of(v, struct port, virtio);

	return v->accepted & NET_MQ ? 2u * p->config.max_pairs : 2;
}

static u8 obey(struct port *p, const struct command *c, u64 size)
{
	if (!(p->virtio.accepted & NET_MQ) || size != sizeof(*c) || c->class != CLASS_MQ ||
	    c->command != MQ_PAIRS_SET || !c->pairs || c->pairs > p->config.max_pairs)
		return ACK_ERROR;
	__atomic_store_n(&p->pairs, c->pairs, __ATOMIC_RELAXED);
	return ACK_OK;
}

static bool control(struct port *p, unsigned queue)
{
	struct virtio *v = &p->virtio;
	unsigned n;

	for (n = 0; n < COMMANDS_MAX && virtio_next(v, queue); n++) {
		u64 size = virtio_bytes(v, false);
		struct command c = { 0 };
		u8 ack = ACK_ERROR;

		if (virtio_read(v, 0, &c, MIN(size, sizeof(c))))
			ack = obey(p, &c, size);
		virtio_write(v, 0, &ack, 1);
		virtq_done(&v->queue[queue], v->chain.head, 1);
	}
	virtio_interrupt(v, queue);
	return n == COMMANDS_MAX;
}

/* ---- the device ------------------------------------------------------------------------- */

static bool run(struct virtio *v, unsigned queue)
{
	struct port *p = container_of(v, struct port, virtio);

	if (queue == control_queue(v))
		return control(p, queue);
	/* Buffers to receive into are taken when there is something to receive. */
	return queue % 2 && net_transmit(p, queue);
}

static bool quiet(const struct virtio *v, unsigned queue)
{
	return queue % 2 == 0 && queue != control_queue(v);
}

static void reset(struct virtio *v)
{
	struct port *p = container_of(v, struct port, virtio);

	p->pairs = 1;
	memset(p->hand, 0, sizeof(p->hand));
	memset(p->pair_of, 0, sizeof(p->pair_of));
}

static int join(struct vm *vm, struct port *p)
{
	struct lan *s = p->segment;
	int err;

	spin_lock(&s->lock);
	err = net_join(&s->net, &p->net);
	spin_unlock(&s->lock);
	if (!err)
		return 0;
	if (err == -ENOSPC)
		vm_tell(vm, "%s:%u: net = %s: it has %u interfaces already", vm->config->file,
			vm->config->net[p->number].line, s->name, NET_PORTS);
	else
		vm_tell(vm, "%s:%u: net = %s: others of it have VLANs, or have none",
			vm->config->file, vm->config->net[p->number].line, s->name);
	return err;
}

static void set_vlans(struct port *p, const struct vm_config_net *c)
{
	if (!vm_config_has_vlans(c))
		return;
	p->net.vlans = p->vlans;
	p->net.pvid = c->pvid;
	if (c->pvid)
		p->vlans[c->pvid / 8] |= (u8)BIT(c->pvid % 8);
	for (unsigned i = 0; i < c->nr_trunk; i++)
		for (unsigned vlan = c->trunk[i].first; vlan <= c->trunk[i].last; vlan++)
			p->vlans[vlan / 8] |= (u8)BIT(vlan % 8);
}

static void note(struct vm *vm, const struct port *p, const struct vm_config_net *c)
{
	char trunk[VM_TRUNK_TEXT], more[VM_TRUNK_TEXT + 40];
	size_t n = 0;

	vm_config_trunk(c, trunk);
	more[0] = 0;
	if (c->mtu)
		n += (size_t)snprintf(more, sizeof(more), ", mtu %u", c->mtu);
	if (c->pvid)
		n += (size_t)snprintf(more + n, sizeof(more) - n, ", pvid %u", c->pvid);
	if (c->nr_trunk)
		snprintf(more + n, sizeof(more) - n, ", trunk %s", trunk);
	vm_note(vm, "net%u: %s, " VM_MAC "%s%s%s%s", p->number, c->segment,
		VM_MAC_BYTES(p->net.mac), c->bridge ? ", bridge" : "",
		c->isolated ? ", isolated" : "", c->mirror ? ", mirror" : "", more);
}

static int create_port(struct vm *vm, struct port *p, unsigned number)
{
	const struct vm_config_net *c = &vm->config->net[number];
	struct virtio *v = &p->virtio;
	int err;

	p->segment = get_segment(c->segment);
	if (!p->segment)
		return host_no_memory(vm->name);
	p->number = number;
	p->net.mac = vm_config_mac(vm->config, number);
	p->net.isolated = c->isolated;
	p->net.mirror = c->mirror;
	set_vlans(p, c);
	p->net.learned = c->bridge ? host_pages_alloc(BRIDGE_PAGES, -1) : NULL;
	if (c->bridge && !p->net.learned)
		return host_no_memory(vm->name);
	memcpy(p->config.mac, &p->net.mac, sizeof(p->config.mac));
	p->config.status = LINK_UP;
	p->config.max_pairs = vm->nr_vcpus < NET_PAIRS ? 1 : NET_PAIRS;
	p->config.mtu = (u16)vm_config_mtu(c);
	v->pci.others = true;
	v->type = TYPE_NET;
	v->nr_queues = 2u * p->config.max_pairs + 1;
	v->queue_size = QUEUE_SIZE;
	v->longest = NET_BUFFERS;
	v->features = NET_F_MTU | NET_F_MAC | NET_MRG_RXBUF | NET_STATUS | NET_CTRL_VQ;
	if (p->config.max_pairs > 1)
		v->features |= NET_MQ;
	if (!c->plain)
		v->features |= NET_CSUM | NET_GUEST_CSUM | NET_GUEST_TSO4 | NET_GUEST_TSO6 |
			       NET_GUEST_ECN | NET_HOST_TSO4 | NET_HOST_TSO6 | NET_HOST_ECN;
	v->config = &p->config;
	v->config_size = sizeof(p->config);
	v->run = run;
	v->reset = reset;
	v->quiet = quiet;
	err = virtio_add(vm, v, CLASS_ETHERNET);
	if (!err)
		err = join(vm, p);
	if (!err)
		note(vm, p, c);
	return err;
}

static int net_create(struct vm *vm, void **instance)
{
	unsigned n = vm->config->nr_nets;
	struct ports *all;
	int err = 0;

	if (!n)
		return 0;
	all = *instance = host_pages_alloc(ports_pages(n), -1);
	if (!all)
		return host_no_memory(vm->name);
	for (; !err && all->count < n; all->count++)
		err = create_port(vm, &all->port[all->count], all->count);
	return err;
}

/* Has somebody looked the port up? The segment's lock is held. */
static bool is_held(const struct lan *s, unsigned index)
{
	for (unsigned i = 0; i < NET_PORTS; i++) {
		const struct net_port *p = s->net.port[i];

		if (p &&
		    __atomic_load_n(&container_of(p, struct port, net)->held, __ATOMIC_ACQUIRE) &
			    BIT(index))
			return true;
	}
	return false;
}

/*
 * Nobody finds the port any more, and who has before is waited for: each does what it may do in one
 * go, and no more.
 */
static void leave(struct port *p)
{
	struct lan *s = p->segment;
	bool joined;

	spin_lock(&s->lock);
	joined = net_hide(&s->net, &p->net);
	while (joined && is_held(s, p->net.index)) {
		spin_unlock(&s->lock);
		__builtin_ia32_pause();
		spin_lock(&s->lock);
	}
	net_leave(&s->net, &p->net);
	spin_unlock(&s->lock);
}

/* Before the VM's memory is anybody else's: from now on nobody has the port in hand. */
static void net_destroy(struct vm *vm, void *instance)
{
	struct ports *all = instance;

	for (unsigned i = 0; all && i < all->count; i++) {
		struct port *p = &all->port[i];

		if (p->segment) {
			leave(p);
			put_segment(p->segment);
		}
		host_pages_free(p->net.learned, p->net.learned ? BRIDGE_PAGES : 0);
	}
	host_pages_free(all, all ? ports_pages(vm->config->nr_nets) : 0);
}

/* Of the frames that were for it, or that it has sent. */
static u64 lost(const struct net_counts *c)
{
	return c->drop[NET_DROP_NO_BUFFER] + c->drop[NET_DROP_PAUSED];
}

static u64 refused(const struct net_counts *c)
{
	u64 n = 0;

	for (unsigned i = NET_DROP_MALFORMED; i < NET_DROPS; i++)
		n += c->drop[i];
	return n;
}

static void say(struct vm *vm, const struct port *p)
{
	const struct net_counts *c = &p->counts;

	vm_tell(vm,
		"net%u: sent=%lu large=%lu bytes=%lu received=%lu large=%lu bytes=%lu dropped=%lu bad=%lu",
		p->number, c->sent.frames, c->sent.large, c->sent.bytes, c->got.frames,
		c->got.large, c->got.bytes, lost(c), refused(c));
}

/*
 * With the first vCPU that leaves nobody interrupts the VM any more: its local APICs are about to
 * be the hypervisor's.
 */
static void net_vcpu_stop(struct vcpu *vcpu, void *instance)
{
	struct ports *all = instance;

	for (unsigned i = 0; all && i < all->count; i++) {
		struct port *p = &all->port[i];

		spin_lock(&p->virtio.pci.others_lock);
		p->stopped = true;
		spin_unlock(&p->virtio.pci.others_lock);
		if (IS_ENABLED(CONFIG_TELEMETRY) && vcpu->id == 0)
			say(vcpu->vm, p);
	}
}

static void net_counts(const struct vm *vm, void *instance, void (*say_one)(const char *text))
{
	const struct ports *all = instance;
	char text[300];

	for (unsigned i = 0; i < all->count; i++) {
		const char *segment = vm->config->net[i].segment;
		const struct net_counts *c = &all->port[i].counts;

		snprintf(
			text, sizeof(text),
			"net=%u\tsegment=%s\tsent=%lu\tsent_bytes=%lu\treceived=%lu\treceived_bytes=%lu\t"
			"dropped=%lu\tbad=%lu",
			i, segment, c->sent.frames, c->sent.bytes, c->got.frames, c->got.bytes,
			lost(c), refused(c));
		say_one(text);
		for (unsigned k = 0; k < NET_DROPS; k++) {
			snprintf(text, sizeof(text), "net=%u\tsegment=%s\treason=%s\tframes=%lu", i,
				 segment, net_drop_name(k), c->drop[k]);
			say_one(text);
		}
	}
}

static bool net_counts_of(void *instance, unsigned number, struct net_counts *out)
{
	const struct ports *all = instance;

	if (number >= all->count)
		return false;
	*out = all->port[number].counts;
	return true;
}

static const struct vdev_calls net_calls = { .counts = net_counts, .net = net_counts_of };
static const struct vdev net_vdev = {
	.create = net_create,
	.destroy = net_destroy,
	.vcpu_stop = net_vcpu_stop,
	.calls = &net_calls,
};
VDEV(net_vdev);
