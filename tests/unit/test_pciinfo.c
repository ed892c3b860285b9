/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_info.c kernel/pci/pci_cap.c vmm/pci/pci_report.c vmm/pci/pci_fitness.c */
/*
 * PCI functions that behave as the specification says: BARs sized and put back, capabilities,
 * words, fitness.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/pci/pci_info.h"
#include "vmm/pci/pci_fitness.h"
#include "vmm/pci/pci_report.h"

static u32 config[1024];
static u32 writable[1024]; /* which bits a write changes */
static unsigned writes;
static bool decoded; /* a BAR was changed while the function decoded addresses */

static u32 read32(void *, u16 offset)
{
	assert_true(IS_ALIGNED(offset, 4));
	return config[offset / 4];
}

static void write32(void *, u16 offset, u32 value)
{
	u32 *r = &config[offset / 4], w = writable[offset / 4];

	writes++;
	decoded = decoded || (offset != 4 && config[1] & 3);
	*r = (*r & ~w) | (value & w);
}

static const struct pcicap_reader standard = { read32, NULL, false };
static const struct pcicap_reader express = { read32, NULL, true };
static struct pci_info f;

static int reset(void **)
{
	memset(config, 0, sizeof(config));
	memset(writable, 0, sizeof(writable));
	memset(&f, 0, sizeof(f));
	writes = 0;
	decoded = false;
	config[1] = 0x00100007; /* a capability list; decodes, bus master */
	writable[1] = 0xffff;
	f.id.class_code = 0x020000;
	return 0;
}

static void bar(unsigned n, u32 value, u32 bits)
{
	config[4 + n] = value;
	writable[4 + n] = bits;
}

/* Standard capabilities at 0x40, 0x50, ... */
static void cap(unsigned n, u8 id, u32 upper, u32 second)
{
	u16 at = (u16)(0x40 + 0x10 * n);

	config[13] = 0x40;
	if (n)
		config[at / 4 - 4] |= (u32)at << 8;
	config[at / 4] = id | upper << 16;
	config[at / 4 + 1] = second;
}

static const char *fitness(enum pci_fitness expected)
{
	static char why[PCI_FITNESS_TEXT];

	assert_int_equal(pci_fitness(&f, why), expected);
	return why;
}

static void test_bars(void **)
{
	char text[PCI_REPORT_TEXT];
	u32 before[1024];

	bar(0, 0xfebc0000, 0xfffe0000); /* 128 KiB */
	bar(1, 0x0000c041, 0x0000ffe0); /* I/O, 32, upper half not implemented */
	/* 64 bit, prefetchable, 16 GiB at 0x40_0000_0000 */
	bar(2, 0x0000000c, 0x00000000);
	bar(3, 0x00000040, 0xfffffffc);
	bar(5, 0x00000000, 0xffffff00); /* 256 bytes without address */
	config[12] = 0;
	writable[12] = 0xffff0001; /* ROM, 64 KiB, no address */
	memcpy(before, config, sizeof(config));
	pciinfo_bars(&standard, write32, 0, f.id.class_code, f.bar);
	pciinfo_read(&standard, &f);
	assert_memory_equal(before, config, sizeof(config));
	assert_false(decoded);
	assert_int_equal(f.bar[0].base, 0xfebc0000);
	assert_int_equal(f.bar[0].size, KIB(128));
	assert_true(pci_bar_is_io(&f.bar[1]));
	assert_int_equal(f.bar[1].base, 0xc040);
	assert_int_equal(f.bar[1].size, 32);
	assert_true(pci_bar_is_64(&f.bar[2]) && f.bar[2].flags & PCI_BAR_PREFETCH);
	assert_int_equal(f.bar[2].base, 0x4000000000);
	assert_int_equal(f.bar[2].size, GIB(16));
	assert_false(f.bar[3].base || f.bar[3].size);
	assert_false(f.bar[4].base || f.bar[4].size);
	assert_true(pci_bar_lacks_address(&f.bar[5]));
	pci_report_bars(&f, text);
	assert_string_equal(
		text, "BAR0 0xfebc0000 128K, BAR1 I/O 0xc040 32 bytes, BAR2 pref 0x4000000000 16G, "
		      "BAR5 without address 256 bytes, ROM 64K");
	assert_int_equal(f.bar[2].flags, 0xc);
	assert_string_equal(
		fitness(PCI_UNFIT),
		"the firmware gave one of its BARs no address: allow addresses above 4G in the setup");
}

/* The registers of host bridges are only read. */
static void test_no_writes(void **)
{
	bar(0, 0xfebc0000, 0xfffe0000);
	pciinfo_bars(&standard, write32, 0, 0x060000, f.bar);
	assert_int_equal(f.bar[0].base, 0xfebc0000);
	assert_int_equal(f.bar[0].size, 0);
	assert_int_equal(writes, 0);
}

