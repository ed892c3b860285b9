/* SPDX-License-Identifier: GPL-2.0-only */
/* See hwcheck_cpus.h. IA32_MPERF, IA32_APERF: SDM vol. 3, 15.2; APM vol. 2, 17.3.2. */
#include "vmm/report/hwcheck_cpus.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>
#include <margay/x86.h>

#define MSR_MPERF 0xe7
#define MSR_APERF 0xe8
/* Intel's: bits 7:0, the highest of one busy core, by 100 MHz */
#define MSR_TURBO_RATIO_LIMIT 0x1ad
#define MTRRCAP_FIXED BIT(8)
#define BUSY_MS 1000
#define ANSWER_MS 1000
#define ENOUGH 95 /* percent of the TSC's rate */

/* Of a CPU: what its run() has found, valid when done. */
struct look {
	struct host_work work;
	u64 value; /* of MTRRs a sum; kHz */
	bool able;
	bool given; /* to its CPU */
	bool done;  /* atomic */
};

static void finish(struct look *l, bool able, u64 value)
{
	l->able = able;
	l->value = value;
	__atomic_store_n(&l->done, true, __ATOMIC_RELEASE);
}

/* ---- on each CPU ---------------------------------------------------------------- */

/* FNV-1a, by quadwords. */
static u64 add(u64 sum, u32 msr)
{
	u64 value;

	(void)host_rdmsr(msr, &value);
	return (sum ^ value) * 0x100000001b3u;
}

static void look_at_mtrrs(struct host_work *work)
{
	static const u32 fixed[] = { MSR_MTRR_FIX64K_00000, MSR_MTRR_FIX16K_80000,
				     MSR_MTRR_FIX16K_A0000 };
	struct look *l = container_of(work, struct look, work);
	u64 cap, sum = 0xcbf29ce484222325u;

	if (host_rdmsr(MSR_MTRRCAP, &cap)) {
		finish(l, false, 0);
		return;
	}
	sum = add(add(sum, MSR_MTRRCAP), MSR_MTRR_DEF_TYPE);
	for (u32 i = 0; i < 2 * (u32)(cap & 0xff); i++)
		sum = add(sum, MSR_MTRR_PHYSBASE0 + i);
	if (cap & MTRRCAP_FIXED) {
		for (u32 i = 0; i < ARRAY_SIZE(fixed); i++)
			sum = add(sum, fixed[i]);
		for (u32 msr = MSR_MTRR_FIX4K_C0000; msr <= MSR_MTRR_FIX4K_F8000; msr++)
			sum = add(sum, msr);
	}
	finish(l, true, sum);
}

/* Both count while it is not halted: one at the TSC's rate, the other at its own. */
static void look_at_rate(struct host_work *work)
{
	struct look *l = container_of(work, struct look, work);
	u64 khz = host_tsc_khz(), start = host_tsc(), m0, m1, a0, a1;
	bool able;

	if (host_rdmsr(MSR_MPERF, &m0) || host_rdmsr(MSR_APERF, &a0)) {
		finish(l, false, 0);
		return;
	}
	while (host_tsc() - start < BUSY_MS * khz)
		;
	able = !host_rdmsr(MSR_MPERF, &m1) && !host_rdmsr(MSR_APERF, &a1) && m1 != m0;
	finish(l, able, able ? (a1 - a0) * khz / (m1 - m0) : 0);
}

/* ---- all of them ----------------------------------------------------------------- */

static unsigned pages_of(unsigned cpus)
{
	return (unsigned)(ALIGN_UP(cpus * sizeof(struct look), PAGE_SIZE) / PAGE_SIZE);
}

static bool answered(const struct look *l)
{
	return __atomic_load_n(&l->done, __ATOMIC_ACQUIRE);
}

/* Who has just been done with another work takes one a moment later. */
static bool give(unsigned cpu, struct look *l, u64 end)
{
	int err;

	while ((err = host_cpu_assign(cpu, &l->work)) == -EBUSY && host_tsc() < end)
		__builtin_ia32_pause();
	return !err;
}

/* Runs it on all CPUs at once. *silent: so many have not answered. NULL: no memory. */
static struct look *look_at_all(void (*run)(struct host_work *work), unsigned ms, unsigned *silent)
{
	unsigned cpus = host_cpu_count();
	struct look *l = host_pages_alloc(pages_of(cpus), -1);
	u64 end = host_tsc() + ANSWER_MS * host_tsc_khz();

