/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: SRAT, which processor and which memory is in which proximity domain (ACPI 5.2.16).
 */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

static const char *add_cpu(struct srat_info *s, u32 apic_id, u32 domain, u32 flags)
{
	if (!(flags & ACPI_SRAT_ENABLED))
		return NULL;
	if (s->nr_cpus == SRAT_MAX_CPUS)
		return "more than 4096 processors";
	s->cpu[s->nr_cpus++] = (struct srat_cpu){ .apic_id = apic_id, .domain = domain };
	return NULL;
}

static const char *add_memory(struct srat_info *s, const struct acpi_srat_memory *m)
{
	if (!(m->flags & ACPI_SRAT_ENABLED) || !m->size)
		return NULL;
	if (m->base + m->size < m->base)
		return "a memory range wraps around";
	if (s->nr_memory == SRAT_MAX_MEMORY)
		return "more than 256 memory ranges";
	s->memory[s->nr_memory++] =
		(struct srat_memory){ .base = m->base, .size = m->size, .domain = m->domain };
	return NULL;
}

static const char *read_entry(const u8 *p, size_t size, void *ctx)
{
	struct srat_info *s = ctx;
	struct acpi_srat_lapic lapic;
	struct acpi_srat_memory memory;
	struct acpi_srat_x2apic x2apic;
	u32 domain;

	switch (p[0]) {
	case ACPI_SRAT_LAPIC:
		if (size < sizeof(lapic))
			return "a processor entry is too short";
		memcpy(&lapic, p, sizeof(lapic));
		domain = lapic.domain_lo;
		/* Revision 1 left these bytes reserved, not zero. */
		if (s->revision >= 2)
			domain |= (u32)lapic.domain_hi[0] << 8 | (u32)lapic.domain_hi[1] << 16 |
				  (u32)lapic.domain_hi[2] << 24;
		return add_cpu(s, lapic.apic_id, domain, lapic.flags);
	case ACPI_SRAT_MEMORY:
		if (size < sizeof(memory))
			return "a memory entry is too short";
		memcpy(&memory, p, sizeof(memory));
		if (s->revision < 2)
			memory.domain &= 0xff;
		return add_memory(s, &memory);
	case ACPI_SRAT_X2APIC:
		if (size < sizeof(x2apic))
			return "an x2APIC entry is too short";
		memcpy(&x2apic, p, sizeof(x2apic));
		return add_cpu(s, x2apic.apic_id, x2apic.domain, x2apic.flags);
	default: return NULL;
	}
}

const char *srat_read(const void *table, size_t size, struct srat_info *out)
{
	struct acpi_srat srat;
	const char *reason = acpi_read_fixed(table, size, "SRAT", &srat, sizeof(srat));

	if (reason)
		return reason;
	memset(out, 0, sizeof(*out));
	out->revision = srat.header.revision;
	reason = acpi_read_entries(table, sizeof(srat), srat.header.length, sizeof(struct acpi_sub),
				   read_entry, out);
	return reason || out->nr_memory ? reason : "it names no memory";
}
