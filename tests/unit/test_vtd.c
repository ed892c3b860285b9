/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/iommu/vtd_tables.c arch/x86_64/stage2/stage2.c */
/*
 * VT-d against a unit made of this file: registers that answer as 11.4 of its manual says, one
 * command at a time; a walker that keeps what it has read until it is told to drop it, entries that
 * are not present included (caching mode), of memory and of interrupts; and memory of which a unit
 * that is not coherent sees nothing but the lines that were flushed.
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
#define GOOD_CAP \
	(2 | VTD_CAP_SAGAW_4 | 47ull << 16 | 0x40ull << 24 | VTD_CAP_2M | VTD_CAP_1G | \
	 1ull << 40 | 3ull << 54)
#define GOOD_ECAP (VTD_ECAP_QI | VTD_ECAP_C)
#define RECORDS 0x400

static struct {
	u64 cap;
	u64 ecap;
	bool late; /* a fault comes as FSTS is cleared, of which the unit sends no message */
	/* stuck: commands that never end */
	u32 gsts;
	u32 fsts;
	u32 fectl;
	u32 stuck;

	u64 rtaddr;
	u64 root;
	u64 iqa;
	u64 iqt;
	u64 iqh;
	u64 irta;
	u64 interrupts;
	u64 record[2][2];
	bool hangs;              /* the queue is not worked on */
	bool lost;               /* there are no registers */
	u64 drained;             /* drain bits of the last IOTLB descriptor */
	char log[600];
	struct {
		u16 bdf;
		bool valid;
		u64 context[2];
	} context[8]; /* what it keeps */
	struct {
		unsigned domain;
		u64 at;
		u64 to;
		bool valid;
	} iotlb[8];
	struct {
		unsigned n;
		bool valid;
		u64 entry[2];
	} irtes[8];
} hw;
/* seen: by a unit that is not coherent */
static struct {
	u64 *page;
	bool first;
	u8 seen[PAGE_SIZE];
} page[PAGES];
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
		page[nr_pages].first = !i;
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
			memcpy(&value,
			       (hw.ecap & VTD_ECAP_C ? (u8 *)page[i].page : page[i].seen) +
				       pa % PAGE_SIZE,
			       8);
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
			hw.context[c].context[i] =
				bus & 1 ? see((bus & PTE_ADDR) + (bdf & 0xff) * 16 + i * 8) : 0;
	}
	if (!(hw.context[c].context[0] & 1))
		return BLOCKED;
	/* Translation by page tables of four levels, and nothing in reserved bits (9.3). */
	assert_int_equal(hw.context[c].context[0] & 0xffc, 0);
	assert_int_equal(hw.context[c].context[1] & ~0xffff78ull, 2);
	domain = hw.context[c].context[1] >> 8 & 0xffff;
	assert_true(domain);
	while (t < 7 && hw.iotlb[t].valid &&
	       (hw.iotlb[t].domain != domain || hw.iotlb[t].at != at >> 12))
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
		/*
		 * Bit 11 is SNP in a leaf where the unit has that, ignored in other entries, else
		 * reserved (9.8).
		 */
		assert_int_equal(e & 0x77c, 0);
		assert_int_equal(e >> 11 & 1, hw.ecap & VTD_ECAP_SC && (e & 0x80 || shift == 12));
		if (e & 0x80 || shift == 12)
			return hw.iotlb[t].to = (e & PTE_ADDR) | (at & (BIT(shift) - 1));
		table = e & PTE_ADDR;
	}
}

struct sent {
	u32 id;
	u8 vector;
	u8 mode;
	bool level;
	unsigned reason; /* why it is blocked */
};

/*
 * What a write to the addresses of interrupts leads to (5.1.4). Every entry that is read is kept.
 */
static struct sent hw_interrupt(u16 source, u32 address, u32 data)
{
	unsigned n = (address >> 5 & 0x7fff) | (address & 4) << 13, c = 0;
	bool wide = hw.irta & 1 << 11;
	const u64 *e;

