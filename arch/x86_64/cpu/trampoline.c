/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placing and aiming the trampoline (boot/trampoline.asm). SDM vol. 3, 4.5 (4-level paging), 9.4.
 */
#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/trampoline.h"

#define TABLE_ENTRIES 512

/* The image's copy; the words at its end are filled in in the low page's. */
extern const u8 trampoline_start[], trampoline_end[];
extern const u8 trampoline_cr3[], trampoline_stack[], trampoline_entry[], trampoline_arg[];

static u8 *copy;
static u64 kernel_cr3;

static void set_word(const u8 *symbol, u64 value)
{
	*(volatile u64 *)(copy + (symbol - trampoline_start)) = value;
}

/*
 * The kernel's half of the address space, and the page at its physical address, executable and not
 * writable.
 */
static void build_tables(u64 page, u64 pa)
{
	u64(*table)[TABLE_ENTRIES] = phys_to_virt(pa);
	const u64 *kernel = phys_to_virt(kernel_cr3 & PTE_ADDR);

	memset(table, 0, TRAMPOLINE_TABLES * PAGE_SIZE);
	memcpy(&table[0][TABLE_ENTRIES / 2], &kernel[TABLE_ENTRIES / 2], sizeof(table[0]) / 2);
	for (unsigned i = 0; i < TRAMPOLINE_TABLES - 1; i++)
		table[i][0] = (pa + (i + 1) * PAGE_SIZE) | PTE_P | PTE_W;
	table[TRAMPOLINE_TABLES - 1][page / PAGE_SIZE] = page | PTE_P;
}

void trampoline_init(u64 page, u64 tables)
{
	copy = phys_to_virt(page);
	kernel_cr3 = read_cr3();
	memcpy(copy, trampoline_start, (size_t)(trampoline_end - trampoline_start));
	build_tables(page, tables);
	set_word(trampoline_cr3, tables);
}

u8 trampoline_page(void)
{
	return (u8)(virt_to_phys(copy) / PAGE_SIZE);
}

void trampoline_aim(u64 stack_top, void (*entry)(void *arg), void *arg)
{
	set_word(trampoline_stack, stack_top);
	set_word(trampoline_entry, (u64)entry);
	set_word(trampoline_arg, (u64)arg);
}

void trampoline_leave(void)
{
	write_cr3(kernel_cr3);
}
