/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's ACPI tables: ACPI 6.4, 5.2. A hardware-reduced platform: no PM block, SCI, SMI or FACS. */
#include "vmm/acpi/acpi_build.h"

#include <margay/acpi.h>
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/acpi/aml_build.h"
#include "vmm/guest_platform.h"

#define MAX_TABLES 6 /* what the XSDT points to */
#define PROFILE_ENTERPRISE_SERVER 4
#define FIRST_X2APIC_ID 255 /* 255 is the xAPIC broadcast ID */

/* A bump allocator over the output, and the tables that the XSDT will list. */
struct builder {
	const struct acpi_guest *in;
	u8 *buf;
	u64 gpa;
	size_t size, used;
	u64 table[MAX_TABLES];
	unsigned nr_tables;
};

/* n zeroed bytes, 16-byte aligned, or NULL. */
static void *take_bytes(struct builder *b, size_t n)
{
	size_t start = ALIGN_UP(b->used, 16);

	if (start > b->size || n > b->size - start)
		return NULL;
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

static void fill_header(struct acpi_sdt *h, const char *signature, u8 revision, size_t length)
{
	memcpy(h->signature, signature, 4);
	h->length = (u32)length;
	h->revision = revision;
	memcpy(h->oem_id, "MARGAY", 6);
	memcpy(h->oem_table_id, "MARGAYVM", 8);
	h->oem_revision = 1;
	memcpy(h->creator_id, "MRGY", 4);
	h->creator_revision = 1;
}

/* The table is complete: its checksum, and its place in the XSDT. */
static void finish(struct builder *b, struct acpi_sdt *h)
{
	h->checksum = 0;
	h->checksum = checksum(h, h->length);
	b->table[b->nr_tables++] = gpa_of(b, h);
}

/* What is the same for all guests stands here as iasl encodes it (ACPI 6.4, 20.2 and 6.4). */

/* Name (\_S5, Package () { ACPI_S5_TYPE, 0, 0, 0 }) */
static const u8 s5[] = { 0x08, '\\', '_', 'S', '5', '_', 0x12, 0x07, 0x04, 0x0a, ACPI_S5_TYPE, 0, 0, 0 };

/* Without this device a hardware-reduced Linux runs its console by polling. */
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
	0x47, 0x01, GUEST_UART_PORT & 0xff, GUEST_UART_PORT >> 8, GUEST_UART_PORT & 0xff, GUEST_UART_PORT >> 8, 0x01,
	GUEST_UART_PORTS,
	/* Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { GUEST_UART_GSI } */
	0x89, 0x06, 0x00, 0x03, 0x01, GUEST_UART_GSI, 0x00, 0x00, 0x00,
	/* }) */
	0x79, 0x00,
};

static void put_dsdt(struct aml *a, const struct acpi_guest *in)
{
	if (in->power)
		aml_bytes(a, s5, sizeof(s5));
	if (in->uart)
		aml_bytes(a, uart, sizeof(uart));
	if (IS_ENABLED(CONFIG_VM_ACPI_DEVICES))
		acpi_put_devices(a);
	if (IS_ENABLED(CONFIG_PASSTHROUGH))
		acpi_put_pci(a, in);
}

/* A table whose content the encoder writes. */
static int encode(struct builder *b, const char *signature, u8 revision, void (*put)(struct aml *a, const struct acpi_guest *in),
		  struct acpi_sdt **out)
{
	struct acpi_sdt *h = take_bytes(b, sizeof(*h));
	struct aml a;

	if (!h)
		return -ENOSPC;
	aml_init(&a, h + 1, b->size - b->used);
	put(&a, b->in);
	b->used += a.len;
	fill_header(h, signature, revision, sizeof(*h) + a.len);
	h->checksum = checksum(h, h->length);
	*out = h;
	return aml_error(&a);
}

static struct acpi_gas io_byte(u16 port)
{
	return (struct acpi_gas){
		.space_id = ACPI_SPACE_IO, .bit_width = 8, .access_size = ACPI_ACCESS_BYTE, .address = port,
	};
}

