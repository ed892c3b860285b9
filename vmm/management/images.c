/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Images that the management VM has sent: in the node's memory once for each content, and
 * modules for VM files as those of the boot are. Names that no VM file has go when there is no room
 * for others. A VM is bound to the contents that its file's names had when it was made: it names
 * them as NAME@HASH, so that a name may get another content.
 */
#include "vmm/management/images.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/slots/node_events.h"

#define HEX (2 * IMAGE_HASH)
#define IMAGES (HOST_LATE_MODULES / 2) /* each may have a module under its bound name, too */
#define BOUND_BYTES 6u                 /* of the hash, in a bound name */
#define BOUND_SUFFIX (1 + 2 * BOUND_BYTES)

static struct image {
	char name[VM_MODULE_MAX + 1]; /* empty: there is none */
	struct content *content;
	u64 age; /* when it was named */
	bool bound; /* there is a module under its bound name, for the VMs that have it so */
} images[IMAGES];
static struct content contents[IMAGES + MANAGEMENT_PORTS];
static u64 clock;

u64 images_bytes(void)
{
	u64 sum = 0;

	for (struct content *c = contents; c < contents + ARRAY_SIZE(contents); c++)
		sum += c->extent.size;
	return sum;
}

/* As VMs have it that were made of it: its name, cut if need be, and the beginning of its hash. */
static void bound_name(const struct image *i, char out[VM_MODULE_MAX + 1])
{
	char suffix[BOUND_SUFFIX + 1] = "@";
	size_t n = strlen(i->name);

	for (unsigned k = 0; k < BOUND_BYTES; k++)
		snprintf(suffix + 1 + 2 * k, 3, "%02x", i->content->hash[k]);
	/* A name that has been given to another content leaves this one behind. */
	if (n > BOUND_SUFFIX && !strcmp(i->name + n - BOUND_SUFFIX, suffix))
		suffix[0] = 0;
	snprintf(out, VM_MODULE_MAX + 1, "%.*s%s",
		 suffix[0] ? (int)(VM_MODULE_MAX - BOUND_SUFFIX) : (int)VM_MODULE_MAX, i->name,
		 suffix);
}

static bool is_used(const struct image *i)
{
	char bound[VM_MODULE_MAX + 1];

	bound_name(i, bound);
	return vms_name_module(bound);
}

u64 images_kept(void)
{
	u64 sum = images_bytes();

	for (const struct content *c = contents; c < contents + ARRAY_SIZE(contents); c++) {
		unsigned go = 0;

		for (const struct image *i = images; i < images + IMAGES; i++)
			go += i->name[0] && i->content == c && !is_used(i);
		/* One that has no name yet is being sent. */
		sum -= go && go == c->names ? c->extent.size : 0;
	}
	return sum;
}

void content_drop(struct content *c)
{
	if (c->extent.size)
		host_extent_free(&c->extent);
	*c = (struct content){ 0 };
}

static void unbind(struct image *i)
{
	char bound[VM_MODULE_MAX + 1];

	bound_name(i, bound);
	if (i->bound)
		host_module_remove(bound);
	i->bound = false;
}

static void forget(struct image *image)
{
	unbind(image);
	host_module_remove(image->name);
	image->name[0] = 0;
	if (!--image->content->names)
		content_drop(image->content);
}

static struct image *find(const char *name)
{
	for (struct image *i = images; i < images + IMAGES; i++)
		if (i->name[0] && !strcmp(i->name, name))
			return i;
	return NULL;
}

bool images_have(const char *name)
{
	return find(name);
}

struct content *content_find(const u8 *hash)
{
	for (struct content *c = contents; c < contents + ARRAY_SIZE(contents); c++)
		if (c->names && !memcmp(c->hash, hash, IMAGE_HASH))
			return c;
	return NULL;
}

bool images_evict(void)
{
	struct image *oldest = NULL;

	for (struct image *i = images; i < images + IMAGES; i++)
		if (i->name[0] && !is_used(i) && (!oldest || i->age < oldest->age))
			oldest = i;
	if (!oldest)
		return false;
	host_log("management: image %s goes: nobody names it, and its room is needed",
		 oldest->name);
	event_image("image-gone", oldest->name, NULL);
	forget(oldest);
	return true;
}

