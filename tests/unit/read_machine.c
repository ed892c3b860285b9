/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/read_machine.sources */
/*
 * No test of its own: what the readers of the image make of one recorded machine (tests/machines).
 * read_machine TABLES FUNCTIONS [FACTS]. TABLES: its ACPI tables, one behind another. FACTS: a
 * module of facts, to take, or to end with status 3. FUNCTIONS: a line for each PCI function that
 * it is given: label, segment, bus, devfn, header type, secondary bus, pin, interrupt line. Prints
 * a fact on each line, "subject = value", "unknown" where the reader does not know.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <margay/host.h>
#include "kernel/acpi/acpi.h"
#include "kernel/acpi/aml_cst.h"
#include "kernel/acpi/s5.h"
#include "kernel/iommu/iommu.h"
#include "kernel/log/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_route.h"

#define MAX_TABLES 128
#define MAX_ROOTS 64

static struct acpi_sdt *table[MAX_TABLES];
static unsigned nr_tables;
static struct pci_function function[HOST_PCI_FUNCTIONS];
static struct {
	char label[160];
	u32 interrupt;
} given[HOST_PCI_FUNCTIONS];
static unsigned nr_functions;

const struct acpi_sdt *acpi_table(const char signature[4], unsigned instance)
{
	for (unsigned i = 0; i < nr_tables; i++)
		if (!memcmp(table[i]->signature, signature, 4) && !instance--)
			return table[i];
	return NULL;
}

const struct pci_function *pci_get(unsigned i)
{
	return i < nr_functions ? &function[i] : NULL;
}

/* Of the groups, which nobody asks for here. */
u16 pci_find_cap(const struct pci_function *, u16)
{
	return 0;
}

u16 pci_find_extended_cap(const struct pci_function *, u16)
{
	return 0;
}

bool pci_change16(const struct pci_function *, u16, u16, u16)
{
	return true;
}

/* A bridge may be where one of the functions is that stand for its bus' devices: it has no pin. */
u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	for (unsigned i = 0; i < nr_functions; i++)
		if (offset == 0x3c && size == 4 && given[i].interrupt >> 8 &&
		    !memcmp(&function[i].address, &a, sizeof(a)))
			return given[i].interrupt;
	return 0;
}

int numa_node_of_proximity(u32 domain)
{
	return (int)domain;
}

void printk_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void printk_debug(const char *, ...) { }

static bool taken;

void printk(const char *, ...)
{
	taken = true;
}

static struct host_module facts;

const struct host_module *host_module(unsigned i)
{
	return i || !facts.name ? NULL : &facts;
}

void *host_pages_alloc(unsigned count, int)
{
	return calloc(count, PAGE_SIZE);
}

void host_pages_free(void *pages, unsigned)
{
	free(pages);
}

static void die(const char *what)
{
	fprintf(stderr, "read_machine: %s\n", what);
	exit(2);
}

/* Each in memory of exactly its size, for the sanitizer. */
static void load_tables(const char *path)
{
	struct acpi_sdt h;
	FILE *f = fopen(path, "rb");

	if (!f)
		die("no tables");
	while (fread(&h, sizeof(h), 1, f) == 1) {
		size_t rest = h.length - sizeof(h);

		if (h.length < sizeof(h) || h.length > MIB(16) || nr_tables == MAX_TABLES)
			die("tables that make no sense");
		table[nr_tables] = malloc(h.length);
		memcpy(table[nr_tables], &h, sizeof(h));
		if (rest && fread(table[nr_tables] + 1, rest, 1, f) != 1)
			die("a table is cut");
		nr_tables++;
	}
	fclose(f);
}

static void load_functions(const char *path)
{
	unsigned segment, bus, devfn, header, secondary, pin, line;
	FILE *f = fopen(path, "r");

	if (!f)
		die("no functions");
	while (fscanf(f, "%159s %x %x %x %x %x %x %x", given[nr_functions].label, &segment, &bus,
		      &devfn, &header, &secondary, &pin, &line) == 8) {
		function[nr_functions].address =
			(struct pci_address){ (u16)segment, (u8)bus, (u8)devfn };
		function[nr_functions].header_type = (u8)header;
		function[nr_functions].secondary_bus = (u8)secondary;
		given[nr_functions].interrupt = pin << 8 | line;
		if (++nr_functions == HOST_PCI_FUNCTIONS)
			die("too many functions");
	}
	fclose(f);
}

