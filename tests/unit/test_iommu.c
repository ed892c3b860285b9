/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_iommu.sources */
/*
 * Which unit has a function or an I/O APIC, what the node does with units at boot, domains, entries
 * of interrupts, and the lines about faults: on a machine of two units, bridges and memory that
 * firmware keeps; the units' own driver is this file's.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"

static void fake_clflush(const void *line);
#define cpu_clflush fake_clflush
#include "kernel/iommu/iommu.c"
#include "kernel/iommu/iommu_start.c"
#include "kernel/iommu/interrupts.c"
#include "kernel/iommu/faults.c"

#include "arch/x86_64/cpu/upcall.h"
#include "kernel/boot/cmdline.h"
#include "kernel/cpu/nmi.h"
#include "kernel/iommu/iommu.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_platform.h"
#include "kernel/percpu.h"

#define AT(bus, device, fn) { 0, bus, PCI_DEVFN(device, fn) }
#define RMRR_BASE 0x7f000000ull
#define FLASH 0xff000000ull

/*
 * A USB controller, two root ports, a card behind the first with two functions, behind the second a
 * switch and a card; and one of another segment with that card's numbers.
 */
enum { USB, PORT_A, PORT_B, CARD_0, CARD_1, SWITCH, OTHER, FAR, FUNCTIONS };
/* clang-format off */
static const struct pci_function functions[FUNCTIONS] = {
	[USB] = { .address = AT(0, 0x14, 0) },
	[PORT_A] = { .address = AT(0, 0x1c, 0), .header_type = 1, .secondary_bus = 1,
		.subordinate_bus = 1 },
	[PORT_B] = { .address = AT(0, 0x1d, 0), .header_type = 1, .secondary_bus = 2,
		.subordinate_bus = 5 },
	[CARD_0] = { .address = AT(1, 0, 0) }, [CARD_1] = { .address = AT(1, 0, 1) },
	[SWITCH] = { .address = AT(2, 0, 0), .header_type = 1, .secondary_bus = 3,
		.subordinate_bus = 5 },
	[OTHER] = { .address = { 1, 3, PCI_DEVFN(2, 1) } },
	[FAR] = { .address = AT(3, 2, 1) },
};
/* clang-format on */

static struct dmar_info dmar;
static const struct ivrs_info ivrs;
static bool conventional;
static struct cmdline cmdline;
static struct bootinfo bootinfo;
static struct cpu boot_cpu;
static bool (*nmi)(void);
static char lines[2000];
/* what the driver was told, in order */
static struct {
	u64 base;
	u16 bdf;
	unsigned domain;
	u64 root;
} told[32];
static unsigned nr_told, enabled, isolated;
static const char *start_says[3], *enable_says[3];
static int set_says;
static struct iommu_fault fault[600];
static unsigned nr_faults;
static u64 fault_unit = 0xfed90000;
static bool fault_breaks;
static u32 message;
static struct madt_info madt;
static bool x2apic;
static unsigned card_vfs;
static struct host_messages kept[FUNCTIONS];
static bool unit_remaps[3], unit_wide[3], unit_snoops[3], silent;
static const char *remap_says[3];
static struct {
	unsigned index;
	unsigned storms;
	unsigned count;
} heard[2]; /* by VM */
static u64 tsc = 1000;
static char held[40]; /* what units were told of that */

static void hear(void *arg, unsigned index, bool storm)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	heard[i].index = index;
	heard[i].storms += storm;
	heard[i].count++;
}

static const struct host_iommu_user vm0 = { "vm0", "dma = iommu", hear, (void *)0, 2 },
				    vm1 = { "vm1", "dma = window", hear, (void *)1, -1 };
static char remap_log[200]; /* what units were told, in order */
struct interrupt {
	u32 apic_id;
	u16 source;
	u8 vector;
	u8 mode;
	bool level;
};
static struct {
	bool filled;
	struct interrupt i;
} entry[2][8192];

void pci_isolate(const struct pci_function *)
{
	isolated++;
}

/* ---- the kernel ---- */

int numa_node_of_proximity(u32 domain)
{
	return domain == 7 ? 1 : -1;
}

const struct pci_function *pci_get(unsigned i)
{
	return i < FUNCTIONS ? &functions[i] : NULL;
}

bool pci_conventional(const struct pci_function *)
{
	return conventional;
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
	static struct cpu second = { .apic_id = 300 };

	return id ? &second : &boot_cpu;
}

struct acpi acpi = { .madt = &madt };
bool host_is_x2apic(void)
{
	return x2apic;
}

/* FAR has MSI-X of 300 entries, CARD_0 can have VFs. */
u16 pci_find_cap(const struct pci_function *f, u16 id)
{
	return f == &functions[FAR] && id == PCI_CAP_MSIX ? 0x50 : 0;
}

u16 pci_find_extended_cap(const struct pci_function *f, u16 id)
{
	return f == &functions[CARD_0] && id == PCI_EXT_CAP_SRIOV && card_vfs ? 0x160 : 0;
}

u32 pci_read(struct pci_address, u16 offset, unsigned size)
{
	if (offset == 0x16c && size == 4)
		return card_vfs << 16 | 1;
	assert_true(offset == 0x52 && size == 2);
	return 299;
}

int nmi_request(unsigned irq, bool (*fn)(void))
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

static unsigned pages, pages_left = ~0u;
/* The last pages of one, as somebody sees them who does not see the caches. */
static struct {
	u8 *page;
	u8 seen[PAGE_SIZE];
} shadow[600];
static unsigned nr_shadows;
static bool no_shadows; /* their instructions would be counted */
static unsigned nr_flushes;

static unsigned on_node_2;

void *host_pages_alloc(unsigned count, int node)
{
	void *p = pages_left >= count ? memset(aligned_alloc(PAGE_SIZE, count * PAGE_SIZE), 0,
					       count * PAGE_SIZE)
				      : NULL;

	if (!p)
		return NULL;
	on_node_2 += node == 2 ? count : 0;
	pages += count;
	pages_left -= count;
	if (count == 1 && !no_shadows && nr_shadows < ARRAY_SIZE(shadow)) {
		shadow[nr_shadows].page = p;
		memset(shadow[nr_shadows++].seen, 0xa5, PAGE_SIZE);
	}
	return p;
}

void host_pages_free(void *p, unsigned count)
{
	for (unsigned i = 0; count == 1 && i < nr_shadows; i++)
		if (shadow[i].page == p)
			shadow[i].page = NULL;
	pages -= p ? count : 0;
	free(p);
}

static void fake_clflush(const void *line)
{
	const u8 *at = (const u8 *)((uintptr_t)line & ~63ull);

	for (unsigned i = 0; i < nr_shadows; i++)
		if (shadow[i].page && at >= shadow[i].page && at < shadow[i].page + PAGE_SIZE)
			memcpy(shadow[i].seen + (at - shadow[i].page), at, 64);
}

/* How many tables there are, and all of them have been written back. */
static unsigned written_back(const u64 *table, unsigned level)
{
	unsigned count = 1, i = 0;

	while (i < nr_shadows && shadow[i].page != (const u8 *)table)
		i++;
	assert_true(i < nr_shadows);
	assert_memory_equal(shadow[i].seen, table, PAGE_SIZE);
	for (unsigned k = 0; level && k < 512; k++)
		if (npt_format.present(table[k]) && !(table[k] & PTE_PS))
			count += written_back((const u64 *)(uintptr_t)(table[k] & PTE_ADDR),
					      level - 1);
	return count;
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
	return tsc;
}

u64 host_tsc_khz(void)
{
	return 1000;
}

