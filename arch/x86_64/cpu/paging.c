/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's page tables. SDM vol. 3, 4.5 (4-level paging), 4.9 (memory types). */
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/upcall.h"

#define LINK_OFFSET MIB(2) /* of image_start from IMAGE_BASE (margay.lds) */

#define FLAGS_TEXT PTE_P
#define FLAGS_RO (PTE_P | PTE_NX)
#define FLAGS_RW (PTE_P | PTE_W | PTE_NX)
#define FLAGS_UC (FLAGS_RW | PTE_PCD | PTE_PWT) /* PAT entry 3: UC */
#define FLAGS_WC (FLAGS_UC | PTE_PAT) /* PAT entry 7: WC in PAT_HOST */

extern const u8 image_start[], text_end[], rodata_start[], rodata_end[], image_end[];

static u64 load_base = LINK_OFFSET;
static u64 *pml4;
static u64 mmio_next = MMIO_BASE;
static u64 stack_next = STACK_BASE;

void paging_set_load_base(u64 base)
{
	load_base = base;
}

static u64 image_to_phys(u64 va)
{
	return va - IMAGE_BASE - LINK_OFFSET + load_base;
}

/* Bytes that one entry of a table at this level (4: PML4) covers. */
static u64 level_size(unsigned level)
{
	return PAGE_SIZE << (9 * (level - 1));
}

static u64 *entry_of(u64 *table, u64 va, unsigned level)
{
	return &table[va / level_size(level) & 511];
}

/* The leaf entry that maps va, and its level; NULL when there is none. */
static const u64 *walk(u64 va, unsigned *level)
{
	u64 *table = pml4, *e;

	for (*level = 4;; (*level)--) {
		e = entry_of(table, va, *level);
		if (!(*e & PTE_P))
			return NULL;
		if (*level == 1 || *e & PTE_PS)
			return e;
		table = phys_to_virt(*e & PTE_ADDR);
	}
}

static bool leaf_fits(unsigned level, u64 va, u64 pa, u64 size)
{
	u64 page = level_size(level);

	if (level == 1)
		return true;
	if (level == 4 || (level == 3 && !cpu_features.page_1g))
		return false;
	return size >= page && IS_ALIGNED(va | pa, page);
}

/*
 * Maps with the largest leaves that fit. What is mapped already stays as it is. All of va, pa, size
 * page-aligned.
 */
static void map(u64 va, u64 pa, u64 size, u64 flags)
{
	while (size) {
		u64 *table = pml4, *e;
		unsigned level = 4;
		u64 step;

		for (;; level--) {
			e = entry_of(table, va, level);
			if (!(*e & PTE_P)) {
				if (leaf_fits(level, va, pa, size)) {
					*e = pa | flags |
					     (level > 1 ? PTE_PS | (flags & PTE_PAT) << 5 : 0);
					break;
				}
				*e = upcall_table_page() | PTE_P | PTE_W;
			} else if (level == 1 || *e & PTE_PS) {
				break;
			}
			table = phys_to_virt(*e & PTE_ADDR);
		}
		step = MIN(size, level_size(level) - (va & (level_size(level) - 1)));
		va += step;
		pa += step;
		size -= step;
	}
}

static void map_image(const u8 *from, const u8 *to, u64 flags)
{
	map((u64)from, image_to_phys((u64)from), (u64)(to - from), flags);
}

void paging_init(const struct phys_range *ram, unsigned count)
{
	u64 image_pa = image_to_phys((u64)image_start);
	u64 pml4_pa = upcall_table_page();

	pml4 = phys_to_virt(pml4_pa);

	map_image(image_start, text_end, FLAGS_TEXT);
	map_image(rodata_start, rodata_end, FLAGS_RO);
	map_image(rodata_end, image_end, FLAGS_RW);

	/* First come, first served: the image's memory has no writable alias in the direct map. */
	map(DIRECT_MAP_BASE + image_pa, image_pa, (u64)(image_end - image_start), FLAGS_RO);
	for (unsigned i = 0; i < count; i++) {
		u64 base = ALIGN_DOWN(ram[i].base, PAGE_SIZE);
		u64 end = ALIGN_UP(ram[i].base + ram[i].size, PAGE_SIZE);

		end = MIN(end, DIRECT_MAP_SIZE);
		if (base < end)
			map(DIRECT_MAP_BASE + base, base, end - base, FLAGS_RW);
	}
	write_cr3(pml4_pa);
}

u64 virt_to_phys(const void *ptr)
{
	u64 va = (u64)ptr;
	const u64 *e;
	unsigned level;

	if (va >= DIRECT_MAP_BASE && va < DIRECT_MAP_BASE + DIRECT_MAP_SIZE)
		return va - DIRECT_MAP_BASE;
	if (va >= (u64)image_start && va < (u64)image_end)
		return image_to_phys(va);
	e = pml4 ? walk(va, &level) : NULL;
	if (!e)
		upcall_panic("virt_to_phys: %#lx is not mapped", va);
	return (*e & PTE_ADDR & ~(level_size(level) - 1)) | (va & (level_size(level) - 1));
}

void paging_map_ro(u64 pa, u64 size)
{
	u64 base = ALIGN_DOWN(pa, PAGE_SIZE);
	u64 end = ALIGN_UP(pa + size, PAGE_SIZE);

	if (end > base && end <= DIRECT_MAP_SIZE)
		map(DIRECT_MAP_BASE + base, base, end - base, FLAGS_RO);
}

void *mmio_map_type(u64 pa, u64 size, bool write_combining)
{
	u64 base = ALIGN_DOWN(pa, PAGE_SIZE);
	u64 end = ALIGN_UP(pa + size, PAGE_SIZE);
	u64 va = mmio_next;

	/* Large windows (ECAM) in large pages: same offset within 2 MiB as the physical address. */
	if (end - base >= PAGE_SIZE_2M)
		va = ALIGN_UP(va, PAGE_SIZE_2M) + (base & (PAGE_SIZE_2M - 1));
	if (end <= base || end > BIT(cpu_features.phys_bits) || end - base > MMIO_SIZE ||
	    va + (end - base) + PAGE_SIZE > MMIO_BASE + MMIO_SIZE) {
		upcall_log("mmio: cannot map %#lx bytes at %#lx", size, pa);
		return NULL;
	}
	map(va, base, end - base, write_combining ? FLAGS_WC : FLAGS_UC);
	mmio_next = va + (end - base) + PAGE_SIZE;
	return (void *)(va + (pa - base));
}

void *stack_map(u64 pa, u64 size)
{
	u64 va = stack_next + PAGE_SIZE;

	if (size > STACK_BASE + STACK_SIZE - va - PAGE_SIZE)
		upcall_panic("stack_map: no address space left");
	map(va, pa, size, FLAGS_RW);
	stack_next = va + size;
	return (void *)(va + size);
}
