/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/load/load_linux.c vmm/load/load_vmlinux.c vmm/load/linux_entry.c vmm/load/linux_built.c vmm/config/config_linux.c vmm/load/bzimage.c vmm/load/elf.c @tests/unit/guest_tables.sources */
/*
 * The Linux loader with Debian's own kernel (from build/guest, or $MARGAY_GUEST_DIR) and with
 * hostile images.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <margay/bootparams.h>
#include "tests/unit/fake_vm.h"
#include "vmm/guest_platform.h"
#include "vmm/acpi/guest_acpi.h"
#include "vmm/hvm.h"
#include "vmm/load/load_linux.h"
#include "vmm/memory/gpa_map.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/slots/slot.h"
#include "vmm/vcpu.h"

static struct vm *vm;
static struct host_module kernel, initrd;
static u8 initrd_bytes[10000];

/* ---- a backend that remembers what it is told ---- */

static u64 reg[HVM_REGS];
static struct segment segment[SEG_COUNT];
static struct desc_table gdtr, idtr;

static void set_reg(struct vcpu *, enum hvm_reg r, u64 value)
{
	reg[r] = value;
}

static void set_segment(struct vcpu *, enum seg s, const struct segment *in)
{
	segment[s] = *in;
}

static void set_desc_table(struct vcpu *, bool idt, const struct desc_table *in)
{
	*(idt ? &idtr : &gdtr) = *in;
}

static const struct hvm_ops recorder = {
	.set = set_reg,
	.set_segment = set_segment,
	.set_desc_table = set_desc_table,
};
const struct hvm_ops *hvm = &recorder;
struct hvm_caps hvm_caps;

/* ---- set-up ---- */

static void new_vm(u64 memory)
{
	vm = fake_vm_create(memory);
	assert_int_equal(guest_acpi_build(vm), 0);
}

static int setup(void **)
{
	fake_host_reset();
	for (unsigned i = 0; i < sizeof(initrd_bytes); i++)
		initrd_bytes[i] = (u8)(i * 7);
	initrd = (struct host_module){
		.name = "initrd", .args = "", .data = initrd_bytes, .size = sizeof(initrd_bytes)
	};
	kernel = (struct host_module){ .name = "vmlinuz", .args = "" };
	return 0;
}

static int teardown(void **)
{
	if (vm)
		fake_vm_destroy(vm);
	vm = NULL;
	free((void *)kernel.data);
	return 0;
}

static void read_kernel(const char *name)
{
	const char *dir = getenv("MARGAY_GUEST_DIR");
	char path[512];
	FILE *f;
	u8 *data;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "build/guest", name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("cannot open %s: run 'make guest' first", path);
	fseek(f, 0, SEEK_END);
	kernel.size = (u64)ftell(f);
	rewind(f);
	data = malloc(kernel.size);
	assert_int_equal(fread(data, 1, kernel.size, f), kernel.size);
	fclose(f);
	kernel.data = data;
}

static const struct linux_boot_params *boot_params(void)
{
	return guest_ptr(vm, gpa(vm->entry_info), 4096);
}

static u64 u64_at(u64 addr)
{
	u64 v;

	assert_int_equal(guest_read(vm, gpa(addr), &v, 8), 0);
	return v;
}

/* What load_check() finds before: it has said why. */
static void refused_again(int err, const struct host_module *with, const char *cmdline)
{
	assert_int_equal(load_linux(vm, &kernel, NULL, with, cmdline), err);
	assert_string_equal(fake_host.log, "");
}

static void refused(int err, const char *text)
{
	char *end;

	assert_int_equal(load_linux(vm, &kernel, NULL, NULL, ""), err);
	assert_memory_equal(fake_host.log, "vm0: vm0.conf:", 14);
	assert_non_null(strstr(fake_host.log, text));
	/* One line. */
	end = strchr(fake_host.log, '\n');
	assert_non_null(end);
	assert_int_equal(end[1], 0);
	fake_host.log[0] = 0;
}

