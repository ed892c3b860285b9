/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/stage2/stage2.c */
/*
 * VT-d against a unit made of this file: registers that answer as 11.4 of its manual says, one command at a time; a walker that
 * keeps what it has read until it is told to drop it, entries that are not present included (caching mode); and memory of which
 * a unit that is not coherent sees nothing but the lines that were flushed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/insn.h"

static void fake_clflush(const void *line);
#define cpu_clflush fake_clflush
#include "arch/x86_64/iommu/vtd.c"

#define PAGES 64
#define BLOCKED (~0ull)
#define GOOD_CAP (2 | VTD_CAP_SAGAW_4 | 47ull << 16 | 0x40ull << 24 | VTD_CAP_2M | VTD_CAP_1G | 1ull << 40 | 3ull << 54)
#define GOOD_ECAP (VTD_ECAP_QI | VTD_ECAP_C)
#define RECORDS 0x400

static struct {
	u64 cap, ecap;
	u32 gsts, fsts, fectl, pmen, stuck; /* stuck: commands that never end */
	u64 rtaddr, root, iqa, iqt, iqh;
	u64 record[2][2];
	bool hangs;              /* the queue is not worked on */
	bool lost;               /* there are no registers */
	u64 drained;             /* drain bits of the last IOTLB descriptor */
	char log[600];
	struct { u16 bdf; bool valid; u64 context[2]; } context[8]; /* what it keeps */
	struct { unsigned domain; u64 at, to; bool valid; } iotlb[8];
} hw;
static struct { u64 *page; u8 seen[PAGE_SIZE]; } page[PAGES]; /* seen: by a unit that is not coherent */
static unsigned nr_pages, pages_left;
static u64 tsc;
static struct iommu_unit unit;
static u8 window[VTD_REGISTERS];

/* ---- the host ---- */

void *host_pages_alloc(unsigned count, int)
{
	u64 *p = pages_left >= count ? aligned_alloc(PAGE_SIZE, count * PAGE_SIZE) : NULL;

	if (!p)
		return NULL;
	pages_left -= count;
	memset(p, 0, count * PAGE_SIZE);
	for (unsigned i = 0; i < count; i++) {
		page[nr_pages].page = p + i * PAGE_SIZE / 8;
		memset(page[nr_pages++].seen, 0xa5, PAGE_SIZE);
	}
	return p;
}

hpa_t host_virt_to_hpa(const void *va)
{
	return hpa((u64)(uintptr_t)va);
}

void *host_hpa_to_virt(hpa_t pa)
{
	return (void *)(uintptr_t)pa.v;
}

u64 host_tsc(void)
{
	return tsc += 1000000;
}

u64 host_tsc_khz(void)
{
	return 1000000;
}

volatile void *host_mmio_map(hpa_t pa, u64 size)
{
	assert_true(pa.v == 0xfed90000 && size == VTD_REGISTERS);
	return hw.lost ? NULL : window;
}

static void fake_clflush(const void *line)
{
	const u8 *at = (const u8 *)((uintptr_t)line & ~63ull);

	for (unsigned i = 0; i < nr_pages; i++)
		if (at >= (u8 *)page[i].page && at < (u8 *)page[i].page + PAGE_SIZE)
			memcpy(page[i].seen + (at - (u8 *)page[i].page), at, 64);
}

/* ---- the unit ---- */

static void note(const char *what)
{
	strcat(strcat(hw.log, hw.log[0] ? " " : ""), what);
}

/* A doubleword pair of a table as the unit sees it. */
static u64 see(u64 pa)
{
	u64 value;

	for (unsigned i = 0; i < nr_pages; i++)
		if (pa >= (u64)page[i].page && pa < (u64)page[i].page + PAGE_SIZE) {
			memcpy(&value, (hw.ecap & VTD_ECAP_C ? (u8 *)page[i].page : page[i].seen) + pa % PAGE_SIZE, 8);
			return value;
		}
	fail_msg("it looks at %#lx", pa);
	return 0;
}

