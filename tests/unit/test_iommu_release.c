/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/rsdp.c */
/*
 * What a firmware left on, in units of this file: they answer as VT-d 4.0, 11.4.4 and 11.4.8, and
 * AMD IOMMU 3.07, 3.4 say, some reads late; one command at a time, which repeats what is on
 * otherwise. And which units the tables name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/boot/bootinfo.h"
#include "kernel/log/printk.h"
#include "tests/unit/acpi_table.h"
#include "tests/unit/fake_say.h"

#define UNITS 3
#define BASE 0xfed90000u
#define STEP 0x10000u
#define ABSENT (~0ull)
#define CAP_PMR (BIT(5) | BIT(6))
#define LATE 5 /* reads until a command is done */

static struct unit {
	/* the last two: of AMD-Vi, either alone */
	bool amd;
	bool stuck;
	bool rings_stuck;
	bool on_stuck;
	/* cap ABSENT: nothing is there */
	u64 cap;
	u64 control;
	/* goal: of gsts, or AMD-Vi's status */
	u32 gsts;
	u32 pmen;
	u32 status;
	u32 goal;

	unsigned late;
	char log[100];
} unit[UNITS];
static u8 space[UNITS * STEP];     /* never read: its addresses are the units' */
static u64 tsc;

static void note(struct unit *u, const char *what)
{
	strcat(strcat(u->log, u->log[0] ? " " : ""), what);
}

static struct unit *unit_at(volatile void *reg, unsigned *at)
{
	u64 offset = (u64)((volatile u8 *)reg - space);

	assert_true(offset < sizeof(space));
	*at = (unsigned)(offset % STEP);
	return &unit[offset / STEP];
}

static bool done(struct unit *u)
{
	u->late -= u->late && !u->stuck;
	return !u->late;
}

static u64 unit_read(volatile void *reg)
{
	unsigned at;
	struct unit *u = unit_at(reg, &at);

	if (u->cap == ABSENT)
		return ABSENT;
	if (u->amd && at == 0x18)
		return u->control;
	if (u->amd && at == 0x2020)
		return done(u) && !u->rings_stuck ? u->status = u->goal : u->status;
	switch (u->amd ? 0 : at) {
	case 0x08: return u->cap;
	case 0x1c: return done(u) ? u->gsts = u->goal : u->gsts;
	case 0x64:
		assert_true(u->cap & CAP_PMR);
		return u->pmen & BIT(31) || !done(u) ? u->pmen : (u->pmen = 0);
	}
	fail_msg("read of %#x", at);
	return 0;
}

static void command(struct unit *u, u32 value)
{
	u32 kept = u->gsts & 0x96ffffff, gone = kept & ~value;

	/* Nothing else changes, and not before the last one is done. */
	assert_false(u->late || value & ~kept || (gone != BIT(31) && gone != BIT(25)));
	note(u, gone == BIT(31) ? "TE-" : "IRE-");
	u->goal = u->gsts & ~gone;
	u->late = LATE;
}

static void unit_write(volatile void *reg, u64 value)
{
	const u64 rings =
		BIT(2) | BIT(3) | BIT(4) | BIT(12) | BIT(13) | BIT(14) | BIT(28) | BIT(29);
	unsigned at;
	struct unit *u = unit_at(reg, &at);

	assert_true(u->cap != ABSENT);
	if (u->amd && at == 0x18) {
		/* What runs, while it is on, ends with its own bit first. */
		if (u->control & rings && !u->stuck)
			assert_int_equal(value, u->control & ~rings);
		note(u, value & 1 ? "rings-" : "on-");
		u->control = u->stuck || (u->on_stuck && !(value & 1)) ? u->control : value;
		u->goal = 0;
		u->late = LATE;
	} else if (!u->amd && at == 0x18) {
		command(u, (u32)value);
	} else {
		assert_true(!u->amd && at == 0x64 && !value && u->cap & CAP_PMR);
		note(u, "PMEN-");
		u->pmen = 1;
		u->late = LATE;
	}
}

static u64 fake_rdtsc(void)
{
	return tsc += MIB(100);
}

