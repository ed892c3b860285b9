/* SPDX-License-Identifier: GPL-2.0-only */
/* The ACPI power management timer (ACPI 4.8.2.1, 4.8.3.3). */
#include "drivers/pmtimer.h"

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"

static volatile u8 *mmio;
static u16 port;
static u32 mask;

int pmtimer_init(const struct fadt_info *info)
{
	u64 first;

	if (!info || !info->pm_tmr.address)
		return -ENODEV;
	if (info->pm_tmr.space_id == ACPI_SPACE_IO && info->pm_tmr.address <= 0xfffc)
		port = (u16)info->pm_tmr.address;
	else if (info->pm_tmr.space_id == ACPI_SPACE_MEMORY)
		mmio = mmio_map(info->pm_tmr.address, sizeof(u32));
	if (!port && !mmio)
		return -ENODEV;
	mask = info->flags & ACPI_FADT_TMR_VAL_EXT ? 0xffffffffu : 0xffffffu;

	/*
	 * A tick is 280 ns, a read of the port takes longer than a few nanoseconds: a thousand
	 * suffice to see one.
	 */
	first = pmtimer_read();
	for (unsigned i = 0; i < 1000; i++)
		if (pmtimer_read() != first)
			return 0;
	port = 0;
	mmio = NULL;
	return -ENODEV;
}

bool pmtimer_present(void)
{
	return port || mmio;
}

u64 pmtimer_read(void)
{
	return (mmio ? mmio_read32(mmio) : inl(port)) & mask;
}

u32 pmtimer_mask(void)
{
	return mask;
}
