/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of the Linux loader for uncompressed kernels (vmlinux): ELF segments at their physical
 * addresses.
 */
#include <margay/errno.h>

#include "vmm/load/elf.h"
#include "vmm/load/linux_entry.h"
#include "vmm/load/linux_image.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vm.h"

/* An uncompressed kernel has no setup header: the parts that a running kernel still reads. */
static void default_header(struct linux_setup_header *hdr)
{
	*hdr = (struct linux_setup_header){
		.boot_flag = LINUX_BOOT_FLAG,
		.header = LINUX_HEADER_MAGIC,
		.version = 0x20f,
		.loadflags = LINUX_LOADED_HIGH,
		.xloadflags = LINUX_XLF_KERNEL_64 | LINUX_XLF_CAN_BE_LOADED_ABOVE_4G,
		.initrd_addr_max = 0x7fffffff,
		.cmdline_size = LINUX_COMMAND_LINE_MAX,
	};
}

/* All of a segment in one place of RAM above 1 MiB that the entry page tables reach. */
static bool segment_fits(struct vm *vm, const struct elf_segment *s)
{
	return s->paddr >= LINUX_LOW_GUARD && s->paddr + s->memsz <= LINUX_ENTRY_MAPPED &&
	       guest_ptr(vm, gpa(s->paddr), s->memsz);
}

int load_vmlinux(struct linux_load *l, const struct host_module *kernel)
{
	struct vm *vm = l->vm;
	struct elf_image img;
	const char *why = elf_parse(kernel->data, kernel->size, &img);
	u64 end = 0;

	if (why)
		return load_refuse(l, why);
	if (!img.bits64)
		return load_refuse(l, "not an x86-64 ELF file");
	l->kernel = ~0ull;
	for (unsigned i = 0; i < img.count; i++) {
		const struct elf_segment *s = &img.segment[i];
		int err;

		if (!segment_fits(vm, s)) {
			vm_refuse(
				vm, memory,
				"kernel %s: its segment at %#lx with %lu KiB lies outside guest RAM: raise memory =, "
				"or give a bzImage",
				l->name, s->paddr, s->memsz >> 10);
			return -ENOMEM;
		}
		err = guest_write(vm, gpa(s->paddr), (const u8 *)kernel->data + s->offset,
				  s->filesz);
		if (!err)
			err = guest_zero(vm, gpa(s->paddr + s->filesz), s->memsz - s->filesz);
		if (err)
			return err;
		l->kernel = MIN(l->kernel, s->paddr);
		end = MAX(end, s->paddr + s->memsz);
	}
	l->kernel_size = end - l->kernel;
	default_header(&l->hdr);
	vm->entry_rip = img.entry;
	return 0;
}