/* Where a function's access goes; BLOCKED. Everything that is read is kept. */
static u64 hw_access(u16 bdf, u64 at)
{
	unsigned c = 0, t = 0, domain;
	u64 table;

	while (c < 7 && hw.context[c].valid && hw.context[c].bdf != bdf)
		c++;
	if (!hw.context[c].valid) {
		u64 bus = see(hw.root + (bdf >> 8) * 16);

		assert_int_equal(bus & 0xffe, 0);
		hw.context[c].bdf = bdf;
		hw.context[c].valid = true;
		for (unsigned i = 0; i < 2; i++)
			hw.context[c].context[i] = bus & 1 ? see((bus & PTE_ADDR) + (bdf & 0xff) * 16 + i * 8) : 0;
	}
	if (!(hw.context[c].context[0] & 1))
		return BLOCKED;
	/* Translation by page tables of four levels, and nothing in reserved bits (9.3). */
	assert_int_equal(hw.context[c].context[0] & 0xffc, 0);
	assert_int_equal(hw.context[c].context[1] & ~0xffff78ull, 2);
	domain = hw.context[c].context[1] >> 8 & 0xffff;
	assert_true(domain);
	while (t < 7 && hw.iotlb[t].valid && (hw.iotlb[t].domain != domain || hw.iotlb[t].at != at >> 12))
		t++;
	if (hw.iotlb[t].valid)
		return hw.iotlb[t].to;
	table = hw.context[c].context[0] & PTE_ADDR;
	hw.iotlb[t].domain = domain;
	hw.iotlb[t].at = at >> 12;
	hw.iotlb[t].valid = true;
	for (unsigned shift = 39;; shift -= 9) {
		u64 e = see(table + (at >> shift & 511) * 8);

		if (!(e & 3))
			return hw.iotlb[t].to = BLOCKED;
		assert_int_equal(e & 0xf7c, 0);
		if (e & 0x80 || shift == 12)
			return hw.iotlb[t].to = (e & PTE_ADDR) | (at & (BIT(shift) - 1));
		table = e & PTE_ADDR;
	}
}

static void queue_up_to(u64 tail)
{
	hw.iqt = tail;
	while (!hw.hangs && hw.iqh != tail) {
		const u64 *d = (const u64 *)(uintptr_t)(hw.iqa + hw.iqh);
		char text[20];

		hw.iqh = (hw.iqh + 16) % 4096;
		if (d[0] == 0x11) {
			note("C");
			memset(hw.context, 0, sizeof(hw.context));
		} else if ((d[0] & 0xf) == 2) {
			unsigned only = (d[0] >> 4 & 3) == 2 ? d[0] >> 16 & 0xffff : 0;

			assert_true((d[0] >> 4 & 3) == (only ? 2 : 1) && !d[1] && !(d[0] & 0xffffffff0000ff00ull & ~0xffff0000ull));
			hw.drained = d[0] >> 6 & 3;
			snprintf(text, sizeof(text), only ? "D%u" : "I", only);
			note(text);
			for (unsigned i = 0; i < 8; i++)
				if (!only || hw.iotlb[i].domain == only)
					memset(&hw.iotlb[i], 0, sizeof(hw.iotlb[i]));
		} else {
			assert_int_equal((u32)d[0], 0x65);
			note("W");
			*(u32 *)(uintptr_t)d[1] = (u32)(d[0] >> 32);
		}
	}
}

