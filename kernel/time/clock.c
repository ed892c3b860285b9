/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's clock: which rate the TSC has, and what time it was at boot. The
 * reference is sampled once when the clock starts and again when the rest of
 * the boot is done, and at the node's end as a check.
 */
#include "kernel/time/clock.h"

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/tsc.h"
#include "drivers/hpet.h"
#include "drivers/pmtimer.h"
#include "drivers/rtc.h"
#include "kernel/acpi/acpi.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"

#define FS_PER_KILOSECOND 1000000000000000000ull
/* Enough for delays, and to catch a CPUID leaf that is plainly wrong. */
#define COARSE_PPB 100000
#define COARSE_MS 50
/* What guests get; where the reference is slow to read it takes a second or two in all. */
#define FINE_PPB 1000
#define FINE_MS 4000
#define CHECK_MS 1

static u64 tsc_hz;
static bool tsc_differs;
static struct tsc_reference ref; /* read is NULL when there is none */
static struct tsc_moment start;
static struct tsc_rate coarse;
static u64 boot_tsc, boot_seconds; /* the wall clock said boot_seconds when the TSC was boot_tsc */

static bool try_reference(struct tsc_reference candidate)
{
	tsc_read_moment(&candidate, &start);
	if (!tsc_measure(&candidate, &start, 0, COARSE_PPB, COARSE_MS, &coarse)) {
		printk_error("the %s stands still or is not steady", candidate.name);
		coarse.hz = 0;
		return false;
	}
	ref = candidate;
	return true;
}

static void measure_coarse(void)
{
	if (hpet_present() &&
	    try_reference((struct tsc_reference){ "HPET", FS_PER_KILOSECOND / hpet_period_fs(),
						  hpet_mask(), hpet_read }))
		return;
	if (pmtimer_present())
		try_reference((struct tsc_reference){ "ACPI PM timer", PMTIMER_HZ * 1000ull,
						      pmtimer_mask(), pmtimer_read });
}

static void set_rate(u64 hz)
{
	tsc_hz = hz + (s64)hz / 1000000 * CONFIG_DEBUG_CLOCK_PPM;
}

int clock_init(void)
{
	const struct fadt_info *fadt = acpi.fadt;
	u64 enumerated = tsc_enumerated_hz();
	u8 century;

	hpet_init(acpi.hpet);
	pmtimer_init(fadt);
	measure_coarse();
	set_rate(tsc_choose_hz(enumerated, &coarse));
	if (!tsc_hz)
		return -ENODEV;
	boot_tsc = rdtsc();
	century = fadt ? fadt->century : 0;
	if (rtc_read(century, &boot_seconds))
		boot_seconds = 0;
	return 0;
}

static bool measure_fine(u64 enumerated, struct tsc_rate *fine)
{
	/*
	 * CPUID's rate is exact: what was measured by now suffices to doubt it, but not to do
	 * without it.
	 */
	if (enumerated && tsc_measure(&ref, &start, tsc_hz, FINE_PPB, CHECK_MS, fine) &&
	    tsc_choose_hz(enumerated, fine) == enumerated)
		return true;
	return tsc_measure(&ref, &start, tsc_hz, FINE_PPB, FINE_MS, fine);
}

void clock_refine(void)
{
	const char *kind = cpu_features.tcg ? "constant under TCG" : "not invariant";
	u64 enumerated = tsc_enumerated_hz(), chosen;
	struct tsc_rate fine = { 0 };
	char error[TSC_ERROR_TEXT];
	bool exact;

	if (cpu_features.invariant_tsc)
		kind = "invariant";
	if (ref.read && !measure_fine(enumerated, &fine)) {
		printk_error("TSC: no rate fits all readings of the %s: one is not steady",
			     ref.name);
		fine = coarse;
	}
	chosen = tsc_choose_hz(enumerated, &fine);
	exact = chosen == enumerated;
	set_rate(chosen);
	if (IS_ENABLED(CONFIG_BOOT_LOG) && enumerated && fine.hz) {
		tsc_error_say(tsc_rate_error_ppb(enumerated, &fine), "more", "less", error);
		printk("TSC: CPUID 15h says %lu Hz, %s than the %s, +-%lu ppb%s", enumerated, error,
		       ref.name, fine.bound_ppb, exact ? "" : ": not believed");
	}
	printk("TSC %lu Hz by %s, +-%lu ppb, %s", tsc_hz, exact ? "CPUID 15h" : ref.name,
	       exact ? 0 : fine.bound_ppb, kind);
}

void clock_report(void)
{
	struct tsc_rate all;
	u64 ticks = rdtsc() - boot_tsc;
	char error[TSC_ERROR_TEXT];

	if (!IS_ENABLED(CONFIG_BOOT_LOG) || !ref.read ||
	    !tsc_measure(&ref, &start, tsc_hz, FINE_PPB, CHECK_MS, &all))
		return;
	tsc_error_say(tsc_rate_error_ppb(tsc_hz, &all), "slow", "fast", error);
	printk("clock: %lu.%03lu s since boot, %s by the %s, +-%lu ppb", ticks / tsc_hz,
	       ticks % tsc_hz * 1000 / tsc_hz, error, ref.name, all.bound_ppb);
}

u64 host_tsc_khz(void)
{
	return (tsc_hz + 500) / 1000;
}

bool host_tsc_stable(void)
{
	/*
	 * QEMU's TCG cannot show the bit, but its TSC is the build host's clock or -icount's:
	 * constant, and one for all CPUs.
	 */
	return !tsc_differs && (cpu_features.invariant_tsc || cpu_features.tcg);
}

bool clock_tsc_differs(void)
{
	bool first = !tsc_differs;

	tsc_differs = true;
	return first;
}

u64 host_wall_clock(u64 *tsc)
{
	u64 ticks;

	*tsc = rdtsc();
	ticks = *tsc - (u64)this_cpu()->tsc_ahead - boot_tsc;
	return (boot_seconds + ticks / tsc_hz) * 1000000000 + ticks % tsc_hz * 1000000000 / tsc_hz;
}
