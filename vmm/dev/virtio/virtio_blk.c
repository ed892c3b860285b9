/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Disks (virtio 1.2, 5.2): a boot module, which all VMs that name it read where it lies, or memory
 * of the VM's own, zero at first; and behind them the volume that is made of `meta =` lines. Every
 * request is done at once, on the CPU that notifies, by one copy.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/dev/virtio/cidata.h"
#include "vmm/dev/virtio/virtio.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/vdev.h"

#define TYPE_BLOCK 2
#define CLASS_OTHER_STORAGE 0x018000u
#define SECTOR 512u
/* What is done between two looks at what may keep the vCPU from its guest; no request is larger. */
#define WORK_MAX KIB(64)
#define SEGMENTS 16u
#define SCRATCH_EXTENTS 8u
#define ID_SIZE 20u

/* 5.2.3, 5.2.6 */
enum {
	FEATURE_SIZE_MAX = BIT(1),
	FEATURE_SEG_MAX = BIT(2),
	FEATURE_READ_ONLY = BIT(5),
	FEATURE_FLUSH = BIT(9)
};
enum { REQUEST_IN = 0, REQUEST_OUT = 1, REQUEST_FLUSH = 4, REQUEST_GET_ID = 8 };
enum { STATUS_OK, STATUS_ERROR, STATUS_UNSUPPORTED };

struct request {
	u32 type;
	u32 reserved;
	u64 sector;
};
static_assert(sizeof(struct request) == 16, "virtio 1.2, 5.2.6");

/* 5.2.4, as far as the features go. */
struct config {
	u64 capacity; /* sectors */
	u32 size_max;
	u32 seg_max;
};

struct disk {
	struct virtio virtio;
	struct config config;
	const char *name; /* as GET_ID says it */
	const u8 *module; /* what is only read; NULL: scratch */
	/* bytes; behind the last of a module, up to a whole sector, stand zeros */
	u64 size;
	struct {
		u64 requests;
		u64 bytes;
	} read, written; /* that went well */
	u64 errors;
	unsigned nr_extents;
	struct host_extent extent[SCRATCH_EXTENTS];
};

struct disks {
	struct disk disk[VM_DISKS_MAX];
	struct disk cidata;
};
#define CIDATA_PAGES (unsigned)(CIDATA_SIZE / PAGE_SIZE)
#define DISKS_PAGES (unsigned)(ALIGN_UP(sizeof(struct disks), PAGE_SIZE) / PAGE_SIZE)

/* ---- what is on it --------------------------------------------------------------------- */

/* The bytes at an offset below its capacity, *n of them in one piece at most; NULL: zeros. */
static void *content(const struct disk *d, u64 at, u64 *n)
{
	for (unsigned i = 0; i < d->nr_extents; i++) {
		const struct host_extent *e = &d->extent[i];

		if (at < e->size) {
			*n = MIN(*n, e->size - at);
			return (u8 *)host_hpa_to_virt(e->base) + at;
		}
		at -= e->size;
	}
	if (!d->module || at >= d->size)
		return NULL;
	*n = MIN(*n, d->size - at);
	return (u8 *)(uintptr_t)d->module + at;
}

/* Reads or writes sectors from `at` on. */
static u8 copy(struct disk *d, u64 at, u64 size, bool in)
{
	static const u8 zeros[SECTOR];
	struct virtio *v = &d->virtio;
	struct place chain = virtio_place(v, in, in ? 0 : sizeof(struct request));

	for (u64 done = 0, n; done < size; done += n) {
		bool copied;
		void *p;

		n = size - done;
		p = content(d, at + done, &n); /* NULL: within the last sector */
		if (in)
			copied = virtio_put(v, &chain, p ? p : zeros, n);
		else
			copied = virtio_get(v, &chain, p, n);
		if (!copied)
			return STATUS_ERROR;
	}
	return STATUS_OK;
}

/* ---- requests ---------------------------------------------------------------------------- */

