/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the Multiboot2 information structure (specification 2.0,
 * section 3.6) and the normalised memory map. The structure is trusted no more
 * than a packet: every length is checked against what is left.
 */
#include "kernel/boot/bootinfo.h"

#include <margay/string.h>

enum mb2_tag {
	MB2_END = 0,
	MB2_CMDLINE = 1,
	MB2_LOADER = 2,
	MB2_MODULE = 3,
	MB2_MMAP = 6,
	MB2_FRAMEBUFFER = 8,
	MB2_EFI32 = 11,
	MB2_EFI64 = 12,
	MB2_ACPI_OLD = 14,
	MB2_ACPI_NEW = 15,
	MB2_EFI_MMAP = 17,
	MB2_EFI_BOOT_SERVICES = 18,
};

struct mb2_header {
	u32 total_size;
	u32 reserved;
} __packed;
static_assert(sizeof(struct mb2_header) == 8, "Multiboot2 information header");

struct mb2_tag_header {
	u32 type;
	u32 size; /* with this header, without the padding to 8 bytes */
} __packed;
static_assert(sizeof(struct mb2_tag_header) == 8, "Multiboot2 tag");

struct mb2_mmap {
	struct mb2_tag_header tag;
	u32 entry_size;
	u32 entry_version;
} __packed;
static_assert(sizeof(struct mb2_mmap) == 16, "Multiboot2 memory map");

struct mb2_mmap_entry {
	u64 base;
	u64 length;
	u32 type;
	u32 reserved;
} __packed;
static_assert(sizeof(struct mb2_mmap_entry) == 24, "Multiboot2 memory map entry");

struct mb2_module {
	struct mb2_tag_header tag;
	u32 start;
	u32 end;
} __packed;
static_assert(sizeof(struct mb2_module) == 16, "Multiboot2 module");

/* UEFI 2.10, 7.2.3. */
struct efi_memory_descriptor {
	u32 type;
	u32 pad;
	u64 physical_start;
	u64 virtual_start;
	u64 pages;
	u64 attribute;
} __packed;
static_assert(sizeof(struct efi_memory_descriptor) == 40, "EFI memory descriptor");

#define PHYS_LIMIT BIT(52)
#define RAW_MAX BOOTINFO_RANGES

/* The map as the firmware gave it, before overlaps are resolved. */
struct raw_map {
	unsigned count;
	unsigned left_out;
	struct boot_range range[RAW_MAX];
};

static void raw_add(struct raw_map *raw, u64 base, u64 length, enum boot_memory type)
{
	u64 end = length > PHYS_LIMIT || base + length > PHYS_LIMIT ? PHYS_LIMIT : base + length;

	if (base >= PHYS_LIMIT)
		return;
	/* A page counts as usable only when all of it is. */
	if (type == BOOT_MEMORY_USABLE) {
		base = ALIGN_UP(base, PAGE_SIZE);
		end = ALIGN_DOWN(end, PAGE_SIZE);
	} else {
		base = ALIGN_DOWN(base, PAGE_SIZE);
		end = ALIGN_UP(end, PAGE_SIZE);
	}
	if (base >= end || !length)
		return;
	/* UEFI gives what is one for us in many pieces. */
	if (raw->count && raw->range[raw->count - 1].end == base &&
	    raw->range[raw->count - 1].type == type) {
		raw->range[raw->count - 1].end = end;
		return;
	}
	if (raw->count < RAW_MAX) {
		raw->range[raw->count++] = (struct boot_range){ base, end, type };
		return;
	}
	raw->left_out++;
	if (type == BOOT_MEMORY_USABLE)
		return;
	/* What this one would have made unusable is left out with it: its piece is empty then. */
	for (struct boot_range *r = raw->range; r < raw->range + raw->count; r++)
		if (r->type == BOOT_MEMORY_USABLE && r->start < end && base < r->end)
			r->end = r->start;
}

/*
 * A type of the loader's map, or of the EFI one: what is free once the boot services have ended
 * (UEFI 2.10, table 7.10).
 */