static struct host_timer *armed;

void host_timer_arm(struct host_timer *t, u64 deadline)
{
	t->deadline = deadline;
	armed = t;
}

bool pci_platform_registers(u64 base, u64 size)
{
	return base < GIB(4) && base + size > FLASH;
}

/* ---- the driver ---- */

static unsigned number(const struct iommu_unit *u)
{
	if (u->base == 0xfed90000)
		return 0;
	return u->base == 0xfed91000 ? 1 : 2;
}

static const char *fake_remap(struct iommu_unit *u, unsigned count, bool wide)
{
	char text[20];

	/* After that nothing passes without: it may already be translating. */
	assert_true(!count || enabled);
	snprintf(text, sizeof(text), "%u:%u%s ", number(u), count, wide ? " wide" : "");
	strcat(remap_log, text);
	return count ? remap_says[number(u)] : NULL;
}

static bool fake_interrupt(struct iommu_unit *u, unsigned n, u16 source, u32 apic_id, u32 how)
{
	assert_true(n < tables[u - iommu_units].entries && !u->broken && !(how & ~0x87ffu));
	entry[number(u)][n].filled = how;
	entry[number(u)][n].i =
		(struct interrupt){ apic_id, source, (u8)how, how >> 8 & 7, how >> 15 };
	return !silent;
}

static u64 fake_message(unsigned n, bool several)
{
	return n | (several ? 1u << 31 : 0);
}

static u64 fake_input(unsigned n, u64 e)
{
	return (u64)n << 32 | (u32)e;
}

static const char *fake_start(struct iommu_unit *u)
{
	u->max_leaf = number(u) ? LEAF_2M : LEAF_1G;
	u->bits = number(u) ? 39 : 48;
	u->domains = number(u) ? 16 : 256;
	u->coherent = number(u);
	u->keeps_absent = number(u);
	u->snoops = unit_snoops[number(u)];
	u->remaps = unit_remaps[number(u)];
	u->remaps_wide = unit_wide[number(u)];
	u->entries = 16;
	return start_says[number(u)];
}

static const char *fake_enable(struct iommu_unit *u, u32 address, u32 data)
{
	assert_int_equal(data, 0x400);
	message = address;
	enabled++;
	return enable_says[number(u)];
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

static char flushed[80];
static bool flush_fails;
static const struct host_iommu *watched; /* what units must find written back then */

static bool fake_flush(struct iommu_unit *u, unsigned domain)
{
	char text[10];

	if (no_shadows)
		return ++nr_flushes;
	snprintf(text, sizeof(text), "%u:%u ", number(u), domain);
	if (strlen(flushed) + strlen(text) < sizeof(flushed))
		strcat(flushed, text);
	if (watched)
		written_back(watched->tables.root, 3);
	u->broken = flush_fails ? "does not answer" : u->broken;
	return !flush_fails;
}

static void expect_flushed(const char *text)
{
	assert_string_equal(flushed, text);
	flushed[0] = 0;
}

static bool fake_fault(struct iommu_unit *u, struct iommu_fault *out)
{
	if (u->base != fault_unit || !nr_faults)
		return false;
	*out = fault[--nr_faults];
	u->broken = fault_breaks ? "does not answer" : NULL;
	return true;
}

/* A requester ID has the entries behind one that is the low byte of its number, 16 at most. */
static int fake_take(struct iommu_unit *u, u16 source, unsigned count, u32 how)
{
	for (unsigned n = source & 0xff; n + count <= (source & 0xffu) + 16; n += count)
		if (!entry[number(u)][n].filled)
			return (int)(n + (how >> 15 ? 0x40 : 0));
	return -ENOSPC;
}

static u64 fake_own_message(unsigned n, bool)
{
	return (u64)n << 32 | 0xfee00000;
}

static void fake_hold(struct iommu_unit *u, bool on_hold)
{
	char text[8];

	snprintf(text, sizeof(text), "%u%c ", number(u), on_hold ? '-' : '+');
	strcat(held, text);
}

static char allowed[100]; /* which requester IDs may send what is the platform's */

static void fake_allow(struct iommu_unit *u, u16 first, u16 last, u8 settings)
{
	char text[20];

	assert_int_equal(enabled, 0);
	snprintf(text, sizeof(text), "%u:%x-%x:%x ", number(u), first, last, settings);
	strcat(allowed, text);
}

static const struct iommu_ops amdvi_ops = {
	.name = "AMD-Vi",
	.ivrs = true,
	.format = &npt_format,
	.start = fake_start,
	.allow = fake_allow,
	.enable = fake_enable,
	.set = fake_set,
	.flush = fake_flush,
	.remap = fake_remap,
	.take = fake_take,
	.interrupt = fake_interrupt,
	.message = fake_own_message,
	.input = fake_input,
	.fault = fake_fault,
	.hold = fake_hold,
};
IOMMU_BACKEND(amdvi_ops);

const struct interrupt_remapping *interrupt_remapping;

/* What it makes of an IVRS is what the tests say of a DMAR. */
static const char *ivrs_says;

const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance)
{
	assert_true(!memcmp(signature, "IVRS", 4) && !instance);
	return (const void *)&ivrs_says;
}

const char *ivrs_units(const struct ivrs_info *iv, const u8 *table, struct dmar_info *out)
{
	assert_true(iv == acpi.ivrs && (const void *)table == (const void *)&ivrs_says);
	*out = dmar;
	return ivrs_says;
}

static const struct iommu_ops vtd_ops = {
	.name = "VT-d",
	.format = &npt_format,
	.snooped = &ept_format,
	.start = fake_start,
	.enable = fake_enable,
	.set = fake_set,
	.flush = fake_flush,
	.remap = fake_remap,
	.interrupt = fake_interrupt,
	.message = fake_message,
	.input = fake_input,
	.fault = fake_fault,
	.hold = fake_hold,
};
IOMMU_BACKEND(vtd_ops);

/* ---- tests: each in a process of its own, for the units are found once ---- */