static u8 transfer(struct disk *d, const struct request *r, u64 size, bool in)
{
	u64 capacity = d->config.capacity;

	if (size > WORK_MAX || size % SECTOR || r->sector > capacity ||
	    size / SECTOR > capacity - r->sector || (!in && d->module))
		return STATUS_ERROR;
	return copy(d, r->sector * SECTOR, size, in);
}

static u8 get_id(struct disk *d, u64 room)
{
	char id[ID_SIZE] = "";

	memcpy(id, d->name, MIN(strlen(d->name), sizeof(id)));
	return room >= sizeof(id) && virtio_write(&d->virtio, 0, id, sizeof(id)) ? STATUS_OK
										 : STATUS_ERROR;
}

static void count(struct disk *d, u32 type, u64 size, u8 status)
{
	if (status != STATUS_OK) {
		d->errors++;
	} else if (type == REQUEST_IN) {
		d->read.requests++;
		d->read.bytes += size;
	} else if (type == REQUEST_OUT) {
		d->written.requests++;
		d->written.bytes += size;
	}
}

/*
 * The request in the chain, of which `out` bytes follow its header and `in` are for its answer
 * without the status.
 */
static void serve(struct disk *d, u64 out, u64 in)
{
	struct virtio *v = &d->virtio;
	struct request r = { .type = ~0u };
	u8 status;

	if (!virtio_read(v, 0, &r, sizeof(r)))
		status = STATUS_ERROR;
	else if (r.type == REQUEST_IN)
		status = transfer(d, &r, in, true);
	else if (r.type == REQUEST_OUT)
		status = transfer(d, &r, out, false);
	else if (r.type == REQUEST_FLUSH)
		status = STATUS_OK;
	else if (r.type == REQUEST_GET_ID)
		status = get_id(d, in);
	else
		status = STATUS_UNSUPPORTED;
	count(d, r.type, r.type == REQUEST_IN ? in : out, status);
	virtio_write(v, in, &status, 1);
	virtq_done(&v->queue[0], v->chain.head, (u32)MIN(in, WORK_MAX) + 1);
}

/* Bytes of data there are in the part of the chain that has `fixed` others. */
static u64 data(const struct virtio *v, bool writable, u64 fixed)
{
	u64 all = virtio_bytes(v, writable);

	return all - MIN(all, fixed);
}

static bool run(struct virtio *v, unsigned queue)
{
	struct disk *d = container_of(v, struct disk, virtio);
	bool more = false;

	for (u64 done = 0; !more && virtio_next(v, queue);) {
		u64 out = data(v, false, sizeof(struct request)), in = data(v, true, 1);
		/* One without data costs something, too, and one with too much will not be done. */
		u64 cost = MAX(MIN(out + in, WORK_MAX), (u64)SECTOR);

		more = done && done + cost > WORK_MAX;
		if (more)
			virtq_put_back(&v->queue[queue], 1);
		else
			serve(d, out, in);
		done += cost;
	}
	virtio_interrupt(v, queue);
	return more;
}

/* ---- making them --------------------------------------------------------------------------- */

static bool nobody(unsigned)
{
	return false;
}

/* In as few pieces as there are, near vCPU 0 first. */
static int take_memory(struct vm *vm, struct disk *d, u64 size)
{
	int node = host_cpu_info(vm->host_cpu[0])->node;

	d->size = size;
	while (size && d->nr_extents < SCRATCH_EXTENTS) {
		struct host_extent_request want = { .align = PAGE_SIZE_2M, .node = node };
		u64 largest;

		host_mem_free(node, &largest);
		want.size = MIN(size, largest);
		if (want.size && !host_extent_alloc(&want, &d->extent[d->nr_extents]))
			size -= d->extent[d->nr_extents++].size;
		else if (node >= 0)
			node = -1;
		else
			break;
	}
	if (size)
		return -ENOMEM;
	host_extents_zero(d->extent, d->nr_extents, vm->host_cpu, vm->nr_host_cpus, nobody);
	/* It will not be when it is given back. */
	for (unsigned i = 0; i < d->nr_extents; i++)
		d->extent[i].zero = false;
	return 0;
}

