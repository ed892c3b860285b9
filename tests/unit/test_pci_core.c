/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_reset_quirks.c kernel/pci/pci_cap.c kernel/pci/pci_info.c */
/* The scan, over ports and ECAMs of which the MCFG tells the truth, too much, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_platform.h"
#include "kernel/pci/pci_route.h"
#include "tests/unit/fake_say.h"

#define COOKIE 0x1000000000000ull /* of an address in an ECAM as a pointer, which nobody follows */
#define WINDOWS 8
#define COUNTS 0xc0000000u /* where a BAR is, for those who use it */

/* A machine's functions; all are of one vendor, their device IDs number them. */
static const struct pci_address machine[] = {
	{ 0, 0, PCI_DEVFN(0, 0) },     { 0, 0, PCI_DEVFN(3, 0) },     { 0, 0, PCI_DEVFN(3, 5) },
	{ 0, 0x80, PCI_DEVFN(1, 0) },  { 1, 0x20, PCI_DEVFN(0, 0) },  { 1, 0xc0, PCI_DEVFN(0, 0) },
	{ 1, 0xff, PCI_DEVFN(31, 7) }, { 1, 0xff, PCI_DEVFN(31, 0) }, { 7, 0x40, PCI_DEVFN(2, 0) },
	{ 1, 0x50, PCI_DEVFN(0, 0) },
};

static u32 port_address;
static unsigned quiet; /* functions that were made quiet, a bit each */
static struct {
	u64 pa;
	u64 size;
} windows[WINDOWS];
static unsigned nr_windows, refused; /* refused: the mapping that fails, from 1 on */
static u64 absent; /* an ECAM that is not there, by its address */
/* segment 0 has no buses from 0x90 on, and registers of something where they would be */
static bool garbage;
static struct mcfg_info mcfg;

/*
 * The function 00:03.0 as a bridge to bus 0x81, where one device answers to all numbers; its type
 * and version; 0: it is none.
 */
static u32 bridge, control2;
#define EXP 0x40

static u32 config_of_bridge(u16 offset, u32 value)
{
	if (offset == PCI_REG_HEADER)
		return value | 1 << 16;
	if (offset == PCI_REG_BUSES)
		return 0x818100;
	if (offset == PCI_REG_CAPABILITIES)
		return EXP;
	if (offset == EXP)
		return PCI_CAP_EXP | bridge << 16;
	if (offset == EXP + 2)
		return bridge;
	return offset == EXP + 0x28 ? control2 : value;
}

static u32 config_of(struct pci_address a, u16 offset)
{
	if (bridge && !a.segment && a.bus == 0x81 && !PCI_FUNCTION(a.devfn))
		return offset == PCI_REG_ID ? 0x00201af4 : 0;
	for (unsigned i = 0; i < ARRAY_SIZE(machine); i++) {
		if (machine[i].segment != a.segment || machine[i].bus != a.bus ||
		    machine[i].devfn != a.devfn)
			continue;
		if (offset == PCI_REG_ID)
			return 0x1af4 | (i + 1) << 16;
		if (offset == PCI_REG_COMMAND)
			return 0xffff0000 | i; /* and the status */
		if (bridge && i == 1)
			return config_of_bridge(offset,
						offset == PCI_REG_HEADER ? PCI_HEADER_MULTI : 0);
		return offset == PCI_REG_HEADER ? PCI_HEADER_MULTI : 0;
	}
	return 0xffffffff;
}

static u32 in_port(u16 port)
{
	struct pci_address a = { 0, (u8)(port_address >> 16), (u8)(port_address >> 8) };

	return config_of(a, (u16)((port_address & 0xfc) | (port & 3)));
}

static void out_port(u16 port, u32 value)
{
	if (port == PCI_CONFIG_ADDRESS)
		port_address = value;
}

#define outl(port, value) out_port(port, value)
#define outw(port, value) out_port(port, value)
#define outb(port, value) out_port(port, value)
#define inl(port) in_port(port)
#define inw(port) (u16) in_port(port)
#define inb(port) (u8) in_port(port)

void *mmio_map_type(u64 pa, u64 size, bool)
{
	assert_true(nr_windows < WINDOWS);
	windows[nr_windows].pa = pa;
	windows[nr_windows++].size = size;
	return nr_windows == refused ? NULL : (void *)(COOKIE + pa);
}

