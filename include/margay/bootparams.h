/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linux' x86 boot protocol: the setup header of a bzImage and the parts of
 * struct boot_params ("zero page") that a loader fills in (Linux,
 * Documentation/x86/boot.rst and zero-page.rst).
 */
#ifndef MARGAY_BOOTPARAMS_H
#define MARGAY_BOOTPARAMS_H

#include <margay/types.h>

/* At 0x1f1 in the file and in boot_params. */
struct linux_setup_header {
	u8 setup_sects;
	u16 root_flags;
	u32 syssize; /* protected-mode part, 16-byte units */
	u16 ram_size;
	u16 vid_mode;
	u16 root_dev;
	u16 boot_flag;
	u8 jump_opcode;
	u8 jump_offset; /* the header ends at 0x202 + this */
	u32 header;
	u16 version;
	u32 realmode_swtch;
	u16 start_sys_seg;
	u16 kernel_version;
	u8 type_of_loader;
	u8 loadflags;
	u16 setup_move_size;
	u32 code32_start;
	u32 ramdisk_image;
	u32 ramdisk_size;
	u32 bootsect_kludge;
	u16 heap_end_ptr;
	u8 ext_loader_ver;
	u8 ext_loader_type;
	u32 cmd_line_ptr;
	u32 initrd_addr_max;
	u32 kernel_alignment;
	u8 relocatable_kernel;
	u8 min_alignment;
	u16 xloadflags;
	u32 cmdline_size;
	u32 hardware_subarch;
	u64 hardware_subarch_data;
	u32 payload_offset;
	u32 payload_length;
	u64 setup_data;
	u64 pref_address;
	u32 init_size;
	u32 handover_offset;
	u32 kernel_info_offset;
} __packed;
#define LINUX_SETUP_HEADER_OFFSET 0x1f1
static_assert(LINUX_SETUP_HEADER_OFFSET + offsetof(struct linux_setup_header, header) == 0x202,
	      "boot.rst");
static_assert(LINUX_SETUP_HEADER_OFFSET + offsetof(struct linux_setup_header, ramdisk_image) ==
		      0x218,
	      "boot.rst");
static_assert(LINUX_SETUP_HEADER_OFFSET + offsetof(struct linux_setup_header, xloadflags) == 0x236,
	      "boot.rst");
static_assert(LINUX_SETUP_HEADER_OFFSET + offsetof(struct linux_setup_header, init_size) == 0x260,
	      "boot.rst");
static_assert(LINUX_SETUP_HEADER_OFFSET + sizeof(struct linux_setup_header) == 0x26c, "boot.rst");

#define LINUX_BOOT_FLAG 0xaa55
#define LINUX_HEADER_MAGIC 0x53726448u /* "HdrS" */
#define LINUX_LOADER_UNDEFINED 0xff
#define LINUX_LOADED_HIGH BIT(0)
#define LINUX_XLF_KERNEL_64 BIT(0)
#define LINUX_XLF_CAN_BE_LOADED_ABOVE_4G BIT(1)
#define LINUX_ENTRY64_OFFSET 0x200

#define LINUX_E820_MAX 128

struct linux_boot_params {
	u8 screen_info[0x40];
	u8 apm_etc[0x30];
	u64 acpi_rsdp_addr;
	u8 drive_info_etc[0x48];
	u32 ext_ramdisk_image;
	u32 ext_ramdisk_size;
	u32 ext_cmd_line_ptr;
	u8 efi_etc[0x11c];
	u8 e820_entries;
	u8 eddbuf_etc[6];
	u8 sentinel; /* 0: the loader cleared what it does not know */
	u8 pad;
	struct linux_setup_header hdr;
	u8 hdr_room[0x24]; /* later headers are longer; they end before 0x290 */
	u8 edd_mbr_sig[0x40];
	u8 e820_table[LINUX_E820_MAX * 20];
	u8 rest[0x1000 - 0xcd0];
} __packed;
static_assert(offsetof(struct linux_boot_params, acpi_rsdp_addr) == 0x70, "zero-page.rst");
static_assert(offsetof(struct linux_boot_params, ext_ramdisk_image) == 0xc0, "zero-page.rst");
static_assert(offsetof(struct linux_boot_params, e820_entries) == 0x1e8, "zero-page.rst");
static_assert(offsetof(struct linux_boot_params, sentinel) == 0x1ef, "zero-page.rst");
static_assert(offsetof(struct linux_boot_params, hdr) == LINUX_SETUP_HEADER_OFFSET,
	      "zero-page.rst");
static_assert(offsetof(struct linux_boot_params, edd_mbr_sig) == 0x290, "zero-page.rst");
static_assert(offsetof(struct linux_boot_params, e820_table) == 0x2d0, "zero-page.rst");
static_assert(sizeof(struct linux_boot_params) == 0x1000, "zero-page.rst");

#endif
