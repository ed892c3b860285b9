/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The multiboot loader, for research and test kernels: places the image, its
 * modules and the boot information (Multiboot Specification 0.6.96, 3.2, 3.3).
 *
 * Guest RAM that it uses: INFO_BASE the boot information, behind it at GUEST_ACPI_BASE
 * the ACPI tables, and modules from the end of the kernel on. A copy of the
 * RSDP lies at 0xf0000, where a BIOS has it (ACPI 6.4, 5.2.5.1).
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/hvm.h"
#include "vmm/load/loader.h"
#include "vmm/load/multiboot.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

#define INFO_SIZE 0x2000ul
#define INFO_BASE (GUEST_ACPI_BASE - INFO_SIZE)
#define RSDP_COPY 0xf0000ull
#define RSDP_SIZE 36u
#define LOW_END 0x100000ul /* what BIOS data and ROMs are on a PC ends here */
#define LOADER_NAME "Margay"

enum { BOOT_CS = 0x8, BOOT_DS = 0x10 };

/* What lies at INFO_BASE. */
struct boot_info {
	struct multiboot_info info;
	struct multiboot_module module[VM_MODULES_MAX];
	struct multiboot_mmap mmap[GPA_E820_MAX];
	char name[sizeof(LOADER_NAME)];
	/* As GRUB legacy and QEMU hand them over: the first word is the file's name. */
	char cmdline[VM_MODULE_MAX + 1 + VM_CMDLINE_MAX + 1];
	char module_line[VM_MODULES_MAX][VM_MODULE_MAX + 1 + VM_MODULE_ARGS_MAX + 1];
};
static_assert(sizeof(struct boot_info) <= INFO_SIZE, "fits below the ACPI tables");
#define INFO_AT(member) (u32)(INFO_BASE + offsetof(struct boot_info, member))

static bool probe(const struct host_module *kernel)
{
	return multiboot_is_kernel(kernel->data, kernel->size);
}

static int load_segment(struct vm *vm, const struct host_module *kernel,
			const struct elf_segment *s)
{
	u64 end = s->paddr + s->memsz;
	int err;

	if (s->paddr < LOW_END && end > INFO_BASE) {
		vm_refuse(
			vm, kernel,
			"kernel %s: its segment %#lx-%#lx overlaps %#lx-0xfffff, which the loader uses: link it "
			"elsewhere",
			kernel->name, s->paddr, end - 1, INFO_BASE);
		return -ENOEXEC;
	}
	if (end > GIB(4) || !guest_ptr(vm, gpa(s->paddr), s->memsz)) {
		vm_refuse(
			vm, memory,
			"kernel %s: its segment at %#lx with %lu KiB lies outside guest RAM: raise memory =",
			kernel->name, s->paddr, s->memsz >> 10);
		return -ENOMEM;
	}
	err = guest_write(vm, gpa(s->paddr), (const u8 *)kernel->data + s->offset, s->filesz);
	return err ? err : guest_zero(vm, gpa(s->paddr + s->filesz), s->memsz - s->filesz);
}

/* Page-aligned, one behind the other, from `at` on. */
static int load_modules(struct vm *vm, u64 at, const struct host_module *const *module,
			struct boot_info *b)
{
	for (unsigned i = 0; i < vm->config->nr_modules; i++) {
		const struct vm_config_module *m = &vm->config->module[i];
		u64 size = module[i]->size;

		at = ALIGN_UP(at, PAGE_SIZE);
		if (at + size > GIB(4) || (size && !guest_ptr(vm, gpa(at), size))) {
			vm_tell(vm,
				"%s:%u: module %s needs %lu KiB of RAM behind the kernel: raise memory =",
				vm->config->file, m->line, m->name, (size + 1023) >> 10);
			return -ENOMEM;
		}
		if (guest_write(vm, gpa(at), module[i]->data, size))
			return -ENOMEM;
		b->module[i] = (struct multiboot_module){ .start = (u32)at,
							  .end = (u32)(at + size),
							  .string = INFO_AT(module_line[i]) };
		snprintf(b->module_line[i], sizeof(b->module_line[i]), m->args[0] ? "%s %s" : "%s",
			 m->name, m->args);
		at += size;
	}
	return 0;
}

