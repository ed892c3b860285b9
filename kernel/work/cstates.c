/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See cstates.h. _CST names registers (ACPI 6.4, 8.4.2.1): of functional fixed
 * hardware as Intel's "Processor Vendor-Specific ACPI" has it, which AMD's
 * firmware follows, or ports, which on AMD are those from MSR C001_0073 on.
 */
#include "kernel/work/cstates.h"

#include <margay/host.h>
#include <margay/host_cst.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#include "kernel/acpi/acpi.h"
#include "kernel/acpi/aml_cst.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_route.h"

#define SETS 8 /* that differ; all CPUs of a node have one, or two */

/*
 * The register of a C-state in functional fixed hardware: its bit offset is a class, its address
 * what the class asks for.
 */
enum { CLASS_HALT = 0, CLASS_MWAIT = 2, HINT_MAX = 0xff };
/*
 * CPUID 5 (SDM vol. 2, CPUID): extensions are enumerated, and an interrupt ends MWAIT though IF is
 * 0.
 */
#define LEAF5_ECX_NEEDED 3u

static struct spinlock lock; /* guards the next line, and all below it until that is true */
static bool known;
static struct cstates sets[SETS];
static unsigned nr_sets;
/* by their place in the MADT: 1 is the first one; 0: none is known */
static u8 set_of[MADT_MAX_CPUS];

/*
 * Bits 7:4 of a hint are the C-state minus 1, bits 3:0 a substate; EDX has how many of these there
 * are, by state.
 */
static bool leaf5_knows(const struct cpuid_regs *leaf5, u64 hint)
{
	u32 state = (u32)(hint >> 4) + 1;

	return hint <= HINT_MAX && state < 8 && (hint & 0xf) < (leaf5->edx >> 4 * state & 0xf) &&
	       (leaf5->ecx & LEAF5_ECX_NEEDED) == LEAF5_ECX_NEEDED;
}

static bool guest_enters(const struct cstate *s, const struct cpuid_regs *leaf5)
{
	if (s->reg.space_id != ACPI_SPACE_FIXED_HARDWARE)
		return false;
	return s->reg.bit_offset == CLASS_MWAIT ? leaf5_knows(leaf5, s->reg.address)
						: s->reg.bit_offset == CLASS_HALT && s->type == 1;
}

void cstates_keep(struct cstates *states, const struct cpuid_regs *leaf5)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < states->count; i++) {
		struct cstate s = states->state[i];

		if (!guest_enters(&s, leaf5))
			continue;
		/*
		 * C3 has the OS care for the caches, by registers that a hardware-reduced platform
		 * lacks. MWAIT does so itself.
		 */
		s.type = MIN(s.type, (u8)2);
		states->state[kept++] = s;
	}
	/* What is equal is so byte by byte. */
	memset(&states->state[kept], 0, (CSTATES_MAX - kept) * sizeof(states->state[0]));
	states->count = kept;
}

/* Its number, from 1 on; 0: nothing is left of it, or there are too many others. */
static u8 set_number(const struct cstates *states)
{
	unsigned i = 0;

	while (i < nr_sets && memcmp(&sets[i], states, sizeof(*states)) != 0)
		i++;
	if (!states->count || i == SETS)
		return 0;
	sets[i] = *states;
	nr_sets = MAX(nr_sets, i + 1);
	return (u8)(i + 1);
}

/* What firmware has of all CPUs. False: another time, maybe. */
static bool read_firmware(void)
{
	const struct aml_tables *t = pci_route_tables();
	const struct madt_info *m = acpi.madt;
	unsigned count = MIN(aml_processors(t, NULL, 0), MADT_MAX_CPUS), found = 0;
	unsigned pages =
		(unsigned)(ALIGN_UP(count * sizeof(struct aml_processor), PAGE_SIZE) / PAGE_SIZE);
	struct aml_processor *p;
	struct cpuid_regs leaf5;

	if (!m || !count || !host_mwait())
		return true;
	p = host_pages_alloc(pages, -1);
	if (!p) {
		printk_error("C-states: no memory to read them: guests are told none");
		return false;
	}
	host_cpuid(5, 0, &leaf5);
	aml_processors(t, p, count);
	aml_cstates(t, p, count);
	for (unsigned i = 0; i < count; i++) {
		u8 number;

		cstates_keep(&p[i].states, &leaf5);
		number = set_number(&p[i].states);
		for (unsigned k = 0; k < m->nr_cpus; k++)
			if (number && m->cpu[k].uid == p[i].uid && !set_of[k]) {
				set_of[k] = number;
				found++;
			}
	}
	host_pages_free(p, pages);
	printk("C-states: firmware's _CST has some for guests of %u of %u CPUs", found, m->nr_cpus);
	return true;
}

const struct cstates *host_cstates(unsigned cpu)
{
	const struct madt_info *m = acpi.madt;

	spin_lock(&lock);
	known = known || read_firmware();
	spin_unlock(&lock);
	if (!m)
		return NULL;
	for (unsigned k = 0; k < m->nr_cpus; k++)
		if (m->cpu[k].apic_id == host_cpu_info(cpu)->apic_id)
			return set_of[k] ? &sets[set_of[k] - 1] : NULL;
	return NULL;
}
