/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the framebuffer tag of the Multiboot2 information (3.6.12). The
 * specification's text gives one reserved byte in front of the colours, its
 * header file and GRUB two: these are right.
 */
#include <margay/string.h>
#include "kernel/boot/bootinfo.h"

struct mb2_framebuffer {
	u32 tag;
	u32 size;
	u64 address;
	u32 pitch;
	u32 width;
	u32 height;
	u8 bpp;
	u8 type;
	u16 reserved;
} __packed;
static_assert(sizeof(struct mb2_framebuffer) == 32, "Multiboot2 framebuffer");

void bootinfo_framebuffer(const void *tag, u32 size, struct boot_framebuffer *out)
{
	static const enum boot_screen types[] = { BOOT_SCREEN_PALETTE, BOOT_SCREEN_RGB,
						  BOOT_SCREEN_TEXT };
	struct mb2_framebuffer f;

	*out = (struct boot_framebuffer){ .type = BOOT_SCREEN_BAD_TAG };
	if (size < sizeof(f))
		return;
	memcpy(&f, tag, sizeof(f));
	if (f.type >= ARRAY_SIZE(types) ||
	    (types[f.type] == BOOT_SCREEN_RGB && size < sizeof(f) + sizeof(out->color)))
		return;
	*out = (struct boot_framebuffer){
		.type = types[f.type],
		.address = f.address,
		.pitch = f.pitch,
		.width = f.width,
		.height = f.height,
		.bpp = f.bpp,
	};
	if (out->type == BOOT_SCREEN_RGB)
		memcpy(out->color, (const u8 *)tag + sizeof(f), sizeof(out->color));
}
