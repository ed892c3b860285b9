/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's ACPI tables: ACPI 6.4, 5.2. A hardware-reduced platform: no PM block, SCI, SMI or
 * FACS.
 */
#include "vmm/acpi/acpi_build.h"

#include <margay/acpi.h>
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/acpi/aml_build.h"
#include "vmm/guest_platform.h"

#define MAX_TABLES 7 /* DSDT, FADT, MADT, SRAT, SLIT, MCFG, WDAT */
#define DSDT 0 /* the first of them, which only the FADT points to; the XSDT to all others */
#define PROFILE_ENTERPRISE_SERVER 4
#define FIRST_X2APIC_ID 255 /* 255 is the xAPIC broadcast ID */

/* A bump allocator over the output, and the addresses of the tables in it. */
struct builder {
	const struct acpi_guest *in;
	u8 *buf;
	u64 gpa;
	size_t size;
	size_t used;
	u64 table[MAX_TABLES];
	unsigned nr_tables;
	int error; /* the first; nothing is built after it */
};

/* n zeroed bytes, 16-byte aligned, or NULL. */
static void *take_bytes(struct builder *b, size_t n)
{
	size_t start = ALIGN_UP(b->used, 16);

	if (b->error)
		return NULL;
	if (start > b->size || n > b->size - start) {
		b->error = -ENOSPC;
		return NULL;
	}
	b->used = start + n;
	return memset(b->buf + start, 0, n);
}

static u64 gpa_of(const struct builder *b, const void *p)
{
	return b->gpa + (u64)((const u8 *)p - b->buf);
}

static u8 checksum(const void *p, size_t n)
{
	const u8 *bytes = p;
	u8 sum = 0;

	while (n--)
		sum += *bytes++;
	return (u8)-sum;
}

/* A table's header, before `length` - header bytes of zero; NULL: there is no room. */
static void *new_table(struct builder *b, const char *signature, u8 revision, size_t length)
{
	struct acpi_sdt *h = take_bytes(b, length);

	if (!h)
		return NULL;
	memcpy(h->signature, signature, 4);
	h->length = (u32)length;
	h->revision = revision;
	memcpy(h->oem_id, "MARGAY", 6);
	memcpy(h->oem_table_id, "MARGAYVM", 8);
	h->oem_revision = 1;
	memcpy(h->creator_id, "MRGY", 4);
	h->creator_revision = 1;
	return h;
}

/* The table is complete: its checksum, and its place in the list. */
static void finish(struct builder *b, struct acpi_sdt *h)
{
	if (b->nr_tables == ARRAY_SIZE(b->table)) {
		b->error = -ENOSPC;
		return;
	}
	h->checksum = checksum(h, h->length);
	b->table[b->nr_tables++] = gpa_of(b, h);
}

/* What is the same for all guests stands here as iasl encodes it (ACPI 6.4, 20.2 and 6.4). */

/* Name (\_S5, Package () { ACPI_S5_TYPE, 0, 0, 0 }) */
static const u8 s5[] = { 0x08, '\\', '_',  'S',          '5', '_', 0x12,
			 0x07, 0x04, 0x0a, ACPI_S5_TYPE, 0,   0,   0 };

/* Without this device a hardware-reduced Linux runs its console by polling. */
/* clang-format off */
static const u8 uart[] = {
	/* Scope (\_SB) { Device (COM0) { */
	0x10, 0x3a, '\\', '_', 'S', 'B', '_', 0x5b, 0x82, 0x32, 'C', 'O', 'M', '0',
	/* Name (_HID, EisaId ("PNP0501")) */
	0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x05, 0x01,
	/* Name (_UID, 0) */
	0x08, '_', 'U', 'I', 'D', 0x00,
	/* Name (_CRS, ResourceTemplate () { */
	0x08, '_', 'C', 'R', 'S', 0x11, 0x17, 0x0b, 0x13, 0x00,
	/* IO (Decode16, GUEST_UART_PORT, GUEST_UART_PORT, 1, GUEST_UART_PORTS) */
	0x47, 0x01, GUEST_UART_PORT & 0xff, GUEST_UART_PORT >> 8, GUEST_UART_PORT & 0xff,
	GUEST_UART_PORT >> 8, 0x01,
	GUEST_UART_PORTS,
	/* Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { GUEST_UART_GSI } */
	0x89, 0x06, 0x00, 0x03, 0x01, GUEST_UART_GSI, 0x00, 0x00, 0x00,
	/* }) */
	0x79, 0x00,
};
/* clang-format on */

