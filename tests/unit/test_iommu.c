/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/iommu/dmar_scope.c arch/x86_64/stage2/stage2.c arch/x86_64/stage2/formats.c */
/*
 * Which unit has a function, what the node does with units at boot, domains, and the lines about faults: on a machine of two
 * units, bridges and memory that firmware keeps; the units' own driver is this file's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"

static unsigned clflushes;
#define cpu_clflush(line) clflushes++
#include "kernel/iommu/iommu.c"

#include "kernel/boot/cmdline.h"
#include "kernel/console/printk.h"
#include "kernel/iommu/iommu.h"
#include "kernel/nmi.h"
#include "kernel/pci/pci_function.h"
#include "kernel/percpu.h"

#define AT(bus, device, fn) { 0, bus, PCI_DEVFN(device, fn) }
#define RMRR_BASE 0x7f000000ull

/* A USB controller, two root ports, a card behind the first with two functions, behind the second a switch and a card. */
enum { USB, PORT_A, PORT_B, CARD_0, CARD_1, SWITCH, FAR, FUNCTIONS };
static const struct pci_function functions[FUNCTIONS] = {
	[USB] = { .address = AT(0, 0x14, 0) },
	[PORT_A] = { .address = AT(0, 0x1c, 0), .header_type = 1, .secondary_bus = 1, .subordinate_bus = 1 },
	[PORT_B] = { .address = AT(0, 0x1d, 0), .header_type = 1, .secondary_bus = 2, .subordinate_bus = 5 },
	[CARD_0] = { .address = AT(1, 0, 0) }, [CARD_1] = { .address = AT(1, 0, 1) },
	[SWITCH] = { .address = AT(2, 0, 0), .header_type = 1, .secondary_bus = 3, .subordinate_bus = 5 },
	[FAR] = { .address = AT(3, 2, 1) },
};
static struct dmar_info dmar;
static bool has_dmar, has_ivrs, conventional;
static struct cmdline cmdline;
static struct bootinfo bootinfo;
static struct cpu boot_cpu;
static bool (*nmi)(void);
static char lines[2000];
static struct { u64 base; u16 bdf; unsigned domain; u64 root; } told[32]; /* what the driver was told, in order */
static unsigned nr_told, enabled, switched_off, isolated;
static const char *start_says[2], *enable_says[2];
static int set_says;
static struct iommu_fault fault[300];
static unsigned nr_faults;

void pci_isolate(const struct pci_function *)
{
	isolated++;
}
static u32 message;

/* ---- the kernel ---- */

const struct pci_function *pci_get(unsigned i)
{
	return i < FUNCTIONS ? &functions[i] : NULL;
}

bool pci_conventional(const struct pci_function *)
{
	return conventional;
}

const struct dmar_info *acpi_dmar(void)
{
	return has_dmar ? &dmar : NULL;
}

const struct ivrs_info *acpi_ivrs(void)
{
	static const struct ivrs_info ivrs;

	return has_ivrs ? &ivrs : NULL;
}

const struct cmdline *cmdline_of_boot(void)
{
	return &cmdline;
}

const struct bootinfo *bootinfo_of_boot(void)
{
	return &bootinfo;
}

struct cpu *cpu_get(unsigned id)
{
	return id ? NULL : &boot_cpu;
}

int nmi_request_isa(unsigned irq, bool (*fn)(void))
{
	assert_int_equal(irq, NMI_MESSAGE);
	nmi = fn;
	return 0;
}

static void print(const char *fmt, va_list ap)
{
	size_t used = strlen(lines);

	vsnprintf(lines + used, sizeof(lines) - used, fmt, ap);
	strcat(lines, "\n");
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(fmt, ap);
	va_end(ap);
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(fmt, ap);
	va_end(ap);
}

static unsigned pages;

void *host_pages_alloc(unsigned count, int)
{
	pages += count;
	return memset(aligned_alloc(PAGE_SIZE, count * PAGE_SIZE), 0, count * PAGE_SIZE);
}

void host_pages_free(void *p, unsigned count)
{
	pages -= p ? count : 0;
	free(p);
}

hpa_t host_virt_to_hpa(const void *va)
{
	return hpa((u64)(uintptr_t)va);
}

void *host_hpa_to_virt(hpa_t pa)
{
	return (void *)(uintptr_t)pa.v;
}

/* ---- the driver ---- */

