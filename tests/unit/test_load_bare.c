/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/load/load_vmlinux.c vmm/load/linux_entry.c vmm/load/linux_built.c vmm/config/config_linux.c vmm/load/bzimage.c vmm/load/elf.c @tests/unit/guest_tables.sources */
/*
 * Images without BOOT_LOG have no load_check(): the loaders themselves say what is wrong with a
 * Linux image.
 */
#undef CONFIG_BOOT_LOG
#include "vmm/load/load_linux.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/acpi/guest_acpi.h"
#include "vmm/hvm.h"

static const struct hvm_ops none;
const struct hvm_ops *hvm = &none;
struct hvm_caps hvm_caps;

static u8 image[1024 + 4096];
static struct host_module kernel = {
	.name = "k", .args = "", .data = image, .size = sizeof(image)
};
static struct host_module initrd = { .name = "i", .args = "", .data = image, .size = 100 };

static void refused(struct vm *vm, int err, const char *cmdline, const char *said)
{
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, cmdline), err);
	assert_string_equal(fake_host.log, said);
	fake_host.log[0] = 0;
}

static void test_says_all(void **)
{
	struct vm *vm;

	fake_host_reset();
	vm = fake_vm_create(MIB(64));
	assert_int_equal(guest_acpi_build(vm), 0);
	refused(vm, -ENOEXEC, "",
		"vm0: kernel k: not a Linux kernel image, or truncated; give a bzImage or vmlinux of 64-bit "
		"Linux\n");
	*(struct linux_setup_header *)(image + 0x1f1) = (struct linux_setup_header){
		.setup_sects = 1,
		.syssize = 256,
		.boot_flag = 0xaa55,
		.jump_offset = 0x6a,
		.header = 0x53726448,
		.version = 0x20f,
		.loadflags = 1,
		.initrd_addr_max = 0x7fffffff,
		.kernel_alignment = 0x200000,
		.relocatable_kernel = 1,
		.xloadflags = 1,
		.cmdline_size = 10,
		.pref_address = 0x1000000,
		.init_size = 0x4000,
	};
	refused(vm, 0, "0123456789", "");
	refused(vm, -E2BIG, "0123456789a",
		"vm0: cmdline = has 11 characters, kernel k takes at most 10: shorten it\n");
	initrd.size = 0;
	refused(vm, -ENOEXEC, "", "vm0: i is empty\n");
	initrd.size = MIB(64);
	refused(vm, -ENOMEM, "",
		"vm0: the initrd beside the kernel needs 65536 KiB in one piece of guest RAM, of which there are "
		"64 MiB in all: raise memory =\n");
	kernel.size = 2000;
	refused(vm, -ENOEXEC, "",
		"vm0: kernel k: truncated: shorter than its header says; give a bzImage or vmlinux of 64-bit "
		"Linux\n");
	fake_vm_destroy(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_says_all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
