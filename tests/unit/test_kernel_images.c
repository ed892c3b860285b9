/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/load/bzimage.c vmm/load/elf.c */
/* The bzImage and ELF readers with small made-up files: whole, truncated, lying. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vmm/load/bzimage.h"
#include "vmm/load/elf.h"

static const char *why;

/* ---- bzImage: 2 setup sectors + the boot sector, 4 KiB of protected-mode part ---- */

#define BZ_OFFSET (3 * 512)
#define BZ_BODY 4096
#define BZ_SIZE (BZ_OFFSET + BZ_BODY)

static u8 file[BZ_SIZE];
static struct linux_setup_header *const hdr = (void *)(file + 0x1f1);

static int make_bzimage(void **)
{
	memset(file, 0, sizeof(file));
	*hdr = (struct linux_setup_header){
		.setup_sects = 2,
		.syssize = BZ_BODY / 16,
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
		.cmdline_size = 2047,
		.payload_offset = 0x300,
		.payload_length = 0x800,
		.pref_address = 0x1000000,
		.init_size = 0x100000,
	};
	why = NULL;
	return 0;
}

/* Parses an exact heap copy of the first n bytes, so that ASan sees a read past them. */
static int parse_bz(size_t n, struct bzimage *out)
{
	u8 *exact = malloc(n ? n : 1);

	memcpy(exact, file, n);
	why = bzimage_parse(exact, n, out);
	free(exact);
	return why ? -ENOEXEC : 0;
}

static void test_bz_good(void **)
{
	struct bzimage b;

	assert_true(bzimage_is_linux(file, sizeof(file)));
	assert_int_equal(parse_bz(BZ_SIZE, &b), 0);
	assert_int_equal(b.offset, 1536);
	assert_int_equal(b.size, 4096);
	assert_int_equal(b.memory, 0x100000);
	assert_int_equal(b.align, 0x200000);
	assert_int_equal(b.hdr.pref_address, 0x1000000);
	assert_null(why);
	/* 0 setup sectors mean 4; a small init_size never means less than the file's part. */
	hdr->setup_sects = 0;
	hdr->syssize = (BZ_SIZE - 2560) / 16;
	hdr->init_size = 1;
	assert_int_equal(parse_bz(BZ_SIZE, &b), 0);
	assert_int_equal(b.offset, 2560);
	assert_int_equal(b.memory, b.size);
}

static void test_bz_truncated(void **)
{
	struct bzimage b;

	for (size_t n = 0; n < BZ_SIZE; n++) {
		why = NULL;
		assert_int_equal(parse_bz(n, &b), -ENOEXEC);
		assert_non_null(strstr(why, "truncated"));
	}
	for (size_t n = 0; n < 0x206; n++)
		assert_false(bzimage_is_linux(file, n));
}

static void refused(const char *text)
{
	struct bzimage b;

	why = NULL;
	assert_int_equal(parse_bz(BZ_SIZE, &b), -ENOEXEC);
	assert_non_null(strstr(why, text));
	make_bzimage(NULL);
}

static void test_bz_lies(void **)
{
	hdr->setup_sects = 255;
	refused("truncated");
	hdr->setup_sects = 3;
	refused("truncated");
	hdr->syssize = 0xffffffff;
	refused("truncated");
	hdr->syssize = 0;
	refused("damaged");
	hdr->payload_offset = 0xffffffff;
	refused("damaged");
	hdr->payload_length = 0xffffffff;
	refused("damaged");
	hdr->payload_offset = 0x900;
	refused("damaged");
	hdr->boot_flag = 0;
	refused("damaged");
	hdr->version = 0x20b;
	refused("too old");
	hdr->xloadflags = 2;
	refused("64-bit");
	hdr->relocatable_kernel = 0;
	refused("relocatable");
	hdr->loadflags = 0;
	refused("relocatable");
	hdr->kernel_alignment = 0;
	refused("alignment");
	hdr->kernel_alignment = 0x300000;
	refused("alignment");
	hdr->kernel_alignment = 0x80000000;
	refused("alignment");
	hdr->jump_offset = 0; /* the header ends before its version */
	refused("too old");
	hdr->jump_offset = 0x20; /* and here before xloadflags */
	refused("64-bit");
	hdr->header = 0;
	assert_false(bzimage_is_linux(file, sizeof(file)));
}

/* ---- ELF ---- */

struct ehdr {
	u8 ident[16];
	u16 type;
	u16 machine;
	u32 version;
	u64 entry;
	u64 phoff;
	u64 shoff;
	u32 flags;
	u16 ehsize;
	u16 phentsize;
	u16 phnum;
	u16 shentsize;
	u16 shnum;
	u16 shstrndx;
};
struct phdr {
	u32 type;
	u32 flags;
	u64 offset;
	u64 vaddr;
	u64 paddr;
	u64 filesz;
	u64 memsz;
	u64 align;
};
static struct {
	struct ehdr e;
	struct phdr p[20];
	u8 body[256];
} elf;
#define BODY offsetof(__typeof__(elf), body)

