/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/iommu/amdvi_tables.c arch/x86_64/stage2/stage2.c */
/*
 * AMD-Vi against a unit made of this file, which goes by the numbers of its manual: registers; a
 * walker that keeps of device table, page tables and interrupt tables what it has read until a
 * command drops it, reserved bits being errors; events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/iommu/amdvi.c"

#define BLOCKED (~0ull)
#define GOOD 0x4f77ef22294adeull /* of a real one: XT, GA, IA, six levels */
#define KEPT 16
#define COMMANDS 0x1000
#define BASE 0xfeb80000

static struct {
	u64 efr;
	u64 efr2;
	u64 control;
	u64 devices;
	u64 commands;
	u64 events;
	u64 status;
	u64 exclusion;
	u64 head;
	u64 tail;
	u64 event_head;
	u64 event_tail;
	bool hangs;
	bool lost;
	bool never_stops;
	bool deaf;
	char log[400];
	unsigned devices_dropped; /* by their numbers */
	struct {
		bool valid;
		u16 bdf;
		u64 dte[4];
	} device[KEPT];
	struct {
		bool valid;
		u16 domain;
		u64 at;
		u64 to;
	} tlb[KEPT];
	struct {
		bool valid;
		u16 bdf;
		unsigned n;
		u64 e[2];
	} irte[KEPT];
} hw;
static struct {
	u16 control;
	u32 address;
	u32 high;
	u16 data;
} msi;
static bool x2apic;
static u64 tsc;
static void *made[64];
static unsigned nr_made, pages_left;
static struct iommu_unit unit;
static u8 window[AMDVI_REGISTERS];

/* ---- the host ---- */

void *host_pages_alloc(unsigned count, int)
{
	if (pages_left < count)
		return NULL;
	pages_left -= count;
	made[nr_made] = aligned_alloc(PAGE_SIZE, count * PAGE_SIZE);
	return memset(made[nr_made++], 0, count * PAGE_SIZE);
}

/* The last of it is asked for. */
bool host_mem_piece(unsigned i, struct host_extent *out)
{
	*out = (struct host_extent){ .base = hpa(i ? MIB(64) : MIB(4)), .size = MIB(8) };
	return i < 2;
}

