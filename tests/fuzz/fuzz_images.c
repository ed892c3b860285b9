/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/load/bzimage.c vmm/load/elf.c vmm/load/multiboot.c */
/* FUZZ: -max_len=600 */
/*
 * Fuzzes the kernel image readers: bzImage, ELF, multiboot. Byte 0 of the input chooses the reader
 * and how much of a good header is put in, byte 1 how many zeros follow. Checked: what an accepted
 * image names lies inside the file.
 */
#include "tests/fuzz/fuzz.h"
#include "vmm/load/bzimage.h"
#include "vmm/load/elf.h"
#include "vmm/load/multiboot.h"

#define ROOM 24576

static void bzimage(const u8 *file, size_t size)
{
	struct bzimage b;
	const char *why;

	if (!bzimage_is_linux(file, size))
		return;
	why = bzimage_parse(file, size, &b);
	if (why) {
		CHECK(*why);
		return;
	}
	CHECK(b.offset < size && b.size <= size - b.offset && b.size > LINUX_ENTRY64_OFFSET &&
	      b.memory >= b.size);
	CHECK(b.align >= PAGE_SIZE && !(b.align & (b.align - 1)));
	CHECK(b.hdr.version >= 0x20c);
}

static void check_segments(const struct elf_image *e, size_t size)
{
	bool entry = false;

	CHECK(e->count && e->count <= ELF_MAX_SEGMENTS);
	for (unsigned i = 0; i < e->count; i++) {
		const struct elf_segment *s = &e->segment[i];

		CHECK(s->offset <= size && s->filesz <= size - s->offset && s->filesz <= s->memsz);
		CHECK(s->paddr + s->memsz >= s->paddr);
		entry |= e->entry - s->paddr < s->memsz;
	}
	CHECK(entry);
}

static void elf(const u8 *file, size_t size)
{
	struct elf_image e;
	const char *why;

	if (!elf_is_elf(file, size))
		return;
	why = elf_parse(file, size, &e);
	if (why)
		CHECK(*why);
	else
		check_segments(&e, size);
}

static void multiboot(const u8 *file, size_t size)
{
	struct elf_image e;
	const char *why;

	if (!multiboot_is_kernel(file, size))
		return;
	why = multiboot_parse(file, size, &e);
	if (why)
		CHECK(*why);
	else
		check_segments(&e, size);
}

/* A multiboot header at the end: its magic, flags that are there, their checksum. */
static void mend_multiboot(u8 *p, size_t size)
{
	u32 header[3] = { 0x1badb002 };
	u8 *at = p + (size >= 32 ? (size - 32) & ~3ul : 0);

	if (size < 32)
		return;
	memcpy(&header[1], at + 4, 4);
	header[2] = -(header[0] + header[1]);
	memcpy(at, header, sizeof(header));
}

/* What every image of the kind has, at its place. */
static void mend(u8 *p, size_t size, bool is_elf)
{
	if (is_elf && size >= 64) {
		bool wide = !(p[4] & 1);

		memcpy(p, wide ? "\177ELF\2\1\1" : "\177ELF\1\1\1", 7);
		p[0x10] = 2;
		p[0x12] = wide ? 62 : 3;
		if (wide)
			p[0x36] = 56;
		else
			p[0x2a] = 32;
	} else if (!is_elf && size >= 0x210) {
		p[0x1fe] = 0x55;
		p[0x1ff] = 0xaa;
		memcpy(p + 0x202, "HdrS", 4);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static u8 room[ROOM];
	size_t head, total;
	bool is_elf;
	u8 *file;

	if (size < 2)
		return 0;
	is_elf = data[0] & 1;
	/* A bzImage's header begins at 0x1f1: what comes before may be left out of the input. */
	head = !is_elf && data[0] & 2 ? LINUX_SETUP_HEADER_OFFSET : 0;
	total = MIN(head + size - 2, (size_t)ROOM);
	memset(room, 0, head);
	memcpy(room + head, data + 2, total - head);
	if (data[0] & 8) {
		size_t more = MIN((size_t)data[1] * 64, ROOM - total);

		memset(room + total, 0, more);
		total += more;
	}
	file = fuzz_copy(room, total);
	if (data[0] & 4)
		mend(file, total, is_elf);
	if (data[0] & 16)
		mend_multiboot(file, total);
	multiboot(file, total);
	if (is_elf)
		elf(file, total);
	else
		bzimage(file, total);
	free(file);
	return 0;
}
