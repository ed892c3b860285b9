/* SPDX-License-Identifier: GPL-2.0-only */
/* The Linux loader: places the image, the initrd and what the 64-bit boot protocol hands over. */
#include "vmm/load/load_linux.h"

#include <margay/bootparams.h>
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/load/bzimage.h"
#include "vmm/load/elf.h"
#include "vmm/load/linux_built.h"
#include "vmm/load/linux_entry.h"
#include "vmm/load/linux_image.h"
#include "vmm/load/loader.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/slots/slot.h"
#include "vmm/vm_parts.h"

#define KERNEL_MIN 0x1000000ull      /* 16 MiB, as Linux' own LOAD_PHYSICAL_ADDR */
#define INITRD_MAX_OLD 0x37ffffffull /* for a kernel that does not say */
/* of a cpio's headers: Documentation/driver-api/early-userspace/buffer-format.rst */
#define ARCHIVE_ALIGN 4

/* A bad image: what, and what to do. */
int load_refuse(const struct linux_load *l, const char *why)
{
	load_tell(l->vm, "kernel %s: %s; give a bzImage%s of 64-bit Linux", l->name, why,
		  IS_ENABLED(CONFIG_VMLINUX) ? " or vmlinux" : "");
	return -ENOEXEC;
}

static int refuse_room(const struct linux_load *l, const char *what, u64 size)
{
	vm_refuse(
		l->vm, memory,
		"%s needs %lu KiB in one piece of guest RAM, of which there are %lu MiB in all: raise memory =",
		what, (size + 1023) >> 10, gpa_map_size(&vm_parts(l->vm)->map) >> 20);
	return -ENOMEM;
}

/* Lowest aligned address >= min with size bytes of RAM below limit; 0: none. */
static u64 find_low(const struct gpa_map *map, u64 min, u64 limit, u64 size, u64 align)
{
	if (min > limit)
		return 0;
	for (unsigned i = 0; i < map->count; i++) {
		const struct gpa_region *r = &map->region[i];
		u64 start = ALIGN_UP(MAX(r->gpa, min), align), end = MIN(r->gpa + r->size, limit);

		if (start < end && size <= end - start)
			return start;
	}
	return 0;
}

/*
 * Highest page-aligned address in [min, limit) with size bytes of RAM, clear of the kernel; 0:
 * none.
 */
static u64 find_high(const struct linux_load *l, u64 min, u64 limit, u64 size)
{
	const struct gpa_map *map = &vm_parts(l->vm)->map;

	for (unsigned i = map->count; i-- > 0;) {
		const struct gpa_region *r = &map->region[i];
		u64 start = MAX(r->gpa, min), end = MIN(r->gpa + r->size, limit), at;

		if (start >= end || size > end - start)
			continue;
		at = ALIGN_DOWN(end - size, PAGE_SIZE);
		if (at >= start && (at >= l->kernel + l->kernel_size || at + size <= l->kernel))
			return at;
		/* The kernel is in the way: below it. */
		end = MIN(end, l->kernel);
		if (start < end && size <= end - start &&
		    ALIGN_DOWN(end - size, PAGE_SIZE) >= start)
			return ALIGN_DOWN(end - size, PAGE_SIZE);
	}
	return 0;
}

static int load_bzimage(struct linux_load *l, const struct host_module *kernel)
{
	struct vm *vm = l->vm;
	const struct gpa_map *map = &vm_parts(vm)->map;
	struct bzimage img;
	const char *why = bzimage_parse(kernel->data, kernel->size, &img);

	if (why)
		return load_refuse(l, why);
	/* Where it wants to be, else the lowest place; the entry page tables reach 4 GiB. */
	l->kernel = find_low(map, MAX(img.hdr.pref_address, LINUX_LOW_GUARD), LINUX_ENTRY_MAPPED,
			     img.memory, img.align);
	if (!l->kernel)
		l->kernel = find_low(map, KERNEL_MIN, LINUX_ENTRY_MAPPED, img.memory, img.align);
	/* Where addresses are the host's all RAM may lie above. */
	if (!l->kernel && img.hdr.xloadflags & LINUX_XLF_CAN_BE_LOADED_ABOVE_4G)
		l->kernel = find_low(map, LINUX_ENTRY_MAPPED, ~0ull, img.memory, img.align);
	if (!l->kernel)
		return refuse_room(l, "the kernel", img.memory);
	l->kernel_size = img.memory;
	l->hdr = img.hdr;
	vm->entry_rip = l->kernel + LINUX_ENTRY64_OFFSET;
	return guest_write(vm, gpa(l->kernel), (const u8 *)kernel->data + img.offset, img.size);
}

/* High, so that the kernel finds its own places; above 4 GiB only where nothing below will do. */
static int place_initrd(struct linux_load *l, u64 size)
{
	u64 limit = (u64)(l->hdr.initrd_addr_max ? l->hdr.initrd_addr_max : INITRD_MAX_OLD) + 1;

	l->initrd = find_high(l, LINUX_LOW_GUARD, limit, size);
	if (!l->initrd && l->hdr.xloadflags & LINUX_XLF_CAN_BE_LOADED_ABOVE_4G)
		l->initrd = find_high(l, LINUX_LOW_GUARD, ~0ull, size);
	if (!l->initrd)
		return refuse_room(l, "the initrd beside the kernel", size);
	l->initrd_size = size;
	return 0;
}

/*
 * Archives one behind the other, each aligned: Linux unpacks all of them, and a later one's file
 * replaces an earlier one's.
 */