/* ---- names ------------------------------------------------------------------------------ */

static bool looks_bound(struct span name)
{
	bool is = name.n > BOUND_SUFFIX && name.p[name.n - BOUND_SUFFIX] == '@';

	for (size_t i = name.n - BOUND_SUFFIX + 1; is && i < name.n; i++)
		is = hex_digit(name.p[i]) >= 0;
	return is;
}

/* As a VM file names it. */
int image_check_name(struct span s, const u8 *hash, bool replace, char name[VM_MODULE_MAX + 1])
{
	const struct host_module *m;
	const struct image *image;

	if (!s.n || s.n > VM_MODULE_MAX)
		return management_refuse(EINVAL, "expected a name of 1 to %u characters",
					 VM_MODULE_MAX);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return management_refuse(
				EINVAL, "expected a name of printable characters without blanks");
	memmove(name, s.p, s.n);
	name[s.n] = 0;
	if (looks_bound(s))
		return management_refuse(
			EINVAL,
			"%s: a name that ends so is given to what a name has left: choose another",
			name);
	image = find(name);
	if (image && !replace && memcmp(image->content->hash, hash, IMAGE_HASH))
		return management_refuse(
			EEXIST,
			"%s: there is an image of that name, with another content (--replace)",
			name);
	if (!image)
		for (unsigned i = 0; (m = host_module(i)); i++)
			if (!strcmp(m->name, name))
				return management_refuse(
					EEXIST, "%s: there is a boot module of that name", name);
	if (vms_wait_for(name))
		return management_refuse(
			EPERM, "%s: a VM of the boot names it, and the boot has not brought it",
			name);
	return 0;
}

static struct image *free_image(void)
{
	do {
		for (struct image *i = images; i < images + IMAGES; i++)
			if (!i->name[0])
				return i;
	} while (images_evict());
	return NULL;
}

/*
 * Its name is another's from now on: VMs that were made of it have it by its bound name, which
 * becomes its only one.
 */
static void leave_name(struct image *old)
{
	char bound[VM_MODULE_MAX + 1];

	if (!is_used(old)) {
		forget(old);
		return;
	}
	bound_name(old, bound);
	host_log(
		"management: image %s: another content has the name; VMs that were made of it keep it, as %s",
		old->name, bound);
	old->bound = false;
	if (find(bound)) {
		/* One has left a name so before. */
		forget(old);
		return;
	}
	host_module_remove(old->name);
	memcpy(old->name, bound, sizeof(bound));
}

int image_name(const char *name, struct content *c)
{
	struct image *old = find(name), *new;

	if (old && old->content == c)
		return 0;
	/* At first, for its other name may go. */
	c->names++;
	/* One that nobody has makes room itself. */
	new = old && !is_used(old) ? old : free_image();
	/* It may have gone for that. */
	old = find(name);
	if (old && new)
		leave_name(old);
	if (new && !host_module_add(name, host_hpa_to_virt(c->extent.base), c->size)) {
		snprintf(new->name, sizeof(new->name), "%s", name);
		new->content = c;
		new->age = clock++;
		event_image("image-put", name, management_user());
		return 0;
	}
	c->names--;
	return management_refuse(ENOSPC, "%s: there are %u images, and VM files name all of them",
				 name, IMAGES);
}

/* The bound name is not all of a hash: what is another content's may begin so, too. */
static bool is_anothers(const char *bound, const struct content *c)
{
	char other[VM_MODULE_MAX + 1];

	for (const struct image *i = images; i < images + IMAGES; i++) {
		if (!i->name[0] || i->content == c)
			continue;
		bound_name(i, other);
		if (!strcmp(other, bound))
			return true;
	}
	return false;
}

