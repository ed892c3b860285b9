/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/pci/dma_windows.c vmm/plan/plan.c vmm/plan/plan_memory.c vmm/memory/gpa_map.c @tests/unit/vm_files.sources lib/span.c */
/*
 * DMA windows: what the planner makes for `dma = window` on random machines
 * obeys the rules, by a reading of its own of what Linux does with windows;
 * maps that break one are refused, each with its reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/pci/dma_windows.h"
#include "vmm/plan/plan.h"

static struct plan_host host;
static struct plan plan;
static struct vm_config config;
static struct config_error err;
static struct dma_windows w;

/* ---- as Linux' phys_to_dma() and dma_to_phys(): the first that matches -------------- */

#define NONE (~0ull)

static u64 to_bus(u64 gpa)
{
	for (unsigned i = 0; i < w.count; i++)
		if (gpa - w.window[i].gpa < w.window[i].length)
			return gpa - w.window[i].gpa + w.window[i].hpa;
	return NONE;
}

static u64 to_gpa(u64 bus)
{
	for (unsigned i = 0; i < w.count; i++)
		if (bus - w.window[i].hpa < w.window[i].length)
			return bus - w.window[i].hpa + w.window[i].gpa;
	return NONE;
}

static void check_page(u64 gpa, u64 hpa)
{
	assert_int_equal(to_bus(gpa), hpa);
	assert_int_equal(to_gpa(hpa), gpa);
	if (gpa >= MIB(1))
		assert_int_equal(gpa < GIB(4), hpa < GIB(4));
}

static void check_map(const struct gpa_map *map)
{
	u64 top = 0, end = 0;

	for (unsigned i = 0; i < map->count; i++) {
		const struct gpa_region *r = &map->region[i], *next = r + 1;

		check_page(r->gpa, r->hpa);
		check_page(r->gpa + r->size - PAGE_SIZE, r->hpa + r->size - PAGE_SIZE);
		assert_true(r->gpa >= end);
		end = r->gpa + r->size;
		assert_true(r->gpa <= r->hpa);
		if (r->gpa >= MIB(1))
			top = r->hpa > top ? r->hpa : top;
		/* Neighbours are neighbours on the host, too. */
		if (i + 1 < map->count && next->gpa == end)
			assert_int_equal(next->hpa, r->hpa + r->size);
	}
	assert_int_equal(map->region[map->count - 1].hpa, top);
	/* Any 32-bit mask ends at something that is below 4 GiB. */
	assert_int_equal(to_gpa(0xffffffff), 0xffffffff);
}

/* ---- the planner ------------------------------------------------------------------ */

static u32 seed;

static u32 rnd(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (u32)((u64)seed * n >> 32);
}

/* Pieces of 2 MiB up to 4 GiB, below and above 4 GiB, some of them across the holes. */
static void random_machine(void)
{
	u64 at = MIB(2) * (1 + rnd(100));

	memset(&host, 0, sizeof(host));
	host.nr_nodes = 1 + rnd(3);
	host.nr_cpus = 4;
	host.phys_bits = 48;
	host.leaf_1g = rnd(2);
	for (unsigned i = 0; i < 4; i++)
		host.cpu[i] = (struct plan_cpu){ .apic_id = i,
						 .node = (u16)(i % host.nr_nodes),
						 .online = true };
	for (unsigned a = 0; a < host.nr_nodes; a++)
		for (unsigned b = 0; b < host.nr_nodes; b++)
			host.distance[a][b] = a == b ? 10 : 20;
	for (unsigned i = 1 + rnd(8); i; i--) {
		struct plan_piece *p = &host.piece[host.nr_pieces++];

		p->start = at;
		p->end = at + MIB(2) * (1 + rnd(rnd(2) ? 2000 : 60));
		p->node = rnd(host.nr_nodes);
		host.node_memory[p->node] += p->end - p->start;
		at = p->end + MIB(2) * rnd(rnd(2) ? 4 : 1500) + (rnd(8) ? 0 : GIB(rnd(1100)));
	}
}

static int plan_window(const char *keys)
{
	char text[200];

	snprintf(text, sizeof(text), "kernel = k\ndma = window\n%s", keys);
	if (vm_config_parse("f", text, strlen(text), &config, &err, NULL))
		fail_msg("%s", err.text);
	return plan_vm(&host, &config, &plan, &err);
}

static void random_plans(void **)
{
	unsigned good = 0, several = 0, high = 0;

	for (unsigned i = 0; i < 30000; i++) {
		char keys[120];
		const char *why;

		seed = i * 977 + 1;
		random_machine();
		snprintf(keys, sizeof(keys), "cpus = %u\nmemory = %uM\nremote_memory = %s\n",
			 1 + rnd(4), 2 * (16 + rnd(rnd(2) ? 3000 : 200)),
			 rnd(2) ? "allow" : "refuse");
		if (plan_window(keys))
			continue;
		why = dma_windows_build(&plan.map, NULL, 0, &w);
		if (why)
			fail_msg("%s: %s", keys, why);
		assert_int_equal(gpa_map_size(&plan.map), config.memory + MIB(1));
		check_map(&plan.map);
		good++;
		several += w.count > 3;
		high += plan.map.count > 1 && plan.map.region[1].hpa >= GIB(4);
	}
	assert_true(good > 5000 && several > 1000 && high > 500);
}

/*
 * One node: the low MiB, memory for 32-bit devices, the rest above 4 GiB; at offsets of their own.
 */