static int make_elf(void **)
{
	memset(&elf, 0, sizeof(elf));
	elf.e = (struct ehdr){ .ident = "\177ELF\2\1\1",
			       .type = 2,
			       .machine = 62,
			       .version = 1,
			       .entry = 0x1000010,
			       .phoff = 64,
			       .ehsize = 64,
			       .phentsize = 56,
			       .phnum = 3 };
	elf.p[0] = (struct phdr){
		.type = 1, .offset = BODY, .paddr = 0x1000000, .filesz = 128, .memsz = 128
	};
	/* a note: not looked at */
	elf.p[1] = (struct phdr){ .type = 4, .offset = ~0ull, .filesz = ~0ull };
	elf.p[2] = (struct phdr){
		.type = 1, .offset = BODY + 128, .paddr = 0x1200000, .filesz = 128, .memsz = 0x8000
	};
	why = NULL;
	return 0;
}

static int parse_elf(size_t n, struct elf_image *out)
{
	u8 *exact = malloc(n ? n : 1);

	memcpy(exact, &elf, n);
	why = elf_parse(exact, n, out);
	free(exact);
	return why ? -ENOEXEC : 0;
}

static void test_elf_good(void **)
{
	struct elf_image img;

	assert_true(elf_is_elf(&elf, sizeof(elf)));
	assert_false(elf_is_elf(&elf, 3));
	assert_int_equal(parse_elf(sizeof(elf), &img), 0);
	assert_true(img.bits64);
	assert_int_equal(img.entry, 0x1000010);
	assert_int_equal(img.count, 2);
	assert_int_equal(img.segment[1].paddr, 0x1200000);
	assert_int_equal(img.segment[1].filesz, 128);
	assert_int_equal(img.segment[1].memsz, 0x8000);
}

static void test_elf_virtual_entry(void **)
{
	struct elf_image img;

	elf.p[0].vaddr = 0xffffffff80000000;
	elf.e.entry = 0xffffffff80000010;
	assert_int_equal(parse_elf(sizeof(elf), &img), 0);
	assert_int_equal(img.entry, 0x1000010);
}

/* The same two segments as a 32-bit file. */
static void test_elf32(void **)
{
	static const struct {
		u8 ident[16];
		u16 type;
		u16 machine;
		u32 version;
		u32 entry;
		u32 phoff;
		u32 shoff;
		u32 flags;
		u16 ehsize;
		u16 phentsize;
		u16 phnum;
		u16 shentsize;
		u16 shnum;
		u16 shstrndx;
		u32 p[2][8];
		u8 body[64];
	} file = {
		.ident = "\177ELF\1\1\1",
		.type = 2,
		.machine = 3,
		.entry = 0xc0100004,
		.phoff = 52,
		.phentsize = 32,
		.phnum = 2,
		.p = { { 1, 52 + 64, 0xc0100000, 0x100000, 32, 0x8000, 5, 4096 },
		       { 1, 52 + 96, 0, 0x200000, 32, 32, 6, 4096 } },
	};
	struct elf_image img;

	assert_null(elf_parse(&file, sizeof(file), &img));
	assert_false(img.bits64);
	assert_int_equal(img.entry, 0x100004);
	assert_int_equal(img.count, 2);
	assert_int_equal(img.segment[0].offset, 116);
	assert_int_equal(img.segment[0].filesz, 32);
	assert_int_equal(img.segment[0].memsz, 0x8000);
	assert_int_equal(img.segment[1].paddr, 0x200000);
	for (size_t n = 0; n < sizeof(file); n++)
		assert_non_null(elf_parse(&file, n, &img));
}

static void test_elf_truncated(void **)
{
	struct elf_image img;

	for (size_t n = 0; n < sizeof(elf); n++) {
		assert_int_equal(parse_elf(n, &img), -ENOEXEC);
		assert_non_null(strstr(why, "truncated"));
	}
}

static void elf_refused(const char *text)
{
	struct elf_image img;

	why = NULL;
	assert_int_equal(parse_elf(sizeof(elf), &img), -ENOEXEC);
	assert_non_null(strstr(why, text));
	make_elf(NULL);
}

static void test_elf_wild(void **)
{
	elf.e.ident[4] = 1;
	elf_refused("x86-64");
	elf.e.machine = 3;
	elf_refused("x86-64");
	elf.e.type = 1;
	elf_refused("executable");
	elf.e.phentsize = 1;
	elf_refused("executable");
	elf.e.phoff = ~0ull;
	elf_refused("truncated");
	elf.e.phoff = sizeof(elf) - 56;
	elf_refused("truncated");
	elf.e.phnum = 0xffff;
	elf_refused("truncated");
	elf.p[0].offset = ~0ull;
	elf_refused("truncated");
	elf.p[0].filesz = elf.p[0].memsz = ~0ull;
	elf_refused("truncated");
	elf.p[0].memsz = 127;
	elf_refused("damaged");
	elf.p[2].paddr = ~0ull - 0x7000;
	elf_refused("damaged");
	elf.e.entry = 0x1000080;
	elf_refused("entry point");
	elf.e.entry = 0xffffffff81000000;
	elf_refused("entry point");
	elf.e.phnum = 0;
	elf_refused("entry point");
	for (unsigned i = 0; i < 17; i++)
		elf.p[i] = elf.p[0];
	elf.e.phnum = 17;
	elf_refused("too many");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bz_good, make_bzimage),
		cmocka_unit_test_setup(test_bz_truncated, make_bzimage),
		cmocka_unit_test_setup(test_bz_lies, make_bzimage),
		cmocka_unit_test_setup(test_elf_good, make_elf),
		cmocka_unit_test_setup(test_elf_virtual_entry, make_elf),
		cmocka_unit_test_setup(test_elf32, make_elf),
		cmocka_unit_test_setup(test_elf_truncated, make_elf),
		cmocka_unit_test_setup(test_elf_wild, make_elf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
