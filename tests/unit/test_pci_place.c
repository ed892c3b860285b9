/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_place.c kernel/pci/pci_platform.c */
/*
 * BARs that lie where none may: over memory, the platform, the console, each other, or where their
 * root bus is not; ROMs that firmware has left anywhere; and what is in no guest's map, whoever
 * asks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/boot/cmdline.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_platform.h"
#include "kernel/pci/pci_route.h"

#define RESERVED 0x80000000u /* in the root's window */
#define STRAY 0xd0000000u    /* reserved, and in no window that is known */
#define IMAGE (GIB(4) + MIB(2))

static struct pci_function functions[2];
static struct pci_function bridge = { .address = { 0, 0, 0x20 },
				      .header_type = 1,
				      .secondary_bus = 1 };
static bool behind_bridge;
static u32 bridge_memory, bridge_fetch[3], bridge_io, bridge_io_high;
static struct cmdline cmdline;
static const struct bootinfo memory = {
	.nr_ranges = 6,
	.range = { { 0, 0x9f000, BOOT_MEMORY_USABLE },
		   { 0x100000, 0x200000, BOOT_MEMORY_NVS },
		   { RESERVED, 0x90000000, BOOT_MEMORY_RESERVED },
		   { STRAY, STRAY + MIB(1), BOOT_MEMORY_RESERVED },
		   { GIB(4), GIB(6), BOOT_MEMORY_USABLE },
		   { GIB(6), GIB(6) + MIB(1), BOOT_MEMORY_BAD } },
};
static const struct mcfg_info mcfg = {
	.count = 1, .entry = { { .base = 0xb0000000, .bus_start = 0, .bus_end = 255 } }
};
/* Where real machines have them, and where no other rule would find them. */
static const struct madt_info madt = {
	.lapic_address = 0xc8000000,
	.nr_ioapics = 2,
	.ioapic = { { .address = 0xc8010000 }, { .address = 0xc8020000 } },
};
static const struct hpet_info hpet = { .base = 0xc8030000 };
static const struct fadt_info fadt = {
	.pm1a_cnt = { ACPI_SPACE_IO, 16, 0, 0, 0x604 },
	.pm_tmr = { ACPI_SPACE_MEMORY, 32, 0, 0, 0xc8040ff8 },
	.reset_reg = { ACPI_SPACE_PCI_CONFIG, 8, 0, 0, 0xc8050000 },
};
static struct dmar_info dmar = {
	.nr_units = 3,
	.unit = { { .type = ACPI_DMAR_DRHD, .base = 0xc5ffc000 },
		  { .type = ACPI_DMAR_RMRR, .base = 0xc9000000 },
		  { .type = ACPI_DMAR_DRHD, .base = GIB(5) } },
};
static struct ivrs_info ivrs = { .nr_iommus = 2,
				 .iommu = { { .base = 0xca080000 }, { .base = 0xca104000 } } };
struct acpi acpi;
/* One behind the other, as the image's linker has them. */
asm(".section .rodata\n.globl image_start, image_end\nimage_start: .skip 0x100000\nimage_end: .byte 0\n.previous");
extern const u8 image_start[];
static unsigned errors;

u64 virt_to_phys(const void *va)
{
	assert_ptr_equal(va, image_start);
	return IMAGE;
}

void printk_error(const char *, ...)
{
	errors++;
}

const struct pci_function *pci_get(unsigned i)
{
	return i < 2 ? &functions[i] : NULL;
}

const struct cmdline *cmdline_of_boot(void)
{
	return &cmdline;
}

const struct pci_function *pci_bridge_of(const struct pci_function *f)
{
	return behind_bridge && f != &bridge ? &bridge : NULL;
}

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	assert_int_equal(a.devfn, bridge.address.devfn);
	switch (offset) {
	case 0x1c: assert_int_equal(size, 2); return bridge_io;
	case 0x30: return bridge_io_high;
	case 0x20: return bridge_memory;
	default:
		assert_true(offset >= 0x24 && offset <= 0x2c && size == 4);
		return bridge_fetch[(offset - 0x24) / 4];
	}
}

static u64 window_end; /* of the root's memory below 4 GiB; 0: nobody says where its windows are */

enum pci_window pci_window(const struct pci_function *, bool io, u64 base, u64 size)
{
	if (!window_end)
		return PCI_WINDOW_UNKNOWN;
	return io || base >= GIB(4) || base + size <= window_end ? PCI_WINDOW_IN : PCI_WINDOW_OUT;
}

bool pci_in_any_window(u64 base, u64 size)
{
	return window_end && base >= RESERVED && base + size <= 0xb0000000;
}