/* What every kernel finds at its start, whichever its format. */
static void check_handover(const char *cmdline)
{
	const struct linux_boot_params *bp = boot_params();
	char text[4096];
	u64 image = bp->hdr.ramdisk_image | (u64)bp->ext_ramdisk_image << 32;
	bool acpi = false, low = false;

	assert_int_equal(bp->sentinel, 0);
	assert_int_equal(bp->hdr.type_of_loader, 0xff);
	assert_int_equal(bp->hdr.setup_data, 0);
	assert_int_equal(bp->acpi_rsdp_addr, vm->rsdp.v);
	assert_memory_equal(guest_ptr(vm, vm->rsdp, 8), "RSD PTR ", 8);
	assert_int_equal(guest_read(vm, gpa(bp->hdr.cmd_line_ptr), text, strlen(cmdline) + 1), 0);
	assert_string_equal(text, cmdline);
	assert_int_equal(bp->hdr.ramdisk_size, initrd.size);
	assert_true(image + initrd.size - 1 <= 0x7fffffff);
	assert_memory_equal(guest_ptr(vm, gpa(image), initrd.size), initrd.data, initrd.size);
	for (unsigned i = 0; i < bp->e820_entries; i++) {
		struct e820_entry e;

		memcpy(&e, bp->e820_table + i * 20, 20);
		acpi |= e.type == 3 && e.addr <= vm->rsdp.v && e.addr + e.size > vm->rsdp.v;
		low |= e.type == 1 && e.addr == 0;
		/* Nothing usable where the tables are, nor where a PC has its ROMs. */
		assert_true(e.type != 1 || e.addr + e.size <= GUEST_ACPI_BASE ||
			    e.addr >= 0x100000);
	}
	assert_true(acpi);
	assert_true(low);
}

static void check_entry_state(void)
{
	struct vcpu *vcpu = vm->vcpus[0];

	load_linux_entry_state(vm, vcpu);
	assert_int_equal(vcpu->regs.rip, vm->entry_rip);
	assert_int_equal(vcpu->regs.gpr[GPR_RSI], vm->entry_info);
	assert_int_equal(vcpu->regs.rflags, 2);
	assert_int_equal(reg[HVM_CR0] & 0x80000001, 0x80000001);
	assert_int_equal(reg[HVM_CR4], 0x20);
	assert_int_equal(reg[HVM_EFER], 0x500);
	assert_int_equal(segment[SEG_CS].selector, 0x10);
	/* G, L, present, code, execute/read, accessed */
	assert_int_equal(segment[SEG_CS].attr, 0xa09b);
	assert_int_equal(segment[SEG_DS].selector, 0x18);
	assert_int_equal(segment[SEG_ES].selector, 0x18);
	assert_int_equal(segment[SEG_SS].selector, 0x18);
	assert_int_equal(segment[SEG_SS].attr, 0xc093);
	assert_int_equal(segment[SEG_TR].attr, 0x8b);
	/* The GDT in memory says the same. */
	assert_int_equal(gdtr.limit, 31);
	assert_int_equal(u64_at(gdtr.base + 0x10), 0x00af9b000000ffff);
	assert_int_equal(u64_at(gdtr.base + 0x18), 0x00cf93000000ffff);
	/* Identity: walk the tables for addresses in each GiB. */
	for (u64 va = 0; va < GIB(4); va += 0x0fe00000) {
		u64 pml4e = u64_at(reg[HVM_CR3]),
		    pdpte = u64_at((pml4e & PTE_ADDR) + (va >> 30) * 8);
		u64 pde = u64_at((pdpte & PTE_ADDR) + (va >> 21 & 511) * 8);

		assert_int_equal(pml4e & 3, 3);
		assert_int_equal(pdpte & 0x83, 3);
		assert_int_equal(pde & 0x83, 0x83);
		assert_int_equal(pde & PTE_ADDR, va & ~0x1fffffull);
	}
}

/* ---- Debian's kernel ---- */

static void test_debian_bzimage(void **)
{
	const struct linux_setup_header *h;
	u64 offset;

	new_vm(MIB(256));
	read_kernel("vmlinuz");
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, "console=ttyS0 quiet"), 0);
	assert_string_equal(fake_host.log, "");
	h = (const struct linux_setup_header *)((const u8 *)kernel.data + 0x1f1);
	offset = (h->setup_sects + 1) * 512u;
	assert_int_equal(vm->entry_rip, 0x1000200);
	assert_memory_equal(guest_ptr(vm, gpa(0x1000000), h->syssize * 16),
			    (const u8 *)kernel.data + offset, h->syssize * 16);
	assert_int_equal(boot_params()->hdr.header, 0x53726448);
	assert_int_equal(boot_params()->hdr.init_size, h->init_size);
	assert_int_equal(boot_params()->hdr.version, h->version);
	check_handover("console=ttyS0 quiet");
	assert_true(boot_params()->hdr.ramdisk_image >= 0x1000000 + h->init_size);
	check_entry_state();
}