/* Some registers of ports take 32 bits: the upper ones are no part of a size. */
static void test_ports(void **)
{
	bar(0, 0x0000c001, 0xffffff00);
	bar(1, 0x00000001, 0x0000fff8);
	pciinfo_bars(&standard, write32, 0, f.id.class_code, f.bar);
	assert_int_equal(f.bar[0].size, 256);
	assert_int_equal(f.bar[0].flags, 1);
	f.msi = 1;
	f.flr = true;
	assert_string_equal(fitness(PCI_FIT_BUT),
			    "without those of its ports to which the firmware gave no address");
}

static void test_capabilities(void **)
{
	char text[PCI_REPORT_TEXT];

	config[15] = 0x200; /* INTB */
	cap(0, PCI_CAP_PM, 0, BIT(3));
	cap(1, PCI_CAP_MSI, 3 << 1, 0);
	cap(2, PCI_CAP_MSIX, 0xc000 | 63, 0);
	cap(3, PCI_CAP_EXP, PCIE_ENDPOINT << 4, BIT(28));
	config[64] = PCI_EXT_CAP_SRIOV | 1 << 16 | 0x140u << 20;
	config[64 + 3] = 7u << 16 | 7;
	config[64 + 2] = 1;
	config[64 + 4] = 3;
	config[0x140 / 4] = PCI_EXT_CAP_ATS | 1 << 16 | 0x150u << 20;
	config[0x150 / 4] = PCI_EXT_CAP_PASID | 1 << 16;
	pciinfo_read(&express, &f);
	assert_true(f.pm && !f.pm_reset && f.flr && f.pcie && f.ats && f.pasid && !f.pri &&
		    !f.acs && !f.cut_off);
	assert_int_equal(f.msi, 8);
	assert_int_equal(f.msix, 64);
	pci_report_caps(&f, text);
	assert_string_equal(
		text,
		"PCIe endpoint, INTB, MSI 8, MSI-X 64, FLR, PM, ATS, PASID, SR-IOV 7 VFs, 3 on");
	assert_non_null(strstr(fitness(PCI_UNFIT), "its virtual functions are on"));
	config[64 + 2] = 0;
	pciinfo_read(&express, &f);
	assert_int_equal(f.vfs_on, 0);
	assert_string_equal(fitness(PCI_FIT), "");
	/* The same function where extended space is out of reach. */
	memset(&f, 0, sizeof(f));
	f.id.class_code = 0x020000;
	pciinfo_read(&standard, &f);
	assert_true(f.cut_off && !f.ats);
	assert_string_equal(fitness(PCI_FIT_BUT), "extended capabilities out of reach: no ECAM");
}

static void test_resets(void **)
{
	cap(0, PCI_CAP_MSI, 0, 0);
	pciinfo_read(&standard, &f);
	assert_non_null(strstr(fitness(PCI_FIT_BUT), "no reset of its own"));
	assert_null(strstr(fitness(PCI_FIT_BUT), "by the bus"));
	f.bus_reset = true;
	assert_non_null(strstr(fitness(PCI_FIT_BUT), "reset by the bus, on which it is alone"));
	assert_null(strstr(fitness(PCI_FIT_BUT), "no reset of its own"));
	f.bus_reset = false;
	cap(1, PCI_CAP_PM, 0, 0); /* No_Soft_Reset is 0 */
	pciinfo_read(&standard, &f);
	assert_true(f.pm_reset);
	assert_string_equal(fitness(PCI_FIT), "");
	reset(NULL);
	cap(0, PCI_CAP_MSI, 0, 0);
	cap(1, PCI_CAP_AF, 0x0306, 0); /* length 6, TP and FLR */
	pciinfo_read(&standard, &f);
	assert_true(f.flr);
	reset(NULL);
	cap(0, PCI_CAP_AF, 0x0106, 0); /* TP only */
	pciinfo_read(&standard, &f);
	assert_false(f.flr);
}