static int setup(void **)
{
	memset(functions, 0, sizeof(functions));
	window_end = GIB(4);
	behind_bridge = false;
	errors = 0;
	cmdline = (struct cmdline){ .console = CMDLINE_CONSOLE_PORT, .console_address = 0xc048 };
	acpi = (struct acpi){
		.madt = &madt, .hpet = &hpet, .fadt = &fadt, .dmar = &dmar, .ivrs = &ivrs
	};
	functions[0].bar[2] = (struct pci_bar){ .base = 0xfeb00000, .size = MIB(1) };
	functions[1].bar[4] = (struct pci_bar){ .base = 0xfe000000, .size = KIB(64) };
	pci_platform_init(&mcfg, &memory);
	return 0;
}

static const char *with(u64 base, u64 size, bool io)
{
	functions[0].bar[0] = (struct pci_bar){ .base = base, .size = size, .flags = io };
	return pci_misplaced(&functions[0]);
}

/* Where function 0 has its ROM; 0: nowhere. It never makes the function unfit. */
static u64 rom_at(u64 base, u64 size)
{
	struct pci_bar bar[PCI_BARS];

	functions[0].bar[PCI_ROM_BAR] = (struct pci_bar){ .base = base, .size = size };
	assert_null(pci_misplaced(&functions[0]));
	pci_bars(&functions[0], bar);
	assert_memory_equal(bar, functions[0].bar, sizeof(bar[0]) * PCI_ROM_BAR);
	assert_int_equal(bar[PCI_ROM_BAR].size, size);
	assert_true(!bar[PCI_ROM_BAR].base || bar[PCI_ROM_BAR].base == base);
	return bar[PCI_ROM_BAR].base;
}

static const struct place {
	u64 base;
	u64 size;
	bool io;
	const char *what;
} places[] = {
	{ 0xfea00000, MIB(1), false, NULL },
	{ RESERVED, MIB(1), false, NULL }, /* reserved, but the tables say that it is the window */
	{ STRAY + MIB(1) - 4096, MIB(1), false, "reserved" },
	{ 0x180000, 4096, false, "over memory" }, /* the firmware's */
	{ GIB(6), 4096, false, "over memory" },
	{ GIB(6) + MIB(1), GIB(16), false, NULL },
	{ 0xfffffffffff00000, MIB(2), false, "beyond" },
	{ 0xfffffffffff00000, MIB(1), false, NULL },
	{ GIB(4) - MIB(1), MIB(2), false, "flash" },
	{ GIB(6) - 4096, 4096, false, "over memory" },
	{ 0x80000, KIB(128), false, "over memory" },
	{ 0xbff00000, MIB(1), false, "registers of the platform" }, /* ECAM */
	{ 0xfee00000, 4096, false, "registers of the platform" },
	{ 0xfec00000, MIB(2), false, "registers of the platform" },
	{ 0xfed40000, 4096, false, "registers of the platform" },
	{ 0xc8000000, 4096, false, "registers of the platform" }, /* local APICs */
	{ 0xc8001000, 4096, false, NULL },
	{ 0xc8020000, 4096, false, "registers of the platform" }, /* the last I/O APIC */
	{ 0xc8030000, 1024, false, "registers of the platform" }, /* HPET */
	{ 0xc8030400, 1024, false, NULL },
	{ 0xc8040ffb, 1, false, "registers of the platform" }, /* PM timer */
	{ 0xc8040ffc, 4, false, NULL },
	{ 0xc8050000, 4096, false, NULL }, /* a reset register in configuration space */
	{ 0xc5fff000, 4096, false, "registers of the platform" }, /* VT-d */
	{ 0xc6000000, MIB(1), false, NULL }, /* the next root's */
	{ 0xc9000000, 4096, false, NULL }, /* an RMRR is memory */
	/* AMD-Vi with counters, and without */
	{ 0xca0ff000, 4096, false, "registers of the platform" },
	{ 0xca107000, 4096, false, "registers of the platform" },
	{ 0xca108000, 4096, false, NULL },
	{ 0xffc00000, MIB(4), false, "flash" },
	{ 0xff000000, 4096, false, "flash" },
	{ 0xfffff000, 4096, false, "flash" },
	{ 0x3f8, 8, true, "registers of the platform" },
	{ 0x600, 8, true, "registers of the platform" }, /* PM1a */
	{ 0x606, 2, true, NULL },
	{ 0xc00, 256, true, "registers of the platform" },
	{ 0xffe0, 64, true, "registers of the platform" },
	{ 0xc040, 8, true, NULL },
	{ 0xc048, 8, true, "console" },
	{ 0xc040, 16, true, "console" },
};

