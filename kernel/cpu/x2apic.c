/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the local APICs are put into x2APIC mode where nothing forces it. It is wanted for guests
 * that own their CPUs'; interrupts need not be remapped for it, as nothing is sent by logical
 * destinations (docs/hardware.md). A firmware whose SMM reaches the APIC by its page says so in the
 * DMAR (VT-d 4.0, 8.1, X2APIC_OPT_OUT).
 */
#include <margay/acpi_iommu.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/features.h"
#include "kernel/acpi/acpi.h"
#include "kernel/boot/cmdline.h"
#include "kernel/cpu/irq.h"
#include "kernel/log/printk.h"

static bool off;

bool x2apic_wanted(void)
{
	const struct dmar_info *dmar = acpi.dmar;
	u8 word = cmdline_of_boot()->x2apic;

	off = word == CMDLINE_X2APIC_OFF ||
	      (word == CMDLINE_X2APIC_AUTO && dmar && dmar->flags & ACPI_DMAR_X2APIC_OPT_OUT);
	/*
	 * QEMU with -icount dies ("Bad icount read") of an x2APIC timer access: it does not take
	 * WRMSR for I/O. A CPU that becomes a guest's changes its mode then.
	 */
	return !off && !cpu_features.tcg;
}

/* An ID that xAPIC mode cannot name, or the firmware itself, has forced it all the same. */
bool host_x2apic_off(void)
{
	return off && !host_is_x2apic();
}

void x2apic_tell(void)
{
	if (host_x2apic_off())
		printk("x2APIC mode stays off, and interrupts = direct with it: %s",
		       cmdline_of_boot()->x2apic == CMDLINE_X2APIC_OFF
			       ? "x2apic=off"
			       : "the firmware wishes it (DMAR); x2apic=on does without");
}
