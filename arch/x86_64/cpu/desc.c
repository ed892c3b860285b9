/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GDT and TSS of each CPU. SDM vol. 3, 3.4.5 (segment descriptors), 8.2.3 (TSS descriptor in 64-bit
 * mode).
 */
#include "arch/x86_64/cpu/desc.h"
#include "arch/x86_64/cpu/insn.h"

#define DESC_CODE64 0x00af9b000000ffffull
#define DESC_DATA 0x00cf93000000ffffull
#define DESC_TSS_AVAILABLE 0x0000890000000000ull
#define DESC_TSS_BUSY BIT(41)

struct desc_ptr {
	u16 limit;
	u64 base;
} __packed;
static_assert(sizeof(struct desc_ptr) == 10, "SDM vol. 3, figure 2-6");

static void load_tr(struct cpu_desc *desc)
{
	/* LTR takes an available TSS, and makes it busy. */
	desc->gdt[SEL_TSS / 8] &= ~DESC_TSS_BUSY;
	asm volatile("ltr %w0" : : "r"(SEL_TSS) : "memory");
}

void desc_load(struct cpu_desc *desc, u64 gs)
{
	struct desc_ptr gdtr = { sizeof(desc->gdt) - 1, (u64)desc->gdt };
	u64 base = (u64)&desc->tss;

	desc->gdt[0] = 0;
	desc->gdt[SEL_CODE / 8] = DESC_CODE64;
	desc->gdt[SEL_DATA / 8] = DESC_DATA;
	desc->gdt[SEL_TSS / 8] = DESC_TSS_AVAILABLE | (sizeof(struct tss) - 1) |
				 (base & 0xffffff) << 16 | (base >> 24 & 0xff) << 56;
	desc->gdt[SEL_TSS / 8 + 1] = base >> 32;
	desc->tss.iomap_base = sizeof(struct tss);
	desc->gs = gs;
	asm volatile("lgdt %0" : : "m"(gdtr) : "memory");
	load_tr(desc);

	asm volatile("mov %0, %%ds; mov %0, %%es; mov %0, %%ss" : : "r"(SEL_DATA) : "memory");
	asm volatile("mov %0, %%fs; mov %0, %%gs" : : "r"(0) : "memory");
	wrmsr(MSR_GS_BASE, gs);
	asm volatile("pushq %0; leaq 1f(%%rip), %%rax; pushq %%rax; lretq; 1:" : : "i"(SEL_CODE)
		     : "rax", "memory");
}

void desc_set_ist(struct cpu_desc *desc, enum ist slot, u64 top)
{
	desc->tss.ist[slot] = top;
}

u64 desc_gdt_base(void)
{
	struct desc_ptr gdtr;

	asm volatile("sgdt %0" : "=m"(gdtr));
	return gdtr.base;
}

static struct cpu_desc *own(void)
{
	return container_of((u64(*)[6])desc_gdt_base(), struct cpu_desc, gdt);
}

u64 desc_take_gs(void)
{
	u64 before = rdmsr(MSR_GS_BASE);

	wrmsr(MSR_GS_BASE, own()->gs);
	return before;
}

void desc_give_gs(u64 gs)
{
	wrmsr(MSR_GS_BASE, gs);
}

void desc_take_tr(void)
{
	load_tr(own());
}

u64 desc_idt_base(void)
{
	struct desc_ptr idtr;

	asm volatile("sidt %0" : "=m"(idtr));
	return idtr.base;
}

u64 desc_tss_base(void)
{
	const u64 *gdt = (const u64 *)desc_gdt_base();
	u64 low = gdt[SEL_TSS / 8], high = gdt[SEL_TSS / 8 + 1];

	return high << 32 | (low >> 56 & 0xff) << 24 | (low >> 16 & 0xffffff);
}
