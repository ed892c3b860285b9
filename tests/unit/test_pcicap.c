/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_cap.c */
/* PCI capability lists: good ones, loops, pointers into nowhere, random configuration spaces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/pci/pci_cap.h"

static u32 config[1024];
static unsigned reads;

static u32 read32(void *, u16 offset)
{
	assert_true(IS_ALIGNED(offset, 4));
	assert_true(offset < 4096);
	reads++;
	return config[offset / 4];
}

static const struct pcicap_reader standard = { read32, NULL, false };
static const struct pcicap_reader express = { read32, NULL, true };

static int reset(void **)
{
	memset(config, 0, sizeof(config));
	reads = 0;
	return 0;
}

static void cap(u16 at, u8 id, u8 next)
{
	config[at / 4] = (u32)next << 8 | id;
}

static void ext_cap(u16 at, u16 id, u8 version, u16 next)
{
	config[at / 4] = (u32)next << 20 | (u32)version << 16 | id;
}

static void begin(u8 first)
{
	config[1] = 0x00100000;
	config[13] = first;
}

static void test_list(void **)
{
	struct pci_cap c[8];
	const char *problem;

	begin(0x43); /* the low two bits are reserved */
	cap(0x40, PCI_CAP_PM, 0x50);
	cap(0x50, PCI_CAP_MSI, 0xfc);
	cap(0xfc, PCI_CAP_EXP, 0);
	ext_cap(0x100, PCI_EXT_CAP_AER, 2, 0xffc);
	ext_cap(0xffc, PCI_EXT_CAP_ACS, 1, 0);
	assert_int_equal(pcicap_walk(&express, c, 8, &problem), 5);
	assert_null(problem);
	assert_int_equal(c[0].id, PCI_CAP_PM);
	assert_int_equal(c[0].offset, 0x40);
	assert_false(c[0].extended);
	assert_int_equal(c[2].offset, 0xfc);
	assert_int_equal(c[3].id, PCI_EXT_CAP_AER);
	assert_true(c[3].extended);
	assert_int_equal(c[4].offset, 0xffc);
	assert_int_equal(pcicap_walk(&standard, c, 8, &problem), 3);
	assert_int_equal(pcicap_find(&express, PCI_CAP_MSI, false), 0x50);
	assert_int_equal(pcicap_find(&express, PCI_CAP_MSIX, false), 0);
	assert_int_equal(pcicap_find(&express, PCI_EXT_CAP_ACS, true), 0xffc);
	assert_int_equal(pcicap_find(&standard, PCI_EXT_CAP_ACS, true), 0);
	memset(c, 0xee, sizeof(c));
	assert_int_equal(pcicap_walk(&express, c, 2, NULL), 5); /* counted, not stored */
	assert_int_equal(c[2].id, 0xeeee);
}

static void test_none(void **)
{
	struct pci_cap c[1];
	const char *problem;

	config[13] = 0x40; /* but the status bit is clear */
	cap(0x40, PCI_CAP_PM, 0);
	assert_int_equal(pcicap_walk(&express, c, 1, &problem), 0);
	assert_null(problem);
	config[0x100 / 4] = 0xffffffff;
	assert_int_equal(pcicap_walk(&express, c, 1, &problem), 0);
	assert_null(problem);
}

static void test_loops(void **state)
{
	struct pci_cap c[8];
	const char *problem;

	begin(0x40);
	cap(0x40, PCI_CAP_PM, 0x48);
	cap(0x48, PCI_CAP_MSI, 0x40);
	assert_int_equal(pcicap_walk(&standard, c, 8, &problem), 2);
	assert_non_null(strstr(problem, "loops"));
	cap(0x48, PCI_CAP_MSI, 0x48);
	assert_int_equal(pcicap_walk(&standard, c, 8, &problem), 2);
	assert_int_equal(pcicap_find(&standard, PCI_CAP_MSIX, false), 0);
	reset(state);
	ext_cap(0x100, PCI_EXT_CAP_AER, 1, 0x100);
	assert_int_equal(pcicap_walk(&express, c, 8, &problem), 1);
	assert_non_null(strstr(problem, "loops"));
}

static void test_out_of_space(void **state)
{
	struct pci_cap c[8];
	const char *problem;

	begin(0x10);
	assert_int_equal(pcicap_walk(&standard, c, 8, &problem), 0);
	assert_non_null(problem);
	begin(0x40);
	cap(0x40, PCI_CAP_PM, 0x3c);
	assert_int_equal(pcicap_walk(&standard, c, 8, &problem), 1);
	assert_non_null(problem);
	reset(state);
	ext_cap(0x100, PCI_EXT_CAP_AER, 1, 0x80);
	assert_int_equal(pcicap_walk(&express, c, 8, &problem), 1);
	assert_non_null(problem);
	reset(state);
	begin(0x40);
	config[0x10] = 0xffffffff; /* the device has gone */
	assert_int_equal(pcicap_walk(&standard, c, 8, &problem), 0);
	assert_non_null(problem);
}

static void test_random(void **)
{
	struct pci_cap c[16];

	srand(11);
	for (unsigned round = 0; round < 2000; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(config); i++)
			config[i] = (u32)rand() << 16 ^ (u32)rand();
		config[1] |= 0x00100000;
		reads = 0;
		pcicap_walk(&express, c, ARRAY_SIZE(c), NULL);
		/*
		 * Each dword of the two spaces once at most, and the two registers that lead there.
		 */
		assert_true(reads <= 2 + 48 + 960);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_list, reset),
		cmocka_unit_test_setup(test_none, reset),
		cmocka_unit_test_setup(test_loops, reset),
		cmocka_unit_test_setup(test_out_of_space, reset),
		cmocka_unit_test_setup(test_random, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
