/* SPDX-License-Identifier: GPL-2.0-only */
/* Level-triggered inputs of the host's I/O APICs. Intel 82093AA data sheet, 3.2.4. */
#include "arch/x86_64/cpu/ioapic.h"

#define RTE_ACTIVE_LOW (1u << 13)
#define RTE_REMOTE_IRR (1u << 14) /* sent, and not ended yet */
#define RTE_LEVEL (1u << 15)
#define RTE_MASKED (1u << 16)

int ioapic_route_level(u32 gsi, u32 apic_id, u8 vector, bool active_low)
{
	return ioapic_route(gsi, apic_id,
			    RTE_MASKED | RTE_LEVEL | vector | (active_low ? RTE_ACTIVE_LOW : 0));
}

bool ioapic_in_service(u32 gsi, bool end)
{
	u32 low = ioapic_change(gsi, 0, 0);

	if (end && !ioapic_write_eoi(gsi, (u8)low)) {
		/* An edge has nothing that could be in service. */
		ioapic_change(gsi, RTE_LEVEL, RTE_MASKED);
		ioapic_change(gsi, 0, RTE_LEVEL);
		ioapic_mask(gsi, low & RTE_MASKED);
	}
	/* What was written has arrived there when this is answered. */
	return (end ? ioapic_change(gsi, 0, 0) : low) & RTE_REMOTE_IRR;
}