static void put_dsdt(struct aml *a, const struct acpi_guest *in)
{
	if (in->power)
		aml_bytes(a, s5, sizeof(s5));
	if (in->uart)
		aml_bytes(a, uart, sizeof(uart));
	acpi_put_devices(a);
	acpi_put_pci(a, in);
	acpi_put_cstates(a, in);
}

/* A table whose content behind the header `put` writes. */
static void encode(struct builder *b, const char *signature, u8 revision,
		   void (*put)(struct aml *a, const struct acpi_guest *in))
{
	struct acpi_sdt *h = new_table(b, signature, revision, sizeof(*h));
	struct aml a;

	if (!h)
		return;
	aml_init(&a, h + 1, b->size - b->used);
	put(&a, b->in);
	b->used += a.len;
	h->length += (u32)a.len;
	b->error = aml_error(&a);
	if (!b->error)
		finish(b, h);
}

/* What a table has between its header and its entries. */
static void put_fixed(struct aml *a, const void *table, size_t size)
{
	aml_bytes(a, (const struct acpi_sdt *)table + 1, size - sizeof(struct acpi_sdt));
}

static struct acpi_gas io_byte(u16 port)
{
	return (struct acpi_gas){
		.space_id = ACPI_SPACE_IO,
		.bit_width = 8,
		.access_size = ACPI_ACCESS_BYTE,
		.address = port,
	};
}

static void build_fadt(struct builder *b)
{
	struct acpi_fadt *f = new_table(b, "FACP", 6, sizeof(*f));

	if (!f)
		return;
	f->minor_version = 4;
	f->preferred_pm_profile = PROFILE_ENTERPRISE_SERVER;
	f->iapc_boot_arch = ACPI_BOOT_NO_VGA | ACPI_BOOT_RTC;
	f->century = ACPI_RTC_CENTURY;
	f->flags = ACPI_FADT_WBINVD | ACPI_FADT_PWR_BUTTON | ACPI_FADT_SLP_BUTTON |
		   ACPI_FADT_HEADLESS | ACPI_FADT_HW_REDUCED;
	if (b->in->power) {
		f->flags |= ACPI_FADT_RESET_REG_SUP;
		f->reset_reg = io_byte(GUEST_RESET_PORT);
		f->reset_value = GUEST_RESET_VALUE;
		f->sleep_control_reg = io_byte(GUEST_SLEEP_CONTROL_PORT);
		f->sleep_status_reg = io_byte(GUEST_SLEEP_STATUS_PORT);
	}
	f->x_dsdt = b->table[DSDT];
	memcpy(&f->hypervisor_vendor_id, "Margay\0", 8);
	finish(b, &f->header);
}

/* One kind of entry for all CPUs: type 9 and x2APIC affinity as soon as one ID asks for it. */
static bool needs_x2apic(const struct acpi_guest *in)
{
	for (unsigned i = 0; i < in->nr_cpus; i++)
		if (in->cpus[i].apic_id >= FIRST_X2APIC_ID)
			return true;
	return in->nr_cpus > FIRST_X2APIC_ID;
}

static void put_madt(struct aml *a, const struct acpi_guest *in)
{
	const struct acpi_madt fixed = { .lapic_address = (u32)GUEST_LAPIC_BASE };
	const struct acpi_madt_ioapic ioapic = {
		.sub = { ACPI_MADT_IOAPIC, sizeof(ioapic) },
		.id = GUEST_IOAPIC_ID,
		.address = (u32)GUEST_IOAPIC_BASE,
	};
	bool wide = needs_x2apic(in);

	put_fixed(a, &fixed, sizeof(fixed));
	for (u32 i = 0; i < in->nr_cpus; i++) {
		u32 id = in->cpus[i].apic_id;
		const struct acpi_madt_x2apic x2apic = {
			.sub = { ACPI_MADT_X2APIC, sizeof(x2apic) },
			.apic_id = id,
			.flags = ACPI_MADT_ENABLED,
			.uid = i,
		};
		const struct acpi_madt_lapic lapic = {
			.sub = { ACPI_MADT_LAPIC, sizeof(lapic) },
			.uid = (u8)i,
			.apic_id = (u8)id,
			.flags = ACPI_MADT_ENABLED,
		};

		aml_bytes(a, wide ? &x2apic.sub : &lapic.sub,
			  wide ? sizeof(x2apic) : sizeof(lapic));
	}
	if (in->ioapic)
		aml_bytes(a, &ioapic, sizeof(ioapic));
}