u64 host_mmio_read(const volatile void *reg, unsigned size)
{
	u64 pa = (u64)reg - COOKIE;
	bool inside = false;

	assert_int_equal(size, 4);
	for (unsigned i = 0; i < nr_windows; i++)
		inside |= pa >= windows[i].pa && pa - windows[i].pa < windows[i].size;
	assert_true(inside);
	for (unsigned i = 0; i < mcfg.count; i++) {
		u64 at = pa - mcfg.entry[i].base;
		struct pci_address a = { mcfg.entry[i].segment, (u8)(at >> 20), (u8)(at >> 12) };

		if (garbage && !a.segment && a.bus >= 0x90)
			return 0x00801234;
		if (pa >= mcfg.entry[i].base && at >> 20 <= mcfg.entry[i].bus_end)
			return mcfg.entry[i].base == absent ? 0xffffffff
							    : config_of(a, (u16)(at & 0xfff));
	}
	fail();
	return 0;
}

void pci_bars(const struct pci_function *f, struct pci_bar bar[PCI_BARS])
{
	memcpy(bar, f->bar, sizeof(f->bar));
	bar[1].base = COUNTS;
}

void pci_platform_init(const struct mcfg_info *m, const struct bootinfo *)
{
	assert_ptr_equal(m, &mcfg);
}

/* Of BARs, which none of these has. */
void host_mmio_write(volatile void *, unsigned, u64) { }

void pci_keep_quiet(struct pci_function *f)
{
	quiet |= 1u << (f->id.device - 1);
}

void printk(const char *, ...) { }

void printk_debug(const char *, ...) { }

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

void pci_route_init(void) { }

/* As pci_function.c has them. */
static u32 read_dword(void *ctx, u16 offset)
{
	const struct pci_function *f = ctx;

	return pci_read(f->address, offset, 4);
}

struct pcicap_reader pci_reader(const struct pci_function *f)
{
	return (struct pcicap_reader){ read_dword, (void *)(uintptr_t)f, f->extended };
}

unsigned pci_capabilities(const struct pci_function *f, struct pci_cap *cap, unsigned max,
			  const char **problem)
{
	const struct pcicap_reader reader = pci_reader(f);

	return pcicap_walk(&reader, cap, max, problem);
}

u16 pci_find_cap(const struct pci_function *f, u16 id)
{
	const struct pcicap_reader reader = pci_reader(f);

	return pcicap_find(&reader, id, false);
}

/* Of host_pci_info(), and of no interest here. */
int pci_node(const struct pci_function *)
{
	return -1;
}

int host_intx_route(unsigned, struct host_intx *)
{
	return -1;
}

const struct pci_function *pci_own_port(const struct pci_function *)
{
	return NULL;
}

struct pci_address pci_group(const struct pci_function *f)
{
	return f->address;
}

const char *pci_misplaced(const struct pci_function *)
{
	return NULL;
}

#include "kernel/pci/pci_port.c"
#include "kernel/pci/pci_core.c"
#include "kernel/pci/pci_describe.c"

static void add(u64 base, u16 segment, u8 first, u8 last)
{
	mcfg.entry[mcfg.count++] = (struct mcfg_entry){ base, segment, first, last };
}

static void scan(void)
{
	memset(window, 0, sizeof(window));
	pci_nr_functions = dropped = nr_windows = quiet = 0;
	said[0] = 0;
	pci_init(&mcfg, NULL);
}

static int begin(void **)
{
	memset(&mcfg, 0, sizeof(mcfg));
	refused = 0;
	absent = 0;
	garbage = false;
	return 0;
}

#define SEGMENT_0 0x00fu
#define SEGMENT_1 0x2f0u
#define SEGMENT_7 0x100u

