/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See cidata.h. FAT12 (ECMA-107; long names: Microsoft's FAT32 File System Specification, 1.03):
 * boot sector, one FAT, one sector of root directory, files; a cluster is a sector.
 */
#include "vmm/dev/virtio/cidata.h"

#include <margay/span.h>
#include <margay/string.h>

#include "vmm/vm.h"

#define SECTOR 512u
#define SECTORS (unsigned)(CIDATA_SIZE / SECTOR)
#define ROOT 2u
#define FIRST_DATA 3u /* which is cluster 2 */
#define ENTRY 32u
#define LABEL "cidata     "
#define MEDIA 0xf8
#define LAST 0xfff
#define NAME_PART 13u /* characters of a long name in one entry */
#define JAN_1_1980 0x21

/* Each byte of a line may become two, and three files end with a part of a sector. */
static_assert(CIDATA_SIZE >= 2 * VM_META_MAX + KIB(4), "whatever the lines are");

enum { ATTR_FILE = 0, ATTR_LABEL = 8, ATTR_LONG_NAME = 15 };

struct volume {
	u8 *image;
	u8 *entry; /* the root directory's next */
	u8 *file; /* where the next file begins, */
	u8 *end; /* and ends so far */
};

static void put16(u8 *at, unsigned value)
{
	at[0] = (u8)value;
	at[1] = (u8)(value >> 8);
}

static void put_boot_sector(u8 *p)
{
	/* clang-format off */
	static const u8 start[] = {
		0xeb, 0x3c, 0x90, 'M', 'A', 'R', 'G', 'A', 'Y', ' ', ' ',
		0, SECTOR >> 8, 1, /* bytes of a sector; sectors of a cluster, */
		1, 0, 1, /* before the FAT; FATs */
		SECTOR / ENTRY, 0, SECTORS, 0, MEDIA, /* entries of the root; sectors */
		1, 0, SECTORS, 0, 1, 0, /* of the FAT, of a track; heads */
	};
	/* clang-format on */

	memcpy(p, start, sizeof(start));
	/* The signature of what follows: serial number, label, type. */
	memcpy(p + 0x26, "\x29MGAY" LABEL "FAT12   ", 24);
	put16(p + 0x1fe, 0xaa55);
}

/* Of which all before have been set. */
static void set_cluster(u8 *fat, unsigned cluster, unsigned value)
{
	u8 *p = fat + cluster * 3 / 2;

	put16(p, cluster & 1 ? (p[0] & 15u) | value << 4 : value);
}

/* The entries of a long name, its end first, before the one that has the short name. */
static void put_long_name(struct volume *v, const char *name, const char *short_name)
{
	static const u8 at[NAME_PART] = { 1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30 };
	unsigned length = (unsigned)strlen(name), parts = (length + NAME_PART - 1) / NAME_PART;
	u8 sum = 0;

	for (unsigned i = 0; i < 11; i++)
		sum = (u8)((sum >> 1 | sum << 7) + (u8)short_name[i]);
	for (unsigned part = parts; part--; v->entry += ENTRY) {
		v->entry[0] = (u8)((part + 1) | (part + 1 == parts ? 0x40 : 0));
		v->entry[11] = ATTR_LONG_NAME;
		v->entry[13] = sum;
		for (unsigned i = 0; i < NAME_PART; i++) {
			unsigned n = part * NAME_PART + i;

			put16(v->entry + at[i], n > length ? 0xffff : (u8)name[n]);
		}
	}
}

static void put_entry(struct volume *v, const char *short_name, u8 attributes)
{
	memcpy(v->entry, short_name, 11);
	v->entry[11] = attributes;
	put16(v->entry + 24, JAN_1_1980);
	v->entry += ENTRY;
}

/* What has been written since the last file is one of this name. */
static void end_file(struct volume *v, const char *name, const char *short_name)
{
	unsigned size = (unsigned)(v->end - v->file);
	unsigned first = (unsigned)(v->file - v->image) / SECTOR - FIRST_DATA + 2;
	unsigned sectors = (size + SECTOR - 1) / SECTOR;

	put_long_name(v, name, short_name);
	put_entry(v, short_name, ATTR_FILE);
	put16(v->entry - ENTRY + 26, first);
	put16(v->entry - ENTRY + 28, size);
	for (unsigned i = 0; i < sectors; i++)
		set_cluster(v->image + SECTOR, first + i, i + 1 < sectors ? first + i + 1 : LAST);
	v->end = v->file += sectors * SECTOR;
}

static void put_span(struct volume *v, struct span s)
{
	memcpy(v->end, s.p, s.n);
	v->end += s.n;
}

static void put_text(struct volume *v, const char *s)
{
	put_span(v, span_of(s));
}

/* A scalar of YAML between double quotes, and the end of its line. */
static void put_quoted(struct volume *v, const char *before, struct span s)
{
	put_text(v, before);
	*v->end++ = '"';
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			*v->end++ = '\\';
		*v->end++ = (u8)s.p[i];
	}
	put_text(v, "\"\n");
}

static bool has_place(struct span key)
{
	return span_is(key, VM_META_ID) || span_is(key, VM_META_HOST) ||
	       span_is(key, VM_META_SSH) || span_is(key, VM_META_USER) ||
	       span_is(key, VM_META_NETWORK) || vm_config_meta_oem(key);
}

static void put_meta_data(struct volume *v, const struct vm_config *c, const char *name)
{
	struct span key, value;
	bool listed = false;

	put_quoted(v, VM_META_ID ": ", vm_config_meta_name(c, VM_META_ID, name));
	put_quoted(v, VM_META_HOST ": ", vm_config_meta_name(c, VM_META_HOST, name));
	for (unsigned i = 0; vm_config_meta(c, i, &key, &value); i++)
		if (!has_place(key)) {
			put_span(v, key);
			put_quoted(v, ": ", value);
		}
	for (unsigned i = 0; vm_config_meta(c, i, &key, &value); i++)
		if (span_is(key, VM_META_SSH)) {
			put_text(v, listed ? "" : VM_META_SSH ":\n");
			put_quoted(v, "- ", value);
			listed = true;
		}
}

/* All lines of a key; false: there is none. */
static bool put_lines(struct volume *v, const struct vm_config *c, const char *wanted)
{
	struct span key, value;
	bool any = false;

	for (unsigned i = 0; vm_config_meta(c, i, &key, &value); i++)
		if (span_is(key, wanted)) {
			put_span(v, value);
			put_text(v, "\n");
			any = true;
		}
	return any;
}

void cidata_make(u8 image[CIDATA_SIZE], const struct vm_config *c, const char *name)
{
	struct volume v = { .image = image, .entry = image + ROOT * SECTOR };

	v.end = v.file = image + FIRST_DATA * SECTOR;
	memset(image, 0, CIDATA_SIZE);
	put_boot_sector(image);
	set_cluster(image + SECTOR, 0, 0xf00 | MEDIA);
	set_cluster(image + SECTOR, 1, LAST);
	put_entry(&v, LABEL, ATTR_LABEL);
	put_meta_data(&v, c, name);
	end_file(&v, "meta-data", "META-D~1   ");
	/* It must be there; this says nothing. */
	if (!put_lines(&v, c, VM_META_USER))
		put_text(&v, "#cloud-config\n{}\n");
	end_file(&v, VM_META_USER, "USER-D~1   ");
	if (put_lines(&v, c, VM_META_NETWORK))
		end_file(&v, VM_META_NETWORK, "NETWOR~1   ");
}
