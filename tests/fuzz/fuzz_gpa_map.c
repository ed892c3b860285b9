/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/gpa_map.c */
/* FUZZ: -max_len=200 */
/*
 * Fuzzes the guest-physical map with extents of any place and size. Checked
 * against the rules of its header, byte by byte at the edges: no RAM in a
 * hole, no overlap, GPA congruent to HPA, nothing lost, a refused extent
 * changes nothing, and the e820 table covers exactly the RAM.
 */
#include <margay/errno.h>

#include "tests/fuzz/fuzz.h"
#include "vmm/memory/gpa_map.h"

static bool in_hole(u64 gpa)
{
	return (gpa >= GPA_HOLE_START && gpa < GPA_HOLE_END) ||
	       (gpa >= GPA_HT_START && gpa < GPA_HT_END);
}

/* The naive lookup. */
static const struct gpa_region *find(const struct gpa_map *m, u64 gpa)
{
	for (unsigned i = 0; i < m->count; i++)
		if (gpa >= m->region[i].gpa && gpa <= m->region[i].gpa + (m->region[i].size - 1))
			return &m->region[i];
	return NULL;
}

static void check_map(const struct gpa_map *m, u64 total)
{
	u64 sum = 0;

	CHECK(m->count <= GPA_MAP_MAX);
	for (unsigned i = 0; i < m->count; i++) {
		const struct gpa_region *r = &m->region[i];
		u64 last = r->gpa + r->size - 1;
		/* The lowest and highest addresses of it, and its neighbours. */
		const u64 probe[] = { r->gpa, last, r->gpa - 1, last + 1 };

		CHECK(r->size && IS_ALIGNED(r->gpa | r->size | r->hpa, PAGE_SIZE) &&
		      last >= r->gpa);
		CHECK(!in_hole(r->gpa) && !in_hole(last) &&
		      !(r->gpa < GPA_HOLE_START && last >= GPA_HOLE_END) &&
		      !(r->gpa < GPA_HT_START && last >= GPA_HT_END));
		CHECK(!i || r->gpa > r[-1].gpa + r[-1].size - 1);
		CHECK(!r->gpa || IS_ALIGNED(r->gpa - r->hpa, PAGE_SIZE_2M) ||
		      r->hpa - r->gpa == r[-1].hpa - r[-1].gpa ||
		      (i == 1 && m->region[0].gpa == 0));
		for (unsigned k = 0; k < ARRAY_SIZE(probe); k++)
			CHECK(gpa_map_find(m, probe[k]) == find(m, probe[k]));
		sum += r->size;
	}
	CHECK(sum == total && gpa_map_size(m) == total);
	CHECK(gpa_map_end(m) ==
	      (m->count ? m->region[m->count - 1].gpa + m->region[m->count - 1].size : 0));
}

static void check_e820(const struct gpa_map *m, u64 acpi, u64 acpi_size)
{
	struct e820_entry e[GPA_E820_MAX + 1];
	unsigned n = gpa_map_e820(m, acpi, acpi_size, e, GPA_E820_MAX + 1), acpis = 0;
	u64 ram = 0, want = 0;

	CHECK(n <= GPA_E820_MAX);
	for (unsigned i = 0; i < n; i++) {
		u64 last = e[i].addr + e[i].size - 1;

		CHECK(e[i].size && last >= e[i].addr &&
		      (!i || e[i].addr > e[i - 1].addr + e[i - 1].size - 1));
		CHECK(!i || e[i].type != e[i - 1].type ||
		      e[i].addr != e[i - 1].addr + e[i - 1].size);
		if (e[i].type == E820_ACPI) {
			CHECK(e[i].addr == acpi && e[i].size == acpi_size);
			acpis++;
			continue;
		}
		CHECK(e[i].type == E820_RAM);
		CHECK(find(m, e[i].addr) && find(m, last) &&
		      (last < 0xa0000 || e[i].addr >= 0x100000));
		ram += e[i].size;
	}
	CHECK(acpis == (acpi_size ? 1 : 0));
	for (unsigned i = 0; i < m->count; i++) {
		u64 start = m->region[i].gpa, end = start + m->region[i].size;

		want += end - start;
		/* Less the ISA hole and the ACPI area. */
		if (MAX(start, 0xa0000ull) < MIN(end, 0x100000ull))
			want -= MIN(end, 0x100000ull) - MAX(start, 0xa0000ull);
		if (MAX(start, acpi) < MIN(end, acpi + acpi_size))
			want -= MIN(end, acpi + acpi_size) - MAX(start, acpi);
	}
	CHECK(ram == want);
	/* A table that is too short is cut, not overrun. */
	if (n)
		CHECK(gpa_map_e820(m, acpi, acpi_size, e, n - 1) == n - 1);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct gpa_map m = { 0 }, before;
	u8 how = fuzz_u8(&in);
	u64 total = 0, acpi_size = how & 1 ? 0x10000 : 0;

	for (unsigned i = 0; in.left && i < 24; i++) {
		u8 shape = fuzz_u8(&in);
		u64 hpa = fuzz_number(&in), n = fuzz_number(&in);
		int err;

		/*
		 * Most extents are as the kernel gives them: whole 2 MiB or 4 KiB pages, below 52
		 * bits.
		 */
		if (shape & 3) {
			hpa = ALIGN_DOWN(hpa, shape & 1 ? PAGE_SIZE_2M : PAGE_SIZE) & (BIT(52) - 1);
			n = ALIGN_DOWN(n, shape & 1 ? PAGE_SIZE_2M : PAGE_SIZE) & (BIT(46) - 1);
		}
		before = m;
		err = gpa_map_add(&m, hpa, n, shape >> 2 & 3);
		if (err) {
			CHECK(err == -EINVAL || err == -ENOSPC);
			CHECK((err == -EINVAL) ==
			      (!n || !IS_ALIGNED(hpa | n, PAGE_SIZE) || hpa + n < hpa));
			CHECK(!memcmp(&m, &before, sizeof(m)));
		} else {
			total += n;
		}
	}
	/* Regions are never changed, so the end shows all of them. */
	check_map(&m, total);
	CHECK(!gpa_map_find(&m, GPA_HOLE_START) && !gpa_map_find(&m, GPA_HT_END - 1));
	/* The ACPI area lies in low RAM or behind all of it. */
	if (m.count && m.region[0].size >= MIB(1))
		check_e820(&m, how & 2 ? gpa_map_end(&m) : 0x90000, acpi_size);
	return 0;
}