	assert_int_equal(address >> 20, 0xfee);
	if (!(hw.gsts & 1u << 25) || (!(address & 0x10) && hw.gsts & 1u << 23))
		return (struct sent){ .id = address >> 12 & 0xff,
				      .vector = (u8)data,
				      .mode = data >> 8 & 7 };
	if (!(address & 0x10))
		return (struct sent){ .reason = 0x25 };
	if (address & 8 && data >> 16)
		return (struct sent){ .reason = 0x20 };
	n += address & 8 ? data : 0;
	if (n >= 2u << (hw.irta & 15))
		return (struct sent){ .reason = 0x21 };
	while (c < 7 && hw.irtes[c].valid && hw.irtes[c].n != n)
		c++;
	if (!hw.irtes[c].valid || hw.irtes[c].n != n) {
		hw.irtes[c].n = n;
		hw.irtes[c].valid = true;
		for (unsigned i = 0; i < 2; i++)
			hw.irtes[c].entry[i] = see(hw.interrupts + n * 16 + i * 8);
	}
	e = hw.irtes[c].entry;
	if (!(e[0] & 1))
		return (struct sent){ .reason = 0x22 };
	/*
	 * Reserved bits; a physical destination, no posting; the whole requester ID is compared
	 * (9.10).
	 */
	if (e[0] & 0xff00f00e || (!wide && e[0] & 0xffff00ff00000000) || e[1] >> 20)
		return (struct sent){ .reason = 0x24 };
	if (e[1] >> 16 != 4 || (u16)e[1] != source)
		return (struct sent){ .reason = 0x26 };
	return (struct sent){
		.id = (u32)(e[0] >> (wide ? 32 : 40)),
		.vector = (u8)(e[0] >> 16),
		.mode = e[0] >> 5 & 7,
		.level = e[0] >> 4 & 1,
	};
}

/* An I/O APIC's entry sends that (5.1.5.1). */
static struct sent hw_input(u16 source, u64 entry)
{
	assert_true(entry & BIT(48) && !(entry & 0xfffffffe0700));
	return hw_interrupt(source, 0xfee00010 | (u32)(entry >> 49) << 5 | (entry >> 11 & 1) << 2,
			    (u32)entry & 0xc0ff);
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

			assert_true((d[0] >> 4 & 3) == (only ? 2 : 1) && !d[1] &&
				    !(d[0] & 0xffffffff0000ff00ull & ~0xffff0000ull));
			hw.drained = d[0] >> 6 & 3;
			snprintf(text, sizeof(text), only ? "D%u" : "I", only);
			note(text);
			for (unsigned i = 0; i < 8; i++)
				if (!only || hw.iotlb[i].domain == only)
					memset(&hw.iotlb[i], 0, sizeof(hw.iotlb[i]));
		} else if ((d[0] & 0xf) == 4) {
			unsigned only = (unsigned)(d[0] >> 32);

			assert_true(!d[1] && (d[0] == 4 || (u32)d[0] == 0x14) && only < 0x10000);
			snprintf(text, sizeof(text), d[0] == 4 ? "E" : "E%u", only);
			note(text);
			for (unsigned i = 0; i < 8; i++)
				if (d[0] == 4 || hw.irtes[i].n == only)
					memset(&hw.irtes[i], 0, sizeof(hw.irtes[i]));
		} else {
			assert_int_equal((u32)d[0], 0x65);
			note("W");
			*(u32 *)(uintptr_t)d[1] = (u32)(d[0] >> 32);
		}
	}
}