/* Archives go before the initrd, at multiples of 4, and their words behind the command line. */
static void test_archives(void **)
{
	static struct vm_config config = { .nr_modules = 2,
					   .module = { { .args = "rdinit=/x" }, { .args = "" } } };
	const struct host_module one = { .name = "a", .args = "", .data = "first", .size = 5 };
	const struct host_module two = { .name = "b", .args = "", .data = "second", .size = 6 };
	const struct host_module *const both[] = { &one, &two };
	const struct linux_boot_params *bp;
	const struct vm_config *none;
	const u8 *at;

	new_vm(MIB(256));
	read_kernel("vmlinuz");
	none = vm->config;
	vm->config = &config;
	assert_int_equal(load_linux(vm, &kernel, both, &initrd, "quiet"), 0);
	bp = boot_params();
	assert_int_equal(bp->hdr.ramdisk_size, 8 + 8 + initrd.size);
	at = guest_ptr(vm, gpa(bp->hdr.ramdisk_image), bp->hdr.ramdisk_size);
	assert_memory_equal(at, "first\0\0\0second\0\0", 16);
	assert_memory_equal(at + 16, initrd.data, initrd.size);
	assert_string_equal(guest_ptr(vm, gpa(bp->hdr.cmd_line_ptr), 16), "quiet rdinit=/x");
	/* Without an initrd, too. */
	assert_int_equal(load_linux(vm, &kernel, both, NULL, ""), 0);
	assert_int_equal(boot_params()->hdr.ramdisk_size, 8 + 6);
	vm->config = none;
}

static void test_debian_vmlinux(void **)
{
	u64 entry;

	new_vm(MIB(256));
	read_kernel("vmlinux");
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, "root=/dev/ram0"), 0);
	/* e_entry, at offset 24 of an ELF64 header (gABI, figure 4-3). */
	memcpy(&entry, (const u8 *)kernel.data + 24, sizeof(entry));
	assert_true(vm->entry_rip == entry);
	check_handover("root=/dev/ram0");
	check_entry_state();
}

static void test_debian_truncated(void **)
{
	new_vm(MIB(256));
	read_kernel("vmlinuz");
	kernel.size /= 2;
	refused_again(-ENOEXEC, NULL, "");
	kernel.size = 600;
	refused_again(-ENOEXEC, NULL, "");
	kernel.size = 3;
	refused_again(-ENOEXEC, NULL, "");
}

static void test_debian_small_vm(void **)
{
	new_vm(MIB(32));
	read_kernel("vmlinuz");
	refused(-ENOMEM, "the kernel needs ");
	free((void *)kernel.data);
	read_kernel("vmlinux");
	refused(-ENOMEM, "raise memory");
}

/* ---- made-up kernels ---- */

static struct linux_setup_header *make_bzimage(void)
{
	u8 *data = calloc(1, 1024 + 4096);
	struct linux_setup_header *h = (void *)(data + 0x1f1);

	*h = (struct linux_setup_header){
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
		.cmdline_size = 2047,
		.pref_address = 0x1000000,
		.init_size = 0x4000,
	};
	kernel.data = data;
	kernel.size = 1024 + 4096;
	return h;
}

static void test_hostile_bzimage(void **)
{
	struct linux_setup_header *h = make_bzimage();

	new_vm(MIB(64));
	h->init_size = 0xffffffff;
	refused(-ENOMEM, "the kernel needs ");
	h->init_size = 0x4000;
	/* No preference that leads out of RAM, or round the end of 64 bits, is followed. */
	h->pref_address = ~0ull;
	assert_int_equal(load_linux(vm, &kernel, NULL, NULL, ""), 0);
	assert_int_equal(vm->entry_rip, 0x1000200);
	h->pref_address = 0x7fffffffffff0000;
	assert_int_equal(load_linux(vm, &kernel, NULL, NULL, ""), 0);
	assert_int_equal(vm->entry_rip, 0x1000200);
	h->pref_address = 0;
	assert_int_equal(load_linux(vm, &kernel, NULL, NULL, ""), 0);
	assert_true(vm->entry_rip >= 0x100000);
	memset((void *)kernel.data, 0x90, kernel.size);
	refused_again(-ENOEXEC, NULL, "");
}

/*
 * Without KVM's clock Linux is told its TSC's rate, before all other words; and that it is
 * reliable, where it is.
 */
