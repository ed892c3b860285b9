/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the guest-physical memory map. Places a VM's extents below and
 * above the 32-bit hole, answers GPA -> HPA, and yields the e820 view.
 */
#ifndef VMM_GPA_MAP_H
#define VMM_GPA_MAP_H

#include <margay/types.h>

#define GPA_MAP_MAX 32

/* Guest RAM [gpa, gpa+size) at host [hpa, hpa+size). */
struct gpa_region {
	u64 gpa;
	u64 size;
	u64 hpa;
	int node;
};

/* What lies together in such a region, and where the monitor finds it. */
struct gpa_window {
	u64 gpa;
	u64 size;
	u8 *at;
};

/* Sorted by gpa, no overlap, sizes multiples of 4 KiB. */
struct gpa_map {
	unsigned count;
	struct gpa_region region[GPA_MAP_MAX];
};

/* The hole for MMIO (IOAPIC, LAPIC, later PCI windows): RAM lies below and above it. */
#define GPA_HOLE_START 0xc0000000ull
#define GPA_HOLE_END 0x100000000ull
/*
 * What AMD CPUs keep for HyperTransport; left free on every CPU, so that a VM's map depends on its
 * size alone.
 */
#define GPA_HT_START 0xfd00000000ull
#define GPA_HT_END 0x10000000000ull

/*
 * Appends an extent at the next free GPA, cut at the holes. GPA is congruent
 * to HPA modulo the extent's page size: 1 GiB when it holds a whole 1 GiB
 * page, else 2 MiB. Only the map's first extent starts at GPA 0 whatever its
 * HPA: align it. 0; -ENOSPC when the map is full; -EINVAL when hpa or size is
 * no multiple of 4 KiB, or size is 0. The map is unchanged on error.
 */
int gpa_map_add(struct gpa_map *map, u64 hpa, u64 size, int node);
/* The same from GPA `from` on, which is not below gpa_map_end(). */
int gpa_map_add_from(struct gpa_map *map, u64 from, u64 hpa, u64 size, int node);

/* Region that holds gpa, or NULL. */
const struct gpa_region *gpa_map_find(const struct gpa_map *map, u64 gpa);

/* The guest's address of one of the host's: true and *gpa, or it is no RAM of the guest's. */
bool gpa_map_of_host(const struct gpa_map *map, u64 hpa, u64 *gpa);

/*
 * One past the highest GPA of RAM; 0 for an empty map. To compare with the guest's physical address
 * width.
 */
u64 gpa_map_end(const struct gpa_map *map);

/* Bytes of RAM in the map. */
u64 gpa_map_size(const struct gpa_map *map);

/* One e820 line of the guest. */
struct e820_entry {
	u64 addr;
	u64 size;
	u32 type;
} __packed;
static_assert(sizeof(struct e820_entry) == 20, "Linux struct boot_e820_entry");
enum { E820_RAM = 1, E820_RESERVED = 2, E820_ACPI = 3 };

/*
 * Entries that always suffice: a region each, the ISA hole, and the ACPI area with the RAM behind
 * it.
 */
#define GPA_E820_MAX (GPA_MAP_MAX + 3)

/*
 * The e820 table, sorted: RAM but for 0xa0000-0xfffff, and the monitor's ACPI
 * area [acpi, acpi+acpi_size) as type 3 (acpi_size 0: none). Neighbours are
 * merged. Returns the entries written (<= max).
 */
unsigned gpa_map_e820(const struct gpa_map *map, u64 acpi, u64 acpi_size, struct e820_entry *out,
		      unsigned max);

#endif
