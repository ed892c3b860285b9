/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/load/load_check.c vmm/load/linux_built.c vmm/load/bzimage.c vmm/load/elf.c vmm/load/multiboot.c @tests/unit/vm_files.sources lib/span.c */
/*
 * What a VM file names, judged by the files' beginnings: kernels, and what operators take for one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/bootparams.h>
#include "vmm/config/config.h"
#include "vmm/load/load_check.h"

#define SIZE 8192
#define TOO_LONG "characters with those of module = and the TSC's rate; kernel k takes"
#define GIVE "; give a bzImage or vmlinux of x86-64 Linux, or a multiboot kernel"

static u8 file[SIZE];
static struct vm_config config;
static struct config_error err;
static bool is_linux; /* what was found of the kernel */

static void parse(const char *text)
{
	assert_int_equal(vm_config_parse("f", text, strlen(text), &config, &err, NULL), 0);
}

static int setup(void **)
{
	memset(file, 0, sizeof(file));
	parse("kernel = k\ninitrd = i\nmemory = 64M\n");
	return 0;
}

/* The i-th file that is named, as a heap copy of its first n bytes. */
static const char *judge(unsigned i, size_t n)
{
	struct vm_config_name name;
	u8 *copy = malloc(n ? n : 1);
	int e;

	memcpy(copy, file, n);
	assert_true(vm_config_name(&config, i, &name));
	err.text[0] = 0;
	e = load_check(&config, &name, copy, n, &is_linux, &err);
	assert_int_equal(e, err.text[0] ? -EINVAL : 0);
	free(copy);
	return err.text;
}

static void make_bzimage(u32 cmdline_size)
{
	*(struct linux_setup_header *)(file + 0x1f1) = (struct linux_setup_header){
		.setup_sects = 2,
		.syssize = 4096 / 16,
		.boot_flag = 0xaa55,
		.jump_opcode = 0xeb,
		.jump_offset = 0x6a,
		.header = 0x53726448,
		.version = 0x20f,
		.loadflags = 1,
		.initrd_addr_max = 0x7fffffff,
		.kernel_alignment = 0x200000,
		.relocatable_kernel = 1,
		.xloadflags = 3,
		.cmdline_size = cmdline_size,
		.payload_offset = 0x300,
		.payload_length = 0x800,
		.pref_address = 0x1000000,
		.init_size = 0x100000,
	};
}

static void test_bzimage(void **)
{
	make_bzimage(2047);
	assert_string_equal(judge(0, SIZE), "");
	assert_string_equal(judge(0, 4096),
			    "f:1: kernel = k: truncated: shorter than its header says" GIVE);
	file[0x1f1 + offsetof(struct linux_setup_header, xloadflags)] = 0;
	assert_string_equal(judge(0, SIZE), "f:1: kernel = k: not a 64-bit kernel" GIVE);
}

/* As much as this kernel takes, and one character more, which stands behind a module. */
static void test_cmdline(void **)
{
	make_bzimage(14);
	parse("kernel = k\nmemory = 64M\ncmdline = 0123456789\nmodule = m abc\nmodule = n\n");
	assert_string_equal(judge(0, SIZE), "");
	assert_string_equal(judge(1, 1), "");
	parse("kernel = k\nmemory = 64M\ncmdline = 0123456789\nmodule = m abcd\n");
	assert_string_equal(judge(0, SIZE), "f:3: cmdline: 15 " TOO_LONG " 14");
	/* The hypervisor's own limit, whatever the kernel's header says. */
	make_bzimage(~0u);
	memset(config.cmdline, 'a', VM_CMDLINE_MAX);
	assert_non_null(strstr(judge(0, SIZE), "cmdline: 2052 characters"));
	/* What the loader adds without KVM's clock, at its longest. */
	make_bzimage(10 + 38);
	parse("kernel = k\nmemory = 64M\ncmdline = 0123456789\npvclock = no\n");
	assert_string_equal(judge(0, SIZE), "");
	parse("kernel = k\nmemory = 64M\ncmdline = 0123456789a\npvclock = no\n");
	assert_string_equal(judge(0, SIZE), "f:3: cmdline: 49 " TOO_LONG " 48");
	parse("kernel = k\nmemory = 64M\ncmdline = 01 nopv\nmodule = m abc\n");
	assert_string_equal(judge(0, SIZE), "f:3: cmdline: 49 " TOO_LONG " 48");
	parse("kernel = k\nmemory = 64M\ncmdline = 01 nopw\nmodule = m abc\n");
	assert_string_equal(judge(0, SIZE), "");
}