static unsigned number(const struct iommu_unit *u)
{
	return u->base == 0xfed90000 ? 0 : 1;
}

static const char *fake_start(struct iommu_unit *u)
{
	u->max_leaf = number(u) ? LEAF_2M : LEAF_1G;
	u->bits = number(u) ? 39 : 48;
	u->domains = number(u) ? 16 : 256;
	u->coherent = number(u);
	return start_says[number(u)];
}

static const char *fake_enable(struct iommu_unit *u, u32 address, u32 data)
{
	assert_int_equal(data, 0x400);
	message = address;
	enabled++;
	return enable_says[number(u)];
}

static void fake_off(struct iommu_unit *)
{
	switched_off++;
}

static int fake_set(struct iommu_unit *u, u16 bdf, unsigned domain, u64 root)
{
	told[nr_told].base = u->base;
	told[nr_told].bdf = bdf;
	told[nr_told].domain = domain;
	told[nr_told++].root = root;
	if (set_says == -EIO)
		u->broken = "does not answer";
	return set_says;
}

static bool fake_fault(struct iommu_unit *u, struct iommu_fault *out)
{
	if (number(u) || !nr_faults)
		return false;
	*out = fault[--nr_faults];
	return true;
}

const struct iommu_ops vtd_ops = {
	.name = "VT-d", .format = &npt_format, .start = fake_start, .enable = fake_enable, .off = fake_off, .set = fake_set,
	.fault = fake_fault,
};

/* ---- tests: each in a process of its own, for the units are found once ---- */

static void add_unit(u16 type, u64 base, u8 flags, u64 limit)
{
	dmar.unit[dmar.nr_units++] = (struct dmar_unit){
		.type = type, .base = base, .flags = flags, .limit = limit, .first_scope = dmar.nr_scopes,
	};
}

static void add_scope(u8 type, unsigned depth, const u8 path[])
{
	struct dmar_scope *s = &dmar.scope[dmar.nr_scopes++];

	*s = (struct dmar_scope){ .type = type, .depth = (u8)depth };
	for (unsigned i = 0; i < depth; i++)
		s->path[i] = (struct acpi_dmar_path){ path[i] >> 3, path[i] & 7 };
	dmar.unit[dmar.nr_units - 1].nr_scopes++;
}

/* The first unit has what is behind port B; the second, last in the table, all the rest. */
static void two_units(void)
{
	add_unit(ACPI_DMAR_DRHD, 0xfed90000, 0, 0);
	add_scope(2, 1, (u8[]){ PCI_DEVFN(0x1d, 0) });
	add_unit(ACPI_DMAR_DRHD, 0xfed91000, 1, 0);
}

static int reset(void **)
{
	memset(&dmar, 0, sizeof(dmar));
	memset(&cmdline, 0, sizeof(cmdline));
	memset(&boot_cpu, 0, sizeof(boot_cpu));
	boot_cpu.apic_id = 5;
	bootinfo = (struct bootinfo){ .nr_ranges = 1, .range = { { 0, 0x7f000000, BOOT_MEMORY_USABLE } } };
	has_dmar = true;
	lines[0] = 0;
	two_units();
	return 0;
}

static void expect(const char *text)
{
	assert_string_equal(lines, text);
	lines[0] = 0;
}

