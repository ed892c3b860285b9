/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the guest-physical memory map and its e820 view. */
#include "vmm/memory/gpa_map.h"

#include <margay/errno.h>

/*
 * Where no RAM may lie: the 32-bit MMIO hole, and the range that AMD CPUs keep
 * for HyperTransport (APM vol. 2, 15.30 and BKDG "memory map").
 */
static const struct {
	u64 start;
	u64 end;
} holes[] = {
	{ GPA_HOLE_START, GPA_HOLE_END },
	{ GPA_HT_START, GPA_HT_END },
};

/* The page size that [hpa, hpa+size) can be mapped with. */
static u64 leaf_size(u64 hpa, u64 size)
{
	u64 first = ALIGN_UP(hpa, PAGE_SIZE_1G);

	if (first >= hpa && first - hpa <= size && size - (first - hpa) >= PAGE_SIZE_1G)
		return PAGE_SIZE_1G;
	return PAGE_SIZE_2M;
}

/* Lowest GPA from `from` on that is congruent to hpa modulo its leaf and in no hole. */
static u64 place(u64 from, u64 hpa, u64 leaf)
{
	u64 gpa = from + ((hpa - from) & (leaf - 1));

	for (unsigned i = 0; i < ARRAY_SIZE(holes); i++)
		if (gpa >= holes[i].start && gpa < holes[i].end)
			gpa = holes[i].end + ((hpa - holes[i].end) & (leaf - 1));
	return gpa;
}

/* Bytes from gpa to the next hole, at most size. */
static u64 room(u64 gpa, u64 size)
{
	for (unsigned i = 0; i < ARRAY_SIZE(holes); i++)
		if (gpa < holes[i].start)
			return MIN(size, holes[i].start - gpa);
	return size;
}

u64 gpa_map_end(const struct gpa_map *map)
{
	const struct gpa_region *last;

	if (!map->count)
		return 0;
	last = &map->region[map->count - 1];
	return last->gpa + last->size;
}

int gpa_map_add_from(struct gpa_map *map, u64 from, u64 hpa, u64 size, int node)
{
	struct gpa_map new = *map;

	if (!size || !IS_ALIGNED(hpa | size, PAGE_SIZE) || hpa + size < hpa)
		return -EINVAL;
	while (size) {
		u64 gpa = new.count ? place(MAX(gpa_map_end(&new), from), hpa, leaf_size(hpa, size))
				    : from;
		u64 n = room(gpa, size);

		if (new.count == GPA_MAP_MAX || gpa < gpa_map_end(&new) || gpa + n < gpa)
			return -ENOSPC;
		new.region[new.count++] =
			(struct gpa_region){ .gpa = gpa, .size = n, .hpa = hpa, .node = node };
		hpa += n;
		size -= n;
	}
	*map = new;
	return 0;
}

int gpa_map_add(struct gpa_map *map, u64 hpa, u64 size, int node)
{
	return gpa_map_add_from(map, 0, hpa, size, node);
}

const struct gpa_region *gpa_map_find(const struct gpa_map *map, u64 gpa)
{
	for (unsigned i = 0; i < map->count; i++)
		if (gpa - map->region[i].gpa < map->region[i].size)
			return &map->region[i];
	return NULL;
}

bool gpa_map_of_host(const struct gpa_map *map, u64 hpa, u64 *gpa)
{
	for (unsigned i = 0; i < map->count; i++) {
		const struct gpa_region *r = &map->region[i];

		if (hpa - r->hpa < r->size) {
			*gpa = r->gpa + (hpa - r->hpa);
			return true;
		}
	}
	return false;
}

u64 gpa_map_size(const struct gpa_map *map)
{
	u64 size = 0;

	for (unsigned i = 0; i < map->count; i++)
		size += map->region[i].size;
	return size;
}

struct e820_table {
	struct e820_entry *out;
	unsigned count;
	unsigned max;
};

static void e820_emit(struct e820_table *t, u64 start, u64 end, u32 type)
{
	struct e820_entry *last = t->count ? &t->out[t->count - 1] : NULL;

	if (start >= end)
		return;
	if (last && last->type == type && last->addr + last->size == start)
		last->size += end - start;
	else if (t->count < t->max)
		t->out[t->count++] = (struct e820_entry){ start, end - start, type };
}

/* e820 is sorted: the ACPI area goes in before the first RAM that lies above it. */
unsigned gpa_map_e820(const struct gpa_map *map, u64 acpi, u64 acpi_size, struct e820_entry *out,
		      unsigned max)
{
	static const struct {
		u64 start;
		u64 end;
	} isa[] = { { 0, 0xa0000 }, { 0x100000, ~0ull } };
	struct e820_table t = { .out = out, .max = max };
	u64 acpi_end = acpi + acpi_size;
	bool done = !acpi_size;

	for (unsigned i = 0; i < map->count; i++) {
		const struct gpa_region *r = &map->region[i];

		for (unsigned k = 0; k < ARRAY_SIZE(isa); k++) {
			u64 start = MAX(r->gpa, isa[k].start),
			    end = MIN(r->gpa + r->size, isa[k].end);

			e820_emit(&t, start, MIN(end, acpi), E820_RAM);
			if (!done && start < end && acpi < end) {
				e820_emit(&t, acpi, acpi_end, E820_ACPI);
				done = true;
			}
			e820_emit(&t, MAX(start, acpi_end), end, E820_RAM);
		}
	}
	if (!done)
		e820_emit(&t, acpi, acpi_end, E820_ACPI);
	return t.count;
}