static void test_tsc_rate(void **)
{
	static struct vm_config config = { .no_pvclock = true };
	char line[VM_CMDLINE_MAX + 1] = { 0 };
	const struct vm_config *before;

	make_bzimage();
	new_vm(MIB(64));
	before = vm->config;
	vm->config = &config;
	fake_host.tsc_khz = 2250001;
	fake_host.tsc_stable = true;
	initrd.size = 5000;
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, "quiet"), 0);
	check_handover("tsc=reliable tsc_early_khz=2250001 quiet");
	assert_string_equal(
		fake_host.log,
		"vm0: kernel vmlinuz: pvclock = no: it is told the rate of its TSC, 2250001 kHz\n");
	config.no_pvclock = false;
	fake_host.log[0] = 0;
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, "quiet"), 0);
	check_handover("quiet");
	assert_string_equal(fake_host.log, "");
	/* It has shown, when it started before, that it has none. */
	monitor_slots[0].without = LINUX_NO_CLOCK;
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, "quiet"), 0);
	check_handover("tsc=reliable tsc_early_khz=2250001 quiet");
	assert_true(vm->told_rate && vm->is_linux);
	memset(line, 'a', sizeof(line) - 1);
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, line), -E2BIG);
	assert_non_null(
		strstr(fake_host.log,
		       "has 2082 characters, kernel vmlinuz takes at most 2047: shorten it\n"));
	monitor_slots[0].without = LINUX_NO_X2APIC;
	fake_host.log[0] = 0;
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, "quiet"), 0);
	check_handover("quiet");
	assert_true(!vm->told_rate && vm->is_linux);
	monitor_slots[0].without = 0;
	/* By a word; on a node whose TSCs are not one clock. */
	fake_host.tsc_stable = false;
	snprintf(config.cmdline, sizeof(config.cmdline), "nopv");
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, "nopv"), 0);
	check_handover("tsc_early_khz=2250001 nopv");
	assert_string_equal(
		fake_host.log,
		"vm0: kernel vmlinuz: cmdline has nopv: it is told the rate of its TSC, 2250001 kHz\n");
	fake_host.tsc_stable = true;
	vm->config = before;
}

static void test_command_line_limits(void **)
{
	struct linux_setup_header *h = make_bzimage();
	char line[2049];

	new_vm(MIB(64));
	memset(line, 'a', sizeof(line));
	line[2047] = 0;
	initrd.size = 5000;
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, line), 0);
	check_handover(line);
	line[2047] = 'a';
	line[2048] = 0;
	refused_again(-E2BIG, NULL, line);
	h->cmdline_size = 255;
	line[256] = 0;
	refused_again(-E2BIG, NULL, line);
}

static void test_initrd_placement(void **)
{
	struct linux_setup_header *h = make_bzimage();
	static u8 big[MIB(14)];

	new_vm(MIB(32));
	/* As high as RAM goes. */
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, ""), 0);
	assert_int_equal(boot_params()->hdr.ramdisk_image, MIB(32) - 12288);
	/* Not above what the kernel reaches: below the kernel then. */
	h->initrd_addr_max = 0x1000fff;
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, ""), 0);
	assert_int_equal(boot_params()->hdr.ramdisk_image, MIB(16) - 12288);
	h->initrd_addr_max = 0x7fffffff;
	/* 14 MiB fit on either side, 15.9 MiB on none. */
	h->init_size = MIB(4);
	initrd.data = big;
	initrd.size = sizeof(big);
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, ""), 0);
	assert_int_equal(boot_params()->hdr.ramdisk_image, MIB(2));
	initrd.size = MIB(16);
	assert_int_equal(load_linux(vm, &kernel, NULL, &initrd, ""), -ENOMEM);
	assert_non_null(strstr(fake_host.log, "initrd"));
	fake_host.log[0] = 0;
	initrd.size = 0;
	refused_again(-ENOEXEC, &initrd, "");
}

/*
 * An ELF file whose segments aim at the loader's own tables, outside RAM, at the end of the address
 * space.
 */
static void test_hostile_elf(void **)
{
	struct {
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
		struct {
			u32 type;
			u32 flags;
			u64 offset;
			u64 vaddr;
			u64 paddr;
			u64 filesz;
			u64 memsz;
			u64 align;
		} p;
	} *e = calloc(1, sizeof(*e));
	static const struct {
		u64 paddr;
		u64 memsz;
	} bad[] = {
		{ 0x2000, 0x1000 },     { 0xfffff, 0x1000 },     { MIB(64) - 0x800, 0x1000 },
		{ MIB(64), 0x1000 },    { 0xfee00000, 0x1000 },  { ~0ull - 0x2000, 0x1000 },
		{ MIB(16), MIB(1024) }, { MIB(16), 1ull << 62 },
	};

	new_vm(MIB(64));
	memcpy(e->ident, "\177ELF\2\1\1", 7);
	e->type = 2;
	e->machine = 62;
	e->phoff = 64;
	e->phentsize = 56;
	e->phnum = 1;
	e->p.type = 1;
	e->p.filesz = 16;
	kernel.data = e;
	kernel.size = sizeof(*e);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		e->entry = e->p.paddr = bad[i].paddr;
		e->p.memsz = bad[i].memsz;
		refused(-ENOMEM, "outside guest RAM");
	}
	e->entry = e->p.paddr = MIB(16);
	e->p.memsz = MIB(48);
	assert_int_equal(load_linux(vm, &kernel, NULL, NULL, ""), 0);
	assert_int_equal(vm->entry_rip, MIB(16));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_debian_bzimage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_archives, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debian_vmlinux, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debian_truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debian_small_vm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_bzimage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tsc_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_command_line_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_initrd_placement, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_elf, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