/* Words by which a Linux would stand still; another kernel may know them in its own way. */
static void test_timers(void **)
{
	static const char *const words[][2] = {
		{ "nolapic", "nolapic" },
		{ "disableapic", "disableapic" },
		{ "nolapic_timer", "nolapic_timer" },
		{ "nolapic-timer", "nolapic_timer" },
		{ "noapictimer", "noapictimer" },
		{ "acpi=off", "acpi=off" },
	};
	const u32 multiboot[] = { 0x1badb002, 0x10000,  -(0x1badb002 + 0x10000),
				  0x100000,   0x100000, 0,
				  0,          0x100010 };
	char text[200];

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		memset(file, 0, sizeof(file));
		make_bzimage(2047);
		snprintf(text, sizeof(text), "kernel = k\nmemory = 64M\ncmdline = ro %s quiet\n",
			 words[i][0]);
		parse(text);
		snprintf(text, sizeof(text),
			 "f:3: cmdline has %s: Linux has no other timer here: leave it out",
			 words[i][1]);
		assert_string_equal(judge(0, SIZE), text);
		memset(file, 0, sizeof(file));
		memcpy(file, multiboot, sizeof(multiboot));
		assert_string_equal(judge(0, SIZE), "");
	}
	memset(file, 0, sizeof(file));
	make_bzimage(2047);
	parse("kernel = k\nmemory = 64M\ncmdline = noapic acpi=noirq lapic=notscdeadline acpi lapic_timer_c2_ok\n");
	assert_string_equal(judge(0, SIZE), "");
}

static void test_elf(void **)
{
	static const u8 start[] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0,  0,
				    0,    0,   0,   0,   0, 0, 2, 0, 62, 0 };

	memcpy(file, start, sizeof(start));
	assert_string_equal(judge(0, SIZE), "f:1: kernel = k: not an executable ELF file" GIVE);
	/* Its program headers: one of 0x100 bytes at 1 MiB. */
	file[24 + 2] = 0x10; /* e_entry */
	file[32] = 64; /* e_phoff */
	file[54] = 56;
	file[56] = 1;
	file[64] = 1;
	file[64 + 18] = file[64 + 26] = 0x10;
	file[64 + 33] = file[64 + 41] = 1;
	assert_string_equal(judge(0, SIZE), "");
	file[18] = 0xb7;
	assert_string_equal(judge(0, SIZE), "f:1: kernel = k: a program for ARM64" GIVE);
	file[18] = 0xf3;
	assert_string_equal(judge(0, SIZE), "f:1: kernel = k: a program for RISC-V" GIVE);
	/* The same number in what is no ELF file. */
	file[0] = 0;
	assert_string_equal(judge(0, SIZE),
			    "f:1: kernel = k: not a Linux kernel image, or truncated" GIVE);
	assert_string_equal(judge(0, 0),
			    "f:1: kernel = k: not a Linux kernel image, or truncated" GIVE);
}

static void test_32_bits(void **)
{
	static const u8 start[] = { 0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0,
				    0,    0,   0,   0,   0, 0, 2, 0, 3, 0 };

	memcpy(file, start, sizeof(start));
	file[24 + 2] = 0x10;
	file[28] = 52;
	file[42] = 32;
	file[44] = 1;
	file[52] = 1;
	file[52 + 10] = file[52 + 14] = 0x10;
	file[52 + 17] = file[52 + 21] = 1;
	assert_string_equal(judge(0, SIZE), "f:1: kernel = k: a program of 32 bits" GIVE);
}

static void test_multiboot(void **)
{
	const u32 header[] = { 0x1badb002, 0x10000, -(0x1badb002 + 0x10000), 0x100000, 0x100000, 0,
			       0,          0x100010 };
	const u32 video[] = { 0x1badb002, 0x10004, -(0x1badb002 + 0x10004), 0x100000, 0x100000, 0,
			      0,          0x100010 };

	memcpy(file, header, sizeof(header));
	assert_string_equal(
		judge(0, SIZE),
		"f:2: initrd = i: kernel k is no Linux kernel and takes none: name what it wants by "
		"module =");
	parse("kernel = k\nmemory = 64M\n");
	assert_string_equal(judge(0, SIZE), "");
	memcpy(file, video, sizeof(video));
	assert_string_equal(
		judge(0, SIZE),
		"f:1: kernel = k: its multiboot header demands a video mode, which a VM does not have");
}