static void put_memory(struct vm *vm, struct boot_info *b)
{
	struct e820_entry e820[GPA_E820_MAX];
	unsigned n = gpa_map_e820(&vm_parts(vm)->map, INFO_BASE, INFO_SIZE + GUEST_ACPI_SIZE, e820,
				  GPA_E820_MAX);

	for (unsigned i = 0; i < n; i++) {
		b->mmap[i] = (struct multiboot_mmap){ .size = sizeof(b->mmap[i]) -
							      sizeof(b->mmap[i].size),
						      .addr = e820[i].addr,
						      .length = e820[i].size,
						      .type = e820[i].type };
		if (e820[i].type == E820_RAM && e820[i].addr == LOW_END)
			b->info.mem_upper = (u32)MIN(e820[i].size >> 10, (u64)~0u);
	}
	b->info.mem_lower = INFO_BASE >> 10;
	b->info.mmap_addr = INFO_AT(mmap);
	b->info.mmap_length = n * (u32)sizeof(b->mmap[0]);
}

static void put_info(struct vm *vm, struct boot_info *b)
{
	const struct vm_config *c = vm->config;

	b->info.flags = MULTIBOOT_INFO_MEMORY | MULTIBOOT_INFO_CMDLINE | MULTIBOOT_INFO_MODS |
			MULTIBOOT_INFO_MMAP | MULTIBOOT_INFO_LOADER_NAME;
	b->info.cmdline = INFO_AT(cmdline);
	snprintf(b->cmdline, sizeof(b->cmdline), c->cmdline[0] ? "%s %s" : "%s", c->kernel,
		 c->cmdline);
	b->info.mods_count = c->nr_modules;
	b->info.mods_addr = INFO_AT(module);
	b->info.boot_loader_name = INFO_AT(name);
	memcpy(b->name, LOADER_NAME, sizeof(b->name));
	put_memory(vm, b);
}

/*
 * 3.2: flat 32-bit protected mode without paging; interrupts off; GDTR and IDTR may be invalid, and
 * are.
 */
static void entry_state(struct vm *vm, struct vcpu *vcpu)
{
	const u32 flat = SEG_ATTR_S | SEG_ATTR_P | SEG_ATTR_G | SEG_ATTR_DB;
	const struct segment code = { .selector = BOOT_CS, .attr = flat | 0xb, .limit = ~0u };
	const struct segment data = { .selector = BOOT_DS, .attr = flat | 0x3, .limit = ~0u };
	const struct segment unused = { .attr = SEG_ATTR_UNUSABLE },
			     tss = { .attr = SEG_ATTR_P | 0xb, .limit = 0x67 };

	hvm->set(vcpu, HVM_CR0, CR0_PE | CR0_ET);
	for (enum seg seg = SEG_ES; seg <= SEG_GS; seg++)
		hvm->set_segment(vcpu, seg, seg == SEG_CS ? &code : &data);
	hvm->set_segment(vcpu, SEG_LDTR, &unused);
	hvm->set_segment(vcpu, SEG_TR, &tss);
	vcpu->regs.gpr[GPR_RAX] = MULTIBOOT_LOADED_MAGIC;
	vcpu->regs.gpr[GPR_RBX] = vm->entry_info;
	vcpu->regs.rip = vm->entry_rip;
}

static int load(struct vm *vm, const struct host_module *kernel,
		const struct host_module *const *module)
{
	struct boot_info *b = guest_ptr(vm, gpa(INFO_BASE), sizeof(*b));
	struct elf_image img;
	const char *why = multiboot_parse(kernel->data, kernel->size, &img);
	u8 rsdp[RSDP_SIZE];
	u64 end = LOW_END;
	int err = 0;

	if (why) {
		load_tell(vm, "kernel %s: %s", kernel->name, why);
		return -ENOEXEC;
	}
	for (unsigned i = 0; !err && i < img.count; i++) {
		err = load_segment(vm, kernel, &img.segment[i]);
		end = MAX(end, img.segment[i].paddr + img.segment[i].memsz);
	}
	if (!err)
		err = load_modules(vm, end, module, b);
	if (err)
		return err;
	put_info(vm, b);
	if (!guest_read(vm, vm->rsdp, rsdp, sizeof(rsdp)))
		(void)guest_write(vm, gpa(RSDP_COPY), rsdp, sizeof(rsdp));
	vm->entry_rip = img.entry;
	vm->entry_info = INFO_BASE;
	vm->entry_state = entry_state;
	return 0;
}

static const struct loader multiboot_loader = { .probe = probe, .load = load };
LOADER(multiboot_loader);
