/* SPDX-License-Identifier: GPL-2.0-only */
/* The bzImage reader: nothing in the file is believed before it is checked. */
#include "vmm/load/bzimage.h"

#include <margay/string.h>

#define SECTOR 512u
#define DEFAULT_SETUP_SECTS 4
#define MIN_PROTOCOL 0x20c
#define HEADER_BASE 0x202u /* the header ends at this plus the jump's offset */
#define MAX_ALIGN GIB(1)

bool bzimage_is_linux(const void *data, u64 size)
{
	u32 magic;

	if (size < HEADER_BASE + sizeof(magic))
		return false;
	memcpy(&magic, (const u8 *)data + HEADER_BASE, sizeof(magic));
	return magic == LINUX_HEADER_MAGIC;
}

/* The header as far as the file's own goes. */
static const char *read_header(const u8 *data, u64 size, struct linux_setup_header *hdr)
{
	size_t end = HEADER_BASE, want;

	memset(hdr, 0, sizeof(*hdr));
	if (size < SECTOR * 2)
		return "truncated inside its header";
	end += data[HEADER_BASE - 1];
	want = MIN(end - LINUX_SETUP_HEADER_OFFSET, sizeof(*hdr));
	memcpy(hdr, data + LINUX_SETUP_HEADER_OFFSET, want);
	if (hdr->boot_flag != LINUX_BOOT_FLAG)
		return "damaged: boot flag 0xaa55 is missing";
	if (hdr->version < MIN_PROTOCOL)
		return "too old: boot protocol 2.12 or later is needed";
	if (!(hdr->xloadflags & LINUX_XLF_KERNEL_64))
		return "not a 64-bit kernel";
	if (!hdr->relocatable_kernel || !(hdr->loadflags & LINUX_LOADED_HIGH))
		return "not a relocatable bzImage";
	return NULL;
}

const char *bzimage_parse(const void *data, u64 size, struct bzimage *out)
{
	struct linux_setup_header *hdr = &out->hdr;
	const char *reason = read_header(data, size, hdr);

	if (reason)
		return reason;
	out->offset =
		((u64)(hdr->setup_sects ? hdr->setup_sects : DEFAULT_SETUP_SECTS) + 1) * SECTOR;
	out->size = (u64)hdr->syssize * 16;
	if (out->offset >= size || out->size > size - out->offset)
		return "truncated: shorter than its header says";
	if (out->size < LINUX_ENTRY64_OFFSET + SECTOR)
		return "damaged: its header gives no protected-mode part";
	if (hdr->payload_offset > out->size ||
	    hdr->payload_length > out->size - hdr->payload_offset)
		return "damaged: its compressed part lies beyond its end";
	out->align = hdr->kernel_alignment;
	if (out->align < PAGE_SIZE || out->align > MAX_ALIGN || (out->align & (out->align - 1)))
		return "damaged: its alignment is no power of two";
	out->memory = MAX((u64)hdr->init_size, out->size);
	return NULL;
}