static enum boot_memory type_of(u32 type, bool efi)
{
	static const u8 loader[] = {
		[1] = BOOT_MEMORY_USABLE,
		[3] = BOOT_MEMORY_ACPI,
		[4] = BOOT_MEMORY_NVS,
		[5] = BOOT_MEMORY_BAD,
	};
	static const u8 uefi[] = {
		[1 ... 4] = BOOT_MEMORY_USABLE, [7] = BOOT_MEMORY_USABLE, [8] = BOOT_MEMORY_BAD,
		[9] = BOOT_MEMORY_ACPI,         [10] = BOOT_MEMORY_NVS,
	};
	const u8 *types = efi ? uefi : loader;
	size_t nr_types = efi ? ARRAY_SIZE(uefi) : ARRAY_SIZE(loader);
	u8 known = type < nr_types ? types[type] : 0;

	return known ? (enum boot_memory)known : BOOT_MEMORY_RESERVED;
}

/* The loader's map, or the EFI one, which has the same head: its descriptors' size and version. */
static const char *read_mmap(const u8 *tag, u32 size, bool efi, struct raw_map *raw)
{
	size_t least = efi ? sizeof(struct efi_memory_descriptor) : sizeof(struct mb2_mmap_entry);
	struct mb2_mmap m;

	if (size < sizeof(m))
		return "the memory map tag is too short";
	memcpy(&m, tag, sizeof(m));
	if (m.entry_size < least || m.entry_size > size)
		return "the memory map's entry size is wrong";
	for (u64 at = sizeof(m); at + m.entry_size <= size; at += m.entry_size) {
		struct efi_memory_descriptor d;
		struct mb2_mmap_entry e;

		if (!efi) {
			memcpy(&e, tag + at, sizeof(e));
			raw_add(raw, e.base, e.length, type_of(e.type, false));
			continue;
		}
		memcpy(&d, tag + at, sizeof(d));
		if (d.pages > PHYS_LIMIT >> PAGE_SHIFT)
			return "the EFI memory map has an impossible length";
		raw_add(raw, d.physical_start, d.pages << PAGE_SHIFT, type_of(d.type, true));
	}
	return NULL;
}

