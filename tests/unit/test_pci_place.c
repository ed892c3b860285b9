/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_place.c */
/* BARs that lie where none may: over memory, the platform, the console, each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/boot/cmdline.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"

static struct pci_function functions[2];
static struct cmdline cmdline;
static const struct bootinfo memory = {
	.nr_ranges = 3,
	.range = { { 0, 0x9f000, BOOT_MEMORY_USABLE }, { 0x80000000, 0x90000000, BOOT_MEMORY_RESERVED },
		   { GIB(4), GIB(6), BOOT_MEMORY_USABLE } },
};
static const struct mcfg_info mcfg = { .count = 1, .entry = { { .base = 0xb0000000, .bus_start = 0, .bus_end = 255 } } };

const struct pci_function *pci_get(unsigned i)
{
	return i < 2 ? &functions[i] : NULL;
}

const struct cmdline *cmdline_of_boot(void)
{
	return &cmdline;
}

static u64 window_end; /* of the root's memory below 4 GiB */

bool pci_in_window(const struct pci_function *f, bool io, u64 base, u64 size)
{
	assert_ptr_equal(f, &functions[0]);
	return io || base >= GIB(4) || base + size <= window_end;
}

static int setup(void **)
{
	memset(functions, 0, sizeof(functions));
	window_end = GIB(4);
	cmdline = (struct cmdline){ .console = CMDLINE_CONSOLE_PORT, .console_address = 0xc048 };
	functions[0].bar[2] = (struct pci_bar){ .base = 0xfeb00000, .size = MIB(1) };
	functions[1].bar[6] = (struct pci_bar){ .base = 0xfe000000, .size = KIB(64) };
	pci_place_init(&mcfg, &memory);
	return 0;
}

static const char *with(u64 base, u64 size, bool io)
{
	functions[0].bar[0] = (struct pci_bar){ .base = base, .size = size, .flags = io };
	return pci_misplaced(&functions[0]);
}

static void test_places(void **)
{
	static const struct {
		u64 base, size;
		bool io;
		const char *what;
	} cases[] = {
		{ 0xfea00000, MIB(1), false, NULL },
		{ 0x80000000, MIB(1), false, NULL }, /* reserved: may be the window */
		{ 0, MIB(1), false, NULL },          /* without address */
		{ GIB(6), GIB(16), false, NULL },
		{ 0xfffffffffff00000, MIB(2), false, "beyond" },
		{ 0xfffffffffff00000, MIB(1), false, NULL },
		{ GIB(4) - MIB(1), MIB(2), false, "over memory" },
		{ GIB(6) - 4096, 4096, false, "over memory" },
		{ 0x80000, KIB(128), false, "over memory" },
		{ 0xbff00000, MIB(1), false, "registers of the platform" },
		{ 0xfee00000, 4096, false, "registers of the platform" },
		{ 0xfec00000, MIB(4), false, "registers of the platform" },
		{ 0x3f8, 8, true, "registers of the platform" },
		{ 0xc00, 256, true, "registers of the platform" },
		{ 0xffe0, 64, true, "registers of the platform" },
		{ 0xc040, 8, true, NULL },
		{ 0xc048, 8, true, "console" },
		{ 0xc040, 16, true, "console" },
		{ 0xfebff000, 4096, false, "overlaps" }, /* its own */
		{ 0xfe00f000, 4096, false, "overlaps" },
		{ 0xfe010000, KIB(64), false, NULL },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *found = with(cases[i].base, cases[i].size, cases[i].io);

		if (!cases[i].what)
			assert_null(found);
		else
			assert_true(found && strstr(found, cases[i].what));
	}
}

/* Numbers alike, spaces apart. */
static void test_spaces(void **)
{
	functions[1].bar[0] = (struct pci_bar){ .base = 0xd000, .size = 0x1000, .flags = PCI_BAR_IO };
	cmdline = (struct cmdline){ .console = CMDLINE_CONSOLE_MMIO, .console_address = 0xfe800000 };
	assert_null(with(0xc048, 8, true));
	assert_non_null(with(0xd100, 8, true));
	assert_non_null(with(0xfe800000, 4096, false));
	cmdline.console = CMDLINE_CONSOLE_NONE;
	assert_null(with(0xfe800000, 4096, false));
	assert_null(with(0, 0, false));
}

/* What is in no window of its root is nobody's on the bus; but a ROM may have been left anywhere. */
static void test_windows(void **)
{
	const char *found;

	window_end = 0xfec00000;
	assert_null(with(0xfea00000, MIB(1), false));
	functions[0].bar[2] = (struct pci_bar){ 0 };
	window_end = 0xfea80000;
	found = with(0xfea00000, MIB(1), false);
	assert_true(!IS_ENABLED(CONFIG_PASSTHROUGH) || (found && strstr(found, "no window")));
	functions[0].bar[0] = (struct pci_bar){ 0 };
	functions[0].bar[PCI_ROM_BAR] = (struct pci_bar){ .base = 0xfea00000, .size = MIB(1) };
	assert_null(pci_misplaced(&functions[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_places, setup), cmocka_unit_test_setup(test_spaces, setup),
		cmocka_unit_test_setup(test_windows, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
