/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts as the MADT has them: I/O APICs, source overrides, local NMIs (ACPI 5.2.12.3,
 * 5.2.12.5, 5.2.12.7, 5.2.12.13).
 */
#include <margay/errno.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/ioapic.h"
#include "kernel/acpi/acpi.h"
#include "kernel/cpu/irq.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"

void irq_init(void)
{
	const struct madt_info *madt = acpi.madt;

	if (!madt) {
		printk_error("no MADT: device interrupts are not available");
		return;
	}
	for (unsigned i = 0; i < madt->nr_ioapics; i++)
		ioapic_add(madt->ioapic[i].address, madt->ioapic[i].gsi_base);
}

void irq_local_nmis(void)
{
	const struct madt_info *madt = acpi.madt;

	if (!madt)
		return;
	for (unsigned i = 0; i < madt->nr_nmis; i++)
		if (madt_nmi_is_of(madt, i, apic_id()))
			apic_local_nmi(madt->nmi[i].lint,
				       (madt->nmi[i].flags & ACPI_INTI_POLARITY) ==
					       ACPI_INTI_ACTIVE_LOW);
}

static bool is_isa(unsigned irq)
{
	return irq < ARRAY_SIZE(acpi.madt->isa);
}

u32 irq_gsi(unsigned irq)
{
	return is_isa(irq) ? acpi.madt->isa[irq].gsi : irq;
}

int irq_route_nmi(unsigned irq, unsigned cpu)
{
	const struct madt_info *madt = acpi.madt;
	u32 apic = cpu_get(cpu)->apic_id;
	int err;

	if (!madt)
		return -ENODEV;
	err = ioapic_route_nmi(irq_gsi(irq), apic,
			       !is_isa(irq) || (madt->isa[irq].flags & ACPI_INTI_POLARITY) ==
						       ACPI_INTI_ACTIVE_LOW);
	if (err)
		printk_error("interrupt %u: no I/O APIC leads it to APIC ID %u", irq_gsi(irq),
			     apic);
	return err;
}
