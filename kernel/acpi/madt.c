/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: MADT, the machine's processors and interrupt controllers (ACPI 5.2.12). */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

static void add_cpu(struct madt_info *m, u32 apic_id, u32 uid, u32 flags)
{
	if (!(flags & ACPI_MADT_ENABLED))
		return;
	/* Firmware may list a processor both as type 0 and as type 9. */
	for (unsigned i = 0; i < m->nr_cpus; i++)
		if (m->cpu[i].apic_id == apic_id)
			return;
	if (m->nr_cpus == MADT_MAX_CPUS) {
		m->dropped_cpus++;
		return;
	}
	m->cpu[m->nr_cpus++] = (struct madt_cpu){ .apic_id = apic_id, .uid = uid };
}

static void add_nmi(struct madt_info *m, bool all, u32 uid, u8 lint, u16 flags)
{
	/* There are only LINT0 and LINT1. */
	if (lint > 1)
		return;
	if (m->nr_nmis == MADT_MAX_NMIS)
		m->dropped_nmis++;
	else
		m->nmi[m->nr_nmis++] =
			(struct madt_nmi){ .all = all, .uid = uid, .lint = lint, .flags = flags };
}

static const char *add_ioapic(struct madt_info *m, const struct acpi_madt_ioapic *e)
{
	if (m->nr_ioapics == MADT_MAX_IOAPICS)
		return "more than 64 I/O APICs";
	m->ioapic[m->nr_ioapics++] =
		(struct madt_ioapic){ .id = e->id, .gsi_base = e->gsi_base, .address = e->address };
	return NULL;
}

static const char *read_entry(const u8 *p, size_t size, void *ctx)
{
	struct madt_info *m = ctx;
	union {
		struct acpi_madt_lapic lapic;
		struct acpi_madt_ioapic ioapic;
		struct acpi_madt_int_override override;
		struct acpi_madt_lapic_nmi nmi;
		struct acpi_madt_lapic_address address;
		struct acpi_madt_x2apic x2apic;
		struct acpi_madt_x2apic_nmi x2apic_nmi;
	} e;
	static const u8 known[] = {
				    /* the sizes of those */
		[ACPI_MADT_LAPIC] = sizeof(e.lapic),
		[ACPI_MADT_IOAPIC] = sizeof(e.ioapic),
		[ACPI_MADT_INT_OVERRIDE] = sizeof(e.override),
		[ACPI_MADT_LAPIC_NMI] = sizeof(e.nmi),
		[ACPI_MADT_LAPIC_ADDRESS] = sizeof(e.address),
		[ACPI_MADT_X2APIC] = sizeof(e.x2apic),
		[ACPI_MADT_X2APIC_NMI] = sizeof(e.x2apic_nmi),
	};
	size_t want = p[0] < ARRAY_SIZE(known) ? known[p[0]] : 0;

	if (size < want)
		return "an entry is too short";
	memcpy(&e, p, want);
	switch (p[0]) {
	case ACPI_MADT_LAPIC:
		/* 0xff is the broadcast ID: a slot without a processor. */
		if (e.lapic.apic_id != 0xff)
			add_cpu(m, e.lapic.apic_id, e.lapic.uid, e.lapic.flags);
		return NULL;
	case ACPI_MADT_X2APIC:
		if (e.x2apic.apic_id != 0xffffffff)
			add_cpu(m, e.x2apic.apic_id, e.x2apic.uid, e.x2apic.flags);
		return NULL;
	case ACPI_MADT_IOAPIC: return add_ioapic(m, &e.ioapic);
	case ACPI_MADT_INT_OVERRIDE:
		/*
		 * Anything but ISA's sixteen is undefined: of no use, but no reason to lose the
		 * processors.
		 */
		if (e.override.bus != 0 || e.override.source >= ARRAY_SIZE(m->isa))
			return NULL;
		m->isa[e.override.source].gsi = e.override.gsi;
		m->isa[e.override.source].flags = e.override.flags;
		return NULL;
	case ACPI_MADT_LAPIC_NMI:
		add_nmi(m, e.nmi.uid == 0xff, e.nmi.uid, e.nmi.lint, e.nmi.flags);
		return NULL;
	case ACPI_MADT_X2APIC_NMI:
		add_nmi(m, e.x2apic_nmi.uid == 0xffffffff, e.x2apic_nmi.uid, e.x2apic_nmi.lint,
			e.x2apic_nmi.flags);
		return NULL;
	case ACPI_MADT_LAPIC_ADDRESS: m->lapic_address = e.address.address; return NULL;
	default: return NULL;
	}
}

const char *madt_read(const void *table, size_t size, struct madt_info *out)
{
	struct acpi_madt madt;
	const char *reason = acpi_read_fixed(table, size, "APIC", &madt, sizeof(madt));

	if (reason)
		return reason;
	memset(out, 0, sizeof(*out));
	out->lapic_address = madt.lapic_address;
	out->pcat_compat = madt.flags & ACPI_MADT_PCAT_COMPAT;
	for (unsigned i = 0; i < ARRAY_SIZE(out->isa); i++)
		out->isa[i].gsi = i;
	reason = acpi_read_entries(table, sizeof(madt), madt.header.length, sizeof(struct acpi_sub),
				   read_entry, out);
	return reason || out->nr_cpus ? reason : "it names no enabled processor";
}

bool madt_nmi_is_of(const struct madt_info *m, unsigned i, u32 apic_id)
{
	for (unsigned k = 0; k < m->nr_cpus; k++)
		if (m->cpu[k].apic_id == apic_id &&
		    (m->nmi[i].all || m->cpu[k].uid == m->nmi[i].uid))
			return true;
	return false;
}
