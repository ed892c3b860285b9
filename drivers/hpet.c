/* SPDX-License-Identifier: GPL-2.0-only */
/* HPET main counter (IA-PC HPET 1.0a, 2.3.4 to 2.3.7). */
#include "drivers/hpet.h"

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/log/printk.h"

#define HPET_SIZE KIB(1)
#define HPET_CAPABILITIES 0x000
#define HPET_CONFIGURATION 0x010
#define HPET_COUNTER 0x0f0
#define CAP_COUNT_SIZE BIT(13)
#define CFG_ENABLE BIT(0)
#define CFG_LEGACY_REPLACEMENT BIT(1)
#define PERIOD_MAX 100000000u /* 100 ns, the specification's limit */
#define PERIOD_MIN 1000000u   /* 1 ns: no such thing exists, and the calibration would overflow */

volatile u8 *hpet_registers;
static u64 mask;
static u32 period_fs;

int hpet_init(const struct hpet_info *info)
{
	volatile u8 *r;
	u64 cap;

	if (!info)
		return -ENODEV;
	r = mmio_map(info->base, HPET_SIZE);
	if (!r)
		return -ENODEV;
	cap = mmio_read64(r + HPET_CAPABILITIES);
	period_fs = (u32)(cap >> 32);
	if (period_fs < PERIOD_MIN || period_fs > PERIOD_MAX) {
		printk_error("hpet at %#lx: period of %u fs: not used", info->base, period_fs);
		return -ENODEV;
	}
	mask = cap & CAP_COUNT_SIZE ? ~0ull : 0xffffffffull;
	/* Legacy replacement would send its timer interrupts in the PIT's and the RTC's place. */
	mmio_write64(r + HPET_CONFIGURATION,
		     (mmio_read64(r + HPET_CONFIGURATION) | CFG_ENABLE) & ~CFG_LEGACY_REPLACEMENT);
	hpet_registers = r;
	return 0;
}

bool hpet_present(void)
{
	return hpet_registers != NULL;
}

u64 hpet_read(void)
{
	/* A 32-bit counter must not be read by a 64-bit access: it may be cut in two on the way. */
	return mask == ~0ull ? mmio_read64(hpet_registers + HPET_COUNTER)
			     : mmio_read32(hpet_registers + HPET_COUNTER);
}

u64 hpet_mask(void)
{
	return mask;
}

u32 hpet_period_fs(void)
{
	return period_fs;
}