static void do_command(u32 value)
{
	static const struct { u32 bit; const char *name; } known[] = {
		{ 1u << 31, "TE" }, { 1u << 28, "EAFL" }, { 1u << 26, "QIE" }, { 1u << 25, "IRE" },
	};
	u32 changed = (value ^ hw.gsts) & ~(1u << 30);
	unsigned count = 0;

	if (value & 1u << 30) {
		note("SRTP");
		hw.root = hw.rtaddr & PTE_ADDR;
		hw.gsts |= 1u << 30;
		count++;
	}
	if (value & 1u << 27) {
		note("WBF");
		changed &= ~(1u << 27);
		count++;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
		if (changed & known[i].bit) {
			char text[8];

			snprintf(text, sizeof(text), "%s%c", known[i].name, value & known[i].bit ? '+' : '-');
			note(text);
			/* A tail from before would have it work on what is no descriptor. */
			if (known[i].bit & 1u << 26) {
				hw.iqh = 0;
				assert_true(!(value & 1u << 26) || !hw.iqt);
			}
			if (!(hw.stuck & known[i].bit))
				hw.gsts ^= known[i].bit;
			changed &= ~known[i].bit;
			count++;
		}
	assert_true(count <= 1 && !changed);
}

void host_mmio_write(volatile void *reg, unsigned size, u64 value)
{
	unsigned at = (unsigned)((volatile u8 *)reg - window);

	assert_int_equal(size, at == VTD_RTADDR || at == VTD_IQT || at == VTD_IQA ? 8 : 4);
	if (at >= RECORDS) {
		assert_true(at % 16 == 12 && value == 1u << 31);
		hw.record[(at - RECORDS) / 16][1] &= ~BIT(63);
		return;
	}
	switch (at) {
	case VTD_GCMD: do_command((u32)value); break;
	case VTD_RTADDR: hw.rtaddr = value; break;
	case VTD_FSTS: hw.fsts &= ~(u32)value; break;
	case VTD_FECTL: hw.fectl = (u32)value; note(value ? "mask" : "unmask"); break;
	case VTD_FEDATA: assert_int_equal(value, 0x400); note("data"); break;
	case VTD_FEADDR: assert_int_equal(value, 0xfee05000); note("address"); break;
	case VTD_FEUADDR: assert_int_equal(value, 0); break;
	case VTD_PMEN: assert_int_equal(value, 0); hw.pmen = 0; note("PMEN-"); break;
	case VTD_IQA: assert_false(hw.gsts & 1u << 26); hw.iqa = value; break;
	case VTD_IQT: queue_up_to(value); break;
	default: fail_msg("write to %#x", at);
	}
}

u64 host_mmio_read(const volatile void *reg, unsigned size)
{
	unsigned at = (unsigned)((const volatile u8 *)reg - window);

	if (at >= RECORDS) {
		assert_int_equal(size, 8);
		return hw.record[(at - RECORDS) / 16][at / 8 % 2];
	}
	assert_int_equal(size, at == VTD_CAP || at == VTD_ECAP || at == VTD_RTADDR ? 8 : 4);
	switch (at) {
	case VTD_CAP: return hw.cap;
	case VTD_ECAP: return hw.ecap;
	case VTD_GSTS: return hw.gsts;
	case VTD_RTADDR: return hw.rtaddr;
	case VTD_FSTS: return hw.fsts | ((hw.record[0][1] | hw.record[1][1]) >> 63) << 1;
	case VTD_PMEN: return hw.pmen;
	case VTD_IQH: return hw.iqh;
	case VTD_IQT: return hw.iqt;
	default: fail_msg("read of %#x", at); return 0;
	}
}

/* ---- tests ---- */

static int reset(void **)
{
	memset(&hw, 0, sizeof(hw));
	hw.cap = GOOD_CAP;
	hw.ecap = GOOD_ECAP;
	pages_left = PAGES;
	memset(&unit, 0, sizeof(unit));
	unit.base = 0xfed90000;
	return 0;
}

static int done(void **)
{
	for (unsigned i = 0; i < nr_pages; i++)
		if (!i || page[i].page != page[i - 1].page + PAGE_SIZE / 8 || page[i - 1].page != unit.queue)
			free(page[i].page);
	nr_pages = 0;
	return 0;
}

/* What was written since, in order. */
static void expect(const char *log)
{
	assert_string_equal(hw.log, log);
	hw.log[0] = 0;
}

static void start_well(void)
{
	assert_null(vtd_ops.start(&unit));
	assert_null(vtd_ops.enable(&unit, 0xfee05000, 0x400));
	hw.log[0] = 0;
}

static void test_order(void **)
{
	assert_null(vtd_ops.start(&unit));
	expect("mask QIE+");
	assert_true(unit.max_leaf == LEAF_1G && unit.bits == 48 && unit.domains == 256 && unit.coherent);
	assert_null(vtd_ops.enable(&unit, 0xfee05000, 0x400));
	expect("SRTP C I W TE+ data address unmask");
	assert_int_equal(hw.drained, 3);
	assert_true(hw_access(0x100, 0) == BLOCKED);
}

/* Everything that a firmware can leave on; its translation goes over into ours without a moment between. */
static void test_left_on(void **)
{
	hw.cap |= VTD_CAP_PMR;
	hw.pmen = 0x80000001;
	hw.fectl = 0;
	hw.gsts = 1u << 31 | 1u << 30 | 1u << 28 | 1u << 26 | 1u << 25;
	hw.iqt = hw.iqh = 0x40;
	hw.record[1][1] = BIT(63);
	hw.fsts = 0x7d;
	assert_null(vtd_ops.start(&unit));
	expect("mask IRE- QIE- EAFL- QIE+");
	assert_int_equal(hw.fsts, 0);
	assert_null(vtd_ops.enable(&unit, 0xfee05000, 0x400));
	expect("SRTP C I W PMEN- data address unmask");
	assert_int_equal(hw.record[1][1], 0);
	/* From a table of another kind it cannot. */
	done(NULL);
	reset(NULL);
	hw.gsts = 1u << 31;
	hw.rtaddr = 0x5000 | 1 << 10;
	assert_null(vtd_ops.start(&unit));
	assert_null(vtd_ops.enable(&unit, 0, 0));
	expect("mask QIE+ TE- SRTP C I W TE+");
}

static void test_off(void **)
{
	hw.cap |= VTD_CAP_PMR;
	hw.pmen = 0x80000001;
	hw.gsts = 1u << 31 | 1u << 25;
	vtd_ops.off(&unit);
	expect("IRE- TE- PMEN-");
	vtd_ops.off(&unit);
	expect("");
	hw.cap = 0;
	hw.gsts = 1u << 31;
	vtd_ops.off(&unit);
	hw.lost = true;
	unit.regs = NULL;
	vtd_ops.off(&unit);
	expect("");
}

static void *s2_alloc(void)
{
	return host_pages_alloc(1, -1);
}

static u64 s2_to_hpa(const void *p)
{
	return host_virt_to_hpa(p).v;
}

static void *s2_to_virt(u64 pa)
{
	return host_hpa_to_virt(hpa(pa));
}

static void s2_free(void *)
{
}

static const struct stage2_mem mem = { s2_alloc, s2_free, s2_to_hpa, s2_to_virt };

static void build(struct stage2 *s)
{
	assert_int_equal(stage2_init(s, vtd_ops.format, &mem, LEAF_1G), 0);
	assert_int_equal(stage2_map(s, 0, GIB(3), GIB(1), STAGE2_R | STAGE2_W, MEMTYPE_WB), 0);
	assert_int_equal(stage2_map(s, GIB(1), GIB(8), MIB(2), STAGE2_R | STAGE2_W, MEMTYPE_WB), 0);
	assert_int_equal(stage2_map(s, GIB(2), GIB(9), KIB(4), STAGE2_R | STAGE2_W, MEMTYPE_WB), 0);
}

/* A function is given memory and loses it again; others have none. What was looked at before is not believed any more. */
static void test_set(void **)
{
	struct stage2 s;

	start_well();
	build(&s);
	assert_true(hw_access(0x0148, 0x1234) == BLOCKED);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 7, stage2_root(&s)), 0);
	expect("C D7 W");
	assert_true(hw_access(0x0148, 0x1234) == GIB(3) + 0x1234);
	assert_true(hw_access(0x0148, GIB(1) + 0x1ff123) == GIB(8) + 0x1ff123);
	assert_true(hw_access(0x0148, GIB(2) + 0x123) == GIB(9) + 0x123);
	assert_true(hw_access(0x0148, GIB(2) + 0x1000) == BLOCKED);
	assert_true(hw_access(0x0149, 0x1234) == BLOCKED);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 0, 0), 0);
	expect("C D7 W");
	assert_true(hw_access(0x0148, 0x1234) == BLOCKED);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 0, 0), 0);
	expect("C I W");
	pages_left = 0;
	assert_int_equal(vtd_ops.set(&unit, 0x0248, 7, stage2_root(&s)), -ENOMEM);
	assert_int_equal(vtd_ops.set(&unit, 0x0149, 7, stage2_root(&s)), 0);
}