static int add_disk(struct vm *vm, struct disk *d)
{
	struct virtio *v = &d->virtio;

	d->config = (struct config){ ALIGN_UP(d->size, (u64)SECTOR) / SECTOR, WORK_MAX / SEGMENTS,
				     SEGMENTS };
	v->type = TYPE_BLOCK;
	v->nr_queues = 1;
	v->features = FEATURE_SIZE_MAX | FEATURE_SEG_MAX |
		      (d->module ? FEATURE_READ_ONLY : FEATURE_FLUSH);
	v->config = &d->config;
	v->config_size = sizeof(d->config);
	v->run = run;
	vm_note(vm, "disk: %s, %lu KiB%s", d->name, d->size >> 10, d->module ? ", read-only" : "");
	return virtio_add(vm, v, CLASS_OTHER_STORAGE);
}

static int create_disk(struct vm *vm, struct disk *d, const struct vm_config_disk *c)
{
	d->name = c->scratch ? "scratch" : c->name;
	if (!c->scratch) {
		/* It is there: vm.c has looked, and modules that are disks stay (monitor.c). */
		d->module = vm_find_module(c->name)->data;
		d->size = vm_find_module(c->name)->size;
	} else if (take_memory(vm, d, c->scratch)) {
		vm_tell(vm,
			"%s:%u: disk = scratch:%luM: so much memory is not free beside the VM's own",
			vm->config->file, c->line, c->scratch >> 20);
		return -ENOMEM;
	}
	return add_disk(vm, d);
}

static int create_cidata(struct vm *vm, struct disk *d)
{
	u8 *image = host_pages_alloc(CIDATA_PAGES, -1);

	if (!image)
		return host_no_memory(vm->name);
	cidata_make(image, vm->config, vm->name);
	d->name = "cidata";
	d->module = image;
	d->size = CIDATA_SIZE;
	return add_disk(vm, d);
}

static int blk_create(struct vm *vm, void **instance)
{
	struct disks *all;
	int err = 0;

	if (!vm->config->nr_disks && !vm_config_has_meta(vm->config))
		return 0;
	all = *instance = host_pages_alloc(DISKS_PAGES, -1);
	if (!all)
		return host_no_memory(vm->name);
	for (unsigned i = 0; !err && i < vm->config->nr_disks; i++)
		err = create_disk(vm, &all->disk[i], &vm->config->disk[i]);
	if (!err && vm_config_has_meta(vm->config))
		err = create_cidata(vm, &all->cidata);
	return err;
}

static void blk_destroy(struct vm *, void *instance)
{
	struct disks *all = instance;

	for (unsigned i = 0; all && i < VM_DISKS_MAX; i++)
		while (all->disk[i].nr_extents)
			host_extent_free(&all->disk[i].extent[--all->disk[i].nr_extents]);
	if (all)
		host_pages_free((void *)(uintptr_t)all->cidata.module, CIDATA_PAGES);
	host_pages_free(all, DISKS_PAGES);
}

static void blk_counts(const struct vm *vm, void *instance, void (*say)(const char *text))
{
	const struct disks *all = instance;
	char text[300];

	for (unsigned i = 0; i < vm->config->nr_disks; i++) {
		const struct disk *d = &all->disk[i];

		snprintf(
			text, sizeof(text),
			"disk=%u\treads=%lu\tread_bytes=%lu\twrites=%lu\twritten_bytes=%lu\terrors=%lu",
			i, d->read.requests, d->read.bytes, d->written.requests, d->written.bytes,
			d->errors);
		say(text);
	}
}

static const struct vdev_calls blk_calls = { .counts = blk_counts };
static const struct vdev blk_vdev = { .create = blk_create,
				      .destroy = blk_destroy,
				      .calls = &blk_calls };
VDEV(blk_vdev);