static void test_scopes(void **)
{
	static const int want[FUNCTIONS] = { [USB] = 1, [PORT_A] = 1, [CARD_0] = 1, [CARD_1] = 1 };

	for (unsigned i = 0; i < FUNCTIONS; i++)
		assert_int_equal(dmar_unit_of(&dmar, &functions[i]), want[i]);
	/* One function by a path over two bridges; it comes before what has the rest. */
	add_unit(ACPI_DMAR_DRHD, 0xfed92000, 0, 0);
	add_scope(1, 3, (u8[]){ PCI_DEVFN(0x1d, 0), PCI_DEVFN(0, 0), PCI_DEVFN(2, 1) });
	assert_true(dmar_names(&dmar, &dmar.unit[2], &functions[FAR]));
	assert_false(dmar_names(&dmar, &dmar.unit[2], &functions[SWITCH]));
	/* Of two that take the rest the first does; bus 1 is not behind a bridge whose buses end before, nor after. */
	add_unit(ACPI_DMAR_DRHD, 0xfed93000, 1, 0);
	assert_int_equal(dmar_unit_of(&dmar, &functions[USB]), 1);
	dmar.nr_units = dmar.nr_scopes = 0;
	add_unit(ACPI_DMAR_DRHD, 0xfed90000, 0, 0);
	add_scope(2, 1, (u8[]){ PCI_DEVFN(0x1c, 0) });
	assert_int_equal(dmar_unit_of(&dmar, &functions[CARD_1]), 0);
	assert_int_equal(dmar_unit_of(&dmar, &functions[FAR]), -1);
	assert_int_equal(dmar_unit_of(&dmar, &functions[PORT_B]), -1);
	/* A path through what is not there does not go on from bus 0. */
	add_scope(2, 2, (u8[]){ PCI_DEVFN(9, 0), PCI_DEVFN(0x14, 0) });
	assert_int_equal(dmar_unit_of(&dmar, &functions[USB]), -1);
	/* An endpoint's scope is not about what is behind; paths into nothing, I/O APICs' and other segments' are about nobody. */
	dmar.nr_units = dmar.nr_scopes = 0;
	add_unit(ACPI_DMAR_DRHD, 0xfed90000, 0, 0);
	add_scope(1, 1, (u8[]){ PCI_DEVFN(0x1c, 0) });
	add_scope(2, 2, (u8[]){ PCI_DEVFN(0x1c, 0), PCI_DEVFN(9, 0) });
	add_scope(3, 1, (u8[]){ PCI_DEVFN(0x14, 0) });
	assert_int_equal(dmar_unit_of(&dmar, &functions[CARD_0]), -1);
	assert_int_equal(dmar_unit_of(&dmar, &functions[USB]), -1);
	assert_int_equal(dmar_unit_of(&dmar, &functions[PORT_A]), 0);
	dmar.unit[0].segment = 1;
	dmar.unit[0].flags = 1;
	assert_int_equal(dmar_unit_of(&dmar, &functions[PORT_A]), -1);
	assert_false(dmar_names(&dmar, &dmar.unit[0], &functions[PORT_A]));
	dmar.unit[0].flags = 0;
	dmar.unit[0].segment = 0;
	dmar.unit[0].type = ACPI_DMAR_ATSR;
	assert_int_equal(dmar_unit_of(&dmar, &functions[PORT_A]), -1);
}

static void test_none(void **)
{
	has_dmar = false;
	has_ivrs = true;
	iommu_init();
	expect("iommu: AMD-Vi is not used: DMA is not contained\n");
	has_dmar = true;
	has_ivrs = false;
	cmdline.check = 10;
	iommu_init();
	expect("");
	cmdline.check = 0;
	cmdline.iommu_off = true;
	iommu_init();
	expect("iommu: off by the command line: DMA is not contained\n");
	assert_int_equal(switched_off, 2);
	dmar.nr_units = 0;
	iommu_init();
	expect("iommu: the DMAR names no unit: DMA is not contained\n");
	assert_false(host_iommu_on() || enabled);
	assert_null(host_iommu_unfit(USB));
}