static void test_places(void **)
{
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		const struct place *p = &places[i];
		const char *found = with(p->base, p->size, p->io);
		bool right = !p->what == !found && (!found || strstr(found, p->what));

		if (!right)
			fail_msg("%#llx: %s", (unsigned long long)p->base,
				 found ? found : "nothing");
	}
	assert_null(with(0, MIB(1), false)); /* without address */
	assert_int_equal(errors, 0);
}

/* The same list where stage 2 is written, and ports are opened, whatever a register says. */
static void test_maps(void **)
{
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		const struct place *p = &places[i];
		bool may = p->io ? host_may_open(p->base, p->size)
				 : host_may_map(hpa(p->base), p->size, false);

		if (may != !p->what)
			fail_msg("%#llx", (unsigned long long)p->base);
		/* None of it is a VM's memory, but for what is. */
		assert_true(p->io || !host_may_map(hpa(p->base), p->size, true) ||
			    p->base == GIB(6) - 4096);
	}
	assert_false(host_may_map(hpa(0xfea00000), 0, false) || host_may_map(hpa(0), 0, false));
	assert_false(host_may_open(0xd000, 0));
	assert_true(host_may_map(hpa(GIB(4)), MIB(2), true));
	assert_true(host_may_map(hpa(GIB(4) + MIB(4)), GIB(2) - MIB(4), true));
	/* Half of it is none; the image is the hypervisor's. */
	assert_false(host_may_map(hpa(GIB(6) - 4096), 8192, true));
	assert_false(host_may_map(hpa(GIB(4)), MIB(2) + 4096, true));
	assert_false(host_may_map(hpa(IMAGE), 4096, true));
	/* A unit that a table has in memory costs nobody that memory. */
	assert_true(host_may_map(hpa(GIB(5)), MIB(2), true));
	assert_false(pci_platform_registers(GIB(5), MIB(2)));
	assert_true(pci_platform_registers(0xffc00000, 4096) &&
		    pci_platform_registers(0xfed90000, 4096));
	assert_false(pci_platform_registers(RESERVED, MIB(1)) ||
		     pci_platform_registers(STRAY, 4096));
}

static void test_overlaps(void **)
{
	assert_non_null(strstr(with(0xfebff000, 4096, false), "overlaps")); /* its own */
	assert_non_null(strstr(with(0xfe00f000, 4096, false), "overlaps"));
	assert_null(with(0xfe010000, KIB(64), false));
	/* What lies wrong itself takes nobody's place, nor does a ROM. */
	functions[1].bar[4].base = 0xd8000000;
	functions[1].bar[PCI_ROM_BAR] = (struct pci_bar){ .base = 0xc0000000, .size = MIB(1) };
	window_end = 0xd8008000;
	functions[0].bar[2] = (struct pci_bar){ 0 };
	assert_null(with(0xd8000000, 4096, false));
	assert_null(with(0xc0000000, 4096, false));
	assert_non_null(strstr(pci_misplaced(&functions[1]), "no window"));
}

/* Numbers alike, spaces apart. */
static void test_spaces(void **)
{
	functions[1].bar[0] =
		(struct pci_bar){ .base = 0xd000, .size = 0x1000, .flags = PCI_BAR_IO };
	cmdline =
		(struct cmdline){ .console = CMDLINE_CONSOLE_MMIO, .console_address = 0xfe800000 };
	pci_platform_init(&mcfg, &memory);
	assert_null(with(0xc048, 8, true));
	assert_non_null(with(0xd100, 8, true));
	assert_non_null(strstr(with(0xfe800000, 4096, false), "console"));
	cmdline.console = CMDLINE_CONSOLE_NONE;
	pci_platform_init(&mcfg, &memory);
	assert_null(with(0xfe800000, 4096, false));
	assert_null(with(0, 0, false));
}

/* What is in no window of its root is nobody's on the bus. */
static void test_windows(void **)
{
	const char *found;

	if (!IS_ENABLED(CONFIG_PASSTHROUGH))
		skip();
	window_end = 0xfec00000;
	assert_null(with(0xfea00000, MIB(1), false));
	functions[0].bar[2] = (struct pci_bar){ 0 };
	window_end = 0xfea80000;
	found = with(0xfea00000, MIB(1), false);
	assert_true(found && strstr(found, "no window"));
}

/*
 * Nobody says where the windows are: the bridges above pass it on, or firmware has switched it on.
 */