static int load_initrd(struct linux_load *l, const struct host_module *const *part, unsigned parts)
{
	u64 size = 0, at;
	int err;

	for (unsigned i = 0; i < parts; i++) {
		if (!part[i]->size) {
			load_tell(l->vm, "%s is empty", part[i]->name);
			return -ENOEXEC;
		}
		size = ALIGN_UP(size, ARCHIVE_ALIGN) + part[i]->size;
	}
	err = place_initrd(l, size);
	at = l->initrd;
	for (unsigned i = 0; !err && i < parts; i++) {
		err = guest_write(l->vm, gpa(at), part[i]->data, part[i]->size);
		at += ALIGN_UP(part[i]->size, ARCHIVE_ALIGN);
	}
	return err;
}

/* The words of a kernel that has not KVM's clock; returns how many characters. */
static int put_tsc_rate(const struct linux_load *l, char *text, size_t size)
{
	if (!l->no_clock)
		return 0;
	vm_note(l->vm, "kernel %s: %s: it is told the rate of its TSC, %lu kHz", l->name,
		l->no_clock, host_tsc_khz());
	return snprintf(text, size, "%s" LINUX_TSC_RATE,
			host_tsc_stable() ? LINUX_TSC_RELIABLE : "", host_tsc_khz());
}

static int put_command_line(struct linux_load *l, const char *cmdline)
{
	const struct vm_config *c = l->vm->config;
	u32 max = MIN(l->hdr.cmdline_size, LINUX_COMMAND_LINE_MAX);
	char text[LINUX_COMMAND_LINE_MAX + 1 + LINUX_TSC_RATE_MAX +
		  VM_MODULES_MAX * (VM_MODULE_ARGS_MAX + 1)];
	int n = IS_ENABLED(CONFIG_VM_TSC_ONLY) ? put_tsc_rate(l, text, sizeof(text)) : 0;

	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", cmdline);
	for (unsigned i = 0; i < vm_config_modules(c); i++)
		if (c->module[i].args[0])
			n += snprintf(text + n, sizeof(text) - (size_t)n, " %s", c->module[i].args);
	if ((u32)n > max) {
		/* load_check() does not know what a kernel has shown. */
		if (!IS_ENABLED(CONFIG_BOOT_LOG) || l->no_clock)
			vm_tell(l->vm,
				"cmdline = has %d characters, kernel %s takes at most %u: shorten it",
				n, l->name, max);
		return -E2BIG;
	}
	return guest_write(l->vm, gpa(LINUX_COMMAND_LINE), text, (u64)n + 1);
}

static int put_boot_params(struct linux_load *l)
{
	struct vm *vm = l->vm;
	struct linux_boot_params *bp = guest_ptr(vm, gpa(LINUX_BOOT_PARAMS), sizeof(*bp));
	unsigned n;

	if (!bp)
		return refuse_room(l, "the boot information", sizeof(*bp));
	memset(bp, 0, sizeof(*bp));
	bp->hdr = l->hdr;
	bp->hdr.type_of_loader = LINUX_LOADER_UNDEFINED;
	bp->hdr.code32_start = (u32)l->kernel;
	bp->hdr.cmd_line_ptr = LINUX_COMMAND_LINE;
	bp->hdr.setup_data = 0;
	bp->hdr.ramdisk_image = (u32)l->initrd;
	bp->hdr.ramdisk_size = (u32)l->initrd_size;
	bp->ext_ramdisk_image = (u32)(l->initrd >> 32);
	bp->ext_ramdisk_size = (u32)(l->initrd_size >> 32);
	bp->acpi_rsdp_addr = vm->rsdp.v;
	n = gpa_map_e820(&vm_parts(vm)->map, GUEST_ACPI_BASE, GUEST_ACPI_SIZE,
			 (struct e820_entry *)bp->e820_table, LINUX_E820_MAX);
	bp->e820_entries = (u8)n;
	return 0;
}

/* Does it use KVM's clock, as far as it tells, or has shown? */
static void ask_kernel(struct linux_load *l, const struct host_module *kernel)
{
	struct vm *vm = l->vm;

	l->no_clock = linux_no_clock(vm->config, kernel->data, kernel->size);
	if (!l->no_clock && monitor_slots[vm->id].without & LINUX_NO_CLOCK)
		l->no_clock = "it did not use KVM's clock";
	vm->told_rate = l->no_clock;
	vm->is_linux = bzimage_is_linux(kernel->data, kernel->size) ||
		       !(linux_built_without(kernel->data, kernel->size) & LINUX_BUILT_UNKNOWN);
}

int load_linux(struct vm *vm, const struct host_module *kernel,
	       const struct host_module *const *module, const struct host_module *initrd,
	       const char *cmdline)
{
	struct linux_load l = { .vm = vm, .name = kernel->name };
	const struct host_module *part[VM_MODULES_MAX + 1] = { NULL };
	unsigned parts = vm_config_modules(vm->config);
	int err;

	if (IS_ENABLED(CONFIG_VM_TSC_ONLY))
		ask_kernel(&l, kernel);
	if (bzimage_is_linux(kernel->data, kernel->size))
		err = load_bzimage(&l, kernel);
	else if (IS_ENABLED(CONFIG_VMLINUX) && elf_is_elf(kernel->data, kernel->size))
		err = load_vmlinux(&l, kernel);
	else
		err = load_refuse(&l, "not a Linux kernel image, or truncated");
	for (unsigned i = 0; i < parts; i++)
		part[i] = module[i];
	if (initrd)
		part[parts++] = initrd;
	if (!err && parts)
		err = load_initrd(&l, part, parts);
	if (!err)
		err = put_command_line(&l, cmdline);
	if (!err)
		err = put_boot_params(&l);
	if (!err)
		err = linux_entry_tables(vm, l.kernel, l.kernel_size);
	vm->entry_info = LINUX_BOOT_PARAMS;
	vm->entry_state = load_linux_entry_state;
	return err;
}