#define mmio_read32(p) (u32) unit_read(p)
#define mmio_read64(p) unit_read(p)
#define mmio_write32(p, v) unit_write(p, v)
#define mmio_write64(p, v) unit_write(p, v)
#define rdtsc fake_rdtsc
#include "arch/x86_64/iommu/release.c"
#include "kernel/iommu/release.c"

/* ---- the kernel ---- */

static struct bootinfo bootinfo;
static u64 table[2][64]; /* DMAR, IVRS */

const struct bootinfo *bootinfo_of_boot(void)
{
	return &bootinfo;
}

const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance)
{
	const struct acpi_sdt *t = (const struct acpi_sdt *)table[signature[0] == 'I'];

	assert_int_equal(instance, 0);
	return t->length ? t : NULL;
}

void *mmio_map_type(u64 pa, u64 size, bool)
{
	assert_int_equal(size, unit[(pa - BASE) / STEP].amd ? KIB(16) : KIB(4));
	return pa - BASE >= UNITS * STEP ? NULL : space + (pa - BASE);
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

/* ---- tables ---- */

static void keep(bool ivrs)
{
	finish();
	memcpy(table[ivrs], buf, used);
}

static void put_drhd(unsigned n)
{
	put(0 | 16 << 16, 4);
	put(1, 4);
	put(BASE + n * STEP, 8);
}

/* Two units, memory between them, and what is cut behind them. */
static void make_dmar(void)
{
	begin("DMAR", 1);
	zeros(12);
	put_drhd(0);
	put(1 | 24 << 16, 4);
	put(0, 4);
	put(BASE + 2 * STEP, 8);
	put(BASE + 2 * STEP + 0xfff, 8);
	put_drhd(1);
	put(0 | 40 << 16, 4);
	put(0, 8);
	keep(false);
}

static void put_ivhd(unsigned type, unsigned n)
{
	unsigned size = type == 0x10 ? 24 : 40;

	put(type | size << 16, 4);
	put(0x40 << 16 | 2, 4);
	put(BASE + n * STEP, 8);
	zeros(size - 16);
}

static int reset(void **)
{
	memset(unit, 0, sizeof(unit));
	memset(table, 0, sizeof(table));
	for (unsigned i = 0; i < UNITS; i++)
		unit[i].cap = CAP_PMR | 2;
	bootinfo = (struct bootinfo){ .nr_ranges = 1,
				      .range = { { 0, BASE - 1, BOOT_MEMORY_USABLE } } };
	found = 0;
	said[0] = 0;
	return 0;
}

static void expect(const char *lines, const char *words, bool off)
{
	char text[IOMMU_LEFT_TEXT];

	iommu_release();
	assert_string_equal(said, lines);
	assert_int_equal(iommu_released(text), off);
	assert_string_equal(text, words);
}

/* ---- tests ---- */

/* A queue that is on stays so: it does nothing by itself. */
static void test_vtd(void **)
{
	make_dmar();
	unit[0].gsts = unit[0].goal = 1u << 31 | 1u << 30 | 1u << 26 | 1u << 25 | 1u << 24;
	unit[0].pmen = 0x80000001;
	unit[1].gsts = unit[1].goal = 1u << 25;
	unit[2].gsts = unit[2].goal = 1u << 31; /* which no table names */
	expect("iommu: firmware left DMA translation, protected memory, interrupt remapping on in the unit at 0xfed90000: off now\n"
	       "iommu: firmware left interrupt remapping on in the unit at 0xfeda0000: off now\n",
	       "DMA translation, protected memory, interrupt remapping", true);
	assert_string_equal(unit[0].log, "IRE- TE- PMEN-");
	assert_int_equal(unit[0].gsts, 1u << 30 | 1u << 26 | 1u << 24);
	assert_int_equal(unit[0].pmen, 0);
	assert_string_equal(unit[1].log, "IRE-");
	assert_string_equal(unit[2].log, "");
}

/* Each alone. Where there are no regions there is no register, whatever is read there. */
static void test_vtd_each(void **)
{
	make_dmar();
	unit[0].gsts = unit[0].goal = 1u << 31;
	unit[0].cap = 2;
	unit[1].pmen = 0x80000001;
	expect("iommu: firmware left DMA translation on in the unit at 0xfed90000: off now\n"
	       "iommu: firmware left protected memory on in the unit at 0xfeda0000: off now\n",
	       "DMA translation, protected memory", true);
	assert_string_equal(unit[0].log, "TE-");
	assert_string_equal(unit[1].log, "PMEN-");
}

/* Nothing is on; there is no unit, no table, or memory where one is said to be. */
static void test_nothing(void **)
{
	expect("", "", true);
	make_dmar();
	expect("", "", true);
	unit[0].cap = ABSENT;
	unit[1].cap = 0;
	unit[1].gsts = unit[1].goal = 1u << 31;
	expect("", "", true);
	assert_string_equal(unit[1].log, "");
	unit[0].cap = unit[1].cap = 2;
	unit[1].gsts = unit[1].goal = 0;
	unit[0].gsts = unit[0].goal = 1u << 31;
	bootinfo.range[0].end = BASE + 1;
	expect("", "", true);
	assert_string_equal(unit[0].log, "");
	/* Of this firmware's kind of lies the next unit's is none. */
	unit[1].gsts = unit[1].goal = 1u << 31;
	expect("iommu: firmware left DMA translation on in the unit at 0xfeda0000: off now\n",
	       "DMA translation", true);
}

/* What does not go off is said, and the next one does. */
static void test_stuck(void **)
{
	make_dmar();
	unit[0].gsts = unit[0].goal = 1u << 25;
	unit[0].stuck = true;
	unit[1].gsts = unit[1].goal = 1u << 31;
	expect("iommu: firmware left interrupt remapping on in the unit at 0xfed90000, which does not go off: devices may be "
	       "silent\niommu: firmware left DMA translation on in the unit at 0xfeda0000: off now\n",
	       "DMA translation, interrupt remapping", false);
	assert_string_equal(unit[1].log, "TE-");
}

/* A unit that three blocks describe is switched off once, and keeps how it is connected. */
static void test_amd(void **)
{
	begin("IVRS", 2);
	zeros(12);
	put_ivhd(0x10, 0);
	put(0x21 | 32 << 16, 4); /* memory */
	put(2, 4);
	zeros(8);
	put(BASE + 2 * STEP, 8);
	put(0x1000, 8);
	put_ivhd(0x10, 1);
	put_ivhd(0x11, 0);
	put_ivhd(0x40, 0);
	keep(true);
	unit[0].amd = unit[1].amd = unit[2].amd = true;
	unit[0].control = 0x0004000030ff1fff | 3 << 13 | 7 << 15 | BIT(50);
	unit[0].status = 0x1ba;
	unit[2].control = 1;
	expect("iommu: firmware left DMA translation, interrupt remapping on in the unit at 0xfed90000: off now\n",
	       "DMA translation, interrupt remapping", true);
	assert_string_equal(unit[0].log, "rings- on-");
	assert_int_equal(unit[0].control, 0xfe2);
	assert_string_equal(unit[1].log, "");
	assert_string_equal(unit[2].log, "");
	unit[0].cap = ABSENT;
	for (unsigned way = 0; way < 3; way++) {
		unit[1].control = 0x1005;
		unit[1].late = 0;
		unit[1].stuck = way == 0;
		unit[1].rings_stuck = way == 1;
		unit[1].on_stuck = way == 2;
		unit[1].status = 0x18;
		said[0] = 0;
		found = 0;
		expect("iommu: firmware left DMA translation, interrupt remapping on in the unit at 0xfeda0000, which does not go "
		       "off: devices may be silent\n",
		       "DMA translation, interrupt remapping", false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_vtd, reset),
		cmocka_unit_test_setup(test_vtd_each, reset),
		cmocka_unit_test_setup(test_nothing, reset),
		cmocka_unit_test_setup(test_stuck, reset),
		cmocka_unit_test_setup(test_amd, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