/* Each reason alone, and nothing where nothing is wrong. */
static void test_unfit(void **)
{
	static const struct {
		struct pci_info f;
		const char *why;
	} cases[] = {
		{ { .id.class_code = 0x060400, .header_type = 1 }, "a bridge stays the node's" },
		{ { .id.class_code = 0x060400, .header_type = 2 }, "a bridge stays the node's" },
		{ { .id.class_code = 0x060100 }, "a bridge stays the node's" },
		{ { .id.class_code = 0x080600 }, "a system device stays the node's" },
		{ { .id.class_code = 0x010180 }, "IDE with legacy ports and IRQ 14, 15" },
		{ { .id.class_code = 0x01018a }, "IDE with legacy ports and IRQ 14, 15" },
		{ { .id.class_code = 0x020000, .address.segment = 1 },
		  "guests have PCI segment 0 only" },
		{ { .id.class_code = 0x020000, .vfs_on = 1 }, "its virtual functions are on" },
		{ { .id.class_code = 0x020000, .bar[3] = { .size = 4096 } },
		  "the firmware gave one of its BARs no address" },
		{ { .id.class_code = 0x020000, .bar[2] = { .base = BIT(48) - 4096, .size = 8192 } },
		  "a BAR lies above 2^48: " },
		{ { .id.class_code = 0x020000, .problem = "the capability list loops" },
		  "the capability list loops" },
		{ { .id.class_code = 0x010185 }, NULL },
		{ { .id.class_code = 0x010601 }, NULL },
		{ { .id.class_code = 0x010802 }, NULL },
		{ { .id.class_code = 0x020700 }, NULL },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		f = cases[i].f;
		f.msi = 1;
		f.flr = true;
		if (!cases[i].why) {
			assert_null(pci_unfit(&f));
			assert_string_equal(fitness(PCI_FIT), "");
			continue;
		}
		assert_memory_equal(fitness(PCI_UNFIT), cases[i].why, strlen(cases[i].why));
		assert_string_equal(pci_unfit(&f), fitness(PCI_UNFIT));
	}
	f = (struct pci_info){ .id.class_code = 0x020000, .flr = true, .pin = 1 };
	assert_string_equal(fitness(PCI_FIT_BUT), "line interrupt only");
}

static void test_restrictions(void **)
{
	f = (struct pci_info){ .id.class_code = 0x030000, .flr = true, .address.bus = 3 };
	f.bar[1] = (struct pci_bar){ .base = 0xfe000100, .size = 256 };
	assert_string_equal(
		fitness(PCI_FIT_BUT),
		"no interrupt; conventional PCI: for an IOMMU one with all behind its bridge; "
		"without the legacy VGA addresses; a BAR below a page is trapped: slow");
	/* All at once. */
	f.flr = false;
	f.cut_off = true;
	f.bar[2] = (struct pci_bar){ .size = 32, .flags = PCI_BAR_IO };
	assert_true(strlen(fitness(PCI_FIT_BUT)) < PCI_FITNESS_TEXT - 1);
}

/*
 * The longest there is: seven BARs with addresses of 64 bits. In memory of exactly its size, for
 * the sanitizer.
 */
static void test_long_report(void **)
{
	static const u8 flags[] = { PCI_BAR_PREFETCH, 0 }; /* cut at a comma, and inside a size */

	for (unsigned n = 0; n < ARRAY_SIZE(flags); n++) {
		char *text = malloc(PCI_REPORT_TEXT);

		for (unsigned i = 0; i < PCI_BARS; i++)
			f.bar[i] = (struct pci_bar){ .base = ~4095ull,
						     .size = 512,
						     .flags = flags[n] };
		pci_report_bars(&f, text);
		assert_int_equal(strlen(text), PCI_REPORT_TEXT - 1);
		assert_int_equal(
			strncmp(text,
				flags[n] ? "BAR0 pref 0xfffffffffffff000 512 bytes, BAR1 pref"
					 : "BAR0 0xfffffffffffff000 512 bytes, BAR1 0xff",
				44),
			0);
		free(text);
	}
}

/* Every text is cut, never overrun, whatever a function says of itself. */
static void test_random(void **)
{
	char text[PCI_REPORT_TEXT], why[PCI_FITNESS_TEXT];

	srand(1);
	for (unsigned n = 0; n < 20000; n++) {
		for (unsigned i = 0; i < ARRAY_SIZE(config); i++) {
			config[i] = (u32)rand() << 16 ^ (u32)rand();
			writable[i] = (u32)rand() << 16 ^ (u32)rand();
		}
		f = (struct pci_info){ .id.class_code = config[2] >> 8,
				       .header_type = (u8)(config[3] & 3) };
		pciinfo_bars(&standard, write32, f.header_type, f.id.class_code, f.bar);
		pciinfo_read(n & 1 ? &express : &standard, &f);
		pci_report_bars(&f, text);
		assert_true(strlen(text) > 0 && strlen(text) < sizeof(text));
		pci_report_caps(&f, text);
		assert_true(strlen(text) > 0 && strlen(text) < sizeof(text));
		assert_true(strlen(fitness(pci_fitness(&f, why))) < sizeof(why));
		assert_true(pci_class_name(f.id.class_code)[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bars, reset),
		cmocka_unit_test_setup(test_no_writes, reset),
		cmocka_unit_test_setup(test_ports, reset),
		cmocka_unit_test_setup(test_capabilities, reset),
		cmocka_unit_test_setup(test_resets, reset),
		cmocka_unit_test_setup(test_unfit, reset),
		cmocka_unit_test_setup(test_restrictions, reset),
		cmocka_unit_test_setup(test_long_report, reset),
		cmocka_unit_test_setup(test_random, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