static void load_facts(const char *path)
{
	char *text = malloc(MIB(1));
	FILE *f = fopen(path, "r");

	if (!f)
		die("no facts");
	facts = (struct host_module){ "facts:given", "", text, fread(text, 1, MIB(1), f) };
	fclose(f);
}

/* ---- flat tables ------------------------------------------------------------------------ */

#define HEX(v) (unsigned long long)(v)

static void madt(const void *t, u32 size)
{
	static struct madt_info m;
	const char *reason = madt_read(t, size, &m);

	if (reason) {
		printf("madt = refused: %s\n", reason);
		return;
	}
	printf("madt lapic = %llx\nmadt pcat = %d\nmadt cpus =", HEX(m.lapic_address),
	       m.pcat_compat);
	for (unsigned i = 0; i < m.nr_cpus; i++)
		printf(" %x:%x", m.cpu[i].apic_id, m.cpu[i].uid);
	printf("\nmadt ioapics =");
	for (unsigned i = 0; i < m.nr_ioapics; i++)
		printf(" %x:%x:%llx", m.ioapic[i].id, m.ioapic[i].gsi_base,
		       HEX(m.ioapic[i].address));
	printf("\nmadt isa =");
	for (unsigned i = 0; i < 16; i++)
		printf(" %x:%x", m.isa[i].gsi, m.isa[i].flags);
	printf("\nmadt nmis =");
	for (unsigned i = 0; i < m.nr_nmis; i++)
		printf(m.nmi[i].all ? " all:%u:%x" : " %x:%u:%x",
		       m.nmi[i].all ? m.nmi[i].lint : m.nmi[i].uid,
		       m.nmi[i].all ? m.nmi[i].flags : m.nmi[i].lint, m.nmi[i].flags);
	printf("\n");
}

static void srat(const void *t, u32 size)
{
	static struct srat_info s;
	const char *reason = srat_read(t, size, &s);

	if (reason) {
		printf("srat = refused: %s\n", reason);
		return;
	}
	printf("srat cpus =");
	for (unsigned i = 0; i < s.nr_cpus; i++)
		printf(" %x:%x", s.cpu[i].apic_id, s.cpu[i].domain);
	printf("\nsrat memory =");
	for (unsigned i = 0; i < s.nr_memory; i++)
		printf(" %llx:%llx:%x", HEX(s.memory[i].base), HEX(s.memory[i].size),
		       s.memory[i].domain);
	printf("\n");
}

static void slit(const void *t, u32 size)
{
	static struct slit_info s;
	const char *reason = slit_read(t, size, &s);

	if (reason) {
		printf("slit = refused: %s\n", reason);
		return;
	}
	printf("slit =");
	for (unsigned i = 0; i < s.count * s.count; i++)
		printf(" %u", s.distance[i]);
	printf("\n");
}

static void mcfg(const void *t, u32 size)
{
	struct mcfg_info m;
	const char *reason = mcfg_read(t, size, &m);

	if (reason) {
		printf("mcfg = refused: %s\n", reason);
		return;
	}
	printf("mcfg =");
	for (unsigned i = 0; i < m.count; i++)
		printf(" %llx:%x:%x-%x", HEX(m.entry[i].base), m.entry[i].segment,
		       m.entry[i].bus_start, m.entry[i].bus_end);
	printf("\n");
}

static void gas(const char *name, struct acpi_gas g)
{
	printf("fadt %s = %u:%llx\n", name, g.space_id, HEX(g.address));
}

