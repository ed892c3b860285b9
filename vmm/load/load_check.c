/* SPDX-License-Identifier: GPL-2.0-only */
/* What a VM file names, judged by what the files begin with (load_check.h). */
#include "vmm/load/load_check.h"

#include <margay/errno.h>
#include <margay/has.h>
#include <margay/string.h>

#include "vmm/load/bzimage.h"
#include "vmm/load/elf.h"
#include "vmm/load/linux_built.h"
#include "vmm/load/linux_image.h"
#include "vmm/load/multiboot.h"

#define ELF_MACHINE 0x12 /* where an ELF file says for what it is */

#define QCOW2 "QFI\xfb" /* QEMU's docs/interop/qcow2.txt, all versions */

/* What stands where in files that are often taken for a kernel. */
static const struct {
	unsigned at;
	const char *bytes;
	const char *is;
} known[] = {
	{ 0, "\x1f\x8b", "compressed: gunzip it" },
	{ 0,
	  "\xfd"
	  "7zXZ",
	  "compressed: unxz it" },
	{ 0, "\x28\xb5\x2f\xfd", "compressed: unzstd it" },
	{ 0, "070701", "an archive (cpio), as an initrd is" },
	{ 0, QCOW2, "a qcow2 image" },
	{ 0x38, "ARM\x64", "a kernel for ARM64" },
	{ 0x38, "RSC\x05", "a kernel for RISC-V" },
	{ 4, "zimg", "a kernel of another architecture" },
	{ 0, "\177ELF\1", "a program of 32 bits" },
	{ ELF_MACHINE, "\xb7", "a program for ARM64" },
	{ ELF_MACHINE, "\xf3", "a program for RISC-V" },
};

const char *load_hint(const void *data, u64 size)
{
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
		size_t n = strlen(known[i].bytes);

		if (size >= known[i].at + n &&
		    !memcmp((const u8 *)data + known[i].at, known[i].bytes, n) &&
		    (known[i].at != ELF_MACHINE || !memcmp(data, "\177ELF", 4)))
			return known[i].is;
	}
	return NULL;
}

static bool is_qcow2(const void *data, u64 size)
{
	return size >= strlen(QCOW2) && !memcmp(data, QCOW2, strlen(QCOW2));
}

/* As Linux gets it: with what stands behind the names of its modules. */
static int check_cmdline(const struct vm_config *c, u32 max, bool no_clock,
			 struct config_error *err)
{
	size_t n =
		strlen(c->cmdline) + (HAS(CONFIG_VM_TSC_ONLY) && no_clock ? LINUX_TSC_RATE_MAX : 0);

	for (unsigned i = 0; i < c->nr_modules; i++)
		n += c->module[i].args[0] ? 1 + strlen(c->module[i].args) : 0;
	if (n <= max)
		return 0;
	return vm_config_error(
		err, c->file, c->line_cmdline,
		"cmdline: %zu characters with those of module = and the TSC's rate; kernel %s takes %u",
		n, c->kernel, max);
}

/*
 * What brings this kind of kernel, which the image has no loader for; NULL: nothing does. An image
 * itself cannot tell.
 */
static const char *lacks_for(const void *data, u64 size)
{
	if (!HAS(CONFIG_MULTIBOOT) && multiboot_is_kernel(data, size))
		return "a multiboot kernel: needs CONFIG_MULTIBOOT";
	if (IS_ENABLED(CONFIG_VMLINUX) && !HAS(CONFIG_VMLINUX) && elf_is_elf(data, size))
		return "an ELF file: needs CONFIG_VMLINUX";
	return NULL;
}

/* Where there is no PIT. */
static int check_timer(const struct vm_config *c, struct config_error *err)
{
	const char *why = vm_config_linux(c, LINUX_NO_TIMER);

	return why ? vm_config_error(err, c->file, c->line_cmdline,
				     "%s: Linux has no other timer here: leave it out", why)
		   : 0;
}

static int check_kernel(const struct vm_config *c, const void *data, u64 size, bool is_linux,
			struct config_error *err)
{
	const char *why, *hint = load_hint(data, size);
	struct bzimage bz = { .hdr.cmdline_size = LINUX_COMMAND_LINE_MAX };
	struct elf_image elf;

	if (HAS(CONFIG_MULTIBOOT) && !is_linux) {
		if (c->initrd[0])
			return vm_config_error(
				err, c->file, c->line_initrd,
				"initrd = %s: kernel %s is no Linux kernel and takes "
				"none: name what it wants by module =",
				c->initrd, c->kernel);
		why = multiboot_parse(data, size, &elf);
		return why ? vm_config_error(err, c->file, c->line_kernel, "kernel = %s: %s",
					     c->kernel, why)
			   : 0;
	}
	if (bzimage_is_linux(data, size))
		why = bzimage_parse(data, size, &bz);
	else if (!hint && HAS(CONFIG_VMLINUX) && elf_is_elf(data, size))
		why = elf_parse(data, size, &elf);
	else if (!hint && lacks_for(data, size))
		why = lacks_for(data, size);
	else
		why = hint ? hint : "not a Linux kernel image, or truncated";
	if (!why && check_timer(c, err))
		return -EINVAL;
	if (!why)
		return check_cmdline(c, MIN(bz.hdr.cmdline_size, LINUX_COMMAND_LINE_MAX),
				     linux_no_clock(c, data, size), err);
	return vm_config_error(err, c->file, c->line_kernel,
			       "kernel = %s: %s; give a bzImage%s of x86-64 Linux%s", c->kernel,
			       why, HAS(CONFIG_VMLINUX) ? " or vmlinux" : "",
			       HAS(CONFIG_MULTIBOOT) ? ", or a multiboot kernel" : "");
}

int load_check(const struct vm_config *c, const struct vm_config_name *name, const void *data,
	       u64 size, bool *is_linux, struct config_error *err)
{
	if (name->name == c->kernel) {
		*is_linux = !HAS(CONFIG_MULTIBOOT) || !multiboot_is_kernel(data, size);
		return check_kernel(c, data, size, *is_linux, err);
	}
	if (!strcmp(name->key, "disk") && is_qcow2(data, size))
		return vm_config_error(
			err, c->file, name->line,
			"disk = %s: a qcow2 image, whose sectors are not the disk's: "
			"qemu-img convert -O raw makes it one that can be used",
			name->name);
	/* A multiboot kernel may take a module for its name alone. */
	if (size || (name->name != c->initrd && !*is_linux))
		return 0;
	return vm_config_error(err, c->file, name->line, "%s = %s: the file is empty", name->key,
			       name->name);
}