/* The queue's end is not the end. */
static void test_many(void **)
{
	start_well();
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(vtd_ops.set(&unit, 0x0148, 0, 0), 0);
		expect("C I W");
	}
}

static void test_not_coherent(void **)
{
	struct stage2 s;

	hw.ecap = VTD_ECAP_QI;
	start_well();
	assert_false(unit.coherent);
	assert_true(hw_access(0x0148, 0x1234) == BLOCKED);
	build(&s);
	/* Of the page tables kernel/iommu takes care. */
	for (unsigned i = 0; i < nr_pages; i++)
		if (page[i].page != unit.root)
			memcpy(page[i].seen, page[i].page, PAGE_SIZE);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 7, stage2_root(&s)), 0);
	assert_true(hw_access(0x0148, 0x1234) == GIB(3) + 0x1234);
	assert_true(hw_access(0x0150, 0x1234) == BLOCKED);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 0, 0), 0);
	assert_true(hw_access(0x0148, 0x1234) == BLOCKED);
}

static void test_write_buffer(void **)
{
	hw.cap |= VTD_CAP_RWBF;
	hw.cap &= ~(3ull << 54);
	start_well();
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 0, 0), 0);
	expect("WBF C I W");
	assert_int_equal(hw.drained, 0);
}

static void record(unsigned n, u16 bdf, u64 address, bool write)
{
	hw.record[n][0] = address;
	hw.record[n][1] = BIT(63) | (write ? 0 : BIT(62)) | 5ull << 32 | bdf;
}

