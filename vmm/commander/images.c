/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Images that the VM that commands has sent: in the node's memory once for each content, hashed there, and modules for VM files
 * as those of the boot are. Names that no VM file has go when there is no room for others. All calls one at a time.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/commander/private.h"
#include "vmm/commander/sha256.h"

#define HASH 32u
#define HEX (2 * HASH)

/* A content, from the first byte of its transfer on. */
struct content {
	struct host_extent extent;
	u64 size, at; /* bytes, how many are there */
	u8 hash[HASH];
	unsigned names; /* of images that it is; 0: it is not complete, or free */
};

static struct image {
	char name[VM_MODULE_MAX + 1]; /* empty: there is none */
	struct content *content;
	u64 age; /* when it was named */
} images[HOST_LATE_MODULES];
static struct content contents[HOST_LATE_MODULES + COMMANDER_PORTS];
static u64 clock;

/* One for each session. */
static struct transfer {
	struct content *content; /* NULL: none has begun */
	char name[VM_MODULE_MAX + 1];
	struct sha256 sha;
} transfers[COMMANDER_PORTS];

u64 images_bytes(void)
{
	u64 sum = 0;

	for (struct content *c = contents; c < contents + ARRAY_SIZE(contents); c++)
		sum += c->extent.size;
	return sum;
}

u64 images_kept(void)
{
	u64 sum = images_bytes();

	for (const struct content *c = contents; c < contents + ARRAY_SIZE(contents); c++) {
		unsigned go = 0;

		for (const struct image *i = images; i < images + ARRAY_SIZE(images); i++)
			go += i->name[0] && i->content == c && !vms_name_module(i->name);
		/* One that has no name yet is being sent. */
		sum -= go && go == c->names ? c->extent.size : 0;
	}
	return sum;
}

static void drop(struct content *c)
{
	if (c->extent.size)
		host_extent_free(&c->extent);
	*c = (struct content){ 0 };
}

static void forget(struct image *image)
{
	host_module_remove(image->name);
	image->name[0] = 0;
	if (!--image->content->names)
		drop(image->content);
}

static struct image *find(const char *name)
{
	for (struct image *i = images; i < images + ARRAY_SIZE(images); i++)
		if (i->name[0] && !strcmp(i->name, name))
			return i;
	return NULL;
}

bool images_have(const char *name)
{
	return find(name);
}

static struct content *find_content(const u8 *hash)
{
	for (struct content *c = contents; c < contents + ARRAY_SIZE(contents); c++)
		if (c->names && !memcmp(c->hash, hash, HASH))
			return c;
	return NULL;
}

bool images_evict(void)
{
	struct image *oldest = NULL;

	for (struct image *i = images; i < images + ARRAY_SIZE(images); i++)
		if (i->name[0] && !vms_name_module(i->name) && (!oldest || i->age < oldest->age))
			oldest = i;
	if (!oldest)
		return false;
	host_log("commander: image %s goes: nobody names it, and its room is needed", oldest->name);
	forget(oldest);
	return true;
}

void images_close(unsigned session)
{
	if (transfers[session].content)
		drop(transfers[session].content);
	transfers[session].content = NULL;
}

/* ---- the transfer ----------------------------------------------------------------------- */

static struct span word(struct span *s)
{
	bool found;

	return span_part(s, ' ', &found);
}