static void add_unit(u16 type, u64 base, u8 flags, u64 limit)
{
	dmar.unit[dmar.nr_units++] = (struct dmar_unit){
		.type = type,
		.base = base,
		.flags = flags,
		.limit = limit,
		.first_scope = dmar.nr_scopes,
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
	bootinfo = (struct bootinfo){ .nr_ranges = 1,
				      .range = { { 0, 0x7f000000, BOOT_MEMORY_USABLE } } };
	acpi.dmar = &dmar;
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
	static const int want[FUNCTIONS] = {
		[USB] = 1, [PORT_A] = 1, [CARD_0] = 1, [CARD_1] = 1, [OTHER] = -1
	};

	for (unsigned i = 0; i < FUNCTIONS; i++)
		assert_int_equal(dmar_unit_of(&dmar, &functions[i]), want[i]);
	/* One function by a path over two bridges; it comes before what has the rest. */
	add_unit(ACPI_DMAR_DRHD, 0xfed92000, 0, 0);
	add_scope(1, 3, (u8[]){ PCI_DEVFN(0x1d, 0), PCI_DEVFN(0, 0), PCI_DEVFN(2, 1) });
	assert_true(dmar_names(&dmar, &dmar.unit[2], &functions[FAR]));
	assert_false(dmar_names(&dmar, &dmar.unit[2], &functions[SWITCH]));
	/*
	 * Of two that take the rest the first does; bus 1 is not behind a bridge whose buses end
	 * before, nor after.
	 */
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
	/*
	 * An endpoint's scope is not about what is behind; paths into nothing, I/O APICs' and other
	 * segments' are about nobody.
	 */
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

/*
 * Of a large node's table some units did not fit: what no other unit names may be theirs, and is no
 * VM's. What does not work without ATS is not, either. Tables are near their unit.
 */
static void test_large(void **)
{
	u16 source;

	dmar.lost = 3;
	dmar.unit[1].domain = 7;
	dmar.unit[0].domain = ~0u;
	add_unit(ACPI_DMAR_SATC, 0, 1, 0);
	add_scope(1, 3, (u8[]){ PCI_DEVFN(0x1d, 0), PCI_DEVFN(0, 0), PCI_DEVFN(2, 1) });
	iommu_init();
	expect("iommu: the DMAR has 3 units that do not fit in 64, with 512 functions and bridges by name: what is not named by "
	       "one of the others is given to no VM\n"
	       "iommu: VT-d, 2 of 2 units in use: DMA contained, interrupts not: the firmware's tables do not want it\n");
	assert_true(iommu_units[0].node == -1 && iommu_units[1].node == 1);
	assert_string_equal(host_iommu_unfit(USB), "the firmware names no IOMMU for it");
	assert_null(host_iommu_unfit(SWITCH));
	assert_string_equal(
		host_iommu_unfit(FAR),
		"it does not work without address translation of its own (SATC), which no VM "
		"has");
	assert_int_equal(dmar_unit_of_ioapic(&dmar, 9, &source), -1);
}

static void test_none(void **)
{
	acpi.dmar = NULL;
	acpi.ivrs = &ivrs;
	ivrs_says = "more than 512 device entries";
	iommu_init();
	expect("iommu: AMD-Vi is not used: IVRS: more than 512 device entries: DMA is not contained\n");
	acpi.dmar = &dmar;
	acpi.ivrs = NULL;
	cmdline.check = 10;
	iommu_init();
	expect("");
	cmdline.check = 0;
	cmdline.iommu_off = true;
	iommu_init();
	expect("iommu: off by the command line: DMA is not contained\n");
	assert_int_equal(nr_told, 0);
	dmar.nr_units = 0;
	iommu_init();
	expect("iommu: the firmware's table names no unit: DMA is not contained\n");
	assert_false(host_iommu_on() || enabled);
	assert_null(host_iommu_unfit(USB));
}

/*
 * Functions that the firmware uses have what it reserved, by the time that their unit is enabled,
 * and are no VM's.
 */
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
	/* of which the first page would do no harm */
	add_unit(ACPI_DMAR_RMRR, FLASH - 0x1000, 0, FLASH + 0xfff);
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
	       "iommu: DMAR: memory reserved at 0xfefff000-0xff000fff cannot be right: ignored\n"
	       "iommu: the unit at 0xfed90000 lies: its functions are given to no VM\n"
	       "iommu: VT-d, 1 of 2 units in use: DMA contained, interrupts not: the firmware's tables do not want it\n");
	assert_int_equal(message, 0xfee05000);
	assert_int_equal(nr_told, 2);
	assert_true(told[0].bdf == 0x00a0 && told[1].bdf == 0x0101 &&
		    told[0].root == told[1].root && told[0].domain == 1);
	for (u64 at = 0; at < 0x3000; at += 0x1000) {
		u64 table = told[0].root, e = 0;

		for (unsigned shift = 39; shift >= 12; shift -= 9, table = e & PTE_ADDR)
			e = *(u64 *)(uintptr_t)(table + ((RMRR_BASE + at) >> shift & 511) * 8);
		assert_true((e & PTE_ADDR) == RMRR_BASE + at);
		n++;
	}
	assert_int_equal(n, 3);
	/* Nothing of it was. */
	assert_int_equal(host_iommu_map(iommu_domain_of(USB), FLASH - 0x1000, hpa(FLASH - 0x1000),
					0x1000),
			 0);
	assert_string_equal(host_iommu_unfit(USB),
			    "the firmware uses it too, by memory reserved for it (RMRR, IVMD)");
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
	/* Not asked for anything; the other, which has the same registers, would be. */
	add_unit(ACPI_DMAR_DRHD, 0xfed92000, 0, 0);
	add_scope(2, 1, (u8[]){ PCI_DEVFN(0x1c, 0) });
	add_unit(ACPI_DMAR_DRHD, 0xfed92000, 0, 0);
	add_scope(1, 1, (u8[]){ PCI_DEVFN(0x14, 0) });
	enable_says[2] = "lies";
	iommu_init();
	expect("iommu: the unit at 0x1000 has its registers in memory: its functions are given to no VM\n"
	       "iommu: the unit at 0xfed91000 has no function by the firmware's table: its functions are given to no VM\n"
	       "iommu: the unit at 0xfed92000 lies: its functions are given to no VM\n"
	       "iommu: the unit at 0xfed92000 is named twice: its functions are given to no VM\n");
	assert_true(host_iommu_on());
	assert_int_equal(enabled, 1);
	assert_string_equal(host_iommu_unfit(USB), "its IOMMU does not work");
	assert_string_equal(host_iommu_unfit(FAR), "its IOMMU does not work");
	dmar.unit[3].nr_scopes = 0;
	assert_string_equal(host_iommu_unfit(USB), "the firmware names no IOMMU for it");
	assert_string_equal(host_iommu_unfit(FAR), "its IOMMU does not work");
	/* Of two that name it one works. */
	dmar.unit[2].first_scope = dmar.unit[0].first_scope;
	iommu_units[0].broken = NULL;
	assert_string_equal(host_iommu_unfit(FAR), "the firmware names two IOMMUs for it");
	dmar.unit[2].type = ACPI_DMAR_ATSR;
	assert_null(host_iommu_unfit(FAR));
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
	on_node_2 = 0;
	assert_int_equal(host_iommu_create(&vm0, &d), 0);
	assert_int_equal(host_iommu_map(d, 0, hpa(GIB(4)), GIB(1)), 0);
	assert_int_equal(host_iommu_map(d, BIT(40), hpa(GIB(5)), MIB(2)), 0);
	/*
	 * This unit does not see the caches: every table has been written back by the time that it
	 * gets them.
	 */
	assert_int_equal(host_iommu_attach(d, FAR), 0);
	assert_true(first_leaf(told[0].root, 30) & PTE_PS);
	/* All of them on the node of the VM's CPUs. */
	assert_int_equal(d->tables.tables, 4);
	assert_int_equal(on_node_2, 4);
	assert_int_equal(written_back(d->tables.root, 3), 4);
	/* And by the time that it drops what it keeps of them, as they change under it. */
	watched = d;
	assert_int_equal(host_iommu_map(d, GIB(7), hpa(GIB(9)), GIB(1)), 0);
	assert_int_equal(host_iommu_unmap(d, PAGE_SIZE, PAGE_SIZE), 0);
	expect_flushed("0:1 ");
	assert_int_equal(written_back(d->tables.root, 3), 6);
	assert_int_equal(host_iommu_unmap(d, BIT(40), MIB(2)), 0);
	assert_int_equal(written_back(d->tables.root, 3), 4);
	host_iommu_destroy(d);
}

/*
 * A domain grows and shrinks under its functions: each unit that one of them is below drops what it
 * keeps.
 */