/* Functions that the firmware uses have what it reserved, by the time that their unit is enabled, and are no VM's. */
static void test_reserved(void **)
{
	unsigned n = 0;

	add_unit(ACPI_DMAR_RMRR, RMRR_BASE, 0, RMRR_BASE + 0x1fff);
	add_scope(1, 1, (u8[]){ PCI_DEVFN(0x14, 0) });
	add_unit(ACPI_DMAR_RMRR, RMRR_BASE + 0x1000, 0, RMRR_BASE + 0x2fff); /* overlaps */
	add_scope(1, 2, (u8[]){ PCI_DEVFN(0x1c, 0), PCI_DEVFN(0, 1) });
	add_unit(ACPI_DMAR_RMRR, RMRR_BASE - 0x1000, 0, RMRR_BASE + 0xfff); /* over memory */
	add_unit(ACPI_DMAR_RMRR, RMRR_BASE, 0, ~0ull);
	add_unit(ACPI_DMAR_RMRR, GIB(8), 0, GIB(9) + 0xfff);
	enable_says[0] = "lies";
	isolated = 0;
	iommu_init();
	while (pci_get(n))
		n++;
	assert_int_equal(isolated, n);
	n = 0;
	expect("iommu: DMAR: memory reserved at 0x7efff000-0x7f000fff cannot be right: ignored\n"
	       "iommu: DMAR: memory reserved at 0x7f000000-0xffffffffffffffff cannot be right: ignored\n"
	       "iommu: DMAR: memory reserved at 0x200000000-0x240000fff cannot be right: ignored\n"
	       "iommu: the unit at 0xfed90000 lies: its functions are given to no VM\n"
	       "iommu: VT-d, 1 of 2 units in use: DMA contained, interrupts not\n");
	assert_int_equal(message, 0xfee05000);
	assert_int_equal(nr_told, 2);
	assert_true(told[0].bdf == 0x00a0 && told[1].bdf == 0x0101 && told[0].root == told[1].root && told[0].domain == 1);
	for (u64 at = 0; at < 0x3000; at += 0x1000) {
		u64 table = told[0].root, e = 0;

		for (unsigned shift = 39; shift >= 12; shift -= 9, table = e & PTE_ADDR)
			e = *(u64 *)(uintptr_t)(table + ((RMRR_BASE + at) >> shift & 511) * 8);
		assert_true((e & PTE_ADDR) == RMRR_BASE + at);
		n++;
	}
	assert_int_equal(n, 3);
	assert_string_equal(host_iommu_unfit(USB), "the firmware uses it too, by memory reserved for it (RMRR)");
	assert_string_equal(host_iommu_unfit(FAR), "its IOMMU does not work");
	assert_null(host_iommu_unfit(CARD_0));
	conventional = true;
	assert_non_null(strstr(host_iommu_unfit(CARD_0), "conventional"));
}

static void test_lies(void **)
{
	start_says[1] = "does not answer";
	dmar.unit[0].base = 0x1000;
	dmar.unit[1].flags = 0;
	iommu_init();
	expect("iommu: the unit at 0x1000 has its registers in memory: its functions are given to no VM\n"
	       "iommu: the unit at 0xfed91000 does not answer: its functions are given to no VM\n");
	assert_true(host_iommu_on());
	assert_int_equal(enabled, 0);
	assert_string_equal(host_iommu_unfit(USB), "the firmware names no IOMMU for it");
	assert_string_equal(host_iommu_unfit(FAR), "its IOMMU does not work");
}

/* The entry for address 0 at the level of this shift. */
static u64 first_leaf(u64 table, unsigned shift)
{
	for (unsigned at = 39; at > shift; at -= 9)
		table = *(u64 *)(uintptr_t)table & PTE_ADDR;
	return *(u64 *)(uintptr_t)table;
}

/* A unit that is broken holds nobody back; a boot CPU that no message reaches is not sent any. */
static void test_one_works(void **)
{
	struct host_iommu *d;

	boot_cpu.apic_id = 255;
	start_says[1] = "does not answer";
	iommu_init();
	assert_int_equal(message, 0);
	assert_int_equal(host_iommu_create("vm0", &d), 0);
	assert_int_equal(host_iommu_map(d, 0, hpa(GIB(4)), GIB(1)), 0);
	assert_int_equal(host_iommu_map(d, BIT(40), hpa(GIB(5)), MIB(2)), 0);
	/* This unit does not see the caches: every table has been written back by the time that it gets them. */
	clflushes = 0;
	assert_int_equal(host_iommu_attach(d, FAR), 0);
	assert_true(first_leaf(told[0].root, 30) & PTE_PS);
	assert_int_equal(d->tables.tables, 4);
	assert_int_equal(clflushes, 4 * PAGE_SIZE / 64);
	host_iommu_destroy(d);
}