static void put_srat(struct aml *a, const struct acpi_guest *in)
{
	const struct acpi_srat fixed = { .table_revision = 1 };
	bool wide = needs_x2apic(in);

	put_fixed(a, &fixed, sizeof(fixed));
	for (unsigned i = 0; i < in->nr_cpus; i++) {
		u32 id = in->cpus[i].apic_id, node = in->cpus[i].node;
		const struct acpi_srat_x2apic x2apic = {
			.sub = { ACPI_SRAT_X2APIC, sizeof(x2apic) },
			.domain = node,
			.apic_id = id,
			.flags = ACPI_SRAT_ENABLED,
		};
		const struct acpi_srat_lapic lapic = {
			.sub = { ACPI_SRAT_LAPIC, sizeof(lapic) },
			.domain_lo = (u8)node,
			.apic_id = (u8)id,
			.flags = ACPI_SRAT_ENABLED,
		};

		aml_bytes(a, wide ? &x2apic.sub : &lapic.sub,
			  wide ? sizeof(x2apic) : sizeof(lapic));
	}
	for (unsigned i = 0; i < in->nr_memory; i++) {
		const struct acpi_srat_memory memory = {
			.sub = { ACPI_SRAT_MEMORY, sizeof(memory) },
			.domain = in->memory[i].node,
			.base = in->memory[i].base,
			.size = in->memory[i].size,
			.flags = ACPI_SRAT_ENABLED,
		};

		aml_bytes(a, &memory, sizeof(memory));
	}
}

static void put_slit(struct aml *a, const struct acpi_guest *in)
{
	const struct acpi_slit fixed = { .count = in->nr_nodes };

	put_fixed(a, &fixed, sizeof(fixed));
	aml_bytes(a, in->distances, (size_t)in->nr_nodes * in->nr_nodes);
}

/* PCI Firmware 3.2, 4.1.2. */
static void put_mcfg(struct aml *a, const struct acpi_guest *in)
{
	const struct acpi_mcfg fixed = { 0 };
	const struct acpi_mcfg_entry ecam = { .base = in->ecam_base, .bus_end = in->ecam_last_bus };

	put_fixed(a, &fixed, sizeof(fixed));
	aml_bytes(a, &ecam, sizeof(ecam));
}

static void build_roots(struct builder *b, u64 *rsdp)
{
	unsigned listed = b->nr_tables - (DSDT + 1);
	struct acpi_xsdt *x = new_table(b, "XSDT", 1, sizeof(*x) + listed * sizeof(u64));
	struct acpi_rsdp *r = take_bytes(b, sizeof(*r));

	if (!x || !r)
		return;
	memcpy(x->entry, &b->table[DSDT + 1], listed * sizeof(u64));
	x->header.checksum = checksum(x, x->header.length);
	memcpy(r->signature, "RSD PTR ", 8);
	memcpy(r->oem_id, "MARGAY", 6);
	r->revision = 2;
	r->length = sizeof(*r);
	r->xsdt_address = gpa_of(b, x);
	r->checksum = checksum(r, ACPI_RSDP_V1_SIZE);
	r->extended_checksum = checksum(r, sizeof(*r));
	*rsdp = gpa_of(b, r);
}

static bool input_valid(const struct acpi_guest *in)
{
	if (!in->nr_cpus || !in->nr_nodes || in->nr_nodes > ACPI_GUEST_MAX_NODES)
		return false;
	for (unsigned i = 0; i < in->nr_cpus; i++)
		if (in->cpus[i].node >= in->nr_nodes)
			return false;
	for (unsigned i = 0; i < in->nr_memory; i++)
		if (in->memory[i].node >= in->nr_nodes)
			return false;
	return true;
}

/* Those that the guest needs for what it has. */
static void build_tables(struct builder *b)
{
	const struct acpi_guest *in = b->in;

	encode(b, "DSDT", 2, put_dsdt);
	build_fadt(b);
	encode(b, "APIC", 5, put_madt);
	if (IS_ENABLED(CONFIG_NUMA)) {
		encode(b, "SRAT", 3, put_srat);
		encode(b, "SLIT", 1, put_slit);
	}
	if (IS_ENABLED(CONFIG_PASSTHROUGH) && in->ecam)
		encode(b, "MCFG", 1, put_mcfg);
	if (IS_ENABLED(CONFIG_VM_WATCHDOG) && in->watchdog)
		encode(b, "WDAT", 1, acpi_put_wdat);
}

int acpi_build(const struct acpi_guest *in, u64 gpa_base, void *buf, size_t size, u64 *rsdp,
	       size_t *used)
{
	struct builder b = { .in = in, .buf = buf, .gpa = gpa_base, .size = size };

	if (!input_valid(in) || !IS_ALIGNED(gpa_base, 16))
		return -EINVAL;
	build_tables(&b);
	build_roots(&b, rsdp);
	if (!b.error && used)
		*used = b.used;
	return b.error;
}