static void test_elastic(void **)
{
	struct host_iommu *d;

	iommu_init();
	lines[0] = 0;
	assert_int_equal(host_iommu_create(&vm0, &d), 0);
	assert_int_equal(host_iommu_map(d, 0, hpa(GIB(4)), MIB(8)), 0);
	assert_int_equal(host_iommu_unmap(d, MIB(6), MIB(2)), 0);
	expect_flushed("");
	assert_int_equal(host_iommu_attach(d, FAR), 0);
	assert_int_equal(host_iommu_unmap(d, MIB(4), MIB(2)), 0);
	expect_flushed("0:1 ");
	/* Of these two one keeps that nothing was there. */
	assert_int_equal(host_iommu_attach(d, CARD_0), 0);
	assert_int_equal(host_iommu_map(d, GIB(3), hpa(GIB(6)), MIB(2)), 0);
	expect_flushed("1:1 ");
	assert_int_equal(host_iommu_map(d, GIB(3), hpa(GIB(6)), MIB(2)), -EEXIST);
	expect_flushed("");
	assert_int_equal(host_iommu_unmap(d, GIB(3), MIB(2)), 0);
	expect_flushed("0:1 1:1 ");
	/*
	 * Tables that went away are not another's before that: one that does not answer keeps them.
	 */
	assert_int_equal(host_iommu_map(d, GIB(3), hpa(GIB(6)), MIB(2)), 0);
	assert_null(d->tables.retired);
	flushed[0] = 0;
	flush_fails = true;
	assert_int_equal(host_iommu_unmap(d, GIB(3), MIB(2)), -EIO);
	expect_flushed("0:1 1:1 ");
	assert_non_null(d->tables.retired);
	expect("iommu: the unit at 0xfed90000 does not answer any more: its functions are given to no VM\n"
	       "iommu: the unit at 0xfed91000 does not answer any more: its functions are given to no VM\n");
	/* For as long as it is broken, with one line. */
	assert_int_equal(host_iommu_unmap(d, 0, MIB(2)), -EIO);
	assert_int_equal(host_iommu_map(d, 0, hpa(GIB(4)), MIB(2)), -EIO);
	expect_flushed("");
	expect("");
	assert_int_equal(host_iommu_unmap(d, 1, MIB(2)), -EIO);
	host_iommu_destroy(d);
	assert_int_equal(pages, 0);
	/* A table for a leaf that is split is missing. */
	iommu_units[0].broken = iommu_units[1].broken = NULL;
	flush_fails = false;
	assert_int_equal(host_iommu_create(&vm0, &d), 0);
	assert_int_equal(host_iommu_map(d, 0, hpa(GIB(4)), MIB(2)), 0);
	pages_left = 0;
	assert_int_equal(host_iommu_unmap(d, 0, PAGE_SIZE), -ENOMEM);
	assert_int_equal(host_iommu_unmap(d, 1, PAGE_SIZE), -EINVAL);
	host_iommu_destroy(d);
}

/* Instructions of fn(), the compiler's checks of this test included; 0: it said no. */
static u64 instructions(bool (*fn)(void))
{
	pid_t child = fork();
	u64 count = 0;
	int status;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(fn());
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status));
	for (;; count++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
		assert_true(waitpid(child, &status, 0) == child);
		if (WIFEXITED(status))
			return WEXITSTATUS(status) ? count : 0;
		assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	}
}

static bool nothing(void)
{
	return true;
}

static struct host_iommu *big;

/*
 * As a VM that has a function: memory of eight nodes, 128 GiB each; tables are written back for
 * this unit.
 */
static bool map_1_tib(void)
{
	bool done = !host_iommu_create(&vm0, &big) && !host_iommu_map(big, 0, hpa(GIB(4)), GIB(3));

	for (unsigned i = 0; done && i < 8; i++)
		done = !host_iommu_map(big, GIB(4) + i * GIB(128), hpa(GIB(8) + i * GIB(256)),
				       GIB(128) - (i == 7 ? GIB(3) : 0));
	return done && !host_iommu_attach(big, FAR);
}

/* And as it ends; or as it goes on, with each piece flushed. */
static bool map_and_unmap(void)
{
	return map_1_tib() && !host_iommu_unmap(big, 0, BIT(40) + GIB(4)) && nr_flushes == 1 &&
	       big->tables.tables == 1;
}

#define PIECES 64 /* of 1024: each step of the one that is counted is a system call */

static bool unmap_by(u64 piece)
{
	bool done = true;

	for (u64 at = 0; done && at < PIECES * piece; at += piece)
		done = !host_iommu_unmap(big, GIB(4) + at, piece);
	return done && nr_flushes == PIECES;
}

static bool unmap_by_gib(void)
{
	return unmap_by(GIB(1));
}

/* Of one leaf, that is split. */
static bool unmap_by_2_mib(void)
{
	return unmap_by(MIB(2));
}

/*
 * By leaf or piece, sanitizers included: 730, 870 and 2900 of gcc 12; 990, 1500 and 3900 of gcc 14.
 * To go through a whole table, or through all of them, for each piece takes several times to a
 * hundred times as many.
 */
static void test_cost(void **)
{
	static const struct {
		const char *what;
		bool (*fn)(void);
		u64 most;
	} cases[] = {
		{ "mapped, unmapped, flushed", map_and_unmap, 3000 * 1024 },
		{ "less 64 GiB, each flushed", unmap_by_gib, 4500 * PIECES },
		{ "less 128 MiB by 2 MiB, each flushed", unmap_by_2_mib, 10000 * PIECES },
	};
	u64 empty = instructions(nothing), count;

	start_says[1] = "does not answer";
	iommu_init();
	nr_told = nr_shadows = 0;
	no_shadows = true;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		if (i == 1)
			assert_true(map_1_tib() && first_leaf(told[0].root, 30) & PTE_PS);
		count = instructions(cases[i].fn);
		printf("1 TiB %s: %llu instructions\n", cases[i].what,
		       (unsigned long long)(count - empty));
		assert_in_range(count - empty, 1024, cases[i].most);
	}
	host_iommu_destroy(big);
}

static void test_domains(void **)
{
	struct host_iommu *d[20], none;
	unsigned count = 0;
	int err;

	for (unsigned i = 0; i < ARRAY_SIZE(d); i++)
		d[i] = &none;

	iommu_init();
	while (count < 20 && !(err = host_iommu_create(&vm0, &d[count])))
		count++;
	/* The smaller of two units' 16, but for 0. */
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(count, 15);
	assert_null(d[15]);
	assert_int_equal(host_iommu_map(d[0], 0, hpa(GIB(4)), GIB(3)), 0);
	assert_int_equal(host_iommu_map(d[0], 0, hpa(GIB(4)), GIB(1)), -EEXIST);
	/* Leaves that both units know: 2 MiB. */
	assert_int_equal(host_iommu_attach(d[0], FAR), 0);
	assert_false(first_leaf(told[0].root, 30) & PTE_PS);
	assert_true(first_leaf(told[0].root, 21) & PTE_PS);
	nr_told = 0;
	assert_int_equal(host_iommu_map(d[0], 0xfee00000 - PAGE_SIZE, hpa(0), 2 * PAGE_SIZE),
			 -EINVAL);
	assert_int_equal(host_iommu_map(d[0], 0xfeeff000, hpa(0), PAGE_SIZE), -EINVAL);
	assert_int_equal(host_iommu_map(d[0], 0xfef00000, hpa(0), PAGE_SIZE), 0);
	assert_int_equal(host_iommu_map(d[0], 0xfedff000, hpa(0), PAGE_SIZE), 0);
	assert_int_equal(host_iommu_map(d[0], BIT(39), hpa(0), PAGE_SIZE), -ERANGE);
	assert_int_equal(host_iommu_map(d[0], BIT(39) - PAGE_SIZE, hpa(0), PAGE_SIZE), 0);
	assert_int_equal(host_iommu_map(d[0], 1, hpa(0), PAGE_SIZE), -EINVAL);
	/* Neither the flash nor registers, wherever a function would find them. */
	assert_int_equal(host_iommu_map(d[0], GIB(20), hpa(FLASH - PAGE_SIZE), 2 * PAGE_SIZE),
			 -EPERM);
	assert_int_equal(host_iommu_map(d[0], GIB(20), hpa(FLASH - PAGE_SIZE), PAGE_SIZE), 0);
	assert_int_equal(host_iommu_attach(d[0], FAR), 0);
	assert_int_equal(host_iommu_attach(d[1], CARD_0), 0);
	assert_true(told[0].base == 0xfed90000 && told[0].bdf == 0x0311 && told[0].domain == 1 &&
		    told[0].root);
	assert_true(told[1].base == 0xfed91000 && told[1].bdf == 0x0100 && told[1].domain == 2);
	assert_int_equal(host_iommu_detach(FAR), 0);
	assert_true(told[2].bdf == 0x0311 && !told[2].domain && !told[2].root);
	host_iommu_destroy(d[0]);
	host_iommu_destroy(NULL);
	assert_int_equal(host_iommu_create(&vm1, &d[0]), 0);
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
	fault[nr_faults++] = (struct iommu_fault){
		.bdf = bdf, .write = write, .address = address, .reason = 5, .count = count
	};
}