static void fadt(const void *t, u32 size)
{
	struct fadt_info f;
	const char *reason = fadt_read(t, size, &f);

	if (reason) {
		printf("fadt = refused: %s\n", reason);
		return;
	}
	printf("fadt flags = %x\nfadt boot = %x\nfadt century = %x\nfadt dsdt = %llx\n", f.flags,
	       f.boot_arch, f.century, HEX(f.dsdt));
	printf("fadt smi = %x:%x\nfadt reset_value = %x\n", f.smi_cmd, f.acpi_enable,
	       f.reset_value);
	gas("pm1a", f.pm1a_cnt);
	gas("pm1b", f.pm1b_cnt);
	gas("timer", f.pm_tmr);
	gas("reset", f.reset_reg);
	gas("sleep_control", f.sleep_control);
	gas("sleep_status", f.sleep_status);
}

static void hpet(const void *t, u32 size)
{
	struct hpet_info h;
	const char *reason = hpet_table_read(t, size, &h);

	if (reason)
		printf("hpet = refused: %s\n", reason);
	else
		printf("hpet = %x:%llx\n", h.number, HEX(h.base));
}

static void dmar(const void *t, u32 size)
{
	static struct dmar_info d;
	const char *reason = dmar_read(t, size, &d);

	if (reason) {
		printf("dmar = refused: %s\n", reason);
		return;
	}
	printf("dmar width = %u\ndmar flags = %x\ndmar units =", d.address_width, d.flags);
	for (unsigned i = 0; i < d.nr_units; i++) {
		const struct dmar_unit *u = &d.unit[i];

		printf(" %x:%x:%x:%llx:%llx:%x", u->type, u->flags, u->segment, HEX(u->base),
		       HEX(u->limit), u->domain);
		for (unsigned k = u->first_scope; k < u->first_scope + u->nr_scopes; k++) {
			const struct dmar_scope *s = &d.scope[k];

			printf("/%x:%x:%x", s->type, s->enumeration_id, s->start_bus);
			for (unsigned n = 0; n < s->depth; n++)
				printf(">%x.%x", s->path[n].device, s->path[n].function);
		}
	}
	printf("\n");
}

/* Who sends what past its IOMMU. */
static void ivrs_settings(const struct ivrs_info *v, const u8 *table)
{
	static struct dmar_info d;
	const char *reason = ivrs_units(v, table, &d);

	if (reason) {
		printf("ivrs settings = refused: %s\n", reason);
		return;
	}
	printf("ivrs settings =");
	for (unsigned i = 0; i < d.nr_units; i++)
		for (unsigned k = d.unit[i].first_scope;
		     k < d.unit[i].first_scope + d.unit[i].nr_scopes; k++)
			if (d.scope[k].settings)
				printf(" %x:%x-%x:%x", d.unit[i].function, d.scope[k].first,
				       d.scope[k].last, d.scope[k].settings);
	printf("\n");
}

static void ivrs(const void *t, u32 size)
{
	static struct ivrs_info v;
	const char *reason = ivrs_read(t, size, &v);

	if (reason) {
		printf("ivrs = refused: %s\n", reason);
		return;
	}
	printf("ivrs info = %x\nivrs iommus =", v.iv_info);
	for (unsigned i = 0; i < v.nr_iommus; i++)
		printf(" %x:%x:%x:%x:%x:%llx:%llx", v.iommu[i].type, v.iommu[i].flags,
		       v.iommu[i].segment, v.iommu[i].device_id, v.iommu[i].capability,
		       HEX(v.iommu[i].base), HEX(v.iommu[i].efr));
	printf("\nivrs memory =");
	for (unsigned i = 0; i < v.nr_memory; i++)
		printf(" %x:%x:%x:%x-%x:%llx:%llx", v.memory[i].type, v.memory[i].flags,
		       v.memory[i].segment, v.memory[i].first, v.memory[i].last,
		       HEX(v.memory[i].base), HEX(v.memory[i].size));
	printf("\n");
	ivrs_settings(&v, t);
}

/* ---- AML -------------------------------------------------------------------------------- */