static bool parse_hash(struct span s, u8 *hash)
{
	for (unsigned i = 0; s.n == HEX && i < HASH; i++) {
		int high = hex_digit(s.p[2 * i]), low = hex_digit(s.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		hash[i] = (u8)(high << 4 | low);
	}
	return s.n == HEX;
}

/* As a VM file names it. */
static int parse_name(struct span s, char *name)
{
	const struct host_module *m;

	if (!s.n || s.n > VM_MODULE_MAX)
		return commander_refuse(EINVAL, "expected a name of 1 to %u characters", VM_MODULE_MAX);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return commander_refuse(EINVAL, "expected a name of printable characters without blanks");
	memcpy(name, s.p, s.n);
	name[s.n] = 0;
	for (unsigned i = 0; (m = host_module(i)); i++)
		if (!strcmp(m->name, name))
			return commander_refuse(EEXIST, "%s: there is %s of that name", name,
						find(name) ? "an image" : "a boot module");
	if (vms_wait_for(name))
		return commander_refuse(EPERM, "%s: a VM of the boot names it, and the boot has not brought it", name);
	return 0;
}

static int name_content(const char *name, struct content *c)
{
	/* At first, for its other name may go. */
	c->names++;
	do {
		for (struct image *i = images; i < images + ARRAY_SIZE(images); i++) {
			if (i->name[0] || host_module_add(name, host_hpa_to_virt(c->extent.base), c->size))
				continue;
			snprintf(i->name, sizeof(i->name), "%s", name);
			i->content = c;
			i->age = clock++;
			return 0;
		}
	} while (images_evict());
	c->names--;
	return commander_refuse(ENOSPC, "%s: there are %u images, and VM files name all of them", name, HOST_LATE_MODULES);
}

/* Room for so many bytes within the right, and in memory. */
static int take(const struct vm_config_control *control, const char *name, u64 size, struct host_extent *out)
{
	const struct host_extent_request want = { .size = ALIGN_UP(size, PAGE_SIZE_2M), .align = PAGE_SIZE_2M, .node = -1 };
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
		return commander_refuse(ENOSPC, "%s: %lu bytes in whole 2 MiB: control_may has memory for %lu more", name,
					want.size, control->memory - MIN(used, control->memory));
	host_mem_free(-1, &largest);
	return commander_refuse(ENOSPC, "%s: %lu bytes in whole 2 MiB: the largest free piece of memory has %lu", name,
				want.size, largest);
}

/* NAME SIZE SHA256 */
int commander_image(const struct vm_config_control *control, unsigned session, struct span text)
{
	struct transfer *t = &transfers[session];
	struct span name = word(&text), size = word(&text);
	struct content *c = contents;
	u8 hash[HASH];
	u64 bytes;
	int err;

	images_close(session);
	if (!span_number(&size, 10, &bytes) || size.n || !bytes || bytes > VM_MEMORY_MAX || !parse_hash(text, hash))
		return commander_refuse(EINVAL, "expected a name, a size in bytes, and a SHA-256 in hexadecimal digits");
	err = parse_name(name, t->name);
	if (err)
		return err;
	if (find_content(hash)) {
		c = find_content(hash);
		if (c->size != bytes)
			return commander_refuse(EINVAL, "%s: what has this SHA-256 has %lu bytes", t->name, c->size);
		err = name_content(t->name, c);
		if (!err)
			commander_say("have=yes");
		return err;
	}
	while (c->extent.size)
		c++;
	err = take(control, t->name, bytes, &c->extent);
	if (err)
		return err;
	/* It will not be zero when it is given back. */
	c->extent.zero = false;
	c->size = bytes;
	memcpy(c->hash, hash, sizeof(hash));
	t->content = c;
	sha256_begin(&t->sha);
	commander_say("have=no");
	return 0;
}

int commander_data(const struct vm_config_control *, unsigned session, struct span data)
{
	struct content *c = transfers[session].content;
	u8 *to;

	if (!c)
		return commander_refuse(EINVAL, "data of no image");
	if (data.n > c->size - c->at) {
		images_close(session);
		return commander_refuse(EINVAL, "%s: more data than were announced", transfers[session].name);
	}
	to = (u8 *)host_hpa_to_virt(c->extent.base) + c->at;
	memcpy(to, data.p, data.n);
	/* Of what stays here, not of what came. */
	sha256_add(&transfers[session].sha, to, data.n);
	c->at += data.n;
	return 0;
}

static int end(struct transfer *t)
{
	struct content *c = t->content;
	u8 hash[HASH];
	char name[VM_MODULE_MAX + 1];
	int err;

	if (c->at < c->size)
		return commander_refuse(EINVAL, "%s: %lu of %lu bytes are missing", t->name, c->size - c->at, c->size);
	sha256_end(&t->sha, hash);
	if (memcmp(hash, c->hash, HASH))
		return commander_refuse(EINVAL, "%s: it has another SHA-256 than was announced", t->name);
	/* Another session may have sent it meanwhile. */
	err = parse_name(span_of(t->name), name);
	if (err)
		return err;
	if (find_content(hash))
		return name_content(t->name, find_content(hash));
	err = name_content(t->name, c);
	if (!err)
		t->content = NULL;
	return err;
}

int commander_image_end(const struct vm_config_control *, unsigned session, struct span)
{
	int err = transfers[session].content ? end(&transfers[session]) : commander_refuse(EINVAL, "the end of no image");

	images_close(session);
	return err;
}

/* ---- what there is ------------------------------------------------------------------------ */

int commander_images(const struct vm_config_control *, unsigned, struct span)
{
	const struct host_module *m;

	for (unsigned i = 0; (m = host_module(i)); i++) {
		const struct image *image = find(m->name);
		char hash[HEX + 1] = "-";

		if (!m->name[0]) {
			commander_skip();
			continue;
		}
		for (unsigned k = 0; image && k < HASH; k++)
			snprintf(hash + 2 * k, 3, "%02x", image->content->hash[k]);
		commander_say("name=%s\tsize=%lu\tsha256=%s\tused=%s\tboot=%s", m->name, m->size, hash,
			      vms_name_module(m->name) ? "yes" : "no", image ? "no" : "yes");
	}
	return 0;
}

int commander_image_remove(const struct vm_config_control *, unsigned, struct span text)
{
	char name[VM_MODULE_MAX + 1];
	struct image *image;

	snprintf(name, sizeof(name), "%.*s", (int)MIN(text.n, sizeof(name) - 1), text.p);
	image = find(name);
	if (!image)
		return commander_refuse(ENOENT, "%s: there is no such image", name);
	if (vms_name_module(name))
		return commander_refuse(EBUSY, "%s: a VM file names it", name);
	forget(image);
	return 0;
}