static void expect_state(unsigned index, unsigned domain, u64 dma, u64 interrupts)
{
	const char *mode = domain == 1 ? "dma = iommu" : "dma = window";
	struct host_iommu_state s;

	assert_true(host_iommu_state(index, &s));
	assert_true(s.domain == domain && s.dma == dma && s.interrupts == interrupts);
	assert_string_equal(s.mode ? s.mode : "", domain ? mode : "");
}

/* A unit that tells of more than so many in a second is not listened to until that is over. */
static void test_pace(void **)
{
	iommu_init();
	lines[0] = 0;
	for (unsigned i = 0; i < 63; i++, tsc += 10000) {
		add_fault(0x00a0, 0, true, IOMMU_REPORTS + 1);
		assert_true(nmi());
	}
	assert_true(!held[0] && !armed);
	/* One a second late is the first of the next. */
	tsc = 1000 + 1000001;
	for (unsigned i = 0; i < 63; i++) {
		add_fault(0x00a0, 0, true, IOMMU_REPORTS + 1);
		assert_true(nmi());
	}
	assert_true(!held[0] && !armed);
	for (unsigned i = 0; i < 2; i++) {
		add_fault(0x00a0, 0, true, IOMMU_REPORTS + 1);
		assert_true(nmi());
		assert_string_equal(held, "0- ");
	}
	expect("iommu: the unit at 0xfed90000 tells of too much: it is looked at once a second\n");
	assert_int_equal(armed->deadline, tsc + 1000000);
	/* Then it tells again, and what it has noted is not lost; a line is enough. */
	add_fault(0x00a0, 0, true, IOMMU_REPORTS);
	tsc += 1000000;
	armed->fn(armed);
	assert_string_equal(held, "0- 0+ ");
	assert_non_null(strstr(lines, "more of it is not reported"));
	lines[0] = 0;
	armed = NULL;
	for (unsigned i = 0; i < 64; i++)
		add_fault(0x00a0, 0, true, IOMMU_REPORTS + 1);
	assert_true(nmi());
	assert_string_equal(held, "0- 0+ 0- ");
	assert_non_null(armed);
	expect("");
	/* One that has broken since is left alone. */
	iommu_units[0].broken = "does not answer";
	armed->fn(armed);
	assert_string_equal(held, "0- 0+ 0- ");
}

/* Units that have nobody to tell are not told to be quiet, nor to speak. */
static void test_pace_without_message(void **)
{
	boot_cpu.apic_id = 255;
	iommu_init();
	for (unsigned i = 0; i < 200; i++)
		add_fault(0x00a0, 0, true, IOMMU_REPORTS + 1);
	assert_true(nmi());
	assert_true(!held[0] && !armed);
}

/*
 * What is left of a full log after one look is seen a second later, and by whoever asks before
 * that.
 */
static void test_left_over(void **)
{
	acpi.dmar = NULL;
	acpi.ivrs = &ivrs;
	iommu_init();
	for (unsigned i = 0; i < 600; i++)
		add_fault(0x00a0, 0, true, IOMMU_REPORTS + 1);
	assert_true(nmi());
	assert_string_equal(held, "0- ");
	assert_int_equal(armed->deadline, tsc + 1000000);
	assert_int_equal(nr_faults, 600 - IOMMU_LOG);
	/* A look before that does not put it off. */
	tsc += 500000;
	assert_true(nmi());
	assert_int_equal(armed->deadline, tsc + 500000);
	assert_int_equal(nr_faults, 600 - 2 * IOMMU_LOG);
	armed->fn(armed);
	assert_int_equal(nr_faults, 0);
	assert_string_equal(held, "0- 0+ 0- ");
	expect_state(USB, 0, 600, 0);
	/* Whoever asks need not wait for a message, and arms nothing: timers are the boot CPU's. */
	for (unsigned i = 0; i < 300; i++)
		add_fault(0x00a0, 0, true, IOMMU_REPORTS + 1);
	armed = NULL;
	expect_state(USB, 0, 600 + IOMMU_LOG, 0);
	assert_null(armed);
}

/* What was blocked before anybody listened is told, or its unit would be silent for ever. */
static void test_before(void **)
{
	add_fault(0x00a0, 0x1000, true, 1);
	iommu_init();
	assert_non_null(strstr(
		lines, "iommu: 00:14.0, nobody's: DMA blocked: writes to 0x1000, reason 5\n"));
	assert_int_equal(nr_faults, 0);
}

static void test_faults(void **)
{
	struct host_iommu *d, *other;

	add_unit(ACPI_DMAR_DRHD, 0xfed92000, 1, 0);
	dmar.unit[2].segment = 1;
	iommu_init();
	lines[0] = 0;
	assert_false(nmi());
	assert_int_equal(host_iommu_create(&vm0, &d), 0);
	assert_int_equal(host_iommu_attach(d, FAR), 0);
	assert_int_equal(host_iommu_create(&vm1, &other), 0);
	assert_int_equal(host_iommu_attach(other, OTHER), 0);
	add_fault(0x0311, 0, true, IOMMU_REPORTS + 1);
	add_fault(0x0311, 0x12345000, false, IOMMU_REPORTS);
	add_fault(0x00a0, 0x1000, true, 1);
	add_fault(0x0311, 0xabcdef000, true, 1);
	assert_true(nmi());
	expect("iommu: 03:02.1, of vm0: DMA blocked: writes to 0xabcdef000, reason 5\n"
	       "iommu: 00:14.0, nobody's: DMA blocked: writes to 0x1000, reason 5\n"
	       "iommu: 03:02.1, of vm0: DMA blocked: reads from 0x12345000, reason 5; more of it is not reported\n");
	fault_unit = 0xfed92000;
	add_fault(0x0311, 0x1000, true, 1);
	assert_true(nmi());
	expect("iommu: 03:02.1, of vm1: DMA blocked: writes to 0x1000, reason 5\n");
	fault_unit = 0xfed90000;
	fault[nr_faults++] = (struct iommu_fault){
		.bdf = 0x0311, .interrupt = true, .address = 0x17, .reason = 0x26, .count = 1
	};
	assert_true(nmi());
	expect("iommu: 03:02.1, of vm0: interrupt blocked: entry 0x17, reason 38\n");
	/*
	 * Whoever has a function hears of all, and what was blocked is counted until somebody has
	 * it again.
	 */
	assert_true(heard[0].index == FAR && heard[0].count == 4 && !heard[0].storms);
	assert_true(heard[1].index == OTHER && heard[1].count == 1);
	expect_state(FAR, 1, 3, 1);
	expect_state(OTHER, 2, 1, 0);
	expect_state(USB, 0, 1, 0);
	add_fault(0x0311, 0, true, IOMMU_REPORTS + 1);
	fault[nr_faults++] =
		(struct iommu_fault){ .bdf = 0x0311, .interrupt = true, .count = IOMMU_REPORTS };
	fault[nr_faults++] = (struct iommu_fault){ .bdf = 0x0311,
						   .interrupt = true,
						   .count = IOMMU_REPORTS - 1 };
	assert_true(nmi());
	assert_int_equal(heard[0].storms, 1);
	expect_state(FAR, 1, 4, 3);
	lines[0] = 0;
	assert_int_equal(host_iommu_detach(FAR), 0);
	expect_state(FAR, 0, 4, 3);
	assert_int_equal(host_iommu_attach(d, FAR), 0);
	expect_state(FAR, 1, 0, 0);
	/* A storm does not keep the CPU. */
	for (unsigned i = 0; i < 300; i++)
		add_fault(0x0311, 0, true, IOMMU_REPORTS + 1);
	assert_true(nmi());
	assert_int_equal(nr_faults, 300 - 256);
	lines[0] = 0;
	/* One that ends its unit is the last. */
	fault_breaks = true;
	assert_true(nmi());
	assert_int_equal(nr_faults, 300 - 256 - 1);
	expect("iommu: the unit at 0xfed90000 does not answer any more: its functions are given to no VM\n");
	assert_false(nmi());
	host_iommu_detach(FAR);
	host_iommu_destroy(d);
}