/* As ACPICA writes them: without the underscores that fill up a segment. */
static void print_path(const struct aml_name *path)
{
	for (unsigned i = 0; i < path->n; i++) {
		int n = 4;

		while (n > 1 && (path->seg[i] >> (8 * n - 8) & 0xff) == '_')
			n--;
		printf("%c%.*s", i ? '.' : '\\', n, (const char *)&path->seg[i]);
	}
}

static void print_root(const struct aml_pci_root *r)
{
	printf("root ");
	print_path(&r->path);
	printf(" = %x:%x\nwindows ", r->segment, r->bus);
	print_path(&r->path);
	printf(r->nr_windows ? " =" : " = unknown");
	for (unsigned i = 0; i < r->nr_windows; i++)
		printf(" %c%llx-%llx", "mpb"[r->window[i].type], HEX(r->window[i].first),
		       HEX(r->window[i].last));
	printf("\nnode ");
	print_path(&r->path);
	printf(r->has_proximity ? " = %x\n" : " = unknown\n", r->proximity);
}

static void print_cstates(const struct aml_tables *t)
{
	unsigned count = aml_processors(t, NULL, 0);
	struct aml_processor *p = calloc(count, sizeof(*p));

	aml_processors(t, p, count);
	aml_cstates(t, p, count);
	for (unsigned i = 0; i < count; i++) {
		printf("uid ");
		print_path(&p[i].path);
		printf(" = %x\ncst ", p[i].uid);
		print_path(&p[i].path);
		printf(p[i].states.count ? " =" : " = unknown");
		for (unsigned k = 0; k < p[i].states.count; k++) {
			const struct cstate *s = &p[i].states.state[k];

			printf(" %x:%x:%x:%x:%llx:%x:%x:%x", s->reg.space_id, s->reg.bit_width,
			       s->reg.bit_offset, s->reg.access_size, HEX(s->reg.address), s->type,
			       s->latency, s->power);
		}
		printf("\n");
	}
	free(p);
}

static void aml(void)
{
	static struct aml_span body[MAX_TABLES];
	static struct aml_pci_root root[MAX_ROOTS];
	struct aml_tables all = { body, 0 };
	const struct acpi_sdt *t = acpi_table("DSDT", 0);
	struct s5_info s5;
	unsigned n, beyond;

	if (!t)
		return;
	if (s5_find(t + 1, t->length - sizeof(*t), &s5))
		printf("s5 = %x:%x\n", s5.slp_typa, s5.slp_typb);
	body[all.count++] = (struct aml_span){ (const u8 *)(t + 1), t->length - sizeof(*t) };
	for (unsigned i = 0; (t = acpi_table("SSDT", i)); i++)
		body[all.count++] =
			(struct aml_span){ (const u8 *)(t + 1), t->length - sizeof(*t) };
	print_cstates(&all);
	n = aml_pci_roots(&all, root, MAX_ROOTS, &beyond);
	for (unsigned i = 0; i < n; i++)
		print_root(&root[i]);
	pci_route_init();
	pci_route_facts(host_module);
	if (facts.name && !taken)
		exit(3);
	for (unsigned i = 0; i < nr_functions; i++) {
		struct host_intx at;
		int err = host_intx_route(i, &at);

		if (err == -ENOENT)
			printf("%s = unknown\n", given[i].label);
		else if (!err)
			printf("%s = %x:%s\n", given[i].label, at.gsi,
			       at.active_low ? "low" : "high");
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *signature;
		void (*read)(const void *t, u32 size);
	} flat[] = {
		{ "APIC", madt }, { "SRAT", srat }, { "SLIT", slit }, { "MCFG", mcfg },
		{ "FACP", fadt }, { "HPET", hpet }, { "DMAR", dmar }, { "IVRS", ivrs },
	};

	if (argc != 3 && argc != 4)
		die("TABLES FUNCTIONS [FACTS]");
	if (argc == 4)
		load_facts(argv[3]);
	load_tables(argv[1]);
	load_functions(argv[2]);
	for (unsigned i = 0; i < ARRAY_SIZE(flat); i++) {
		const struct acpi_sdt *t = acpi_table(flat[i].signature, 0);

		if (t)
			flat[i].read(t, t->length);
	}
	aml();
	return 0;
}
