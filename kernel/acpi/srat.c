/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: SRAT, which processor and which memory is in which proximity domain (ACPI 5.2.16). */
#include "kernel/acpi/tables.h"

#include <margay/string.h>

static const char *add_cpu(struct srat_info *s, u32 apic_id, u32 domain, u32 flags)
{
	if (!(flags & ACPI_SRAT_ENABLED))
		return NULL;
	if (s->nr_cpus == SRAT_MAX_CPUS)
		return "more than 4096 processors";
	s->cpu[s->nr_cpus].apic_id = apic_id;
	s->cpu[s->nr_cpus].domain = domain;
	s->nr_cpus++;
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
	s->memory[s->nr_memory].base = m->base;
	s->memory[s->nr_memory].size = m->size;
	s->memory[s->nr_memory].domain = m->domain;
	s->nr_memory++;
	return NULL;
}

static const char *read_entry(const u8 *p, size_t size, u8 revision, struct srat_info *s)
{
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
		if (revision >= 2)
			domain |= (u32)lapic.domain_hi[0] << 8 | (u32)lapic.domain_hi[1] << 16 |
				  (u32)lapic.domain_hi[2] << 24;
		return add_cpu(s, lapic.apic_id, domain, lapic.flags);
	case ACPI_SRAT_MEMORY:
		if (size < sizeof(memory))
			return "a memory entry is too short";
		memcpy(&memory, p, sizeof(memory));
		if (revision < 2)
			memory.domain &= 0xff;
		return add_memory(s, &memory);
	case ACPI_SRAT_X2APIC:
		if (size < sizeof(x2apic))
			return "an x2APIC entry is too short";
		memcpy(&x2apic, p, sizeof(x2apic));
		return add_cpu(s, x2apic.apic_id, x2apic.domain, x2apic.flags);
	default:
		return NULL;
	}
}

const char *srat_read(const void *table, size_t size, struct srat_info *out)
{
	const u8 *p = table;
	struct acpi_srat srat;
	const char *reason = acpi_check_header(table, size, "SRAT", sizeof(srat));

	if (reason)
		return reason;
	memcpy(&srat, table, sizeof(srat));
	memset(out, 0, sizeof(*out));
	for (size_t at = sizeof(srat); at < srat.header.length;) {
		size_t left = srat.header.length - at;

		if (left < sizeof(struct acpi_sub) || p[at + 1] < sizeof(struct acpi_sub) || p[at + 1] > left)
			return "an entry's length is wrong";
		reason = read_entry(p + at, p[at + 1], srat.header.revision, out);
		if (reason)
			return reason;
		at += p[at + 1];
	}
	return out->nr_memory ? NULL : "it names no memory";
}