int host_extent_alloc(const struct host_extent_request *req, struct host_extent *out)
{
	assert_true(req->min_addr == MIB(70) && req->align == MIB(2) && req->size == MIB(2) &&
		    req->node == -1);
	if (pages_left < req->size / PAGE_SIZE)
		return -ENOMEM;
	pages_left -= (unsigned)(req->size / PAGE_SIZE);
	made[nr_made] = aligned_alloc(req->align, req->size);
	memset(made[nr_made], 0xa5, req->size);
	*out = (struct host_extent){ .base = hpa((u64)(uintptr_t)made[nr_made++]),
				     .size = req->size };
	return 0;
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

bool host_is_x2apic(void)
{
	return x2apic;
}

volatile void *host_mmio_map(hpa_t pa, u64 size)
{
	assert_true(pa.v == BASE && size == 0x4000);
	return hw.lost ? NULL : window;
}

unsigned host_pci_caps(unsigned index, struct pci_cap *cap, unsigned max)
{
	assert_true(index == 3 && max >= 2);
	cap[0] = (struct pci_cap){ .id = 0x0f, .offset = 0x40 };
	cap[1] = (struct pci_cap){ .id = 5, .offset = 0x64 };
	return 2;
}

u32 host_pci_read(unsigned index, u16 offset, unsigned size)
{
	assert_true(index == 3 && offset == 0x66 && size == 2);
	return msi.control;
}

void host_pci_write(unsigned index, u16 offset, unsigned size, u32 value)
{
	assert_int_equal(index, 3);
	switch (offset) {
	case 0x66:
		assert_int_equal(size, 2);
		msi.control = (u16)value;
		break;
	case 0x68:
		assert_int_equal(size, 4);
		msi.address = value;
		break;
	case 0x6c:
		assert_true(size == 4 && msi.control & 0x80);
		msi.high = value;
		break;
	case 0x70:
		assert_true(size == 2 && msi.control & 0x80);
		msi.data = (u16)value;
		break;
	default: fail_msg("write to %#x", offset);
	}
}

/* ---- the unit ---- */

static void note(const char *what)
{
	if (strlen(hw.log) < sizeof(hw.log) - 20)
		strcat(strcat(hw.log, hw.log[0] ? " " : ""), what);
}

static u64 see(u64 pa)
{
	return *(u64 *)(uintptr_t)pa;
}

static const u64 *device_of(u16 bdf)
{
	unsigned i = 0;

	while (i < KEPT - 1 && hw.device[i].valid && hw.device[i].bdf != bdf)
		i++;
	if (hw.device[i].valid && hw.device[i].bdf == bdf)
		return hw.device[i].dte;
	hw.device[i].valid = true;
	hw.device[i].bdf = bdf;
	assert_int_equal(hw.devices & 0xfff, 511);
	for (unsigned n = 0; n < 4; n++)
		hw.device[i].dte[n] = see((hw.devices & 0x000ffffffffff000) + bdf * 32u + n * 8);
	/* Valid, translates, four levels; nothing of PRI, ATS, guest tables (2.2.2.1). */
	assert_int_equal(hw.device[i].dte[0] & 0x9ff0000000000fffull, 0x803);
	assert_int_equal(hw.device[i].dte[1] & ~0x3040000ffffull, 0);
	assert_int_equal(hw.device[i].dte[3], 0);
	return hw.device[i].dte;
}

/* Where an access goes; what it reads is kept. */
static u64 hw_access(u16 bdf, u64 at, bool write)
{
	const u64 *d = device_of(bdf);
	u64 e = d[0], rights = 3ull << 61, needed = write ? BIT(62) : BIT(61);
	unsigned t = 0, level = 4;
	u16 domain = (u16)d[1];

	while (t < KEPT - 1 && hw.tlb[t].valid &&
	       (hw.tlb[t].domain != domain || hw.tlb[t].at != at >> 12))
		t++;
	if (e >> 61 == 0)
		return BLOCKED;
	assert_true(domain || (write && (d[1] >> 40 & 3) == 1));
	if (hw.tlb[t].valid)
		return hw.tlb[t].to;
	hw.tlb[t].valid = true;
	hw.tlb[t].domain = domain;
	hw.tlb[t].at = at >> 12;
	hw.tlb[t].to = BLOCKED;
	while (level) {
		rights &= e;
		e = see((e & 0x000ffffffffff000) + (at >> (3 + 9 * level) & 511) * 8);
		if (!(e & 1) || !(rights & e & needed))
			return BLOCKED;
		/* Reserved bits; levels that go down by one; a leaf's address by its size. */
		assert_false(e & 0x8ff0000000000000ull ||
			     (e >> 9 & 7 && (e >> 9 & 7) != level - 1));
		if (!(e >> 9 & 7))
			break;
		level--;
	}
	assert_false(e & 0x000ffffffffff000 & (BIT(3 + 9 * level) - 1));
	return hw.tlb[t].to = (e & 0x000ffffffffff000) | (at & (BIT(3 + 9 * level) - 1));
}

struct sent {
	u32 id;
	u8 vector;
	u8 mode;
	bool blocked;
};

/* What a write of this data to the addresses of interrupts leads to. */
static struct sent hw_interrupt(u16 bdf, u32 data)
{
	const u64 *d = device_of(bdf), *e;
	bool many = hw.control >> 43 & 1;
	unsigned mode = many ? 0 : data >> 8 & 7, i = 0, n = data & 0x7ff;
	struct sent as_it_is = { .vector = (u8)data, .mode = (u8)mode };

	if (!(d[2] & 1))
		return as_it_is;
	/* NMI, INIT and ExtINT by a bit each. */
	if (mode > 1) {
		bool passes = (mode == 4 && d[2] >> 58 & 1) || (mode == 5 && d[2] >> 56 & 1) ||
			      (mode == 7 && d[2] >> 57 & 1);

		return passes ? as_it_is : (struct sent){ .blocked = true };
	}
	if ((d[2] >> 60 & 3) == 0)
		return (struct sent){ .blocked = true };
	assert_true((d[2] >> 60 & 3) == 2 && (d[2] >> 1 & 15) == (many ? 11 : 9) &&
		    !(d[2] & 0x00f0000000000020ull));
	assert_true(n < (many ? 2048 : 512) && hw.control & BIT(17) && !(hw.control >> 44 & 1));
	while (i < KEPT - 1 && hw.irte[i].valid && (hw.irte[i].bdf != bdf || hw.irte[i].n != n))
		i++;
	if (!hw.irte[i].valid) {
		hw.irte[i].valid = true;
		hw.irte[i].bdf = bdf;
		hw.irte[i].n = n;
		hw.irte[i].e[0] = see((d[2] & 0x000fffffffffffc0) + n * 16);
		hw.irte[i].e[1] = see((d[2] & 0x000fffffffffffc0) + n * 16 + 8);
	}
	e = hw.irte[i].e;
	if (!(e[0] & 1))
		return (struct sent){ .blocked = true };
	assert_false(e[0] & 0xffffffff000000feull || e[1] & 0x00ffffffffffff00ull);
	assert_true(hw.control >> 50 & 1 || e[0] >> 16 == 0);
	return (struct sent){ .id = (u32)(e[0] >> 8 & 0xffffff) | (u32)(e[1] >> 56) << 24,
			      .vector = (u8)e[1] };
}

#define FORGET(what, cond) \
	do { \
		for (unsigned i = 0; i < KEPT; i++) \
			if (cond) \
				memset(&hw.what[i], 0, sizeof(hw.what[i])); \
	} while (0)

static void run(void)
{
	while (!hw.hangs && hw.control & 1 && hw.control & BIT(12) && hw.head != hw.tail) {
		const u64 *c =
			(const u64 *)(uintptr_t)((hw.commands & 0x000ffffffffff000) + hw.head);
		char text[20];

		hw.head = (hw.head + 16) % COMMANDS;
		switch (c[0] >> 60) {
		case 1:
			assert_int_equal(c[0] & 0xf, 5);
			*(u64 *)(uintptr_t)(c[0] & 0x000ffffffffffff8) = hw.deaf ? 0 : c[1];
			break;
		case 2:
			assert_true(!(c[0] & 0x0fffffffffff0000) && !c[1]);
			FORGET(device, hw.device[i].bdf == (u16)c[0]);
			hw.devices_dropped++;
			/* Does anything pass by what stands there now? */
			snprintf(text, sizeof(text), "d%llx%s", (unsigned long long)(u16)c[0],
				 see((hw.devices & 0x000ffffffffff000) + (u16)c[0] * 32u) >> 61
					 ? "+"
					 : "");
			note(text);
			break;
		case 3:
			assert_true(!(c[0] & 0x0fff0000ffffffff) && c[1] == 0x7ffffffffffff003);
			FORGET(tlb, hw.tlb[i].domain == (u16)(c[0] >> 32));
			snprintf(text, sizeof(text), "p%u", (u16)(c[0] >> 32));
			note(text);
			break;
		case 5:
			assert_true(!(c[0] & 0x0fffffffffff0000) && !c[1]);
			FORGET(irte, hw.irte[i].bdf == (u16)c[0]);
			snprintf(text, sizeof(text), "i%llx", (unsigned long long)(u16)c[0]);
			note(text);
			break;
		case 8:
			assert_true(c[0] == 8ull << 60 && !c[1]);
			FORGET(device, true);
			FORGET(tlb, true);
			FORGET(irte, true);
			note("all");
			break;
		default: fail_msg("command %#lx", c[0]);
		}
	}
}

void host_mmio_write(volatile void *reg, unsigned size, u64 value)
{
	unsigned at = (unsigned)((volatile u8 *)reg - window);
	u64 was = hw.control;

	assert_int_equal(size, 8);
	switch (at) {
	case 0x18:
		hw.control = value;
		/* The kinds of interrupts' entries do not change under it. */
		assert_true(!(was & value & 1) || !((was ^ value) & (BIT(17) | BIT(50))));
		hw.status &= hw.never_stops ? ~0ull : ~0x18ull;
		hw.status |= value & 1 ? (value >> 12 & 1) << 4 | (value >> 2 & 1) << 3 : 0;
		break;
	case 0: hw.devices = value; break;
	case 8:
		assert_false(was & BIT(12));
		hw.commands = value;
		break;
	case 0x10:
		assert_false(was & 4);
		hw.events = value;
		break;
	case 0x20: hw.exclusion = value; break;
	case 0x2000:
		assert_false(was & BIT(12));
		hw.head = value;
		break;
	case 0x2008: hw.tail = value; break;
	case 0x2010: hw.event_head = value; break;
	case 0x2018:
		assert_false(was & 4);
		hw.event_tail = value;
		break;
	case 0x2020: hw.status &= ~(value & 0x67); break;
	default: fail_msg("write to %#x", at);
	}
	run();
}

u64 host_mmio_read(const volatile void *reg, unsigned size)
{
	unsigned at = (unsigned)((const volatile u8 *)reg - window);

	assert_int_equal(size, 8);
	switch (at) {
	case 0x18: return hw.control;
	case 0x30: return hw.efr;
	case 0x1a0: return hw.efr2;
	case 0x2010: return hw.event_head;
	case 0x2018: return hw.event_tail;
	case 0x2020: return hw.status;
	default: fail_msg("read of %#x", at); return 0;
	}
}

/* The unit notes an event; a full log is one. */
static void event(u64 low, u64 high)
{
	u64 *e = (u64 *)(uintptr_t)((hw.events & 0x000ffffffffff000) + hw.event_tail);

	if (!(hw.control & 4) || hw.status & 1)
		return;
	if ((hw.event_tail + 16) % 4096 == hw.event_head) {
		hw.status |= 1;
		return;
	}
	assert_true(!e[0] && !e[1]);
	e[0] = low;
	e[1] = high;
	hw.event_tail = (hw.event_tail + 16) % 4096;
	hw.status |= 2;
}

/* ---- tests ---- */

static int reset(void **)
{
	memset(&hw, 0, sizeof(hw));
	memset(&msi, 0, sizeof(msi));
	hw.efr = GOOD;
	msi.control = 0x80 | 7 << 4;
	x2apic = true;
	pages_left = 700;
	unit = (struct iommu_unit){ .base = BASE, .function = 3, .hints = 0x0b };
	return 0;
}

static int done(void **)
{
	while (nr_made)
		free(made[--nr_made]);
	return 0;
}

static void expect(const char *log)
{
	assert_string_equal(hw.log, log);
	hw.log[0] = 0;
}

static void start_well(void)
{
	assert_null(amdvi_ops.start(&unit));
	assert_null(amdvi_ops.enable(&unit, 0xfee05000, 0x400));
	hw.log[0] = 0;
}

static void test_start(void **)
{
	/* All that firmware can have left on. */
	hw.control = 0x1 | 0x4 | 0x8 | BIT(12) | BIT(17);
	hw.status = 0x1b;
	hw.exclusion = 0x1003;
	assert_null(amdvi_ops.start(&unit));
	assert_true(unit.max_leaf == LEAF_1G && unit.bits == 48 && unit.domains == 65536 &&
		    unit.coherent && unit.remaps && unit.remaps_wide);
	/* Before it has the tables: the firmware's functions. */
	assert_int_equal(amdvi_ops.set(&unit, 0x310, 5, 0x9000), 0);
	assert_null(amdvi_ops.enable(&unit, 0xfee05000, 0x400));
	assert_true(hw.devices_dropped == 65536 && !strncmp(hw.log, "d0 d1 d2 ", 9));
	/*
	 * Tunnel, posted writes, isochronous as firmware says; coherent, commands, events and their
	 * message, GA, XT.
	 */
	assert_int_equal(hw.control, 0x1 | 0x2 | 0x4 | 0x8 | 0x100 | BIT(10) | BIT(11) | BIT(12) |
					     BIT(17) | BIT(50));
	assert_true(hw.commands >> 56 == 8 && hw.events >> 56 == 8 && !hw.exclusion &&
		    !(hw.status & 3));
	assert_true(msi.address == 0xfee05000 && !msi.high && msi.data == 0x400 &&
		    msi.control == 0x81);
	assert_true(hw_access(0, 0, false) == BLOCKED &&
		    hw_access(0xffff, 0x1000, true) == BLOCKED);
	assert_true((device_of(0x310)[0] & 0x000ffffffffff000) == 0x9000 &&
		    device_of(0x310)[1] == 5);
	/* Interrupts pass until it is told to remap them. */
	assert_false(hw_interrupt(0x100, 0x41).blocked);
}

static void test_judged(void **)
{
	static const struct {
		u64 efr;
		const char *says;
	} bad[] = {
		{ 0, "does not answer" },
		{ ~0ull, "does not answer" },
		{ GOOD & ~BIT(6), "cannot drop all at once that it keeps" },
		{ GOOD | 3 << 10, "has no page tables of four levels" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		hw.efr = bad[i].efr;
		assert_string_equal(amdvi_ops.start(&unit), bad[i].says);
	}
	hw.efr = GOOD & ~BIT(7);
	assert_null(amdvi_ops.start(&unit));
	assert_true(!unit.remaps && !unit.remaps_wide);
	assert_null(amdvi_ops.enable(&unit, 0, 0x400));
	assert_false(hw.control & (BIT(17) | BIT(50) | 8) || msi.address);
	done(NULL);
	reset(NULL);
	hw.lost = true;
	assert_string_equal(amdvi_ops.start(&unit), "has registers where none can be");
	for (unsigned left = 0; left < 20 + 512; left += left < 20 ? 1 : 511) {

		done(NULL);
		reset(NULL);
		pages_left = left;
		assert_string_equal(amdvi_ops.start(&unit), "finds no memory for its tables");
	}
	/* One that does not stop, and one that does not work. */
	done(NULL);
	reset(NULL);
	assert_null(amdvi_ops.start(&unit));
	hw.status = 8;
	hw.never_stops = true;
	assert_string_equal(amdvi_ops.enable(&unit, 0, 0), "does not answer");
	hw.never_stops = false;
	hw.hangs = true;
	assert_string_equal(amdvi_ops.enable(&unit, 0, 0), "does not answer");
	assert_string_equal(unit.broken, "does not answer");
}

static void *s2_alloc(int)
{
	return host_pages_alloc(1, -1);
}

static u64 s2_to_hpa(const void *p)
{
	return (u64)(uintptr_t)p;
}

static void *s2_to_virt(u64 pa)
{
	return (void *)(uintptr_t)pa;
}

static void s2_free(void *) { }

static const struct stage2_mem mem = { s2_alloc, s2_free, s2_to_hpa, s2_to_virt };

static void test_domains(void **)
{
	struct stage2 a, b;

	start_well();
	assert_int_equal(stage2_init(&a, amdvi_ops.format, &mem, LEAF_1G, -1), 0);
	assert_int_equal(stage2_init(&b, amdvi_ops.format, &mem, LEAF_1G, -1), 0);
	assert_int_equal(stage2_map(&a, 0, GIB(4), GIB(1) + MIB(2) + KIB(4), STAGE2_R | STAGE2_W,
				    MEMTYPE_WB),
			 0);
	assert_int_equal(stage2_map(&b, GIB(1), GIB(8), KIB(4), STAGE2_R, MEMTYPE_WB), 0);
	assert_true(a.leaves[LEAF_1G] == 1 && a.leaves[LEAF_2M] == 1 && a.leaves[LEAF_4K] == 1);
	assert_true(hw_access(0x311, 0x1000, true) == BLOCKED);
	assert_int_equal(amdvi_ops.set(&unit, 0x311, 7, stage2_root(&a)), 0);
	expect("d311 d311+ p7");
	assert_true(hw_access(0x311, 0x12345678, true) == GIB(4) + 0x12345678);
	assert_true(hw_access(0x311, GIB(1) + 0x54321, false) == GIB(5) + 0x54321);
	assert_true(hw_access(0x311, GIB(1) + MIB(2) + 8, true) == GIB(5) + MIB(2) + 8);
	assert_true(hw_access(0x311, GIB(1) + MIB(2) + KIB(4), false) == BLOCKED);
	assert_true(hw_access(0x312, 0x1000, false) == BLOCKED);
	/* Another's; read only. */
	assert_int_equal(amdvi_ops.set(&unit, 0x311, 8, stage2_root(&b)), 0);
	expect("d311 d311+ p8");
	assert_true(hw_access(0x311, GIB(1) + 4, false) == GIB(8) + 4);
	FORGET(tlb, true);
	assert_true(hw_access(0x311, GIB(1) + 4, true) == BLOCKED);
	assert_true(hw_access(0x311, 0x1000, true) == BLOCKED);
	/* None any more: of its last domain nothing is kept. */
	hw.log[0] = 0;
	assert_int_equal(amdvi_ops.set(&unit, 0x311, 0, 0), 0);
	expect("d311 d311 p8");
	assert_true(hw_access(0x311, GIB(1), false) == BLOCKED && !device_of(0x311)[1]);
	/* What does not answer is broken, and asked no more. */
	hw.deaf = true;
	assert_int_equal(amdvi_ops.set(&unit, 0x311, 7, stage2_root(&a)), -EIO);
	assert_string_equal(unit.broken, "does not answer");
	assert_true(hw_access(0x311, 0x1000, true) == BLOCKED);
	hw.deaf = false;
	assert_int_equal(amdvi_ops.set(&unit, 0x312, 7, stage2_root(&a)), -EIO);
}

/* What the unit has kept is used until it is told. */
static void test_flush(void **)
{
	struct stage2 s;

	start_well();
	assert_true(unit.keeps_absent);
	assert_int_equal(stage2_init(&s, amdvi_ops.format, &mem, LEAF_1G, -1), 0);
	assert_int_equal(stage2_map(&s, 0, GIB(4), GIB(1), STAGE2_R | STAGE2_W, MEMTYPE_WB), 0);
	assert_int_equal(amdvi_ops.set(&unit, 0x311, 7, stage2_root(&s)), 0);
	hw.log[0] = 0;
	assert_true(hw_access(0x311, 0x123456, true) == GIB(4) + 0x123456);
	assert_int_equal(stage2_unmap(&s, MIB(1), MIB(1)), 0);
	assert_true(hw_access(0x311, 0x123456, true) == GIB(4) + 0x123456);
	assert_true(amdvi_ops.flush(&unit, 7));
	expect("p7");
	assert_true(hw_access(0x311, 0x123456, true) == BLOCKED);
	assert_true(hw_access(0x311, 0x1234, true) == GIB(4) + 0x1234);
	hw.deaf = true;
	assert_false(amdvi_ops.flush(&unit, 7));
	assert_string_equal(unit.broken, "does not answer");
}

static bool is(struct sent s, u32 id, u8 vector)
{
	return !s.blocked && s.id == id && s.vector == vector && !s.mode;
}

static void test_interrupts(void **)
{
	int one, four;

	start_well();
	assert_null(amdvi_ops.remap(&unit, 256, true));
	expect("all");
	/* Nothing passes, whatever it is. */
	for (unsigned mode = 0; mode < 8; mode++)
		assert_true(hw_interrupt(0x100, mode << 8 | 0x41).blocked);
	one = amdvi_ops.take(&unit, 0x100, 1, 0);
	assert_int_equal(one, 0);
	assert_true(amdvi_ops.interrupt(&unit, (unsigned)one, 0x100, 0x12345678, 0x41));
	assert_true(amdvi_ops.message((unsigned)one, false) == 0xfee00000);
	assert_true(is(hw_interrupt(0x100, 0), 0x12345678, 0x41));
	/* Not by another's number, nor by another entry. */
	assert_true(hw_interrupt(0x101, 0).blocked && hw_interrupt(0x100, 1).blocked);
	four = amdvi_ops.take(&unit, 0x100, 4, 0);
	assert_int_equal(four, 4);
	for (unsigned n = 0; n < 4; n++)
		assert_true(amdvi_ops.interrupt(&unit, (unsigned)four + n, 0x100, n, 0x50 + n));
	assert_true(amdvi_ops.message((unsigned)four, true) == (4ull << 32 | 0xfee00000));
	for (unsigned n = 0; n < 4; n++)
		assert_true(is(hw_interrupt(0x100, 4 + n), n, (u8)(0x50 + n)));
	assert_int_equal(amdvi_ops.take(&unit, 0x100, 1, 0), 1);
	assert_true(amdvi_ops.interrupt(&unit, 1, 0x100, 9, 0x49));
	assert_true(is(hw_interrupt(0x100, 1), 9, 0x49));
	/* Another CPU and vector, then none. */
	assert_true(amdvi_ops.interrupt(&unit, 0, 0x100, 3, 0x42));
	assert_true(is(hw_interrupt(0x100, 0), 3, 0x42));
	assert_true(amdvi_ops.interrupt(&unit, 0, 0x100, 0, 0));
	assert_true(hw_interrupt(0x100, 0).blocked);
	assert_int_equal(amdvi_ops.take(&unit, 0x100, 1, 0), 0);
	/* NMI, INIT, ExtINT and SMI of this one never. */
	for (unsigned mode = 2; mode < 8; mode++)
		assert_true(hw_interrupt(0x100, mode << 8).blocked);
	/* As many as a table has. */
	for (unsigned n = 8; n < 512; n++)
		assert_true(amdvi_ops.interrupt(&unit, n, 0x100, 0, 0x60));
	assert_int_equal(amdvi_ops.take(&unit, 0x100, 8, 0), -ENOSPC);
	pages_left = 0;
	assert_int_equal(amdvi_ops.take(&unit, 0x200, 1, 0), -ENOMEM);
	hw.deaf = true;
	assert_false(amdvi_ops.interrupt(&unit, 1, 0x100, 0, 0x41));
}

/*
 * As recorded IVRSs have it of 00:14.0: INIT, ExtINT, NMI, LINT0, LINT1 pass, and system management
 * writes (01), for which the entry must let writes through (erratum 63); memory is out of reach all
 * the same, and no other function has any of it.
 */
static void test_settings(void **)
{
	assert_null(amdvi_ops.start(&unit));
	amdvi_ops.allow(&unit, 0xa0, 0xa0, 0xd7);
	amdvi_ops.allow(&unit, 0x98, 0x99, 0xf0);
	amdvi_ops.allow(&unit, 0x200, 0x1ff, 0xff);
	amdvi_ops.allow(&unit, 0xffff, 0xffff, 0x04);
	assert_null(amdvi_ops.enable(&unit, 0xfee05000, 0x400));
	for (unsigned round = 0; round < 2; round++) {
		assert_true(device_of(0xa0)[0] >> 61 == 2 && (device_of(0xa0)[1] >> 40 & 3) == 1 &&
			    device_of(0xa0)[2] >> 62 == 3);
		assert_true(device_of(0x99)[0] >> 61 == 0 && (device_of(0x99)[1] >> 40 & 3) == 3 &&
			    device_of(0x99)[2] >> 62 == 3);
		assert_true(hw_access(0xa0, 0x1000, true) == BLOCKED &&
			    hw_access(0x99, 0x1000, true) == BLOCKED);
		assert_true(device_of(0xa1)[0] >> 61 == 0 && !device_of(0xa1)[1] &&
			    device_of(0xa1)[2] >> 56 == 0);
		assert_true(device_of(0x9a)[2] >> 56 == 0 && device_of(0x200)[2] >> 56 == 0 &&
			    device_of(0x97)[2] >> 56 == 0);
		/* Memory that firmware has reserved for it, and none again. */
		assert_int_equal(amdvi_ops.set(&unit, 0xa0, 5, 0x9000), 0);
		assert_true(device_of(0xa0)[1] == (5 | BIT(40)) && device_of(0xa0)[0] >> 61 == 3);
		assert_int_equal(amdvi_ops.set(&unit, 0xa0, 0, 0), 0);
		assert_null(round ? NULL : amdvi_ops.remap(&unit, 256, true));
		assert_int_equal(amdvi_ops.take(&unit, 0xa0, 1, 0x45), round);
		assert_true(amdvi_ops.interrupt(&unit, round, 0xa0, 2, 0x45));
		for (unsigned mode = 4; mode < 8; mode++) {
			assert_int_equal(hw_interrupt(0xa0, mode << 8).blocked, mode == 6);
			assert_int_equal(hw_interrupt(0xffff, mode << 8).blocked, mode != 4);
			assert_true(hw_interrupt(0x98, mode << 8).blocked &&
				    hw_interrupt(0xa1, mode << 8).blocked);
		}
	}
	assert_true(hw_interrupt(0xa0, 0x41).blocked);
	assert_true(is(hw_interrupt(0xa0, 0), 2, 0x45));
	assert_null(amdvi_ops.remap(&unit, 0, false));
	assert_true(device_of(0xa0)[2] == (7ull << 56 | 3ull << 62));
}

/* 2,048 where the unit says so (3.4.22), but not where the bits that it takes for them say NMI. */
static void test_many_interrupts(void **)
{
	hw.efr2 = 1 << 8;
	start_well();
	assert_null(amdvi_ops.remap(&unit, 256, true));
	assert_int_equal(unit.entries, 2048);
	for (unsigned n = 0; n < 2048; n++)
		assert_true(amdvi_ops.take(&unit, 0x100, 1, 0) == (int)n &&
			    amdvi_ops.interrupt(&unit, n, 0x100, n, 0x60));
	assert_int_equal(amdvi_ops.take(&unit, 0x100, 1, 0), -ENOSPC);
	assert_true(amdvi_ops.message(2047, false) == (2047ull << 32 | 0xfee00000));
	assert_true(is(hw_interrupt(0x100, 2047), 2047, 0x60) &&
		    is(hw_interrupt(0x100, 0x400), 0x400, 0x60));
	/* An I/O APIC's entry has no room for more. */
	for (unsigned n = 0; n < 512; n++)
		assert_true(amdvi_ops.take(&unit, 0xa0, 1, 0x45) == (int)n &&
			    amdvi_ops.interrupt(&unit, n, 0xa0, 2, 0x45));
	assert_int_equal(amdvi_ops.take(&unit, 0xa0, 1, 0x45), -ENOSPC);
	done(NULL);
	for (unsigned i = 0; i < 3; i++) {
		reset(NULL);
		hw.efr2 = i << 8;
		unit.nmis = i == 1;
		start_well();
		assert_true(unit.entries == 512 && !(hw.control >> 43 & 3));
		done(NULL);
	}
}

/* Of an I/O APIC. */
static void test_inputs(void **)
{
	start_well();
	assert_null(amdvi_ops.remap(&unit, 256, true));
	/* A level's EOI has the entry's number as its vector, of which there are two. */
	assert_int_equal(amdvi_ops.take(&unit, 0xa0, 1, 0x8045), 0x45);
	assert_true(amdvi_ops.interrupt(&unit, 0x45, 0xa0, 2, 0x8045));
	assert_int_equal(amdvi_ops.take(&unit, 0xa0, 1, 0x8045), 0x145);
	assert_true(amdvi_ops.interrupt(&unit, 0x145, 0xa0, 3, 0x8045));
	assert_int_equal(amdvi_ops.take(&unit, 0xa0, 1, 0x8045), -ENOSPC);
	assert_int_equal(amdvi_ops.take(&unit, 0xa0, 1, 0x45), 0);
	assert_true(amdvi_ops.input(0x145, 0x0300000000012045 | BIT(15)) == 0x1a145);
	assert_true(is(hw_interrupt(0xa0, 0x45), 2, 0x45) &&
		    is(hw_interrupt(0xa0, 0x145), 3, 0x45));
	/* An NMI passes as it is, from there alone. */
	assert_true(hw_interrupt(0xa0, 0x400).blocked);
	assert_true(amdvi_ops.interrupt(&unit, 0, 0xa0, 0, 0x400));
	assert_true(amdvi_ops.input(0, 0x0300000000002400) == 0x0300000000002400);
	assert_true(!hw_interrupt(0xa0, 0x400).blocked && hw_interrupt(0xa0, 0x400).mode == 4);
	assert_true(hw_interrupt(0xa0, 0x500).blocked && hw_interrupt(0xa0, 0x700).blocked &&
		    hw_interrupt(0xa1, 0x400).blocked);
	/* No more at all. */
	assert_null(amdvi_ops.remap(&unit, 0, false));
	assert_false(hw_interrupt(0xa1, 0x41).blocked);
}

static void test_faults(void **)
{
	struct iommu_fault f;

	start_well();
	assert_false(amdvi_ops.fault(&unit, &f));
	event(2ull << 60 | BIT(53) | 7ull << 32 | 0x311, 0x12345678);
	event(2ull << 60 | 0x312, 0xfffff123);
	event(2ull << 60 | BIT(51) | BIT(53) | 0x313, 0xfee00041);
	event(2ull << 60 | BIT(51) | 0x313, 0x5000);
	event(1ull << 60 | 0x314, 0x8000);
	assert_true(amdvi_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x311 && f.write && !f.interrupt && f.address == 0x12345000 &&
		    f.reason == 2 && f.count == 1);
	assert_true(amdvi_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x312 && !f.write && f.address == 0xfffff000);
	assert_true(amdvi_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x313 && f.interrupt && f.address == 0xfee00041);
	assert_true(amdvi_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x313 && !f.interrupt && f.count == 2);
	assert_true(amdvi_ops.fault(&unit, &f));
	assert_true(f.bdf == 0x314 && f.reason == 1);
	assert_false(hw.status & 2 && amdvi_ops.fault(&unit, &f));
	assert_int_equal(hw.status & 3, 0);
	/* Enough of one: its page faults are noted no more, until it is attached again. */
	for (unsigned n = 2; n <= IOMMU_REPORTS; n++) {
		assert_false(device_of(0x311)[1] >> 34);
		event(2ull << 60 | 0x311, 0x1000);
		assert_true(amdvi_ops.fault(&unit, &f) && f.count == n);
	}
	assert_int_equal(device_of(0x311)[1] >> 34, 1);
	for (unsigned n = 0; n < 300; n++) {
		event(2ull << 60 | 0x311, 0x1000);
		assert_true(amdvi_ops.fault(&unit, &f) && f.count > IOMMU_REPORTS);
	}
	assert_int_equal(amdvi_ops.set(&unit, 0x311, 0, 0), 0);
	assert_int_equal(device_of(0x311)[1], 0);
	event(2ull << 60 | 0x311, 0x1000);
	assert_true(amdvi_ops.fault(&unit, &f) && f.count == 1);
}

/* Told of again, what came meanwhile is there; all else goes on. */
static void test_hold(void **)
{
	struct iommu_fault f;
	u64 control;

	start_well();
	control = hw.control;
	assert_true(control & BIT(3));
	amdvi_ops.hold(&unit, true);
	assert_int_equal(hw.control, control & ~BIT(3));
	event(2ull << 60 | 0x311, 0x1000);
	assert_true(amdvi_ops.fault(&unit, &f));
	amdvi_ops.hold(&unit, false);
	assert_int_equal(hw.control, control);
}

/* A full log goes on; a command that is refused breaks the unit. */
static void test_lost(void **)
{
	struct iommu_fault f;
	unsigned count = 0;

	start_well();
	for (unsigned n = 0; n < 300; n++)
		event(2ull << 60 | 0x311, 0x1000);
	assert_int_equal(hw.status & 3, 3);
	while (amdvi_ops.fault(&unit, &f))
		count++;
	assert_int_equal(count, 255);
	assert_true(!(hw.status & 3) && hw.control & 4 && hw.control & 1);
	event(2ull << 60 | 0x312, 0x1000);
	assert_true(amdvi_ops.fault(&unit, &f) && f.bdf == 0x312);
	event(5ull << 60, 0x1000);
	assert_true(amdvi_ops.fault(&unit, &f));
	assert_string_equal(unit.broken, "refuses a command");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_start, reset, done),
		cmocka_unit_test_setup_teardown(test_judged, reset, done),
		cmocka_unit_test_setup_teardown(test_domains, reset, done),
		cmocka_unit_test_setup_teardown(test_flush, reset, done),
		cmocka_unit_test_setup_teardown(test_interrupts, reset, done),
		cmocka_unit_test_setup_teardown(test_settings, reset, done),
		cmocka_unit_test_setup_teardown(test_many_interrupts, reset, done),
		cmocka_unit_test_setup_teardown(test_inputs, reset, done),
		cmocka_unit_test_setup_teardown(test_faults, reset, done),
		cmocka_unit_test_setup_teardown(test_hold, reset, done),
		cmocka_unit_test_setup_teardown(test_lost, reset, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
