/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what the boot loader told us (Multiboot2 specification 2.0,
 * section 3.6), copied out of the loader's memory so that nothing of it has to
 * be kept.
 */
#ifndef KERNEL_BOOTINFO_H
#define KERNEL_BOOTINFO_H

#include <margay/acpi.h>
#include <margay/types.h>

#define MULTIBOOT2_LOADER_MAGIC 0x36d76289u /* in EAX at entry */

#define BOOTINFO_RANGES 1024
#define BOOTINFO_MODULES 64
#define BOOTINFO_CMDLINE 1024
#define BOOTINFO_MODULE_STRING 256

/* In order of strength: where two entries of the firmware's map overlap, the higher type wins. */
enum boot_memory {
	BOOT_MEMORY_NONE = 0,
	BOOT_MEMORY_USABLE,
	BOOT_MEMORY_ACPI, /* ACPI tables, reclaimable */
	BOOT_MEMORY_NVS,
	BOOT_MEMORY_RESERVED,
	BOOT_MEMORY_BAD,
};

struct boot_range {
	/* page aligned, end exclusive */
	u64 start;
	u64 end;

	enum boot_memory type;
};

struct boot_module {
	/* physical, end exclusive */
	u64 start;
	u64 end;
	char string[BOOTINFO_MODULE_STRING]; /* as given after the file's path */
};

/* What there is to draw on: "framebuffer info", 3.6.12. */
enum boot_screen {
	BOOT_SCREEN_NONE,
	BOOT_SCREEN_BAD_TAG,
	BOOT_SCREEN_PALETTE,
	BOOT_SCREEN_RGB,
	BOOT_SCREEN_TEXT
};

/* As the loader says it; who draws checks it (kernel/console/raster.h). */
struct boot_framebuffer {
	enum boot_screen type;
	u64 address;
	/* bytes of a line; pixels */
	u32 pitch;
	u32 width;
	u32 height;
	u8 bpp;     /* bits of a pixel */
	/* red, green, blue: the lowest bit, how many bits; 0 unless the type is RGB */
	u8 color[3][2];
};

struct bootinfo {
	/* pieces of the firmware's map that were too many: not used */
	unsigned nr_ranges;
	unsigned left_out;
	/* sorted, no overlaps, no two adjacent ones of one type */
	struct boot_range range[BOOTINFO_RANGES];
	unsigned nr_modules;
	struct boot_module module[BOOTINFO_MODULES]; /* in boot order */
	char cmdline[BOOTINFO_CMDLINE];
	char loader[64];
	bool has_rsdp;
	/* the newest copy given; not verified; rev 0: 20 bytes, the rest 0 */
	struct acpi_rsdp rsdp;
	bool efi;              /* loaded by an EFI firmware */
	u64 efi_table; /* physical address of its system table, of 64 bits; 0: not known */
	struct boot_framebuffer framebuffer; /* only with CONFIG_SCREEN */
};

#if IS_ENABLED(CONFIG_SCREEN)
/*
 * The framebuffer tag of `size` bytes, its head among them. Never an error: then there is no
 * screen.
 */
void bootinfo_framebuffer(const void *tag, u32 size, struct boot_framebuffer *out);
#else
static inline void bootinfo_framebuffer(const void *, u32, struct boot_framebuffer *) { }
#endif

/*
 * Parses the information structure; `limit`: how many bytes from `mbi` on may
 * be read at all. Returns NULL, or what is wrong with it, and then *out is
 * unusable.
 */
const char *bootinfo_parse(const void *mbi, size_t limit, struct bootinfo *out);

/* Bytes of usable memory. */
u64 bootinfo_usable(const struct bootinfo *bi);

#if IS_ENABLED(CONFIG_BOOT_LOG)
/*
 * The most in one piece that a boot loader could use for a module, whose addresses have 32 bits
 * (Multiboot2 3.6.6); bytes.
 */
u64 bootinfo_module_room(const struct bootinfo *bi);
#else
static inline u64 bootinfo_module_room(const struct bootinfo *)
{
	return 0;
}
#endif

/* Is any of it usable memory? */
static inline bool bootinfo_is_usable(const struct bootinfo *bi, u64 from, u64 to)
{
	for (unsigned i = 0; i < bi->nr_ranges; i++)
		if (bi->range[i].type == BOOT_MEMORY_USABLE && bi->range[i].start < to &&
		    from < bi->range[i].end)
			return true;
	return false;
}

const char *boot_memory_name(enum boot_memory type);

/* What was parsed at boot; boot.c has it. */
const struct bootinfo *bootinfo_of_boot(void);

#endif