int images_bind(char name[VM_MODULE_MAX + 1])
{
	struct image *image = find(name);
	char bound[VM_MODULE_MAX + 1];

	/* One of the boot is what it is. */
	if (!image)
		return 0;
	bound_name(image, bound);
	if (is_anothers(bound, image->content))
		return -EEXIST;
	/* It may have left that name so before: then there is a module of it. */
	if (!find(bound) && !image->bound) {
		if (host_module_add(bound, host_hpa_to_virt(image->content->extent.base),
				    image->content->size))
			return -ENOSPC;
		image->bound = true;
	}
	memcpy(name, bound, sizeof(bound));
	return 0;
}

void images_unbind(void)
{
	for (struct image *i = images; i < images + IMAGES; i++)
		if (i->name[0] && i->bound && !is_used(i))
			unbind(i);
}

/* Whose bound name is it? NULL: nobody's. */
static const struct image *find_bound(const char *name)
{
	char bound[VM_MODULE_MAX + 1];

	for (const struct image *i = images; i < images + IMAGES; i++) {
		if (!i->name[0])
			continue;
		bound_name(i, bound);
		if (!strcmp(bound, name))
			return i;
	}
	return NULL;
}

const char *images_shown(const char *name)
{
	const struct image *image = find_bound(name);

	return image ? image->name : name;
}

/* ---- memory ------------------------------------------------------------------------------ */

/* Room for so many bytes within the right, and in memory. */
static int take(const struct vm_config_control *control, const char *name, u64 size,
		struct host_extent *out)
{
	const struct host_extent_request want = { .size = ALIGN_UP(size, PAGE_SIZE_2M),
						  .align = PAGE_SIZE_2M,
						  .node = -1 };
	u64 used, largest;

	do {
		used = vms_bytes() + images_bytes();
		/* Nothing goes for what there is no room for even then. */
		if (vms_bytes() + images_kept() + want.size > control->memory)
			break;
		if (used + want.size <= control->memory && !host_extent_alloc(&want, out))
			return 0;
	} while (images_evict());
	if (used + want.size > control->memory)
		return management_refuse(
			ENOSPC, "%s: %lu bytes in whole 2 MiB: control_may has memory for %lu more",
			name, want.size, control->memory - MIN(used, control->memory));
	host_mem_free(-1, &largest);
	return management_refuse(
		ENOSPC, "%s: %lu bytes in whole 2 MiB: the largest free piece of memory has %lu",
		name, want.size, largest);
}

struct content *content_take(const struct vm_config_control *control, const char *name, u64 size)
{
	struct content *c = contents;

	while (c->extent.size)
		c++;
	if (take(control, name, size, &c->extent))
		return NULL;
	/* It will not be zero when it is given back. */
	c->extent.zero = false;
	c->size = size;
	return c;
}

/* ---- what there is ------------------------------------------------------------------------ */

int management_images(const struct vm_config_control *, unsigned, struct span)
{
	const struct host_module *m;

	for (unsigned i = 0; (m = host_module(i)); i++) {
		const struct image *image = find(m->name);
		char hash[HEX + 1] = "-";
		bool used;

		/* What VMs are bound to stands there under its name. */
		if (!m->name[0] || (!image && find_bound(m->name))) {
			management_skip();
			continue;
		}
		if (image)
			for (unsigned k = 0; k < IMAGE_HASH; k++)
				snprintf(hash + 2 * k, 3, "%02x", image->content->hash[k]);
		used = image ? is_used(image) : vms_name_module(m->name);
		management_say("name=%s\tsize=%lu\tsha256=%s\tused=%s\tboot=%s", m->name, m->size,
			       hash, used ? "yes" : "no", image ? "no" : "yes");
	}
	return 0;
}

int management_image_remove(const struct vm_config_control *, unsigned, struct span text)
{
	char name[VM_MODULE_MAX + 1];
	struct image *image;

	snprintf(name, sizeof(name), "%.*s", (int)MIN(text.n, sizeof(name) - 1), text.p);
	image = find(name);
	if (!image)
		return management_refuse(ENOENT, "%s: there is no such image", name);
	if (is_used(image))
		return management_refuse(EBUSY, "%s: a VM file names it", name);
	event_image("image-remove", name, management_user());
	forget(image);
	return 0;
}
