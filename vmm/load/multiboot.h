/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: a multiboot kernel's header and what it is handed (Multiboot Specification 0.6.96,
 * 3.1-3.3).
 */
#ifndef VMM_MULTIBOOT_H
#define VMM_MULTIBOOT_H

#include <margay/types.h>
#include "vmm/load/elf.h"

#define MULTIBOOT_LOADED_MAGIC 0x2badb002u /* EAX at the entry */

/* Bits of multiboot_info.flags. */
#define MULTIBOOT_INFO_MEMORY BIT(0)
#define MULTIBOOT_INFO_CMDLINE BIT(2)
#define MULTIBOOT_INFO_MODS BIT(3)
#define MULTIBOOT_INFO_MMAP BIT(6)
#define MULTIBOOT_INFO_LOADER_NAME BIT(9)

/* The boot information that EBX points to, up to the last field that we fill in. */
struct multiboot_info {
	u32 flags;
	/* KiB from 0 and from 1 MiB */
	u32 mem_lower;
	u32 mem_upper;

	u32 boot_device;
	u32 cmdline;
	u32 mods_count;
	u32 mods_addr;
	u32 syms[4];
	u32 mmap_length;
	u32 mmap_addr;
	u32 drives_length;
	u32 drives_addr;
	u32 config_table;
	u32 boot_loader_name;
	u32 apm_table;
	u32 vbe[4];
};
static_assert(offsetof(struct multiboot_info, boot_loader_name) == 64 &&
		      sizeof(struct multiboot_info) == 88,
	      "Multiboot 3.3");

struct multiboot_module {
	u32 start;
	u32 end;
	u32 string;
	u32 reserved;
};
static_assert(sizeof(struct multiboot_module) == 16, "Multiboot 3.3, modules");

struct multiboot_mmap {
	u32 size; /* of the rest */
	u64 addr;
	u64 length;
	u32 type;
} __packed;
static_assert(sizeof(struct multiboot_mmap) == 24, "Multiboot 3.3, memory map");

#if IS_ENABLED(CONFIG_MULTIBOOT)
/* Is there a multiboot header, whatever it asks for? */
bool multiboot_is_kernel(const void *data, u64 size);
#else
/* None that is looked for. */
static inline bool multiboot_is_kernel(const void *, u64)
{
	return false;
}
#endif

/*
 * What to load and where to enter: from the header's own address fields when it
 * has them, else as an ELF file. NULL, or a short text why not: the
 * header asks for what we cannot give, or the file is damaged.
 */
const char *multiboot_parse(const void *data, u64 size, struct elf_image *out);

#endif