static void test_others(void **)
{
	static const struct {
		unsigned at;
		const char *bytes;
		const char *is;
	} other[] = {
		{ 0, "\x1f\x8b\x08", "compressed: gunzip it" },
		{ 0,
		  "\xfd"
		  "7zXZ",
		  "compressed: unxz it" },
		{ 0, "\x28\xb5\x2f\xfd", "compressed: unzstd it" },
		{ 0x38, "ARMd", "a kernel for ARM64" },
		{ 0x38, "RSC\x05", "a kernel for RISC-V" },
		{ 4, "zimg", "a kernel of another architecture" },
		{ 0, "070701", "an archive (cpio), as an initrd is" },
		{ 0, "QFI\xfb", "a qcow2 image" },
	};
	char text[200];

	for (unsigned i = 0; i < ARRAY_SIZE(other); i++) {
		memset(file, 0, sizeof(file));
		memcpy(file + other[i].at, other[i].bytes, strlen(other[i].bytes));
		snprintf(text, sizeof(text), "f:1: kernel = k: %s" GIVE, other[i].is);
		assert_string_equal(judge(0, SIZE), text);
		assert_string_equal(load_hint(file, SIZE), other[i].is);
		assert_null(load_hint(file, other[i].at + 1));
	}
	memset(file, 0, sizeof(file));
	assert_null(load_hint(file, SIZE));
}

/*
 * An initrd may be anything, compressed by what the guest knows; only nothing is wrong. A module of
 * Linux is one, too.
 */
static void test_initrd(void **)
{
	const u32 multiboot[] = { 0x1badb002, 0x10000,  -(0x1badb002 + 0x10000),
				  0x100000,   0x100000, 0,
				  0,          0x100010 };

	assert_string_equal(judge(1, 100), "");
	assert_string_equal(judge(1, 0), "f:2: initrd = i: the file is empty");
	parse("kernel = k\nmemory = 64M\nmodule = m\nmodule = n words\n");
	make_bzimage(2047);
	assert_string_equal(judge(0, SIZE), "");
	assert_string_equal(judge(1, 1), "");
	assert_string_equal(judge(2, 0), "f:4: module = n: the file is empty");
	/* Be it a damaged one. */
	assert_string_not_equal(judge(0, 4096), "");
	assert_string_equal(judge(1, 0), "f:3: module = m: the file is empty");
	memcpy(file, multiboot, sizeof(multiboot));
	assert_string_equal(judge(0, SIZE), "");
	assert_string_equal(judge(1, 0), "");
}

/*
 * A disk may be anything that is no qcow2, by the whole of its magic number; and an initrd anything
 * at all.
 */
static void test_disk(void **)
{
	parse("kernel = k\nmemory = 64M\ninitrd = i\ndisk = d\ndisk = scratch:32M\ndisk = e\n");
	make_bzimage(2047);
	assert_string_equal(judge(0, SIZE), "");
	assert_string_equal(judge(2, SIZE), "");
	memcpy(file, "QFI\xfb", 4);
	for (unsigned i = 2; i <= 3; i++) {
		char text[200];

		snprintf(
			text, sizeof(text),
			"f:%u: disk = %c: a qcow2 image, whose sectors are not the disk's: qemu-img convert "
			"-O raw makes it one that can be used",
			i == 2 ? 4 : 6, i == 2 ? 'd' : 'e');
		assert_string_equal(judge(i, 4), text);
		assert_string_equal(judge(i, 3), "");
	}
	assert_string_equal(judge(1, SIZE), "");
	file[3] = 0;
	assert_string_equal(judge(2, SIZE), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bzimage, setup),
		cmocka_unit_test_setup(test_cmdline, setup),
		cmocka_unit_test_setup(test_timers, setup),
		cmocka_unit_test_setup(test_elf, setup),
		cmocka_unit_test_setup(test_32_bits, setup),
		cmocka_unit_test_setup(test_multiboot, setup),
		cmocka_unit_test_setup(test_others, setup),
		cmocka_unit_test_setup(test_initrd, setup),
		cmocka_unit_test_setup(test_disk, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