static void do_command(u32 value)
{
	static const struct {
		u32 bit;
		const char *name;
	} known[] = {
		{ 1u << 31, "TE" },  { 1u << 28, "EAFL" }, { 1u << 26, "QIE" },
		{ 1u << 25, "IRE" }, { 1u << 23, "CFI" },
	};
	u32 changed = (value ^ hw.gsts) & ~(1u << 24 | 1u << 30);
	unsigned count = 0;

	if (value & 1u << 30) {
		note("SRTP");
		hw.root = hw.rtaddr & PTE_ADDR;
		hw.gsts |= 1u << 30;
		count++;
	}
	if (value & 1u << 24) {
		note("SIRTP");
		hw.interrupts = hw.irta & PTE_ADDR;
		assert_false(hw.gsts & 1u << 25);
		hw.gsts |= hw.stuck & 1u << 24 ? 0 : 1u << 24;
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

			snprintf(text, sizeof(text), "%s%c", known[i].name,
				 value & known[i].bit ? '+' : '-');
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

	assert_int_equal(
		size, at == VTD_RTADDR || at == VTD_IQT || at == VTD_IQA || at == VTD_IRTA ? 8 : 4);
	if (at >= RECORDS) {
		assert_true(at % 16 == 12 && value == 1u << 31);
		hw.record[(at - RECORDS) / 16][1] &= ~BIT(63);
		return;
	}
	switch (at) {
	case VTD_GCMD: do_command((u32)value); break;
	case VTD_RTADDR: hw.rtaddr = value; break;
	case VTD_IRTA:
		assert_int_equal(value & 0x7f0, 0);
		hw.irta = value;
		break;
	case VTD_FSTS:
		hw.fsts &= ~(u32)value;
		if (hw.late)
			hw.record[0][1] = BIT(63) | 0x0448;
		hw.late = false;
		break;
	case VTD_FECTL:
		hw.fectl = (u32)value;
		note(value ? "mask" : "unmask");
		break;
	case VTD_FEDATA:
		assert_int_equal(value, 0x400);
		note("data");
		break;
	case VTD_FEADDR:
		assert_int_equal(value, 0xfee05000);
		note("address");
		break;
	case VTD_FEUADDR: assert_int_equal(value, 0); break;
	case VTD_IQA:
		assert_false(hw.gsts & 1u << 26);
		hw.iqa = value;
		break;
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
		if (page[i].first)
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
	assert_true(unit.max_leaf == LEAF_1G && unit.bits == 48 && unit.domains == 256 &&
		    unit.coherent && !unit.keeps_absent);
	assert_null(vtd_ops.enable(&unit, 0xfee05000, 0x400));
	expect("SRTP C I W TE+ data address unmask");
	assert_int_equal(hw.drained, 3);
	assert_true(hw_access(0x100, 0) == BLOCKED);
}

/* What firmware can have left on beside what each image switches off: test_iommu_release.c. */
static void test_left_on(void **)
{
	hw.fectl = 0;
	hw.gsts = 1u << 30 | 1u << 28 | 1u << 26;
	hw.iqt = hw.iqh = 0x40;
	hw.record[1][1] = BIT(63);
	hw.fsts = 0x7d;
	assert_null(vtd_ops.start(&unit));
	expect("mask QIE- EAFL- QIE+");
	assert_int_equal(hw.fsts, 0);
	assert_null(vtd_ops.enable(&unit, 0xfee05000, 0x400));
	expect("SRTP C I W TE+ data address unmask");
	assert_int_equal(hw.record[1][1], 0);
}

static void *s2_alloc(int)
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

static void s2_free(void *) { }

static const struct stage2_mem mem = { s2_alloc, s2_free, s2_to_hpa, s2_to_virt };

static void build(struct stage2 *s)
{
	assert_int_equal(stage2_init(s, unit.snoops ? vtd_ops.snooped : vtd_ops.format, &mem,
				     LEAF_1G, -1),
			 0);
	assert_int_equal(stage2_map(s, 0, GIB(3), GIB(1), STAGE2_R | STAGE2_W, MEMTYPE_WB), 0);
	assert_int_equal(stage2_map(s, GIB(1), GIB(8), MIB(2), STAGE2_R | STAGE2_W, MEMTYPE_WB), 0);
	assert_int_equal(stage2_map(s, GIB(2), GIB(9), KIB(4), STAGE2_R | STAGE2_W, MEMTYPE_WB), 0);
}

/*
 * A function is given memory and loses it again; others have none. What was looked at before is not
 * believed any more.
 */
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

/*
 * Leaves of all sizes, and what is split, have the bit that a device cannot pass by the caches
 * with.
 */
static void test_snoops(void **)
{
	struct stage2 s;

	hw.ecap |= VTD_ECAP_SC;
	start_well();
	assert_true(unit.snoops);
	build(&s);
	assert_int_equal(stage2_unmap(&s, MIB(2), KIB(4)), 0);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 7, stage2_root(&s)), 0);
	assert_true(hw_access(0x0148, GIB(1) + 0x1ff123) == GIB(8) + 0x1ff123);
	assert_true(hw_access(0x0148, GIB(2) + 0x123) == GIB(9) + 0x123);
	assert_true(hw_access(0x0148, 0x1234) == GIB(3) + 0x1234);
	assert_true(hw_access(0x0148, MIB(2) + 0x1234) == GIB(3) + MIB(2) + 0x1234);
	assert_true(hw_access(0x0148, MIB(512)) == GIB(3) + MIB(512));
}