	*silent = 0;
	if (!l)
		return NULL;
	for (unsigned i = 0; i < cpus; i++) {
		l[i].work = (struct host_work){ .name = "check", .run = run };
		l[i].able = l[i].done = false;
		l[i].given = i == host_cpu_this() || give(i, &l[i], end);
	}
	run(&l[host_cpu_this()].work);
	end = host_tsc() + ms * host_tsc_khz();
	for (unsigned i = 0; i < cpus; i++) {
		while (l[i].given && !answered(&l[i]) && host_tsc() < end)
			__builtin_ia32_pause();
		*silent += !answered(&l[i]);
	}
	return l;
}

/* A CPU that did not answer may still do so: its record stays. */
static void forget(struct look *l)
{
	unsigned cpus = host_cpu_count();

	for (unsigned i = 0; i < cpus; i++)
		if (l[i].given && !answered(&l[i]))
			return;
	host_pages_free(l, pages_of(cpus));
}

/* So many have not what was asked for. */
static unsigned unable(const struct look *l)
{
	unsigned count = 0;

	for (unsigned i = 0; i < host_cpu_count(); i++)
		count += !l[i].able;
	return count;
}

static const char *why_unknown(const struct look *l, unsigned silent, const char *unable)
{
	if (!l)
		return "no memory left for the hypervisor itself";
	return silent ? "a CPU does not answer" : unable;
}

enum cpus_state hwcheck_mtrrs(char *text, size_t size)
{
	unsigned cpus = host_cpu_count(), unlike = 0, first = 0, silent;
	struct look *l = look_at_all(look_at_mtrrs, ANSWER_MS, &silent);
	bool known = l && !silent && !unable(l);

	if (known) {
		for (unsigned i = cpus; i-- > 1;) {
			if (l[i].value == l[0].value)
				continue;
			unlike++;
			first = i;
		}
	}
	if (!known)
		snprintf(text, size, "%s", why_unknown(l, silent, "this CPU does not show them"));
	else if (unlike)
		snprintf(
			text, size,
			"those of %u CPUs, CPU %u the first, differ from CPU 0's: memory may be slow there, or not be "
			"what another CPU sees; update the firmware",
			unlike, first);
	else
		snprintf(text, size, "the same on all CPUs");
	if (l)
		forget(l);
	if (!known)
		return CPUS_UNKNOWN;
	return unlike ? CPUS_BAD : CPUS_GOOD;
}

/* In MHz, of one busy core; 0: the CPU does not say. */
static u64 highest_mhz(void)
{
	struct cpuid_regs r;
	u64 limit;

	host_cpuid(0, 0, &r);
	if (memcmp(&r.ebx, "Genu", 4))
		return 0;
	if (r.eax >= 0x16) {
		host_cpuid(0x16, 0, &r);
		if (r.ebx & 0xffff)
			return r.ebx & 0xffff;
	}
	return host_rdmsr(MSR_TURBO_RATIO_LIMIT, &limit) ? 0 : (limit & 0xff) * 100;
}

#define GHZ "%lu.%lu"
#define GHZ_ARGS(khz) ((khz) / 1000000), ((khz) / 100000 % 10)

enum cpus_state hwcheck_rate(char *text, size_t size)
{
	unsigned cpus = host_cpu_count(), silent;
	struct look *l = look_at_all(look_at_rate, BUSY_MS + ANSWER_MS, &silent);
	u64 slowest = ~0ull, fastest = 0, nominal = host_tsc_khz(), highest = highest_mhz() * 1000;
	char most[32] = "";
	bool known = l && !silent && !unable(l), slow;

	if (known) {
		for (unsigned i = 0; i < cpus; i++) {
			slowest = MIN(slowest, l[i].value);
			fastest = MAX(fastest, l[i].value);
		}
	}
	slow = known && slowest < nominal * ENOUGH / 100;
	if (highest)
		snprintf(most, sizeof(most), " of at most " GHZ, GHZ_ARGS(highest));
	if (!known)
		snprintf(text, size, "%s",
			 why_unknown(l, silent, "this CPU does not count it (IA32_APERF)"));
	else
		snprintf(text, size,
			 "CPU 0-%u, all busy: " GHZ " to " GHZ "%s GHz; " GHZ " is guaranteed%s",
			 cpus - 1, GHZ_ARGS(slowest), GHZ_ARGS(fastest), most, GHZ_ARGS(nominal),
			 slow ? ": look at the setup's power profile" : "");
	if (l)
		forget(l);
	if (!known)
		return CPUS_UNKNOWN;
	return slow ? CPUS_BAD : CPUS_GOOD;
}