static void sort(u64 *v, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		u64 x = v[i];
		unsigned j = i;

		for (; j > 0 && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

/* Cuts the address space at every boundary; in each piece the strongest type wins. */
static void normalise(const struct raw_map *raw, u64 *edge, struct bootinfo *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < raw->count; i++) {
		edge[n++] = raw->range[i].start;
		edge[n++] = raw->range[i].end;
	}
	sort(edge, n);
	for (unsigned i = 0; i + 1 < n; i++) {
		struct boot_range *last = out->nr_ranges ? &out->range[out->nr_ranges - 1] : NULL;
		enum boot_memory type = BOOT_MEMORY_NONE;

		for (unsigned k = 0; k < raw->count; k++)
			if (raw->range[k].start <= edge[i] && edge[i] < raw->range[k].end)
				type = MAX(type, raw->range[k].type);
		if (edge[i] == edge[i + 1] || type == BOOT_MEMORY_NONE)
			continue;
		if (last && last->end == edge[i] && last->type == type) {
			last->end = edge[i + 1];
			continue;
		}
		if (out->nr_ranges == BOOTINFO_RANGES)
			out->left_out++;
		else
			out->range[out->nr_ranges++] =
				(struct boot_range){ edge[i], edge[i + 1], type };
	}
}

/* Copies the NUL-terminated text in tag[from, size). */
static const char *copy_string(const u8 *tag, u32 from, u32 size, char *dst, size_t room,
			       const char *too_long)
{
	size_t n = strnlen((const char *)tag + from, size - from);

	if (n >= room)
		return too_long;
	memcpy(dst, tag + from, n);
	dst[n] = 0;
	return NULL;
}

static const char *read_module(const u8 *tag, u32 size, struct bootinfo *out)
{
	struct boot_module *b = &out->module[out->nr_modules];
	struct mb2_module m;

	if (size < sizeof(m))
		return "a module tag is too short";
	if (out->nr_modules == BOOTINFO_MODULES)
		return "there are more than 64 modules";
	memcpy(&m, tag, sizeof(m));
	if (m.end < m.start)
		return "a module ends before it starts";
	b->start = m.start;
	b->end = m.end;
	out->nr_modules++;
	return copy_string(tag, sizeof(m), size, b->string, sizeof(b->string),
			   "a module's name and arguments are longer than 255 bytes");
}

static const char *read_rsdp(const u8 *tag, u32 size, bool newer, struct bootinfo *out)
{
	size_t n = size - sizeof(struct mb2_tag_header);

	if (n < ACPI_RSDP_V1_SIZE)
		return "the ACPI root pointer is too short";
	if (out->has_rsdp && !newer)
		return NULL;
	memset(&out->rsdp, 0, sizeof(out->rsdp));
	memcpy(&out->rsdp, tag + sizeof(struct mb2_tag_header),
	       newer ? MIN(n, sizeof(out->rsdp)) : ACPI_RSDP_V1_SIZE);
	out->has_rsdp = true;
	return NULL;
}

static const char *read_tag(const u8 *tag, struct mb2_tag_header h, struct bootinfo *out,
			    struct raw_map *mmap, const u8 **efi_mmap)
{
	switch (h.type) {
	case MB2_CMDLINE:
		return copy_string(tag, sizeof(h), h.size, out->cmdline, sizeof(out->cmdline),
				   "the command line is longer than 1023 bytes");
	case MB2_LOADER:
		/* Only shown: a long name is not worth refusing to boot. */
		copy_string(tag, sizeof(h), h.size, out->loader, sizeof(out->loader), NULL);
		return NULL;
	case MB2_MODULE: return read_module(tag, h.size, out);
	case MB2_MMAP: return read_mmap(tag, h.size, false, mmap);
	case MB2_FRAMEBUFFER: bootinfo_framebuffer(tag, h.size, &out->framebuffer); return NULL;
	case MB2_EFI_MMAP: *efi_mmap = tag; return NULL;
	case MB2_EFI64:
		if (IS_ENABLED(CONFIG_SMBIOS) && h.size >= sizeof(h) + sizeof(out->efi_table))
			memcpy(&out->efi_table, tag + sizeof(h), sizeof(out->efi_table));
		__attribute__((fallthrough));
	case MB2_EFI32: out->efi = true; return NULL;
	case MB2_EFI_BOOT_SERVICES: return "the boot loader left the EFI boot services running";
	case MB2_ACPI_OLD: return read_rsdp(tag, h.size, false, out);
	case MB2_ACPI_NEW: return read_rsdp(tag, h.size, true, out);
	default: return NULL;
	}
}

const char *bootinfo_parse(const void *mbi, size_t limit, struct bootinfo *out)
{
	/* Too large for the boot stack; boot is single-threaded. */
	static struct raw_map mmap;
	static u64 edge[2 * RAW_MAX];
	const u8 *base = mbi, *efi_mmap = NULL;
	struct mb2_header head;
	struct mb2_tag_header h;
	const char *reason;
	u64 at = sizeof(head);

	memset(out, 0, sizeof(*out));
	mmap.count = mmap.left_out = 0;
	if (limit < sizeof(head))
		return "out of reach";
	memcpy(&head, base, sizeof(head));
	if (head.total_size > limit)
		return "longer than can be read";

	for (;;) {
		if (at + sizeof(h) > head.total_size)
			return "no end tag";
		memcpy(&h, base + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > head.total_size - at)
			return "a tag's length is wrong";
		if (h.type == MB2_END)
			break;
		reason = read_tag(base + at, h, out, &mmap, &efi_mmap);
		if (reason)
			return reason;
		at = ALIGN_UP(at + h.size, 8);
	}
	/*
	 * The loader's own map is made from the firmware's; the EFI one is for loaders that give no
	 * other.
	 */
	if (!mmap.count && efi_mmap) {
		memcpy(&h, efi_mmap, sizeof(h));
		reason = read_mmap(efi_mmap, h.size, true, &mmap);
		if (reason)
			return reason;
	}
	out->left_out = mmap.left_out;
	normalise(&mmap, edge, out);
	if (!bootinfo_usable(out))
		return "there is no usable memory in the memory map";
	return NULL;
}

u64 bootinfo_usable(const struct bootinfo *bi)
{
	u64 sum = 0;

	for (unsigned i = 0; i < bi->nr_ranges; i++)
		if (bi->range[i].type == BOOT_MEMORY_USABLE)
			sum += bi->range[i].end - bi->range[i].start;
	return sum;
}

const char *boot_memory_name(enum boot_memory type)
{
	switch (type) {
	case BOOT_MEMORY_USABLE: return "usable";
	case BOOT_MEMORY_ACPI: return "ACPI tables";
	case BOOT_MEMORY_NVS: return "ACPI NVS";
	case BOOT_MEMORY_BAD: return "bad";
	default: return "reserved";
	}
}
