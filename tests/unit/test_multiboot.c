/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/load/load_multiboot.c vmm/load/multiboot.c vmm/load/elf.c @tests/unit/guest_tables.sources */
/* Multiboot kernels: what the header may ask for, what is placed where, and hostile images. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/guest_platform.h"
#include "vmm/acpi/guest_acpi.h"
#include "vmm/hvm.h"
#include "vmm/load/loader.h"
#include "vmm/load/multiboot.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vcpu.h"

#define MAGIC 0x1badb002u
#define FILE_SIZE 0x3000u

extern const struct loader *const __start_loaders[];
#define loader (*__start_loaders[0])

static u64 reg[HVM_REGS];
static struct segment segment[SEG_COUNT];

static void set_reg(struct vcpu *, enum hvm_reg r, u64 value)
{
	reg[r] = value;
}

static void set_segment(struct vcpu *, enum seg s, const struct segment *in)
{
	segment[s] = *in;
}

static const struct hvm_ops recorder = { .set = set_reg, .set_segment = set_segment };
const struct hvm_ops *hvm = &recorder;
struct hvm_caps hvm_caps;

/* A file with the header at `at`; the rest counts up. */
static u32 file[FILE_SIZE / 4];

static void make_file(u64 at, u32 flags, u32 header_addr, u32 load, u32 load_end, u32 bss_end,
		      u32 entry)
{
	const u32 h[] = { MAGIC,   flags, 0u - MAGIC - flags, header_addr, load, load_end,
			  bss_end, entry };

	for (unsigned i = 0; i < FILE_SIZE / 4; i++)
		file[i] = i;
	for (unsigned i = 0; i < 8 && at / 4 + i < FILE_SIZE / 4; i++)
		file[at / 4 + i] = h[i];
}

static int parse(u64 size, struct elf_image *img, const char **why)
{
	u8 *exact = malloc(size ? size : 1);

	memcpy(exact, file, size);
	*why = multiboot_parse(exact, size, img);
	free(exact);
	return *why ? -ENOEXEC : 0;
}

static void refused(const char *text)
{
	struct elf_image img;
	const char *why = "";

	assert_int_equal(parse(FILE_SIZE, &img, &why), -ENOEXEC);
	assert_non_null(strstr(why, text));
}

static void test_addresses(void **)
{
	struct elf_image img;
	const char *why;

	make_file(0x100, BIT(16) | 3, 0x100100, 0x100040, 0x101040, 0x103000, 0x100200);
	assert_true(multiboot_is_kernel(file, FILE_SIZE));
	assert_int_equal(parse(FILE_SIZE, &img, &why), 0);
	assert_int_equal(img.count, 1);
	assert_int_equal(img.entry, 0x100200);
	assert_int_equal(img.segment[0].offset, 0x40);
	assert_int_equal(img.segment[0].paddr, 0x100040);
	assert_int_equal(img.segment[0].filesz, 0x1000);
	assert_int_equal(img.segment[0].memsz, 0x2fc0);
	/* No end: all of the file; no bss: no more than that. */
	make_file(0x100, BIT(16), 0x100100, 0x100100, 0, 0, 0x100100);
	assert_int_equal(parse(FILE_SIZE, &img, &why), 0);
	assert_int_equal(img.segment[0].filesz, FILE_SIZE - 0x100);
	assert_int_equal(img.segment[0].memsz, FILE_SIZE - 0x100);
}

static void test_refused(void **)
{
	struct elf_image img;
	const char *why;

	make_file(0x100, BIT(16) | BIT(2), 0x100100, 0x100100, 0, 0, 0x100100);
	refused("video");
	make_file(0x100, BIT(16) | BIT(5), 0x100100, 0x100100, 0, 0, 0x100100);
	refused("0.6.96");
	make_file(0x100, BIT(16), 0x100100, 0x100104, 0, 0, 0x100100);
	refused("contradict");
	make_file(0x100, BIT(16), 0x100100, 0xff000, 0, 0, 0x100100);
	refused("contradict");
	make_file(0x100, BIT(16), 0x100100, 0x100100, 0x100000, 0, 0x100100);
	refused("truncated");
	make_file(0x100, BIT(16), 0x100100, 0x100100, 0x200000, 0, 0x100100);
	refused("truncated");
	make_file(0x100, BIT(16), 0x100100, 0x100100, 0, 0, 0x200000);
	refused("entry_addr");
	make_file(0x100, BIT(16), 0x100100, 0x100100, 0, 0, 0x1000ff);
	refused("entry_addr");
	make_file(0x1ff0, BIT(16), 0x100100, 0x100100, 0, 0, 0x100100);
	refused("8 KiB");
	make_file(0x1ffc, 0, 0, 0, 0, 0, 0);
	refused("no multiboot header");
	make_file(0x2000, 0, 0, 0, 0, 0, 0);
	refused("no multiboot header");
	make_file(0x100, 3, 0, 0, 0, 0, 0);
	refused("ELF");
	file[0x108 / 4]++;
	refused("no multiboot header");
	/* Of any length. */
	make_file(0x100, BIT(16) | 3, 0x100100, 0x100040, 0x101040, 0x103000, 0x100200);
	for (u64 n = 0; n < 0x1040; n++)
		assert_int_equal(parse(n, &img, &why), -ENOEXEC);
	assert_int_equal(parse(0x1040, &img, &why), 0);
}

/* ---- loading ---- */

