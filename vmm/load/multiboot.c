/* SPDX-License-Identifier: GPL-2.0-only */
/* The reader of multiboot headers: nothing in the file is believed before it is checked. */
#include "vmm/load/multiboot.h"

#include <margay/string.h>

#define HEADER_MAGIC 0x1badb002u
#define SEARCHED 8192u /* the header lies whole within these first bytes, aligned to 4 */

/* Bits 15:0 of the flags are demands, the others offers (3.1.2). */
#define WANTS_PAGE_ALIGN BIT(0)
#define WANTS_MEMORY BIT(1)
#define WANTS_VIDEO BIT(2)
#define DEMANDS 0xffffu
#define HAS_ADDRESSES BIT(16)

struct header {
	u32 magic;
	u32 flags;
	u32 checksum;
	/* Only with HAS_ADDRESSES. */
	u32 header_addr;
	u32 load_addr;
	u32 load_end_addr;
	u32 bss_end_addr;
	u32 entry_addr;
};
#define SHORT_HEADER offsetof(struct header, header_addr)

/* Offset of the header in the file; ~0: none. */
static u64 find_header(const u8 *data, u64 size, struct header *out)
{
	u64 end = MIN(size, (u64)SEARCHED);

	for (u64 at = 0; at + SHORT_HEADER <= end; at += 4) {
		memset(out, 0, sizeof(*out));
		memcpy(out, data + at, MIN(sizeof(*out), end - at));
		if (out->magic == HEADER_MAGIC && out->magic + out->flags + out->checksum == 0)
			return at;
	}
	return ~0ull;
}

bool multiboot_is_kernel(const void *data, u64 size)
{
	struct header h;

	return find_header(data, size, &h) != ~0ull;
}

/* The header's own addresses: one segment, which holds the header (3.1.3). */
static const char *parse_addresses(const struct header *h, u64 at, u64 size, struct elf_image *out)
{
	/* bytes of the segment before the header */
	u64 before = (u64)h->header_addr - h->load_addr;
	struct elf_segment s = { .vaddr = h->load_addr, .paddr = h->load_addr };

	if (h->header_addr < h->load_addr || before > at)
		return "damaged: its multiboot load_addr and header_addr contradict each other";
	s.offset = at - before;
	s.filesz = h->load_end_addr ? (u64)h->load_end_addr - h->load_addr : size - s.offset;
	if ((h->load_end_addr && h->load_end_addr < h->load_addr) || s.filesz > size - s.offset)
		return "truncated: its multiboot load_end_addr lies beyond its end";
	s.memsz = s.filesz;
	if (h->bss_end_addr > h->load_addr)
		s.memsz = MAX(s.memsz, (u64)h->bss_end_addr - h->load_addr);
	if (h->entry_addr - s.paddr >= s.memsz)
		return "damaged: its multiboot entry_addr is not in what it loads";
	*out = (struct elf_image){ .entry = h->entry_addr, .count = 1, .segment = { s } };
	return NULL;
}

const char *multiboot_parse(const void *data, u64 size, struct elf_image *out)
{
	struct header h;
	u64 at = find_header(data, size, &h);

	if (at == ~0ull)
		return "has no multiboot header";
	if (h.flags & WANTS_VIDEO)
		return "its multiboot header demands a video mode, which a VM does not have";
	if (h.flags & DEMANDS & ~(WANTS_PAGE_ALIGN | WANTS_MEMORY))
		return "its multiboot header demands what the specification 0.6.96 does not define";
	if (!(h.flags & HAS_ADDRESSES))
		return elf_parse(data, size, out);
	if (at + sizeof(h) > MIN(size, (u64)SEARCHED))
		return "truncated: its multiboot header ends beyond the first 8 KiB or the file";
	return parse_addresses(&h, at, size, out);
}