static void by_example(void **)
{
	memset(&host, 0, sizeof(host));
	host.nr_nodes = host.nr_cpus = 1;
	host.phys_bits = 48;
	host.leaf_1g = true;
	host.cpu[0].online = true;
	host.piece[host.nr_pieces++] = (struct plan_piece){ MIB(64), MIB(512), 0 };
	host.piece[host.nr_pieces++] = (struct plan_piece){ GIB(6), GIB(10), 0 };
	host.node_memory[0] = GIB(4) + MIB(448);
	assert_int_equal(plan_window("memory = 2G\n"), 0);
	assert_int_equal(plan.map.count, 3);
	assert_null(dma_windows_build(&plan.map, NULL, 0, &w));
	assert_int_equal(w.count, 4);
	assert_int_equal(w.window[1].gpa, MIB(2));
	assert_int_equal(w.window[1].hpa, MIB(64));
	assert_int_equal(w.window[1].length, MIB(128));
	assert_int_equal(w.window[2].gpa, GIB(4));
	assert_int_equal(w.window[2].hpa, GIB(6));
	assert_int_equal(w.window[2].length, GIB(2) - MIB(128));
	assert_int_equal(w.window[3].gpa, GIB(3));
	assert_int_equal(w.window[3].length, GIB(1));
}

/* ---- maps that break the rules ---------------------------------------------------------- */

#define MAP(...) \
	{ \
		sizeof((struct gpa_region[]){ __VA_ARGS__ }) / sizeof(struct gpa_region), \
		{ \
			__VA_ARGS__ \
		} \
	}

static void refused(const struct gpa_map *map, const struct dma_mmio *mmio, unsigned nr,
		    const char *why)
{
	const char *got = dma_windows_build(map, mmio, nr, &w);

	assert_non_null(got);
	assert_string_equal(got, why);
}

static void broken_maps(void **)
{
	static const char sides[] =
		"memory below 4 GiB is above on the host, or the other way round";
	static const char gap[] = "two windows without a page between them";
	const struct gpa_map good =
		MAP({ MIB(2), MIB(128), MIB(64), 0 }, { GIB(4), GIB(1), GIB(8), 0 });
	const struct gpa_map to_high = MAP({ 0, MIB(64), GIB(8), 0 }),
			     to_low = MAP({ GIB(4), MIB(64), GIB(1), 0 });
	const struct gpa_map across = MAP({ MIB(2), MIB(64), GIB(4) - MIB(32), 0 });
	const struct gpa_map touch =
		MAP({ MIB(2), MIB(2), MIB(64), 0 }, { MIB(4), MIB(2), MIB(128), 0 });
	const struct gpa_map order =
		MAP({ GIB(4), MIB(2), GIB(9), 0 }, { GIB(5), MIB(2), GIB(8), 0 });
	const struct gpa_map low_mib =
		MAP({ 0, MIB(1), GIB(20), 0 }, { MIB(2), MIB(2), MIB(64), 0 });

	assert_null(dma_windows_build(&good, NULL, 0, &w));
	check_map(&good);
	refused(&to_high, NULL, 0, sides);
	refused(&to_low, NULL, 0, sides);
	refused(&across, NULL, 0, sides);
	refused(&touch, NULL, 0, gap);
	refused(&order, NULL, 0, "the highest memory is not the highest on the host");
	/* But the low MiB, of which no device ever hears. */
	assert_null(dma_windows_build(&low_mib, NULL, 0, &w));
}

static void registers(void **)
{
	static const char meets[] = "registers of a device lie where it has memory";
	const struct gpa_map map =
		MAP({ MIB(2), MIB(128), MIB(256), 0 }, { GIB(4), GIB(1), GIB(8), 0 });
	const struct dma_mmio some[] = {
		{ 0xfebf1000, 0x20 },
		{ 0x90000800, 0x100 },
		{ 0x380000000000, GIB(8) },
		{ 0x380200000000, MIB(1) },
	};
	struct dma_mmio many[MARGAY_DMA_WINDOWS];

	assert_null(dma_windows_build(&map, some, ARRAY_SIZE(some), &w));
	assert_int_equal(w.count, 4);
	assert_int_equal(w.window[2].gpa, 0x90000000);
	assert_int_equal(w.window[2].length, GIB(4) - 0x90000000ull);
	/* Neighbours are one. */
	assert_int_equal(w.window[3].length, GIB(8) + MIB(1));
	for (unsigned i = 0; i < ARRAY_SIZE(some); i++)
		assert_true(to_bus(some[i].base) == some[i].base &&
			    to_gpa(some[i].base) == some[i].base);
	check_map(&map);
	/* On either side. */
	refused(&map, &(struct dma_mmio){ MIB(64), PAGE_SIZE }, 1, meets);
	refused(&map, &(struct dma_mmio){ MIB(300), PAGE_SIZE }, 1, meets);
	refused(&map, &(struct dma_mmio){ GIB(4) + MIB(1), PAGE_SIZE }, 1, meets);
	refused(&map, &(struct dma_mmio){ GIB(8) + MIB(1), PAGE_SIZE }, 1, meets);
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct dma_mmio){ GIB(100 + 2 * i), PAGE_SIZE };
	refused(&map, many, ARRAY_SIZE(many), "its functions have too many ranges of registers");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_plans),
		cmocka_unit_test(by_example),
		cmocka_unit_test(broken_maps),
		cmocka_unit_test(registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