static void test_domains(void **)
{
	struct host_iommu *d[20];
	unsigned count = 0;
	int err;

	iommu_init();
	while (count < 20 && !(err = host_iommu_create("vm0", &d[count])))
		count++;
	/* The smaller of two units' 16, but for 0. */
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(count, 15);
	assert_int_equal(host_iommu_map(d[0], 0, hpa(GIB(4)), GIB(3)), 0);
	assert_int_equal(host_iommu_map(d[0], 0, hpa(GIB(4)), GIB(1)), -EEXIST);
	/* Leaves that both units know: 2 MiB. */
	assert_int_equal(host_iommu_attach(d[0], FAR), 0);
	assert_false(first_leaf(told[0].root, 30) & PTE_PS);
	assert_true(first_leaf(told[0].root, 21) & PTE_PS);
	nr_told = 0;
	assert_int_equal(host_iommu_map(d[0], 0xfee00000 - PAGE_SIZE, hpa(0), 2 * PAGE_SIZE), -EINVAL);
	assert_int_equal(host_iommu_map(d[0], 0xfeeff000, hpa(0), PAGE_SIZE), -EINVAL);
	assert_int_equal(host_iommu_map(d[0], 0xfef00000, hpa(0), PAGE_SIZE), 0);
	assert_int_equal(host_iommu_map(d[0], 0xfedff000, hpa(0), PAGE_SIZE), 0);
	assert_int_equal(host_iommu_map(d[0], BIT(39), hpa(0), PAGE_SIZE), -ERANGE);
	assert_int_equal(host_iommu_map(d[0], BIT(39) - PAGE_SIZE, hpa(0), PAGE_SIZE), 0);
	assert_int_equal(host_iommu_map(d[0], 1, hpa(0), PAGE_SIZE), -EINVAL);
	assert_int_equal(host_iommu_attach(d[0], FAR), 0);
	assert_int_equal(host_iommu_attach(d[1], CARD_0), 0);
	assert_true(told[0].base == 0xfed90000 && told[0].bdf == 0x0311 && told[0].domain == 1 && told[0].root);
	assert_true(told[1].base == 0xfed91000 && told[1].bdf == 0x0100 && told[1].domain == 2);
	assert_int_equal(host_iommu_detach(FAR), 0);
	assert_true(told[2].bdf == 0x0311 && !told[2].domain && !told[2].root);
	host_iommu_destroy(d[0]);
	host_iommu_destroy(NULL);
	assert_int_equal(host_iommu_create("vm1", &d[0]), 0);
	lines[0] = 0;
	set_says = -EIO;
	assert_int_equal(host_iommu_detach(CARD_0), -EIO);
	expect("iommu: the unit at 0xfed91000 does not answer any more: its functions are given to no VM\n");
	assert_int_equal(host_iommu_attach(d[0], CARD_1), -EIO);
	expect("");
	assert_int_equal(nr_told, 4);
	for (unsigned i = 0; i < count; i++)
		host_iommu_destroy(d[i]);
	assert_int_equal(pages, 0);
}

static void add_fault(u16 bdf, u64 address, bool write, unsigned count)
{
	fault[nr_faults++] = (struct iommu_fault){ bdf, write, address, 5, count };
}

static void test_faults(void **)
{
	struct host_iommu *d;

	iommu_init();
	lines[0] = 0;
	assert_false(nmi());
	assert_int_equal(host_iommu_create("vm0", &d), 0);
	assert_int_equal(host_iommu_attach(d, FAR), 0);
	add_fault(0x0311, 0, true, IOMMU_REPORTS + 1);
	add_fault(0x0311, 0x12345000, false, IOMMU_REPORTS);
	add_fault(0x00a0, 0x1000, true, 1);
	add_fault(0x0311, 0xabcdef000, true, 1);
	assert_true(nmi());
	expect("iommu: 03:02.1, of vm0: DMA blocked: writes to 0xabcdef000, reason 5\n"
	       "iommu: 00:14.0, nobody's: DMA blocked: writes to 0x1000, reason 5\n"
	       "iommu: 03:02.1, of vm0: DMA blocked: reads from 0x12345000, reason 5; more of it is not reported\n");
	/* A storm does not keep the CPU. */
	for (unsigned i = 0; i < 300; i++)
		add_fault(0x0311, 0, true, IOMMU_REPORTS + 1);
	assert_true(nmi());
	assert_int_equal(nr_faults, 300 - 256);
	host_iommu_detach(FAR);
	host_iommu_destroy(d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_scopes, reset), cmocka_unit_test_setup(test_none, reset),
		cmocka_unit_test_setup(test_reserved, reset), cmocka_unit_test_setup(test_lies, reset),
		cmocka_unit_test_setup(test_domains, reset), cmocka_unit_test_setup(test_one_works, reset),
		cmocka_unit_test_setup(test_faults, reset),
	};
	char command[500];
	int failed = 0;

	/* Units are found once: each test is a process. */
	if (argc > 1) {
		cmocka_set_test_filter(argv[1]);
		return cmocka_run_group_tests(tests, NULL, NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		snprintf(command, sizeof(command), "'%s' %s", argv[0], tests[i].name);
		failed += system(command) != 0;
	}
	return failed;
}