/* Buses without a function, 255 of segment 0 among them, cost no room that others need. */
static void test_each_bus_of_each_segment(void **)
{
	struct pci_info info;

	add(0xb0000000, 0, 0, 0xff);
	add(0x4000000000, 1, 0x20, 0xff);
	add(0x5000000000, 7, 0x40, 0x40);
	scan();
	assert_int_equal(quiet, SEGMENT_0 | SEGMENT_1 | SEGMENT_7);
	assert_int_equal(pci_nr_functions, ARRAY_SIZE(machine));
	/* As firmware left them; of BARs a VM is told those that count. */
	for (unsigned i = 0; i < pci_nr_functions; i++)
		assert_int_equal(pci_get(i)->command, pci_get(i)->id.device - 1);
	assert_true(host_pci_info(0, &info));
	assert_true(info.bar[1].base == COUNTS && pci_get(0)->bar[1].base != COUNTS);
	/* A reset that a device does not announce is told of: the VF of an 82599. */
	assert_false(info.flr);
	pci_functions[0].id = (struct pci_id){ 0x8086, 0x10ed, 0x020000 };
	assert_true(host_pci_info(0, &info) && info.flr);
	/* One that did not stop is nobody's. */
	assert_null(info.problem);
	pci_functions[0].restless = true;
	assert_true(host_pci_info(0, &info) && info.problem &&
		    strstr(info.problem, "it did not stop at boot"));
	assert_true(pci_has_ecam());
	assert_string_equal(said, "");
	assert_int_equal(nr_windows, 3);
	assert_int_equal(windows[1].pa, 0x4002000000);
	assert_int_equal(windows[1].size, 0xe0 * MIB(1));
	assert_int_equal(windows[2].pa, 0x5004000000);
	assert_int_equal(windows[2].size, MIB(1));
	/* Beyond an entry's buses there is nothing, in front of them either. */
	assert_int_equal(pci_read((struct pci_address){ 7, 0x41, 0x10 }, 0, 4), 0xffffffff);
	assert_int_equal(pci_read((struct pci_address){ 1, 0x1f, 0 }, 0, 4), 0xffffffff);
	assert_int_equal(pci_read((struct pci_address){ 1, 0xc0, 0 }, 0, 4), 0x00061af4);
}

/* Two entries for buses of one segment: no function is there twice. */
static void test_buses_named_twice(void **)
{
	add(0xb0000000, 0, 0, 0xff);
	add(0x4000000000, 1, 0x20, 0xc0);
	add(0x6000000000, 1, 0xc0, 0xff);
	add(0x4000000000, 1, 0x20, 0xc0);
	scan();
	assert_int_equal(quiet, SEGMENT_0 | SEGMENT_1);
	assert_int_equal(pci_nr_functions, ARRAY_SIZE(machine) - 1);
}

/*
 * MCFGs of real machines, by what Linux says of them at boot. An HPE Superdome of eight sockets, a
 * segment for each, out of order and below 2^44 (linux-kernel, 3 November 2020, "PCI Uncore mapping
 * details including domains"); bus 0xff is none of a segment's.
 */
static void test_recorded_superdome(void **)
{
	static const u64 base[] = { 0x80000000,    0xfff00000000, 0xfff30000000, 0xfff20000000,
				    0xfff50000000, 0xfff40000000, 0xfff70000000, 0xfff60000000 };

	for (u16 segment = 0; segment < ARRAY_SIZE(base); segment++)
		add(base[segment], segment, 0, 0xfe);
	scan();
	assert_int_equal(quiet, SEGMENT_0 | (SEGMENT_1 & ~0xc0u) | SEGMENT_7);
	assert_int_equal(nr_windows, ARRAY_SIZE(base));
	assert_true(windows[7].pa == 0xfff60000000 && windows[7].size == MIB(0xff));
	assert_int_equal(pci_read((struct pci_address){ 7, 0x40, PCI_DEVFN(2, 0) }, 0, 4),
			 0x00091af4);
	assert_string_equal(said, "");
}

/*
 * A workstation of two Opterons (a kernel's log: "TOM2: 0000000420000000"): both segments have one
 * base, and buses of their own.
 */
static void test_recorded_opterons(void **)
{
	add(0xf0000000, 0, 0, 0x3f);
	add(0xf0000000, 1, 0x40, 0x7f);
	scan();
	/* Those of segment 0 are all found by mechanism 1. */
	assert_int_equal(quiet, SEGMENT_0 | BIT(9));
	assert_true(windows[0].pa == 0xf0000000 && windows[1].pa == 0xf4000000 &&
		    windows[1].size == MIB(64));
	assert_int_equal(pci_read((struct pci_address){ 1, 0x50, 0 }, 0, 4), 0x000a1af4);
	assert_int_equal(pci_read((struct pci_address){ 1, 0x20, 0 }, 0, 4), 0xffffffff);
	assert_string_equal(said, "");
}

