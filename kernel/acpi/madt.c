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
	m->cpu[m->nr_cpus].apic_id = apic_id;
	m->cpu[m->nr_cpus].uid = uid;
	m->nr_cpus++;
}

static void add_nmi(struct madt_info *m, bool all, u32 uid, u8 lint, u16 flags)
{
	/* There are only LINT0 and LINT1. Some machines list each processor: the first ones say what all do. */
	if (lint > 1 || m->nr_nmis == MADT_MAX_NMIS)
		return;
	m->nmi[m->nr_nmis].all = all;
	m->nmi[m->nr_nmis].uid = uid;
	m->nmi[m->nr_nmis].lint = lint;
	m->nmi[m->nr_nmis].flags = flags;
	m->nr_nmis++;
}

static const char *add_ioapic(struct madt_info *m, const struct acpi_madt_ioapic *e)
{
	if (m->nr_ioapics == MADT_MAX_IOAPICS)
		return "more than 64 I/O APICs";
	m->ioapic[m->nr_ioapics].id = e->id;
	m->ioapic[m->nr_ioapics].gsi_base = e->gsi_base;
	m->ioapic[m->nr_ioapics].address = e->address;
	m->nr_ioapics++;
	return NULL;
}

/* Copies an entry out; false when it is too short. */
static bool copy(void *entry, size_t want, const u8 *p, size_t size)
{
	if (size < want)
		return false;
	memcpy(entry, p, want);
	return true;
}

static const char *read_entry(const u8 *p, size_t size, struct madt_info *m)
{
	static const char too_short[] = "an entry is too short";
	struct acpi_madt_lapic lapic;
	struct acpi_madt_ioapic ioapic;
	struct acpi_madt_int_override override;
	struct acpi_madt_lapic_nmi nmi;
	struct acpi_madt_lapic_address address;
	struct acpi_madt_x2apic x2apic;
	struct acpi_madt_x2apic_nmi x2apic_nmi;

	switch (p[0]) {
	case ACPI_MADT_LAPIC:
		if (!copy(&lapic, sizeof(lapic), p, size))
			return too_short;
		/* 0xff is the broadcast ID: a slot without a processor. */
		if (lapic.apic_id != 0xff)
			add_cpu(m, lapic.apic_id, lapic.uid, lapic.flags);
		return NULL;
	case ACPI_MADT_X2APIC:
		if (!copy(&x2apic, sizeof(x2apic), p, size))
			return too_short;
		if (x2apic.apic_id != 0xffffffff)
			add_cpu(m, x2apic.apic_id, x2apic.uid, x2apic.flags);
		return NULL;
	case ACPI_MADT_IOAPIC:
		if (!copy(&ioapic, sizeof(ioapic), p, size))
			return too_short;
		return add_ioapic(m, &ioapic);
	case ACPI_MADT_INT_OVERRIDE:
		if (!copy(&override, sizeof(override), p, size))
			return too_short;
		/* Anything but ISA's sixteen is undefined: of no use, but no reason to lose the processors. */
		if (override.bus != 0 || override.source >= ARRAY_SIZE(m->isa))
			return NULL;
		m->isa[override.source].gsi = override.gsi;
		m->isa[override.source].flags = override.flags;
		return NULL;
	case ACPI_MADT_LAPIC_NMI:
		if (!copy(&nmi, sizeof(nmi), p, size))
			return too_short;
		add_nmi(m, nmi.uid == 0xff, nmi.uid, nmi.lint, nmi.flags);
		return NULL;
	case ACPI_MADT_X2APIC_NMI:
		if (!copy(&x2apic_nmi, sizeof(x2apic_nmi), p, size))
			return too_short;
		add_nmi(m, x2apic_nmi.uid == 0xffffffff, x2apic_nmi.uid, x2apic_nmi.lint, x2apic_nmi.flags);
		return NULL;
	case ACPI_MADT_LAPIC_ADDRESS:
		if (!copy(&address, sizeof(address), p, size))
			return too_short;
		m->lapic_address = address.address;
		return NULL;
	default:
		return NULL;
	}
}

const char *madt_read(const void *table, size_t size, struct madt_info *out)
{
	const u8 *p = table;
	struct acpi_madt madt;
	const char *reason = acpi_check_header(table, size, "APIC", sizeof(madt));

	if (reason)
		return reason;
	memcpy(&madt, table, sizeof(madt));
	memset(out, 0, sizeof(*out));
	out->lapic_address = madt.lapic_address;
	out->pcat_compat = madt.flags & ACPI_MADT_PCAT_COMPAT;
	for (unsigned i = 0; i < ARRAY_SIZE(out->isa); i++)
		out->isa[i].gsi = i;

	for (size_t at = sizeof(madt); at < madt.header.length;) {
		size_t left = madt.header.length - at;

		if (left < sizeof(struct acpi_sub) || p[at + 1] < sizeof(struct acpi_sub) || p[at + 1] > left)
			return "an entry's length is wrong";
		reason = read_entry(p + at, p[at + 1], out);
		if (reason)
			return reason;
		at += p[at + 1];
	}
	return out->nr_cpus ? NULL : "it names no enabled processor";
}