/*
 * Its unit does not answer as a function is to be detached: the tables stay, for they may be read
 * still (VT-d 4.0, 6.5: a change holds once its invalidation has been waited for), and so does the
 * number. Whoever had them is over, and is looked at no more.
 */
static void test_abandoned(void **)
{
	struct host_iommu_user *user = malloc(sizeof(*user));
	struct host_iommu_state s;
	struct host_iommu *d, *next;

	*user = (struct host_iommu_user){ "vm0", "dma = iommu", hear, (void *)0, -1 };
	iommu_init();
	assert_int_equal(host_iommu_create(user, &d), 0);
	assert_int_equal(host_iommu_attach(d, FAR), 0);
	set_says = -EIO;
	assert_int_equal(host_iommu_detach(FAR), -EIO);
	host_iommu_abandon(d);
	free(user);
	assert_true(host_iommu_state(FAR, &s));
	assert_int_equal(s.domain, 1);
	assert_string_equal(s.mode, "kept by an IOMMU that does not answer");
	assert_int_equal(host_iommu_create(&vm1, &next), 0);
	assert_int_equal(next->id, 2);
	/* Were it heard of once more, it would be nobody's that is there. */
	iommu_units[0].broken = NULL;
	add_fault(0x0311, 0x1000, true, 1);
	lines[0] = 0;
	assert_true(nmi());
	expect("iommu: 03:02.1, of a VM that has ended: DMA blocked: writes to 0x1000, reason 5\n");
	assert_int_equal(heard[0].count, 0);
	host_iommu_destroy(next);
	host_iommu_destroy(d);
}

/*
 * Two I/O APICs, of which one is no function that is to be seen, and one behind a port; a unit for
 * each segment.
 */
static void remapping_machine(void)
{
	static const u8 hidden[] = { PCI_DEVFN(0x1e, 7) },
			behind[] = { PCI_DEVFN(0x1c, 0), PCI_DEVFN(2, 0) };

	dmar.flags = ACPI_DMAR_INTR_REMAP;
	add_scope(3, 1, hidden);
	dmar.scope[dmar.nr_scopes - 1].start_bus = 0xf0;
	dmar.scope[dmar.nr_scopes - 1].enumeration_id = 8;
	add_unit(ACPI_DMAR_DRHD, 0xfed92000, 1, 0);
	dmar.unit[2].segment = 1;
	/* The first unit's scopes go on behind all others. */
	dmar.scope[dmar.nr_scopes] = dmar.scope[0];
	dmar.unit[0].first_scope = dmar.nr_scopes++;
	dmar.scope[dmar.nr_scopes++] = (struct dmar_scope){
		.type = 3,
		.enumeration_id = 9,
		.depth = 2,
		.path = { { behind[0] >> 3, behind[0] & 7 }, { behind[1] >> 3, behind[1] & 7 } },
	};
	dmar.unit[0].nr_scopes = 2;
	madt.nr_ioapics = 2;
	madt.ioapic[0].id = 9;
	madt.ioapic[0].gsi_base = 24;
	madt.ioapic[1].id = 8;
	for (unsigned i = 0; i < 3; i++)
		unit_remaps[i] = unit_wide[i] = true;
	x2apic = true;
}

#define IN_USE "iommu: VT-d, 3 of 3 units in use: DMA "

static void check_entry(unsigned unit, unsigned n, struct interrupt want)
{
	const struct interrupt *i = &entry[unit][n].i;

	assert_true(entry[unit][n].filled);
	assert_true(i->apic_id == want.apic_id && i->source == want.source &&
		    i->vector == want.vector && i->mode == want.mode && i->level == want.level);
}

/* Its entries are kept from this one on. */
static void keep(unsigned index, unsigned count, unsigned first, unsigned gets)
{
	assert_int_equal(host_iommu_reserve(index, count, &kept[index]), 0);
	assert_true(kept[index].first == first && kept[index].count == gets);
}

/*
 * What is asked for is in a table of its unit's, as large as its functions and I/O APICs may want.
 */
static void test_interrupts(void **)
{
	struct host_msi one = { .cpu = 0, .first = 0x31 }, four = { .cpu = 1, .first = 0x40 },
			many[60] = { 0 };
	u64 input = 0xff00000000002400;
	unsigned count = 0;

	remapping_machine();
	iommu_init();
	expect(IN_USE "and interrupts contained\n");
	/* 128 for an I/O APIC; twice 32 for each function, and twice FAR's 300. */
	assert_string_equal(remap_log, "0:1024 wide 1:512 wide 2:256 wide ");
	assert_true(host_iommu_wide());
	keep(FAR, 600, 128, 640);
	keep(CARD_1, 64, 128, 64);
	assert_int_equal(host_iommu_message(FAR, &kept[FAR], 1, &one), 0);
	assert_true(one.entries == 1 && one.entry == 128 && one.address == 128 && !one.data);
	check_entry(0, 128, (struct interrupt){ .apic_id = 5, .source = 0x311, .vector = 0x31 });
	assert_int_equal(host_iommu_message(FAR, &kept[FAR], 4, &four), 0);
	assert_true(four.entries == 4 && four.entry == 132 && four.address == (132 | 1u << 31) &&
		    !four.data);
	for (unsigned n = 0; n < 4; n++)
		check_entry(0, 132 + n,
			    (struct interrupt){
				    .apic_id = 300, .source = 0x311, .vector = (u8)(0x40 + n) });
	interrupt_remapping->forget(&one);
	assert_false(entry[0][128].filled || one.entries);
	interrupt_remapping->forget(&one);
	assert_int_equal(host_iommu_message(CARD_1, &kept[CARD_1], 1, &one), 0);
	check_entry(1, 128, (struct interrupt){ .apic_id = 5, .source = 0x101, .vector = 0x31 });
	assert_true(one.unit == 1);
	forget(&four);
	for (unsigned n = 0; n < 4; n++)
		assert_false(entry[0][132 + n].filled);
	/* Those that are kept for it, whatever else the table has. */
	assert_int_equal(host_iommu_message(USB, &kept[USB], 32, &four), -ENOSPC);
	keep(USB, 65, 192, 128);
	while (count < 12 && !host_iommu_message(USB, &kept[USB], 32, &many[count]))
		count++;
	assert_int_equal(count, 4);
	assert_true(many[0].entry == 192 && many[3].entry == 288);
	four.entries = 0;
	assert_int_equal(host_iommu_message(USB, &kept[USB], 32, &four), -ENOSPC);
	assert_int_equal(four.entries, 0);
	while (count--)
		forget(&many[count]);
	assert_int_equal(host_iommu_message(USB, &kept[USB], 32, &four), 0);
	/* Inputs: of the second I/O APIC, and the first; their entries are nobody's else. */
	assert_int_equal(iommu_route_input(4, 300, &input), 0);
	assert_true(input == (4ull << 32 | 0x2400));
	check_entry(1, 4, (struct interrupt){ .apic_id = 300, .source = 0xf0f7, .mode = 4 });
	input = 0x1a045;
	assert_int_equal(iommu_route_input(26, 7, &input), 0);
	check_entry(
		0, 2,
		(struct interrupt){ .apic_id = 7, .source = 0x110, .vector = 0x45, .level = true });
	interrupt_remapping->close(26);
	assert_true(!entry[0][2].filled && entry[1][4].filled);
	/* A unit that does not answer. */
	silent = true;
	assert_int_equal(host_iommu_message(FAR, &kept[FAR], 2, &many[0]), -EIO);
	assert_int_equal(iommu_route_input(26, 7, &input), -EIO);
}

