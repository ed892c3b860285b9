/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's address space, shared by all CPUs (SDM vol. 3, 4.5):
 *
 *   0xffff800000000000  direct map of RAM: RW, NX, write-back
 *   0xffffc00000000000  MMIO, uncacheable or write-combining, handed out upwards
 *   0xffffe00000000000  stacks, each above an unmapped guard page
 *   0xffffffff80000000  the image: text R-X, read-only data R--, data RW-
 *
 * From entry.asm until paging_init() the boot tables map the first 4 GiB both
 * at 0 and at the direct map's place, so phys_to_virt() holds for them from
 * the first line of C on.
 */
#ifndef ARCH_CPU_PAGING_H
#define ARCH_CPU_PAGING_H

#include <margay/types.h>

#define DIRECT_MAP_BASE 0xffff800000000000ull
#define DIRECT_MAP_SIZE 0x0000400000000000ull /* 64 TiB */
#define MMIO_BASE 0xffffc00000000000ull
#define MMIO_SIZE GIB(512)
#define STACK_BASE 0xffffe00000000000ull
#define STACK_SIZE GIB(1)
#define IMAGE_BASE 0xffffffff80000000ull
#define BOOT_MAP_SIZE GIB(4)

/* A piece of RAM for the direct map. */
struct phys_range {
	u64 base;
	u64 size;
};

/*
 * Where the image's first byte (IMAGE_BASE + 2 MiB) was loaded: set first of all, by
 * kernel_start().
 */
void paging_set_load_base(u64 load_base);

/*
 * Builds the final tables and loads CR3: the direct map of `ram` (page-rounded
 * outwards; need not be sorted), the image with W^X, nothing at low addresses.
 * Table pages come from upcall_table_page() and must lie below
 * BOOT_MAP_SIZE. Panics when memory for tables runs out.
 */
void paging_init(const struct phys_range *ram, unsigned count);

/* The direct map; for RAM only. */
static inline void *phys_to_virt(u64 pa)
{
	return (void *)(DIRECT_MAP_BASE + pa);
}

/*
 * Physical address of what is mapped; panics for anything else. Before paging_init(): direct map
 * and image only.
 */
u64 virt_to_phys(const void *va);

/*
 * Adds RAM that the memory map did not call RAM (ACPI tables in reserved
 * memory) to the direct map, read-only and NX. Idempotent. After paging_init().
 */
void paging_map_ro(u64 pa, u64 size);

/*
 * Maps device registers, uncacheable and NX, or a framebuffer, to which writes
 * are combined (SDM vol. 3, 12.3.1); any alignment, the offset within
 * the page is kept. Never unmapped; an unmapped page follows. NULL when the
 * window is full (logged) or the address is beyond the CPU's physical width.
 * After paging_init().
 */
void *mmio_map_type(u64 pa, u64 size, bool write_combining);
static inline void *mmio_map(u64 pa, u64 size)
{
	return mmio_map_type(pa, size, false);
}

/*
 * Maps `size` bytes of RAM at pa (whole pages) as a stack, with an unmapped
 * page below and above; returns its top. After paging_init().
 */
void *stack_map(u64 pa, u64 size);

#endif
