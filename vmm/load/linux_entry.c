/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state in which Linux' 64-bit entry point is called: identity page
 * tables, a GDT with 0x10 code and 0x18 data, and the vCPU's registers (Linux,
 * Documentation/x86/boot.rst, "64-bit Boot Protocol").
 */
#include "vmm/load/linux_entry.h"

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/hvm.h"
#include "vmm/load/load_linux.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

#define ENTRIES 512
/*
 * PML4; PDPT and directories of what is mapped below 4 GiB; of a kernel above it, across any
 * boundary.
 */
#define TABLE_PAGES (1 + 1 + 4 + 2 + 2)
static_assert(LINUX_ENTRY_TABLES + TABLE_PAGES * PAGE_SIZE <= LINUX_ENTRY_END, "it must fit");

enum { BOOT_CS = 0x10, BOOT_DS = 0x18 };

/*
 * Flat descriptors: 64-bit code, execute/read, and data, read/write, both accessed (SDM vol. 3,
 * 3.4.5).
 */
static const u64 boot_gdt[] = { 0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff };

struct tables {
	u64 (*page)[ENTRIES]; /* page 0 is the PML4 */
	unsigned used;
};

/* The table that an entry points to, a new one if there is none; NULL: no page is left. */
static u64 *next_level(struct tables *t, u64 *entry)
{
	if (!*entry) {
		if (t->used == TABLE_PAGES)
			return NULL;
		*entry = (LINUX_ENTRY_TABLES + t->used++ * PAGE_SIZE) | PTE_P | PTE_W | PTE_A;
	}
	return t->page[(*entry - LINUX_ENTRY_TABLES) / PAGE_SIZE];
}

/* Maps [start, end) one to one by 2 MiB pages. False: more than the tables hold. */
static bool map(struct tables *t, u64 start, u64 end)
{
	for (u64 at = ALIGN_DOWN(start, PAGE_SIZE_2M); at < end; at += PAGE_SIZE_2M) {
		u64 *pdpt = next_level(t, &t->page[0][at >> 39 & (ENTRIES - 1)]);
		u64 *pd = pdpt ? next_level(t, &pdpt[at >> 30 & (ENTRIES - 1)]) : NULL;

		if (!pd)
			return false;
		pd[at >> 21 & (ENTRIES - 1)] = at | PTE_P | PTE_W | PTE_A | PTE_D | PTE_PS;
	}
	return true;
}

int linux_entry_tables(struct vm *vm, u64 kernel, u64 size)
{
	struct tables t = { guest_ptr(vm, gpa(LINUX_ENTRY_TABLES), TABLE_PAGES * PAGE_SIZE), 1 };

	if (!t.page || guest_write(vm, gpa(LINUX_ENTRY_GDT), boot_gdt, sizeof(boot_gdt))) {
		vm_refuse(vm, memory, "no RAM below 640 KiB for the kernel's start-up tables");
		return -ENOMEM;
	}
	memset(t.page, 0, TABLE_PAGES * PAGE_SIZE);
	if (!map(&t, 0, LINUX_ENTRY_MAPPED) || !map(&t, kernel, kernel + size)) {
		vm_refuse(vm, kernel, "a kernel of %lu MiB is too large for the start-up tables",
			  size >> 20);
		return -E2BIG;
	}
	return 0;
}

static void set_segments(struct vcpu *vcpu)
{
	const u32 flat = SEG_ATTR_S | SEG_ATTR_P | SEG_ATTR_G;
	const struct segment code = { .selector = BOOT_CS,
				      .attr = flat | SEG_ATTR_L | 0xb,
				      .limit = ~0u };
	const struct segment data = { .selector = BOOT_DS,
				      .attr = flat | SEG_ATTR_DB | 0x3,
				      .limit = ~0u };
	const struct segment unused = { .attr = SEG_ATTR_UNUSABLE },
			     tss = { .attr = SEG_ATTR_P | 0xb, .limit = 0x67 };

	hvm->set_segment(vcpu, SEG_ES, &data);
	hvm->set_segment(vcpu, SEG_CS, &code);
	hvm->set_segment(vcpu, SEG_SS, &data);
	hvm->set_segment(vcpu, SEG_DS, &data);
	hvm->set_segment(vcpu, SEG_FS, &unused);
	hvm->set_segment(vcpu, SEG_GS, &unused);
	hvm->set_segment(vcpu, SEG_LDTR, &unused);
	/*
	 * A 64-bit guest's TR must be a busy TSS even before it loads one (SDM vol. 3, 27.3.1.2).
	 */
	hvm->set_segment(vcpu, SEG_TR, &tss);
}

void load_linux_entry_state(struct vm *vm, struct vcpu *vcpu)
{
	const struct desc_table gdt = { .base = LINUX_ENTRY_GDT, .limit = sizeof(boot_gdt) - 1 };
	const struct desc_table no_idt = { 0 };

	hvm->set(vcpu, HVM_CR4, CR4_PAE);
	hvm->set(vcpu, HVM_CR3, LINUX_ENTRY_TABLES);
	hvm->set(vcpu, HVM_EFER, EFER_LME | EFER_LMA);
	hvm->set(vcpu, HVM_CR0, CR0_PE | CR0_ET | CR0_NE | CR0_PG);
	set_segments(vcpu);
	hvm->set_desc_table(vcpu, false, &gdt);
	hvm->set_desc_table(vcpu, true, &no_idt);
	memset(vcpu->regs.gpr, 0, sizeof(vcpu->regs.gpr));
	vcpu->regs.gpr[GPR_RSI] = vm->entry_info;
	vcpu->regs.rip = vm->entry_rip;
	vcpu->regs.rflags = RFLAGS_FIXED;
}