/*
 * A table has room for all VFs that there can be. Functions get less than they want where less is
 * left, or nothing, alone.
 */
static void test_room(void **)
{
	struct host_messages another;
	struct host_msi one = { .cpu = 0, .first = 0x31 };

	remapping_machine();
	card_vfs = 63;
	iommu_init();
	expect(IN_USE "and interrupts contained\n");
	/* GSI 0 is below the second. */
	assert_true(!iommu_units[0].nmis && iommu_units[1].nmis && !iommu_units[2].nmis);
	/* An I/O APIC's 128, and 64 for each of three functions and 63 VFs. */
	assert_string_equal(remap_log, "0:1024 wide 1:8192 wide 2:256 wide ");
	keep(CARD_0, 2 * 2048, 128, 4096);
	keep(CARD_1, 2 * 2048, 4224, 3968);
	assert_int_equal(host_iommu_reserve(USB, 64, &another), -ENOSPC);
	assert_true(!another.count);
	assert_int_equal(host_iommu_message(USB, &another, 1, &one), -ENOSPC);
	/* Another's unit has some. */
	keep(FAR, 1, 128, 64);
	host_iommu_release(&kept[CARD_0]);
	assert_true(!kept[CARD_0].count);
	host_iommu_release(&kept[CARD_0]);
	keep(USB, 64, 128, 64);
	keep(CARD_0, 64, 192, 64);
	card_vfs = 0;
}

static void ivrs_machine(void)
{
	remapping_machine();
	acpi.dmar = NULL;
	acpi.ivrs = &ivrs;
	/*
	 * PORT_B is nobody's: its unit has but the functions behind it. The unit is the second
	 * function of the machine.
	 */
	dmar.scope[dmar.unit[0].first_scope] =
		(struct dmar_scope){ .type = DMAR_SCOPE_RANGE, .first = 0x200, .last = 0x5ff };
	dmar.unit[1].flags = 0;
	dmar.scope[dmar.nr_scopes] = dmar.scope[dmar.unit[1].first_scope];
	dmar.unit[1].first_scope = dmar.nr_scopes++;
	dmar.scope[dmar.nr_scopes++] =
		(struct dmar_scope){ .type = DMAR_SCOPE_RANGE, .first = 0xa0, .last = 0xa0 };
	dmar.scope[dmar.nr_scopes++] =
		(struct dmar_scope){ .type = DMAR_SCOPE_ALIAS, .first = 0x100, .last = 0x100 };
	dmar.scope[dmar.nr_scopes++] =
		(struct dmar_scope){ .type = DMAR_SCOPE_RANGE, .first = 0x101, .last = 0x1ff };
	dmar.scope[dmar.nr_scopes++] =
		(struct dmar_scope){ .type = DMAR_SCOPE_HPET, .first = 0xa0, .last = 0xa0 };
	dmar.unit[1].nr_scopes = 5;
	dmar.unit[1].function = 0xe0;
	dmar.unit[1].hints = 0x21;
}

/*
 * An IVRS: each requester ID has entries of its own, and what sends by another's, or shares an I/O
 * APIC's, is no VM's.
 */
static void test_ivrs(void **)
{
	struct host_msi one = { .cpu = 0, .first = 0x31 }, four = { .cpu = 1, .first = 0x40 },
			rest[4];
	u64 input = 0xff00000000002400, level = 0x1a045;

	for (unsigned n = 0; n < 4; n++)
		rest[n] = (struct host_msi){ .cpu = 1, .first = 0x50 };
	ivrs_machine();
	iommu_init();
	expect("iommu: AMD-Vi, 3 of 3 units in use: DMA and interrupts contained\n");
	assert_true(iommu_units[1].function == PORT_A && iommu_units[1].hints == 0x21 &&
		    iommu_units[0].function == -1);
	assert_string_equal(host_iommu_unfit(PORT_B), "the firmware names no IOMMU for it");
	assert_string_equal(host_iommu_unfit(USB),
			    "it sends by another's requester ID, or an I/O APIC by its");
	assert_string_equal(host_iommu_unfit(CARD_0),
			    "it sends by another's requester ID, or an I/O APIC by its");
	assert_null(host_iommu_unfit(CARD_1));
	assert_null(host_iommu_unfit(FAR));
	keep(FAR, 600, 0, 16);
	keep(CARD_1, 64, 0, 16);
	assert_int_equal(host_iommu_message(FAR, &kept[FAR], 1, &one), 0);
	assert_true(one.entry == 0x11 && one.source == 0x311 && one.address == 0xfee00000 &&
		    one.data == 0x11);
	check_entry(0, 0x11, (struct interrupt){ .apic_id = 5, .source = 0x311, .vector = 0x31 });
	assert_int_equal(host_iommu_message(CARD_1, &kept[CARD_1], 4, &four), 0);
	assert_true(four.unit == 1 && four.entry == 1 && four.entries == 4 && four.data == 1);
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(host_iommu_message(CARD_1, &kept[CARD_1], 4, &rest[n]), 0);
	assert_int_equal(host_iommu_message(CARD_1, &kept[CARD_1], 4, &rest[3]), -ENOSPC);
	forget(&four);
	for (unsigned n = 1; n < 5; n++)
		assert_true(!entry[1][n].filled && entry[1][n].i.source == 0x101);
	assert_int_equal(host_iommu_message(CARD_1, &kept[CARD_1], 4, &rest[3]), 0);
	/*
	 * Inputs, each by an entry that is taken for it, and given back; NMIs pass as they are, not
	 * to high IDs.
	 */
	assert_int_equal(iommu_route_input(4, 300, &input), -ERANGE);
	assert_int_equal(iommu_route_input(4, 5, &input), 0);
	assert_true(entry[1][0xf7].filled && entry[1][0xf7].i.source == 0xf0f7);
	assert_int_equal(iommu_route_input(26, 7, &level), 0);
	assert_true(level >> 32 == 0x50);
	check_entry(
		0, 0x50,
		(struct interrupt){ .apic_id = 7, .source = 0x110, .vector = 0x45, .level = true });
	level = 0x1a046;
	assert_int_equal(iommu_route_input(26, 7, &level), 0);
	check_entry(
		0, 0x50,
		(struct interrupt){ .apic_id = 7, .source = 0x110, .vector = 0x46, .level = true });
	interrupt_remapping->close(26);
	assert_true(!entry[0][0x50].filled && entry[1][0xf7].filled);
	interrupt_remapping->close(26);
	for (unsigned n = 0x10; n < 0x20; n++)
		entry[0][n].filled = true;
	assert_int_equal(iommu_route_input(26, 7, &level), -ENOSPC);
}

