/* SPDX-License-Identifier: GPL-2.0-only */
/* The node's clock: which rate the TSC has, and what time it was at boot. */
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/tsc.h"
#include "drivers/hpet.h"
#include "drivers/pmtimer.h"
#include "drivers/rtc.h"
#include "kernel/acpi/acpi.h"
#include "kernel/clock.h"
#include "kernel/panic.h"
#include "kernel/printk.h"

#define FS_PER_SECOND 1000000000000000ull

static u64 tsc_khz;
static bool tsc_differs;
static u64 boot_tsc, boot_seconds; /* the wall clock said boot_seconds when the TSC was boot_tsc */

static u64 read_pmtimer(void)
{
	return pmtimer_read();
}

static u64 measure(const char **by)
{
	struct tsc_reference ref;
	u64 khz;

	if (hpet_present()) {
		/* rounding the rate to a hertz costs 0.1 ppm at most */
		ref = (struct tsc_reference){ "HPET", FS_PER_SECOND / hpet_period_fs(), hpet_mask(), hpet_read };
		khz = tsc_measure_khz(&ref);
		*by = ref.name;
		if (khz)
			return khz;
		printk("the HPET stands still");
	}
	if (pmtimer_present()) {
		ref = (struct tsc_reference){ "ACPI PM timer", PMTIMER_HZ, pmtimer_mask(), read_pmtimer };
		khz = tsc_measure_khz(&ref);
		*by = ref.name;
		if (khz)
			return khz;
		printk("the ACPI PM timer stands still");
	}
	return 0;
}

void clock_init(void)
{
	const struct fadt_info *fadt = acpi_fadt();
	u64 enumerated = tsc_enumerated_khz(), measured;
	const char *by = NULL;

	hpet_init(acpi_hpet());
	pmtimer_init(fadt);
	measured = measure(&by);
	tsc_khz = tsc_choose_khz(enumerated, measured);
	if (!tsc_khz)
		panic("no way to find the TSC's rate: CPUID 15h is incomplete, and there is neither HPET nor ACPI PM timer");
	if (enumerated && tsc_khz != enumerated)
		printk("CPUID 15h says %lu kHz, which the %s contradicts", enumerated, by);
	printk("TSC %lu.%03lu MHz by %s, %s", tsc_khz / 1000, tsc_khz % 1000,
	       tsc_khz == measured ? by : "CPUID 15h",
	       cpu_features.invariant_tsc ? "invariant" :
	       cpu_features.tcg		  ? "constant under TCG" :
					    "not invariant");

	boot_tsc = rdtsc();
	if (rtc_read(fadt ? fadt->century : 0, &boot_seconds))
		boot_seconds = 0;
}

u64 clock_tsc_khz(void)
{
	return tsc_khz;
}

bool clock_tsc_stable(void)
{
	/* QEMU's TCG cannot show the bit, but its TSC is the build host's clock or -icount's: constant, and one for all CPUs. */
	return !tsc_differs && (cpu_features.invariant_tsc || cpu_features.tcg);
}

bool clock_tsc_differs(void)
{
	bool first = !tsc_differs;

	tsc_differs = true;
	return first;
}

u64 clock_wall(u64 *tsc)
{
	u64 ticks;

	*tsc = rdtsc();
	ticks = *tsc - boot_tsc;
	return boot_seconds * 1000000000 + ticks / tsc_khz * 1000000 + ticks % tsc_khz * 1000000 / tsc_khz;
}