/* What the unit has kept is used until it is told, and told by two descriptors. */
static void test_flush(void **)
{
	struct stage2 s;

	hw.cap |= VTD_CAP_CM;
	start_well();
	assert_true(unit.keeps_absent);
	build(&s);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 7, stage2_root(&s)), 0);
	expect("C D7 W");
	assert_true(hw_access(0x0148, 0x1234) == GIB(3) + 0x1234);
	assert_int_equal(stage2_unmap(&s, 0, MIB(2)), 0);
	assert_true(hw_access(0x0148, 0x1234) == GIB(3) + 0x1234);
	assert_true(vtd_ops.flush(&unit, 7));
	expect("D7 W");
	assert_int_equal(hw.drained, 3);
	assert_true(hw_access(0x0148, 0x1234) == BLOCKED);
	/* And that nothing was there. */
	assert_int_equal(stage2_map(&s, 0, GIB(5), MIB(2), STAGE2_R | STAGE2_W, MEMTYPE_WB), 0);
	assert_true(hw_access(0x0148, 0x1234) == BLOCKED);
	assert_true(vtd_ops.flush(&unit, 7));
	assert_true(hw_access(0x0148, 0x1234) == GIB(5) + 0x1234);
	hw.hangs = true;
	assert_false(vtd_ops.flush(&unit, 7));
	assert_string_equal(unit.broken, "does not answer");
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
	start_well();
	assert_true(unit.keeps_absent);
	assert_int_equal(vtd_ops.set(&unit, 0x0148, 0, 0), 0);
	expect("WBF C I W");
	assert_int_equal(hw.drained, 3);
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
	assert_true(f.bdf == 0x248 && !f.write && !f.interrupt && f.address == 0x5000 &&
		    f.reason == 5 && f.count == 1);
	hw.fsts = 0x51; /* one was lost, and the queue has errors */
	assert_true(vtd_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x148 && f.write && f.address == 0x123456789000 && f.count == 1);
	assert_false(vtd_ops.fault(&unit, &f));
	assert_int_equal(hw.fsts, 0x50);
	hw.fsts = 1;
	hw.late = true;
	assert_true(vtd_ops.fault(&unit, &f) && f.bdf == 0x0448 && !hw.fsts);
	assert_false(vtd_ops.fault(&unit, &f));
	hw.fsts = 0;
	expect("");
	/*
	 * The last one that is told is the last that is noted (FPD), with the function's memory as
	 * it was.
	 */
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

/* Told of again, what came meanwhile is there. */
static void test_hold(void **)
{
	struct iommu_fault f;

	start_well();
	vtd_ops.hold(&unit, true);
	assert_int_equal(hw.fectl, 0x80000000);
	hw.record[0][1] = BIT(63) | 5ull << 32 | 0x148;
	assert_true(vtd_ops.fault(&unit, &f));
	vtd_ops.hold(&unit, false);
	assert_int_equal(hw.fectl, 0);
}

static void test_interrupt_faults(void **)
{
	struct iommu_fault f;

	start_well();
	hw.record[0][0] = 0x8123ull << 48 | 0xffff;
	hw.record[0][1] = BIT(63) | 0x26ull << 32 | 0x148;
	assert_true(vtd_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x148 && f.interrupt && f.address == 0x8123 && f.reason == 0x26 &&
		    f.count == 1);
	hw.record[0][1] = BIT(63) | 0x20ull << 32 | 0x148;
	assert_true(vtd_ops.fault(&unit, &f) && f.interrupt && f.count == 2);
	hw.record[0][1] = BIT(63) | 0x1full << 32 | 0x148;
	assert_true(vtd_ops.fault(&unit, &f) && !f.interrupt);
}

struct interrupt {
	u32 apic_id;
	u16 source;
	u8 vector;
	u8 mode;
	bool level;
};

static bool fill(unsigned n, const struct interrupt *i)
{
	return i ? vtd_ops.interrupt(&unit, n, i->source, i->apic_id,
				     i->vector | (u32)i->mode << 8 | (u32)i->level << 15)
		 : vtd_ops.interrupt(&unit, n, 0, 0, 0);
}

static struct interrupt to(u32 id, u8 vector)
{
	return (struct interrupt){ .apic_id = id, .vector = vector, .source = 0x148 };
}

static void start_remapping(unsigned count, bool wide)
{
	hw.ecap |= BIT(3) | BIT(4);
	start_well();
	assert_null(vtd_ops.remap(&unit, count, wide));
	hw.log[0] = 0;
}