/* What sends as the platform's past its IOMMU, by the firmware's word, does so, and is no VM's. */
static void test_ivrs_settings(void **)
{
	ivrs_machine();
	dmar.scope[dmar.unit[0].first_scope].settings = 0x04;
	dmar.scope[dmar.unit[1].first_scope + 4].settings = 0xd7;
	dmar.unit[2].settings = 0x10;
	iommu_init();
	assert_string_equal(allowed, "0:200-5ff:4 1:a0-a0:d7 2:0-ffff:10 ");
	assert_string_equal(host_iommu_unfit(FAR),
			    "the firmware has it send INIT, NMI or the like past its IOMMU, as the "
			    "platform's own (IVHD)");
	assert_null(host_iommu_unfit(CARD_1));
	assert_int_equal(dmar_settings(&dmar, &functions[FAR]), 4);
	assert_int_equal(dmar_settings(&dmar, &functions[USB]), 0xd7);
	assert_int_equal(dmar_settings(&dmar, &functions[PORT_B]), 0);
	assert_int_equal(dmar_settings(&dmar, &(struct pci_function){ .address.segment = 1 }),
			 0x10);
}

/* One that is out of use is told nothing. */
static void test_settings_of_broken(void **)
{
	ivrs_machine();
	dmar.scope[dmar.unit[0].first_scope].settings = 0x04;
	dmar.unit[2].settings = 0x10;
	start_says[0] = "lies";
	iommu_init();
	assert_string_equal(allowed, "2:0-ffff:10 ");
}

/* As before the boot. */
static void forget_units(void)
{
	for (unsigned i = 0; i < 3; i++)
		free(tables[i].use);
	memset(tables, 0, sizeof(tables));
	memset(iommu_units, 0, sizeof(iommu_units));
	domains_used = 1;
	remap_log[0] = '\0';
}

static void refuses(const char *why)
{
	struct host_msi msi = { .cpu = 1, .first = 0x40, .address = 0x1234 };
	char line[200];
	u64 input = 0x2400;

	iommu_init();
	snprintf(line, sizeof(line), IN_USE "contained, interrupts not: %s\n", why);
	expect(line);
	/* All is as without. */
	assert_false(host_iommu_wide());
	assert_int_equal(host_iommu_message(FAR, &kept[FAR], 1, &msi), 0);
	assert_true(msi.address == 0x1234 && !msi.entries);
	assert_int_equal(iommu_route_input(4, 254, &input), 0);
	assert_int_equal(input, 0x2400);
	assert_int_equal(iommu_route_input(4, 255, &input), -ERANGE);
	assert_null(interrupt_remapping);
	forget_units();
}

/* All units that have anything can do it, or none does. */
static void test_not_remapped(void **)
{
	remapping_machine();
	dmar.flags = ACPI_DMAR_X2APIC_OPT_OUT;
	refuses("the firmware's tables do not want it");
	dmar.flags = ACPI_DMAR_INTR_REMAP;
	unit_remaps[2] = false;
	refuses("no unit remaps those of 03:02.1");
	unit_remaps[2] = true;
	unit_remaps[1] = false;
	refuses("no unit remaps those of I/O APIC 8");
	unit_remaps[1] = true;
	madt.ioapic[1].id = 7;
	refuses("no unit remaps those of I/O APIC 7");
	madt.ioapic[1].id = 8;
	/* A path over what is no bridge leads nowhere. */
	dmar.scope[dmar.unit[0].first_scope + 1].path[0].device = 9;
	refuses("no unit remaps those of I/O APIC 9");
	dmar.scope[dmar.unit[0].first_scope + 1].path[0].device = 0x1c;
	dmar.unit[1].flags = 0;
	refuses("no unit remaps those of 00:14.0");
	dmar.unit[1].flags = 1;
	remap_says[1] = "does not answer";
	iommu_init();
	expect(IN_USE "contained, interrupts not: the unit at 0xfed91000 does not answer\n");
	assert_string_equal(remap_log, "0:1024 wide 1:512 wide 0:0 1:0 2:0 ");
	forget_units();
}

/* APIC IDs of 32 bits only if the firmware does not mind, all units can, and the CPUs do. */
static void test_narrow(void **)
{
	u64 input = 0x2400;

	remapping_machine();
	for (unsigned i = 0; i < 3; i++) {
		dmar.flags = (u8)(ACPI_DMAR_INTR_REMAP | (i == 0 ? ACPI_DMAR_X2APIC_OPT_OUT : 0));
		unit_wide[1] = i != 1;
		x2apic = i != 2;
		iommu_init();
		expect(IN_USE "and interrupts contained\n");
		assert_string_equal(remap_log, "0:1024 1:512 2:256 ");
		assert_false(host_iommu_wide());
		assert_int_equal(iommu_route_input(4, 255, &input), -ERANGE);
		assert_int_equal(iommu_route_input(4, 254, &input), 0);
		forget_units();
	}
}

/*
 * What a VM has left may stand in a cache: no access passes by it, where all units can see to that.
 */
static void test_snoops(void **)
{
	struct host_iommu *d;

	for (unsigned can = 0; can < 4; can++) {
		unit_snoops[0] = can & 1;
		unit_snoops[1] = can & 2;
		iommu_init();
		assert_int_equal(host_iommu_create(&vm0, &d), 0);
		assert_ptr_equal(d->tables.fmt, can == 3 ? &ept_format : &npt_format);
		host_iommu_destroy(d);
		forget_units();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_scopes, reset),
		cmocka_unit_test_setup(test_large, reset),
		cmocka_unit_test_setup(test_none, reset),
		cmocka_unit_test_setup(test_reserved, reset),
		cmocka_unit_test_setup(test_lies, reset),
		cmocka_unit_test_setup(test_cost, reset),
		cmocka_unit_test_setup(test_domains, reset),
		cmocka_unit_test_setup(test_one_works, reset),
		cmocka_unit_test_setup(test_faults, reset),
		cmocka_unit_test_setup(test_abandoned, reset),
		cmocka_unit_test_setup(test_pace, reset),
		cmocka_unit_test_setup(test_left_over, reset),
		cmocka_unit_test_setup(test_before, reset),
		cmocka_unit_test_setup(test_elastic, reset),
		cmocka_unit_test_setup(test_pace_without_message, reset),
		cmocka_unit_test_setup(test_interrupts, reset),
		cmocka_unit_test_setup(test_not_remapped, reset),
		cmocka_unit_test_setup(test_narrow, reset),
		cmocka_unit_test_setup(test_room, reset),
		cmocka_unit_test_setup(test_ivrs, reset),
		cmocka_unit_test_setup(test_ivrs_settings, reset),
		cmocka_unit_test_setup(test_settings_of_broken, reset),
		cmocka_unit_test_setup(test_snoops, reset),
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
