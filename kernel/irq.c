/* SPDX-License-Identifier: GPL-2.0-only */
/* Device interrupts: the MADT's I/O APICs and interrupt source overrides (ACPI 5.2.12.3, 5.2.12.5). */
#include <margay/errno.h>
#include "arch/x86_64/cpu/ioapic.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/acpi/acpi.h"
#include "kernel/irq.h"
#include "kernel/percpu.h"
#include "kernel/printk.h"

void irq_init(void)
{
	const struct madt_info *madt = acpi_madt();

	if (!madt) {
		printk("no MADT: device interrupts are not available");
		return;
	}
	for (unsigned i = 0; i < madt->nr_ioapics; i++)
		ioapic_add(madt->ioapic[i].address, madt->ioapic[i].gsi_base);
}

int irq_request_gsi(u32 gsi, bool level, bool active_low, irq_handler fn, void *arg)
{
	u32 apic = cpu_get(0)->apic_id;
	int vector = trap_alloc_vector(fn, arg);
	int err;

	if (vector < 0) {
		printk_error("interrupt %u: no vector left", gsi);
		return vector;
	}
	err = ioapic_route(gsi, (u8)vector, apic, level, active_low);
	if (err == -ENODEV)
		printk_error("interrupt %u: no I/O APIC has this input", gsi);
	else if (err)
		printk_error("interrupt %u: cannot reach APIC ID %u without interrupt remapping", gsi, apic);
	if (err)
		trap_set_handler((u8)vector, NULL, NULL);
	return err;
}

int irq_request_isa(unsigned irq, irq_handler fn, void *arg)
{
	const struct madt_info *madt = acpi_madt();
	u16 flags;

	if (!madt || irq >= ARRAY_SIZE(madt->isa))
		return -ENODEV;
	flags = madt->isa[irq].flags;
	return irq_request_gsi(madt->isa[irq].gsi, (flags & ACPI_INTI_TRIGGER) == ACPI_INTI_LEVEL,
			       (flags & ACPI_INTI_POLARITY) == ACPI_INTI_ACTIVE_LOW, fn, arg);
}