static void test_faults(void **)
{
	struct iommu_fault f;
	struct stage2 s;

	start_well();
	build(&s);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 7, stage2_root(&s)), 0);
	hw.log[0] = 0;
	assert_false(vtd_ops.fault(&unit, &f));
	record(1, 0x0148, 0x123456789abc, true);
	record(0, 0x0248, 0x5000, false);
	assert_true(vtd_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x248 && !f.write && f.address == 0x5000 && f.reason == 5 && f.count == 1);
	hw.fsts = 0x51; /* one was lost, and the queue has errors */
	assert_true(vtd_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x148 && f.write && f.address == 0x123456789000 && f.count == 1);
	assert_false(vtd_ops.fault(&unit, &f));
	assert_int_equal(hw.fsts, 0x50);
	hw.fsts = 0;
	expect("");
	/* The last one that is told is the last that is noted (FPD), with the function's memory as it was. */
	for (unsigned n = 2; n <= IOMMU_REPORTS; n++) {
		record(0, 0x0148, 0, true);
		assert_true(vtd_ops.fault(&unit, &f));
		assert_int_equal(f.count, n);
		expect(n == IOMMU_REPORTS ? "C I W" : "");
	}
	assert_true(hw_access(0x0148, 0x1234) == GIB(3) + 0x1234 && hw.context[0].context[0] & 2);
	/* Some may have been under way; the count does not grow into the domain's number. */
	for (unsigned n = 0; n < 20; n++) {
		record(0, 0x0148, 0, true);
		assert_true(vtd_ops.fault(&unit, &f));
		assert_int_equal(f.count, IOMMU_REPORTS + 1);
	}
	expect("");
	memset(hw.context, 0, sizeof(hw.context));
	assert_true(hw_access(0x0148, 0x1234) == GIB(3) + 0x1234);
	assert_int_equal(hw.context[0].context[1] >> 8, 7);
	/* With the next VM all begins again. */
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 7, stage2_root(&s)), 0);
	assert_true(hw_access(0x0148, 0x1234) == GIB(3) + 0x1234);
	record(0, 0x0148, 0, true);
	assert_true(vtd_ops.fault(&unit, &f));
	assert_int_equal(f.count, 1);
	/* Without memory for a bus' table nothing can be counted. */
	pages_left = 0;
	record(0, 0x0348, 0, true);
	assert_true(vtd_ops.fault(&unit, &f));
	assert_int_equal(f.count, 1);
}

