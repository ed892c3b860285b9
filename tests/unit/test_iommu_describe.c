/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/iommu/iommu_describe.c */
/*
 * What the hardware check learns of IOMMUs: the tables' word and the registers', which are pages of
 * memory here.
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
#include "kernel/iommu/release.h"
#include "kernel/pci/pci_core.h"

#define UNITS 2
#define BASE 0xfed90000u

static struct dmar_info dmar;
static struct ivrs_info ivrs;
static bool unmapped;
static u64 registers[UNITS + 2][PAGE_SIZE / 8]; /* with a page of ones on either side */

void *mmio_map_type(u64 pa, u64 size, bool)
{
	assert_int_equal(size, PAGE_SIZE);
	return unmapped ? NULL : registers[1 + (pa - BASE) / PAGE_SIZE];
}

static const struct srat_info srat;
struct acpi acpi = { .srat = &srat };
static bool stuck;

bool iommu_released(char text[IOMMU_LEFT_TEXT])
{
	strcpy(text, "what it was");
	return !stuck;
}

bool pci_has_ecam(void)
{
	return true;
}

static int reset(void **)
{
	acpi.dmar = NULL;
	acpi.ivrs = NULL;
	unmapped = stuck = false;
	memset(registers, 0xff, sizeof(registers));
	memset(registers[1], 0, UNITS * PAGE_SIZE);
	dmar = (struct dmar_info){ .flags = ACPI_DMAR_INTR_REMAP, .nr_units = UNITS };
	ivrs = (struct ivrs_info){ .nr_iommus = UNITS };
	for (unsigned i = 0; i < UNITS; i++) {
		dmar.unit[i].type = ACPI_DMAR_DRHD;
		dmar.unit[i].base = ivrs.iommu[i].base = BASE + i * PAGE_SIZE;
		/* VT-d: can remap interrupts, to x2APIC IDs, too */
		registers[1 + i][0x10 / 8] = BIT(3) | BIT(4);
	}
	return 0;
}

static struct host_platform platform(void)
{
	struct host_platform p;

	host_platform(&p);
	assert_true(p.srat && p.ecam);
	assert_false(p.slit);
	return p;
}

static void test_none(void **)
{
	struct host_platform p = platform();

	assert_null(p.iommu);
	assert_false(p.iommus || p.remaps_interrupts || p.remaps_x2apic || p.iommu_stuck);
	assert_string_equal(p.iommu_left, "what it was");
	stuck = true;
	assert_true(platform().iommu_stuck);
}

static void test_vtd(void **)
{
	struct host_platform p;

	acpi.dmar = &dmar;
	p = platform();
	assert_string_equal(p.iommu, "VT-d");
	assert_int_equal(p.iommus, UNITS);
	assert_true(p.remaps_interrupts && p.remaps_x2apic);
	/* All must be able to. */
	registers[2][0x10 / 8] = BIT(3);
	p = platform();
	assert_true(p.remaps_interrupts && !p.remaps_x2apic);
	registers[2][0x10 / 8] = BIT(4);
	assert_false(platform().remaps_interrupts);
	/* What is no unit is not looked at. */
	dmar.unit[1].type = ACPI_DMAR_DRHD + 1;
	p = platform();
	assert_int_equal(p.iommus, 1);
	assert_true(p.remaps_x2apic);
	/* The firmware opts out. */
	dmar.flags |= ACPI_DMAR_X2APIC_OPT_OUT;
	p = platform();
	assert_true(p.remaps_interrupts && !p.remaps_x2apic);
	dmar.flags = 0;
	assert_false(platform().remaps_interrupts);
	dmar.flags = ACPI_DMAR_INTR_REMAP;
	unmapped = true;
	p = platform();
	assert_false(p.remaps_interrupts || p.remaps_x2apic);
}

static void test_amd(void **)
{
	struct host_platform p;

	acpi.ivrs = &ivrs;
	p = platform();
	assert_string_equal(p.iommu, "AMD-Vi");
	assert_int_equal(p.iommus, UNITS);
	assert_true(p.remaps_interrupts);
	assert_false(p.remaps_x2apic);
	registers[1][0x30 / 8] = registers[2][0x30 / 8] = BIT(2);
	assert_true(platform().remaps_x2apic);
	registers[1][0x30 / 8] = ~BIT(2);
	assert_false(platform().remaps_x2apic);
	unmapped = true;
	p = platform();
	assert_false(p.remaps_x2apic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_none, reset),
		cmocka_unit_test_setup(test_vtd, reset),
		cmocka_unit_test_setup(test_amd, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
