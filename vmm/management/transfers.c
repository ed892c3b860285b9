/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Images as they come, in pieces: each session has one in hand, whose content is nobody's before it
 * is whole.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/management/images.h"
#include "vmm/management/sha256.h"

#define HEX (2 * IMAGE_HASH)

/* One for each session. */
static struct transfer {
	struct content *content; /* NULL: none has begun */
	char name[VM_MODULE_MAX + 1];
	bool replace;
	struct sha256 sha;
} transfers[MANAGEMENT_PORTS];

void images_close(unsigned session)
{
	if (transfers[session].content)
		content_drop(transfers[session].content);
	transfers[session].content = NULL;
}

static struct span word(struct span *s)
{
	bool found;

	return span_part(s, ' ', &found);
}

static bool parse_hash(struct span s, u8 *hash)
{
	if (s.n != HEX)
		return false;
	for (unsigned i = 0; i < IMAGE_HASH; i++) {
		int high = hex_digit(s.p[2 * i]), low = hex_digit(s.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		hash[i] = (u8)(high << 4 | low);
	}
	return true;
}

/* NAME SIZE SHA256, and perhaps "replace" */
int management_image(const struct vm_config_control *control, unsigned session, struct span text)
{
	struct transfer *t = &transfers[session];
	struct span name = word(&text), size = word(&text), hex = word(&text);
	struct content *c;
	u8 hash[IMAGE_HASH];
	u64 bytes;
	int err;

	images_close(session);
	t->replace = span_is(text, "replace");
	if (!span_number(&size, 10, &bytes) || size.n || !bytes || bytes > VM_MEMORY_MAX ||
	    !parse_hash(hex, hash) || (text.n && !t->replace))
		return management_refuse(
			EINVAL,
			"expected a name, a size in bytes, and a SHA-256 in hexadecimal digits");
	err = image_check_name(name, hash, t->replace, t->name);
	if (err)
		return err;
	c = content_find(hash);
	if (c) {
		if (c->size != bytes)
			return management_refuse(EINVAL, "%s: what has this SHA-256 has %lu bytes",
						 t->name, c->size);
		err = image_name(t->name, c);
		if (!err)
			management_say("have=yes");
		return err;
	}
	c = content_take(control, t->name, bytes);
	if (!c)
		return -ENOSPC;
	memcpy(c->hash, hash, sizeof(hash));
	t->content = c;
	sha256_begin(&t->sha, host_sha256());
	management_say("have=no");
	return 0;
}

u8 *images_place(unsigned session, u64 size)
{
	const struct content *c = transfers[session].content;

	if (!c || size > c->size - c->at)
		return NULL;
	return (u8 *)host_hpa_to_virt(c->extent.base) + c->at;
}

int management_data(const struct vm_config_control *, unsigned session, struct span data)
{
	struct content *c = transfers[session].content;
	u8 *to = images_place(session, data.n);

	if (!c)
		return management_refuse(EINVAL, "data of no image");
	if (!to) {
		images_close(session);
		return management_refuse(EINVAL, "%s: more data than were announced",
					 transfers[session].name);
	}
	/* They are there already, by management_place(): the hash is of what stays. */
	sha256_add(&transfers[session].sha, to, data.n);
	c->at += data.n;
	return 0;
}

static int end(struct transfer *t)
{
	struct content *c = t->content, *same;
	u8 hash[IMAGE_HASH];
	char name[VM_MODULE_MAX + 1];
	int err;

	if (c->at < c->size)
		return management_refuse(EINVAL, "%s: %lu of %lu bytes are missing", t->name,
					 c->size - c->at, c->size);
	sha256_end(&t->sha, hash);
	if (memcmp(hash, c->hash, IMAGE_HASH))
		return management_refuse(EINVAL, "%s: it has another SHA-256 than was announced",
					 t->name);
	/* Another session may have sent it meanwhile. */
	err = image_check_name(span_of(t->name), hash, t->replace, name);
	if (err)
		return err;
	same = content_find(hash);
	err = image_name(t->name, same ? same : c);
	if (!err && !same)
		t->content = NULL;
	return err;
}

int management_image_end(const struct vm_config_control *, unsigned session, struct span)
{
	int err = transfers[session].content ? end(&transfers[session])
					     : management_refuse(EINVAL, "the end of no image");

	images_close(session);
	return err;
}