/*
 * Nothing passes but by an entry, and for whom it is; entries that were looked at are not believed
 * any more when they change.
 */
static void test_interrupts(void **)
{
	struct interrupt i = to(0x12345678, 0x41);
	struct sent s;

	hw.ecap |= BIT(3) | BIT(4);
	assert_null(vtd_ops.start(&unit));
	assert_true(unit.remaps && unit.remaps_wide);
	assert_null(vtd_ops.enable(&unit, 0xfee05000, 0x400));
	hw.log[0] = 0;
	s = hw_interrupt(0x248, 0xfee03000, 0x44);
	assert_true(!s.reason && s.id == 3 && s.vector == 0x44);
	assert_null(vtd_ops.remap(&unit, 512, true));
	expect("SIRTP E W IRE+");
	assert_int_equal(hw.irta & 0xfff, 1 << 11 | 8);
	assert_int_equal(hw_interrupt(0x248, 0xfee03000, 0x44).reason, 0x25);
	for (unsigned at = 0; at < 512; at = at == 3 ? 500 : at + 1)
		assert_int_equal(hw_interrupt(0x148, vtd_ops.message(at, false), 0).reason, 0x22);
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(512, false), 0).reason, 0x21);
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(511, false), 0).reason, 0x22);
	assert_true(fill(511, &i));
	expect("E511 W");
	s = hw_interrupt(0x148, vtd_ops.message(511, false), 0);
	assert_true(!s.reason && s.id == 0x12345678 && s.vector == 0x41 && !s.mode && !s.level);
	assert_int_equal(hw_interrupt(0x149, vtd_ops.message(511, false), 0).reason, 0x26);
	assert_int_equal(hw_interrupt(0x48, vtd_ops.message(511, false), 0).reason, 0x26);
	i = to(7, 0xef);
	assert_true(fill(511, &i));
	expect("E511 W E511 W");
	s = hw_interrupt(0x148, vtd_ops.message(511, false), 0);
	assert_true(!s.reason && s.id == 7 && s.vector == 0xef);
	assert_true(fill(511, NULL));
	expect("E511 W");
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(511, false), 0).reason, 0x22);
	assert_true(fill(511, NULL));
	expect("");
	assert_null(vtd_ops.remap(&unit, 0, false));
	expect("IRE-");
}

/* Several messages of one function, which differ by their data; without data there is one. */
static void test_several(void **)
{
	start_remapping(256, true);
	for (unsigned n = 0; n < 4; n++) {
		struct interrupt i = to(n, (u8)(0x50 + n));

		assert_true(fill(8 + n, &i));
	}
	for (unsigned n = 0; n < 4; n++) {
		assert_int_equal(hw_interrupt(0x148, vtd_ops.message(8, true), n).vector, 0x50 + n);
		assert_int_equal(hw_interrupt(0x148, vtd_ops.message(8, false), n).vector, 0x50);
	}
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(8, true), 4).reason, 0x22);
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(8, true), 0x10000).reason, 0x20);
}

/*
 * I/O APICs, and APIC IDs of 8 bits: what is left of the entry is the machine's own, state
 * included.
 */
static void test_inputs(void **)
{
	struct interrupt i = { .apic_id = 0xfe, .source = 0xf0f8, .vector = 0x33, .level = true };
	struct sent s;

	start_remapping(256, false);
	assert_int_equal(hw.irta & 0xfff, 7);
	assert_true(fill(4, &i));
	assert_true(vtd_ops.input(4, 0xfe0000000001a033) == (4ull << 49 | BIT(48) | 0x1a033));
	s = hw_input(0xf0f8, vtd_ops.input(4, 0xfe0000000001a033));
	assert_true(!s.reason && s.id == 0xfe && s.vector == 0x33 && s.level && !s.mode);
	assert_int_equal(hw_input(0xf0f9, vtd_ops.input(4, 0)).reason, 0x26);
	i = (struct interrupt){ .apic_id = 1, .source = 0xf0f8, .mode = 4 };
	assert_true(fill(255, &i));
	assert_true(vtd_ops.input(255, 0x100000000002400) == (255ull << 49 | BIT(48) | 0x2000));
	s = hw_input(0xf0f8, vtd_ops.input(255, 0x100000000000400));
	assert_true(!s.reason && s.id == 1 && s.mode == 4 && !s.level);
}