/*
 * Below a port there is one device, whatever answers; behind another bridge, or with ARI in the
 * port, 32 may be.
 */
static void test_one_device(void **)
{
	static const struct {
		u32 bridge;
		u32 control2;
		unsigned devices;
	} kinds[] = {
		{ PCIE_ROOT_PORT << 4 | 2, 0, 1 },    { PCIE_DOWNSTREAM << 4 | 2, 0x400, 1 },
		{ PCIE_ROOT_PORT << 4 | 1, 0x20, 1 }, { PCIE_ROOT_PORT << 4 | 2, 0x20, 32 },
		{ PCIE_UPSTREAM << 4 | 2, 0, 32 },    { PCIE_TO_PCI << 4 | 2, 0, 32 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		bridge = kinds[i].bridge;
		control2 = kinds[i].control2;
		scan();
		assert_int_equal(quiet, SEGMENT_0 | BIT(31));
		assert_int_equal(pci_nr_functions, 4 + kinds[i].devices);
	}
	bridge = 0;
}

static void test_segment_0_without_ecam(void **)
{
	scan();
	assert_int_equal(quiet, SEGMENT_0);
	assert_false(pci_has_ecam());
	assert_string_equal(said, "");
}

static void test_more_buses_than_there_are(void **)
{
	add(0xb0000000, 0, 0, 0xff);
	garbage = true;
	scan();
	assert_int_equal(quiet, SEGMENT_0);
	assert_int_equal(pci_nr_functions, 4);
	assert_true(pci_has_ecam());
	assert_string_equal(said, "");
}

/* The hardware check is about segment 0's. */
static void test_segment_1_alone(void **)
{
	add(0x4000000000, 1, 0x20, 0xff);
	scan();
	assert_int_equal(quiet, SEGMENT_0 | SEGMENT_1);
	assert_false(pci_has_ecam());
}

static void test_what_cannot_be_mapped_is_said(void **)
{
	add(0xb0000000, 0, 0, 0xff);
	add(0x4000000000, 1, 0x20, 0xff);
	add(0x5000000000, 7, 0, 0xff);
	refused = 2;
	scan();
	assert_int_equal(quiet, SEGMENT_0 | SEGMENT_7);
	assert_string_equal(
		said,
		"pci: segment 1, buses 20-ff: the MCFG's ECAM at 0x4002000000 cannot be mapped: functions there "
		"are not found, and their DMA stays on\n");
	refused = 1;
	scan();
	assert_int_equal(quiet, SEGMENT_0 | SEGMENT_1 | SEGMENT_7);
	assert_string_equal(
		said,
		"pci: segment 0, buses 00-ff: the MCFG's ECAM at 0xb0000000 cannot be mapped: "
		"mechanism 1 is used\n");
}

static void test_an_ecam_that_is_not_there(void **)
{
	add(0xb0000000, 0, 0x80, 0xff);
	absent = 0xb0000000;
	scan();
	assert_int_equal(quiet, SEGMENT_0);
	assert_false(pci_has_ecam());
	assert_string_equal(
		said,
		"pci: segment 0, buses 80-ff: the MCFG's ECAM at 0xb8000000 shows others than mechanism 1: "
		"mechanism 1 is used\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_bus_of_each_segment, begin),
		cmocka_unit_test_setup(test_buses_named_twice, begin),
		cmocka_unit_test_setup(test_recorded_superdome, begin),
		cmocka_unit_test_setup(test_recorded_opterons, begin),
		cmocka_unit_test_setup(test_one_device, begin),
		cmocka_unit_test_setup(test_segment_0_without_ecam, begin),
		cmocka_unit_test_setup(test_more_buses_than_there_are, begin),
		cmocka_unit_test_setup(test_segment_1_alone, begin),
		cmocka_unit_test_setup(test_what_cannot_be_mapped_is_said, begin),
		cmocka_unit_test_setup(test_an_ecam_that_is_not_there, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