static void broken(const char *why)
{
	const char *said = vtd_ops.start(&unit);

	said = said ? said : vtd_ops.enable(&unit, 0, 0);
	assert_non_null(said);
	assert_string_equal(said, why);
	done(NULL);
	reset(NULL);
}

static void test_lies(void **)
{
	hw.cap = 0;
	broken("does not answer");
	hw.cap = hw.ecap = ~0ull;
	broken("does not answer");
	hw.ecap = VTD_ECAP_C;
	broken("has no queued invalidation");
	hw.cap &= ~VTD_CAP_SAGAW_4;
	broken("has no page tables of four levels");
	hw.lost = true;
	broken("has registers where none can be");
	pages_left = 2;
	broken("finds no memory for its tables");
	for (unsigned i = 0; i < 3; i++) {
		hw.gsts = i == 1 ? 1u << 25 : 0;
		hw.stuck = 1u << (i == 0 ? 26 : i == 1 ? 25 : 31);
		broken("does not answer");
	}
	hw.hangs = true;
	broken("does not answer");
	/* The firmware's own queue is stuck. */
	hw.gsts = 1u << 26;
	hw.iqt = 0x10;
	broken("does not answer");
}

static void test_capabilities(void **)
{
	hw.cap = (GOOD_CAP & ~(7ull | VTD_CAP_1G | 0x3full << 16)) | 38ull << 16;
	start_well();
	assert_true(unit.max_leaf == LEAF_2M && unit.domains == 16 && unit.bits == 39);
	done(NULL);
	reset(NULL);
	hw.cap = (GOOD_CAP & ~VTD_CAP_2M) | 56ull << 16;
	start_well();
	assert_true(unit.max_leaf == LEAF_4K && unit.bits == 48);
}

/* A queue that stops, by an error or without: nothing more is asked of that unit. */
static void test_hang(void **)
{
	for (unsigned error = 0; error < 2; error++) {
		start_well();
		hw.hangs = true;
		hw.fsts = error ? 0x10 : 0;
		tsc = 0;
		assert_int_equal(vtd_ops.set(&unit, 0x0148, 0, 0), -EIO);
		assert_true(error ? tsc < 5000000 : tsc > 1000000000);
		assert_string_equal(unit.broken, "does not answer");
		hw.hangs = false;
		expect("");
		assert_int_equal(vtd_ops.set(&unit, 0x0148, 0, 0), -EIO);
		expect("");
		done(NULL);
		reset(NULL);
	}
}

static void test_format(void **)
{
	const struct stage2_format *f = vtd_ops.format;

	assert_true(f->leaf(0x200000, LEAF_2M, STAGE2_RWX, MEMTYPE_WB) == (0x200000 | 0x80 | 3));
	assert_true(f->leaf(0x1000, LEAF_4K, STAGE2_R, MEMTYPE_WB) == (0x1000 | 1));
	assert_true(f->leaf(0x1000, LEAF_4K, STAGE2_W, MEMTYPE_UC) == (0x1000 | 2));
	assert_true(f->table(0x3000) == (0x3000 | 3));
	assert_true(f->present(1) && f->present(2) && !f->present(~3ull));
	assert_true(f->prot(3) == (STAGE2_R | STAGE2_W) && f->prot(1) == STAGE2_R && f->type(3) == MEMTYPE_WB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, reset, done),
		cmocka_unit_test_setup_teardown(test_left_on, reset, done),
		cmocka_unit_test_setup_teardown(test_off, reset, done),
		cmocka_unit_test_setup_teardown(test_set, reset, done),
		cmocka_unit_test_setup_teardown(test_many, reset, done),
		cmocka_unit_test_setup_teardown(test_not_coherent, reset, done),
		cmocka_unit_test_setup_teardown(test_write_buffer, reset, done),
		cmocka_unit_test_setup_teardown(test_faults, reset, done),
		cmocka_unit_test_setup_teardown(test_lies, reset, done),
		cmocka_unit_test_setup_teardown(test_capabilities, reset, done),
		cmocka_unit_test_setup_teardown(test_hang, reset, done),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