static struct vm_config config;
static struct vm *vm;
static struct host_module kernel, first, second;

static int setup(void **)
{
	fake_host_reset();
	vm = fake_vm_create(MIB(32));
	assert_int_equal(guest_acpi_build(vm), 0);
	config = (struct vm_config){ .file = "vm0.conf",
				     .kernel = "image",
				     .cmdline = "a b",
				     .nr_modules = 2,
				     .module = { { "one", "x y", 5 }, { "two", "", 6 } } };
	vm->config = &config;
	make_file(0x100, BIT(16) | 3, 0x100100, 0x100040, 0x101040, 0x103000, 0x100200);
	kernel = (struct host_module){
		.name = "image", .args = "", .data = file, .size = FILE_SIZE
	};
	first = (struct host_module){
		.name = "one", .args = "", .data = "first module", .size = 12
	};
	second = (struct host_module){ .name = "two", .args = "", .data = "2nd", .size = 3 };
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

static int load(void)
{
	const struct host_module *const modules[] = { &first, &second };

	return loader.load(vm, &kernel, modules);
}

static const char *text_at(u32 address)
{
	return guest_ptr(vm, gpa(address), 256);
}

static void test_placed(void **)
{
	const struct multiboot_info *info;
	const struct multiboot_module *m;
	const struct multiboot_mmap *map;
	u32 word;

	assert_true(loader.probe(&kernel));
	assert_int_equal(load(), 0);
	assert_int_equal(vm->entry_rip, 0x100200);
	assert_int_equal(guest_read(vm, gpa(0x100040), &word, 4), 0);
	assert_int_equal(word, 0x40 / 4);
	info = guest_ptr(vm, gpa(vm->entry_info), sizeof(*info));
	assert_non_null(info);
	assert_int_equal(info->flags, 0x24d);
	assert_int_equal(info->mem_upper, 31 << 10);
	assert_string_equal(text_at(info->cmdline), "image a b");
	assert_string_equal(text_at(info->boot_loader_name), "Margay");
	assert_int_equal(info->mods_count, 2);
	m = guest_ptr(vm, gpa(info->mods_addr), 2 * sizeof(*m));
	assert_int_equal(m[0].start, 0x103000);
	assert_int_equal(m[0].end, 0x10300c);
	assert_memory_equal(text_at(m[0].start), "first module", 12);
	assert_string_equal(text_at(m[0].string), "one x y");
	assert_int_equal(m[1].start, 0x104000);
	assert_string_equal(text_at(m[1].string), "two");
	map = guest_ptr(vm, gpa(info->mmap_addr), info->mmap_length);
	assert_int_equal(info->mmap_length, 3 * sizeof(*map));
	assert_int_equal(map[0].size, 20);
	assert_int_equal(map[0].length, info->mem_lower << 10);
	assert_int_equal(map[1].type, 3);
	assert_true(map[1].addr <= GUEST_ACPI_BASE && map[1].addr + map[1].length == 0xa0000);
	assert_true(vm->entry_info >= map[1].addr && vm->entry_info < GUEST_ACPI_BASE);
	assert_true(map[2].addr == 0x100000 && map[2].length == MIB(31) && map[2].type == 1);
	/* The RSDP's copy, where a BIOS area is searched. */
	assert_memory_equal(text_at(0xf0000), "RSD PTR ", 8);
}

static void test_entry(void **)
{
	struct vcpu *vcpu = vm->vcpus[0];

	assert_int_equal(load(), 0);
	vm->entry_state(vm, vcpu);
	assert_int_equal(vcpu->regs.gpr[GPR_RAX], MULTIBOOT_LOADED_MAGIC);
	assert_int_equal(vcpu->regs.gpr[GPR_RBX], vm->entry_info);
	assert_int_equal(vcpu->regs.rip, 0x100200);
	assert_int_equal(reg[HVM_CR0] & (CR0_PE | CR0_PG), CR0_PE);
	for (enum seg s = SEG_ES; s <= SEG_GS; s++) {
		assert_int_equal(segment[s].base, 0);
		assert_int_equal(segment[s].limit, 0xffffffff);
		assert_true(segment[s].attr & SEG_ATTR_DB && !(segment[s].attr & SEG_ATTR_L));
		assert_int_equal(segment[s].attr & 0xa, s == SEG_CS ? 0xa : 0x2);
	}
}

static void test_no_room(void **)
{
	make_file(0x100, BIT(16) | 3, 0x100100, 0x100040, 0x101040, MIB(32) + 1, 0x100200);
	assert_int_equal(load(), -ENOMEM);
	make_file(0x100, BIT(16) | 3, 0x100100, 0x100040, 0x101040, ~0u, 0x100200);
	assert_int_equal(load(), -ENOMEM);
	/* Not over what the loader itself puts there. */
	make_file(0x100, BIT(16) | 3, 0x5d100, 0x5d040, 0x5e041, 0, 0x5d200);
	assert_int_equal(load(), -ENOEXEC);
	make_file(0x100, BIT(16) | 3, 0x5d0c0, 0x5d000, 0x5e000, 0, 0x5d200);
	assert_int_equal(load(), 0);
	make_file(0x100, BIT(16) | 3, 0x100100, 0x100040, 0x101040, 0x103000, 0x100200);
	first.size = MIB(31); /* refused before a byte of it is read */
	assert_int_equal(load(), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_refused),
		cmocka_unit_test_setup_teardown(test_placed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_entry, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