static void test_unknown_windows(void **)
{
	window_end = 0;
	functions[0].bar[2] = (struct pci_bar){ 0 };
	assert_non_null(strstr(with(0xfea00000, MIB(1), false), "facts"));
	functions[0].command = PCI_COMMAND_MEMORY;
	assert_null(with(0xfea00000, MIB(1), false));
	assert_non_null(strstr(with(0xc040, 8, true), "facts"));
	functions[0].command = PCI_COMMAND_IO;
	assert_null(with(0xc040, 8, true));
	assert_non_null(strstr(with(RESERVED, MIB(1), false), "reserved"));
	/*
	 * PCI-to-PCI Bridge 1.2, 3.2.5.6 (ports), 3.2.5.8 (memory), 3.2.5.9 (what may be fetched
	 * ahead).
	 */
	behind_bridge = true;
	functions[0].command = PCI_COMMAND_IO | PCI_COMMAND_MEMORY;
	bridge_memory = 0xfea0fe90;
	bridge_fetch[0] = 0xffe1e001;
	bridge_fetch[1] = 0x38;
	bridge_fetch[2] = 0x39;
	bridge_io = 0xd0c0;
	assert_null(with(0xfea00000, MIB(1), false));
	assert_null(with(0xfe900000, MIB(2), false));
	assert_non_null(strstr(with(0xfe8ff000, 4096, false), "facts"));
	assert_non_null(strstr(with(0xfeb00000, 4096, false), "facts"));
	assert_null(with(0x38e0000000, MIB(1), false));
	assert_null(with(0x39ffe00000, MIB(1), false));
	assert_non_null(strstr(with(0x39fff00000, MIB(1), false), "facts"));
	assert_non_null(strstr(with(0xe0000000, MIB(1), false), "facts"));
	assert_null(with(0xd000, 0x1000, true));
	assert_non_null(strstr(with(0xb000, 8, true), "facts"));
	assert_non_null(strstr(with(0xe000, 8, true), "facts"));
	/* Of 32 bits, of which others than 0 are no CPU's. */
	bridge_io = 0xd1c1;
	bridge_io_high = 0x00010001;
	assert_non_null(strstr(with(0xd000, 8, true), "facts"));
	bridge_io_high = 0;
	assert_null(with(0xd000, 8, true));
}

/*
 * PCI Local Bus 3.0, 6.2.5.2: who sizes a ROM writes ones to the address bits, and a ROM of 4 MiB
 * says 0xffc00000 then. Firmware that does not switch it on may leave that; one that has read it,
 * any other address.
 */
static void test_roms(void **)
{
	assert_int_equal(rom_at(0, MIB(4)), 0);
	assert_int_equal(rom_at(0xffc00000, MIB(4)), 0);
	assert_int_equal(rom_at(0xffff0000, KIB(64)), 0);
	assert_int_equal(rom_at(0xff000000, MIB(16)), 0);
	assert_int_equal(rom_at(0xfed90000, KIB(64)), 0);
	assert_int_equal(rom_at(STRAY, KIB(64)), 0);
	assert_int_equal(rom_at(0x180000, KIB(64)), 0);
	assert_int_equal(rom_at(0xfeb00000, KIB(64)), 0); /* over its own BAR, and over another's */
	assert_int_equal(rom_at(0xfe000000, KIB(64)), 0);
	assert_int_equal(rom_at(0xe0000000, 0), 0); /* of no size */
	assert_int_equal(rom_at(0xe0000000, MIB(4)),
			 IS_ENABLED(CONFIG_PASSTHROUGH) ? 0xe0000000 : 0);
	/* Two at one place, where firmware has read one after the other: neither. */
	functions[1].bar[PCI_ROM_BAR] = (struct pci_bar){ .base = 0xe0000000, .size = KIB(64) };
	assert_int_equal(rom_at(0xe0000000, MIB(4)), 0);
	/* But one that has no address is over nothing. */
	functions[1].bar[PCI_ROM_BAR].base = 0xffff0000;
	assert_int_equal(rom_at(0xe0000000, MIB(4)),
			 IS_ENABLED(CONFIG_PASSTHROUGH) ? 0xe0000000 : 0);
	functions[0].bar[2] = functions[1].bar[4] = (struct pci_bar){ 0 };
	window_end = 0xe0200000;
	assert_int_equal(rom_at(0xd0200000, MIB(4)),
			 IS_ENABLED(CONFIG_PASSTHROUGH) ? 0xd0200000 : 0);
	assert_int_equal(rom_at(0xe0000000, MIB(4)), 0); /* half of it in the window */
	window_end = 0;
	functions[0].command = PCI_COMMAND_MEMORY;
	assert_int_equal(rom_at(0xd0200000, MIB(4)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_places, setup),
		cmocka_unit_test_setup(test_maps, setup),
		cmocka_unit_test_setup(test_overlaps, setup),
		cmocka_unit_test_setup(test_spaces, setup),
		cmocka_unit_test_setup(test_windows, setup),
		cmocka_unit_test_setup(test_unknown_windows, setup),
		cmocka_unit_test_setup(test_roms, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