static int build_fadt(struct builder *b, const struct acpi_sdt *dsdt)
{
	struct acpi_fadt *f = take_bytes(b, sizeof(*f));

	if (!f)
		return -ENOSPC;
	fill_header(&f->header, "FACP", 6, sizeof(*f));
	f->minor_version = 4;
	f->preferred_pm_profile = PROFILE_ENTERPRISE_SERVER;
	f->iapc_boot_arch = ACPI_BOOT_NO_VGA | (IS_ENABLED(CONFIG_VM_RTC) ? 0 : ACPI_BOOT_NO_CMOS_RTC);
	f->century = IS_ENABLED(CONFIG_VM_RTC) ? GUEST_RTC_CENTURY : 0;
	f->flags = ACPI_FADT_WBINVD | ACPI_FADT_PWR_BUTTON | ACPI_FADT_SLP_BUTTON | ACPI_FADT_HEADLESS | ACPI_FADT_HW_REDUCED;
	if (b->in->power) {
		f->flags |= ACPI_FADT_RESET_REG_SUP;
		f->reset_reg = io_byte(GUEST_RESET_PORT);
		f->reset_value = GUEST_RESET_VALUE;
		f->sleep_control_reg = io_byte(GUEST_SLEEP_CONTROL_PORT);
		f->sleep_status_reg = io_byte(GUEST_SLEEP_STATUS_PORT);
	}
	f->x_dsdt = gpa_of(b, dsdt);
	memcpy(&f->hypervisor_vendor_id, "Margay\0", 8);
	finish(b, &f->header);
	return 0;
}

/* One kind of entry for all CPUs: type 9 and x2APIC affinity as soon as one ID asks for it. */
static bool needs_x2apic(const struct acpi_guest *in)
{
	for (unsigned i = 0; i < in->nr_cpus; i++)
		if (in->cpus[i].apic_id >= FIRST_X2APIC_ID)
			return true;
	return in->nr_cpus > FIRST_X2APIC_ID;
}

static int build_madt(struct builder *b)
{
	bool x2apic = needs_x2apic(b->in);
	size_t entry = x2apic ? sizeof(struct acpi_madt_x2apic) : sizeof(struct acpi_madt_lapic);
	size_t ioapic = b->in->ioapic ? sizeof(struct acpi_madt_ioapic) : 0;
	size_t length = sizeof(struct acpi_madt) + b->in->nr_cpus * entry + ioapic;
	struct acpi_madt *m = take_bytes(b, length);
	u8 *p;

	if (!m)
		return -ENOSPC;
	p = (u8 *)(m + 1);
	fill_header(&m->header, "APIC", 5, length);
	m->lapic_address = (u32)GUEST_LAPIC_BASE;
	for (u32 i = 0; i < b->in->nr_cpus; i++, p += entry) {
		u32 id = b->in->cpus[i].apic_id;

		if (x2apic)
			*(struct acpi_madt_x2apic *)p = (struct acpi_madt_x2apic){
				.sub = { ACPI_MADT_X2APIC, sizeof(struct acpi_madt_x2apic) },
				.apic_id = id, .flags = ACPI_MADT_ENABLED, .uid = i,
			};
		else
			*(struct acpi_madt_lapic *)p = (struct acpi_madt_lapic){
				.sub = { ACPI_MADT_LAPIC, sizeof(struct acpi_madt_lapic) },
				.uid = (u8)i, .apic_id = (u8)id, .flags = ACPI_MADT_ENABLED,
			};
	}
	if (ioapic)
		*(struct acpi_madt_ioapic *)p = (struct acpi_madt_ioapic){
			.sub = { ACPI_MADT_IOAPIC, sizeof(struct acpi_madt_ioapic) },
			.id = GUEST_IOAPIC_ID, .address = (u32)GUEST_IOAPIC_BASE,
		};
	finish(b, &m->header);
	return 0;
}

static u8 *put_srat_cpu(u8 *p, const struct acpi_guest_cpu *cpu, bool x2apic)
{
	if (x2apic) {
		*(struct acpi_srat_x2apic *)p = (struct acpi_srat_x2apic){
			.sub = { ACPI_SRAT_X2APIC, sizeof(struct acpi_srat_x2apic) },
			.domain = cpu->node, .apic_id = cpu->apic_id, .flags = ACPI_SRAT_ENABLED,
		};
		return p + sizeof(struct acpi_srat_x2apic);
	}
	*(struct acpi_srat_lapic *)p = (struct acpi_srat_lapic){
		.sub = { ACPI_SRAT_LAPIC, sizeof(struct acpi_srat_lapic) },
		.domain_lo = (u8)cpu->node, .apic_id = (u8)cpu->apic_id, .flags = ACPI_SRAT_ENABLED,
	};
	return p + sizeof(struct acpi_srat_lapic);
}