static void test_interrupts_not_coherent(void **)
{
	struct interrupt i = to(1, 0x41);

	hw.ecap &= ~(u64)VTD_ECAP_C;
	start_remapping(512, true);
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(256, false), 0).reason, 0x22);
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(511, false), 0).reason, 0x22);
	assert_true(fill(511, &i));
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(511, false), 0).vector, 0x41);
	assert_true(fill(511, NULL));
	assert_int_equal(hw_interrupt(0x148, vtd_ops.message(511, false), 0).reason, 0x22);
}

static void test_no_remapping(void **)
{
	static const u32 stuck[] = { 1u << 23, 1u << 24, 1u << 25 };
	struct interrupt i = to(1, 0x41);

	start_well();
	assert_false(unit.remaps || unit.remaps_wide);
	/* Firmware let the old format pass. */
	hw.gsts |= 1u << 23;
	assert_null(vtd_ops.remap(&unit, 256, true));
	expect("SIRTP E W CFI- IRE+");
	assert_int_equal(hw_interrupt(0x148, 0xfee00000, 0x41).reason, 0x25);
	hw.hangs = true;
	assert_false(fill(3, &i));
	assert_string_equal(unit.broken, "does not answer");
	done(NULL);
	reset(NULL);
	start_well();
	pages_left = 1;
	assert_string_equal(vtd_ops.remap(&unit, 512, true),
			    "finds no memory for the table of its interrupts");
	expect("");
	for (unsigned n = 0; n < ARRAY_SIZE(stuck); n++) {
		done(NULL);
		reset(NULL);
		start_well();
		hw.gsts |= 1u << 23;
		hw.stuck = stuck[n];
		assert_string_equal(vtd_ops.remap(&unit, 256, true), "does not answer");
	}
	done(NULL);
	reset(NULL);
	start_remapping(256, true);
	hw.stuck = 1u << 25;
	assert_string_equal(vtd_ops.remap(&unit, 0, false), "does not answer");
}

static void broken(const char *why)
{
	const char *said = vtd_ops.start(&unit);

	if (!said)
		said = vtd_ops.enable(&unit, 0, 0);
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
	for (unsigned bit = 54; bit < 56; bit++) {
		hw.cap &= ~BIT(bit);
		broken("cannot wait for what is under way");
	}
	hw.lost = true;
	broken("has registers where none can be");
	pages_left = 2;
	broken("finds no memory for its tables");
	for (unsigned i = 0; i < 2; i++) {
		hw.stuck = 1u << (i ? 31 : 26);
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
	assert_true(unit.max_leaf == LEAF_4K && unit.bits == 48 && !unit.snoops);
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
	assert_true(f->table(0x3000, 1) == (0x3000 | 3));
	assert_true(f->present(1) && f->present(2) && !f->present(~3ull));
	assert_true(f->prot(3) == (STAGE2_R | STAGE2_W) && f->prot(1) == STAGE2_R &&
		    f->type(3) == MEMTYPE_WB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, reset, done),
		cmocka_unit_test_setup_teardown(test_left_on, reset, done),
		cmocka_unit_test_setup_teardown(test_set, reset, done),
		cmocka_unit_test_setup_teardown(test_snoops, reset, done),
		cmocka_unit_test_setup_teardown(test_many, reset, done),
		cmocka_unit_test_setup_teardown(test_flush, reset, done),
		cmocka_unit_test_setup_teardown(test_not_coherent, reset, done),
		cmocka_unit_test_setup_teardown(test_write_buffer, reset, done),
		cmocka_unit_test_setup_teardown(test_faults, reset, done),
		cmocka_unit_test_setup_teardown(test_hold, reset, done),
		cmocka_unit_test_setup_teardown(test_interrupt_faults, reset, done),
		cmocka_unit_test_setup_teardown(test_interrupts, reset, done),
		cmocka_unit_test_setup_teardown(test_several, reset, done),
		cmocka_unit_test_setup_teardown(test_inputs, reset, done),
		cmocka_unit_test_setup_teardown(test_interrupts_not_coherent, reset, done),
		cmocka_unit_test_setup_teardown(test_no_remapping, reset, done),
		cmocka_unit_test_setup_teardown(test_lies, reset, done),
		cmocka_unit_test_setup_teardown(test_capabilities, reset, done),
		cmocka_unit_test_setup_teardown(test_hang, reset, done),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