static int build_srat(struct builder *b)
{
	const struct acpi_guest *in = b->in;
	bool x2apic = needs_x2apic(in);
	size_t length = sizeof(struct acpi_srat) + in->nr_memory * sizeof(struct acpi_srat_memory) +
			in->nr_cpus * (x2apic ? sizeof(struct acpi_srat_x2apic) : sizeof(struct acpi_srat_lapic));
	struct acpi_srat *s = take_bytes(b, length);
	u8 *p;

	if (!s)
		return -ENOSPC;
	p = (u8 *)(s + 1);
	fill_header(&s->header, "SRAT", 3, length);
	s->table_revision = 1;
	for (unsigned i = 0; i < in->nr_cpus; i++)
		p = put_srat_cpu(p, &in->cpus[i], x2apic);
	for (unsigned i = 0; i < in->nr_memory; i++, p += sizeof(struct acpi_srat_memory))
		*(struct acpi_srat_memory *)p = (struct acpi_srat_memory){
			.sub = { ACPI_SRAT_MEMORY, sizeof(struct acpi_srat_memory) },
			.domain = in->memory[i].node, .base = in->memory[i].base, .size = in->memory[i].size,
			.flags = ACPI_SRAT_ENABLED,
		};
	finish(b, &s->header);
	return 0;
}

static int build_slit(struct builder *b)
{
	size_t cells = (size_t)b->in->nr_nodes * b->in->nr_nodes, length = sizeof(struct acpi_slit) + cells;
	struct acpi_slit *s = take_bytes(b, length);

	if (!s)
		return -ENOSPC;
	fill_header(&s->header, "SLIT", 1, length);
	s->count = b->in->nr_nodes;
	memcpy(s->distance, b->in->distances, cells);
	finish(b, &s->header);
	return 0;
}

/* PCI Firmware 3.2, 4.1.2. */
static int build_mcfg(struct builder *b)
{
	size_t length = sizeof(struct acpi_mcfg) + sizeof(struct acpi_mcfg_entry);
	struct acpi_mcfg *m;

	if (!IS_ENABLED(CONFIG_PASSTHROUGH) || !b->in->ecam)
		return 0;
	m = take_bytes(b, length);
	if (!m)
		return -ENOSPC;
	fill_header(&m->header, "MCFG", 1, length);
	*(struct acpi_mcfg_entry *)(m + 1) = (struct acpi_mcfg_entry){
		.base = b->in->ecam_base, .bus_end = b->in->ecam_last_bus,
	};
	finish(b, &m->header);
	return 0;
}

static int build_roots(struct builder *b, u64 *rsdp)
{
	size_t length = sizeof(struct acpi_xsdt) + b->nr_tables * sizeof(u64);
	struct acpi_xsdt *x = take_bytes(b, length);
	struct acpi_rsdp *r = take_bytes(b, sizeof(*r));

	if (!x || !r)
		return -ENOSPC;
	fill_header(&x->header, "XSDT", 1, length);
	memcpy(x->entry, b->table, b->nr_tables * sizeof(u64));
	x->header.checksum = checksum(x, length);
	memcpy(r->signature, "RSD PTR ", 8);
	memcpy(r->oem_id, "MARGAY", 6);
	r->revision = 2;
	r->length = sizeof(*r);
	r->xsdt_address = gpa_of(b, x);
	r->checksum = checksum(r, ACPI_RSDP_V1_SIZE);
	r->extended_checksum = checksum(r, sizeof(*r));
	*rsdp = gpa_of(b, r);
	return 0;
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

int acpi_build(const struct acpi_guest *in, u64 gpa_base, void *buf, size_t size, u64 *rsdp, size_t *used)
{
	struct builder b = { .in = in, .buf = buf, .gpa = gpa_base, .size = size };
	struct acpi_sdt *t = NULL;
	int err;

	if (!input_valid(in) || !IS_ALIGNED(gpa_base, 16))
		return -EINVAL;
	err = encode(&b, "DSDT", 2, put_dsdt, &t);
	err = err ? err : build_fadt(&b, t);
	err = err ? err : build_madt(&b);
	if (IS_ENABLED(CONFIG_NUMA)) {
		err = err ? err : build_srat(&b);
		err = err ? err : build_slit(&b);
	}
	err = err ? err : build_mcfg(&b);
	if (IS_ENABLED(CONFIG_VM_WATCHDOG) && in->watchdog && !err) {
		err = encode(&b, "WDAT", 1, acpi_put_wdat, &t);
		if (!err)
			finish(&b, t);
	}
	err = err ? err : build_roots(&b, rsdp);
	if (!err && used)
		*used = b.used;
	return err;
}
