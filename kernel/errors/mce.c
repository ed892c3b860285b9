/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine-check banks of the calling CPU (SDM vol. 3, 16.3; AMD's PPRs, "MCA Registers"):
 * kernel/errors/mce.h.
 */
#include "kernel/errors/mce.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/mce.h"
#include "arch/x86_64/cpu/upcall.h"
#include "kernel/log/printk.h"
#include "kernel/memory/lost.h"
#include "kernel/percpu.h"

#define LOOK_SECONDS 10
#define LINES 16 /* of corrected errors, by all CPUs; then they are only counted */

#define FEATURE_CONTROL_LOCK BIT(0)
#define FEATURE_CONTROL_VMXON BIT(2)
#define FEATURE_CONTROL_LMCE BIT(20)
#define CPUID_1_ECX_VMX BIT(5)
#define SMCA_CONFIG 4
/* of a deferred error, which an error in STATUS does not hide; DEADDR follows */
#define SMCA_DESTAT 8
#define SMCA_CONFIG_ENABLE BIT(32)

#define MCG_WHERE (MCG_STATUS_RIPV | MCG_STATUS_EIPV)

static u64 corrected, uncorrected; /* atomic */
static PERCPU u64 looked; /* TSC; 0: not yet; only its CPU touches it */
static PERCPU u64 failed_page; /* host_failed_page() */

struct mce_kind mce_kind_of(u64 cap)
{
	struct cpuid_regs r = { 0 };

	cpuid(0x80000000, 0, &r);
	if (r.eax >= 0x80000007)
		cpuid(0x80000007, 0, &r);
	else
		r.ebx = 0;
	return (struct mce_kind){
		.ser = cap & MCG_CAP_SER,
		.overflow = r.ebx & BIT(0),
		.succor = r.ebx & BIT(1),
		.smca = r.ebx & BIT(3),
	};
}

u32 mce_bank_msr(const struct mce_kind *kind, unsigned bank, unsigned reg)
{
	return kind->smca ? MSR_SMCA_MC0 + 16 * bank + reg : MSR_MC0_CTL + 4 * bank + reg;
}

static u64 bank_read(const struct mce_kind *kind, unsigned bank, unsigned reg)
{
	u64 value;

	return host_rdmsr(mce_bank_msr(kind, bank, reg), &value) ? 0 : value;
}

/*
 * Of lines, by verdict: a guest may use what is broken again and again. Of pages that are lost each
 * is told, once.
 */
/* What ends the node is told of all CPUs' banks. */
static struct log_limit limit[MCE_FATAL + 1] = { [MCE_FATAL] = { .burst = 1024 } },
					  named = { .burst = HOST_LOST_MAX };

/* What a bank has of an error, and which page of memory that is about. */
struct error {
	u64 status;
	u64 address;
	u64 misc;
	bool has_page;
	u64 page;
};

static void tell(struct log_limit *of, unsigned bank, const char *what, const struct error *e)
{
	host_log_limited(of, "margay",
			 "machine check: CPU %u, bank %u: %s: status %#lx address %#lx misc %#lx",
			 this_cpu()->id, bank, what, e->status, e->address, e->misc);
}

static u64 count(u64 *counter)
{
	return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* Counts it. Is it worth a line, too? */
static bool is_news(enum mce_verdict verdict, const struct error *e)
{
	if (verdict == MCE_CORRECTED)
		return count(&corrected) <= LINES;
	count(&uncorrected);
	return !e->has_page || !memory_lost_told(e->page);
}

/* A look at the banks. */
struct look {
	bool taken; /* in a machine check with this MCG_STATUS; */
	u64 mcg_status;
	/*
	 * and all threads of the core were in one VM's guest mode: what they have used is that VM's
	 */
	bool core_is_vms;
	/* found: for host_work's fault(); HOST_LOST_UNKNOWN: no page, or several */
	u64 used;
};

static enum mce_verdict judge(const struct mce_kind *kind, u64 status, const struct look *look)
{
	enum mce_verdict verdict = mce_judge(kind, status, look->taken, look->mcg_status);

	return verdict == MCE_USED_BY_CORE && !look->core_is_vms ? MCE_FATAL : verdict;
}

/* The rest of an error whose status is known. reg: STATUS, or DESTAT, which has no MISC. */
static void read_rest(const struct mce_kind *kind, unsigned bank, unsigned reg,
		      enum mce_verdict verdict, struct error *e)
{
	if (e->status & MCI_STATUS_ADDRV)
		e->address = bank_read(kind, bank, reg + MCE_ADDR - MCE_STATUS);
	if (reg == MCE_STATUS && e->status & MCI_STATUS_MISCV)
		e->misc = bank_read(kind, bank, MCE_MISC);
	e->has_page = verdict >= MCE_LOST && verdict < MCE_FATAL &&
		      mce_page(kind, e->status, e->address, e->misc, &e->page);
}

static void report(unsigned bank, enum mce_verdict verdict, const struct error *e)
{
	static const char *const what[] = {
		[MCE_CORRECTED] = "corrected",
		[MCE_LOST] = "memory is lost that nobody has used since",
		[MCE_USED] = "memory is lost that was in use here",
		[MCE_USED_BY_CORE] =
			"memory is lost that was in use here, and more that no bank tells of",
		[MCE_FATAL] = "not to be recovered from",
	};

	if (is_news(verdict, e))
		tell(e->has_page ? &named : &limit[verdict], bank, what[verdict], e);
}

static void give_up_page(enum mce_verdict verdict, u64 page, struct look *look)
{
	memory_lost(page);
	if (verdict == MCE_USED)
		look->used = page | (look->mcg_status & MCG_WHERE);
}

/* For the next error. */
static void empty(const struct mce_kind *kind, unsigned bank, unsigned reg,
		  enum mce_verdict verdict, u64 status)
{
	/* What ends the node is left for who comes after: the firmware, or the next boot's log. */
	if (verdict != MCE_FATAL)
		host_wrmsr(mce_bank_msr(kind, bank, reg), 0);
	/* In both places it is one. */
	if (kind->smca && reg == MCE_STATUS && status & MCI_STATUS_DEFERRED && verdict == MCE_LOST)
		host_wrmsr(mce_bank_msr(kind, bank, SMCA_DESTAT), 0);
}

/* One error of a bank: in STATUS, or in DESTAT. */
static enum mce_verdict look_at(const struct mce_kind *kind, unsigned bank, unsigned reg,
				struct look *look)
{
	struct error e = { .status = bank_read(kind, bank, reg) };
	enum mce_verdict verdict = judge(kind, e.status, look);

	if (verdict == MCE_NONE)
		return verdict;
	read_rest(kind, bank, reg, verdict, &e);
	report(bank, verdict, &e);
	if (e.has_page)
		give_up_page(verdict, e.page, look);
	empty(kind, bank, reg, verdict, e.status);
	return verdict;
}

static enum mce_verdict look_at_all(struct look *look)
{
	unsigned uses = 0;
	enum mce_verdict worst = MCE_NONE;
	struct mce_kind kind;
	u64 cap;

	look->used = HOST_LOST_UNKNOWN;
	if (host_rdmsr(MSR_MCG_CAP, &cap))
		return MCE_NONE;
	kind = mce_kind_of(cap);
	for (unsigned bank = 0; bank < MCG_CAP_COUNT(cap); bank++) {
		enum mce_verdict verdict = look_at(&kind, bank, MCE_STATUS, look);
		enum mce_verdict deferred =
			kind.smca ? look_at(&kind, bank, SMCA_DESTAT, look) : MCE_NONE;

		worst = MAX(worst, MAX(verdict, deferred));
		uses += verdict == MCE_USED;
	}
	if (uses > 1 || worst == MCE_USED_BY_CORE)
		look->used = HOST_LOST_UNKNOWN;
	return worst;
}

/*
 * What concerns one CPU stops that one only: where firmware wants it, or has left the choice (SDM
 * vol. 3, 16.3.1.5).
 */
static void enable_lmce(void)
{
	const u64 on = FEATURE_CONTROL_LOCK | FEATURE_CONTROL_LMCE;
	struct cpuid_regs r = { 0 };
	u64 value;

	if (host_rdmsr(MSR_FEATURE_CONTROL, &value))
		return;
	if (!(value & FEATURE_CONTROL_LOCK)) {
		/* Nobody can change it any more: with what vmx_cpu_on() would set. */
		cpuid(1, 0, &r);
		value |= on | (r.ecx & CPUID_1_ECX_VMX ? FEATURE_CONTROL_VMXON : 0);
		if (host_wrmsr(MSR_FEATURE_CONTROL, value))
			return;
	}
	if ((value & on) == on)
		host_wrmsr(MSR_MCG_EXT_CTL, MCG_EXT_CTL_LMCE);
}

void mce_init_cpu(void)
{
	/* more than there are banks: no guest runs yet */
	struct log_limit lines = { .burst = 256 };
	struct mce_kind kind;
	u64 cap, value;

	if (host_rdmsr(MSR_MCG_CAP, &cap))
		return;
	kind = mce_kind_of(cap);
	for (unsigned bank = 0; bank < MCG_CAP_COUNT(cap); bank++) {
		struct error old = { .status = bank_read(&kind, bank, MCE_STATUS) };

		if (old.status & MCI_STATUS_VAL) {
			old.address = bank_read(&kind, bank, MCE_ADDR);
			old.misc = bank_read(&kind, bank, MCE_MISC);
			tell(&lines, bank, "from before this boot", &old);
		}
		host_wrmsr(mce_bank_msr(&kind, bank, MCE_STATUS), 0);
		if (kind.smca)
			host_wrmsr(mce_bank_msr(&kind, bank, SMCA_DESTAT), 0);
		if (kind.smca && !host_rdmsr(mce_bank_msr(&kind, bank, SMCA_CONFIG), &value))
			host_wrmsr(mce_bank_msr(&kind, bank, SMCA_CONFIG),
				   value | SMCA_CONFIG_ENABLE);
		host_wrmsr(mce_bank_msr(&kind, bank, MCE_CTL), ~0ull);
	}
	if (cap & MCG_CAP_CTL)
		host_wrmsr(MSR_MCG_CTL, ~0ull);
	if (cap & MCG_CAP_LMCE)
		enable_lmce();
}

void mce_look_now(void)
{
	struct look look = { 0 };

	look_at_all(&look);
	if (!this_cpu()->id)
		ghes_look();
}

void mce_look(void)
{
	u64 now = rdtsc(), last;

	memory_lost_tell();
	last = cpu_own(this_cpu(), looked);
	if (likely(last && now - last < LOOK_SECONDS * 1000 * host_tsc_khz()))
		return;
	if (!last)
		corrected_begin();
	cpu_own(this_cpu(), looked) = now;
	mce_look_now();
}

/*
 * No bank tells why this CPU cannot go on where it was: another thread of its core has met the same
 * error at the same time, and has emptied the bank.
 */
static bool was_emptied(enum mce_verdict worst, const struct look *look)
{
	return worst < MCE_USED && !(look->mcg_status & MCG_STATUS_RIPV);
}

/*
 * May what has used lost memory be ended, and nobody else? The guest's next instruction may be lost
 * with it. An access that fails must be the one that the CPU means, and somebody must be told which
 * memory it was.
 */
static bool may_end(enum mc_place place, const struct look *look)
{
	return place == MC_IN_GUEST || (place == MC_IN_ACCESS && look->used != HOST_LOST_UNKNOWN &&
					look->mcg_status & MCG_STATUS_EIPV);
}

/*
 * Is it this CPU's, and no bank tells? Firmware has looked first (ACPI 6.4, table 18-14:
 * notification by MCE).
 */
static bool firmware_came_first(enum mc_place place, enum mce_verdict worst,
				const struct look *look)
{
	return place == MC_IN_GUEST && worst == MCE_NONE &&
	       (look->mcg_status & MCG_WHERE) != MCG_STATUS_RIPV;
}

/* What has happened, by the banks, the firmware, and what is known of the core. */
static enum mce_verdict find_worst(enum mc_place place, struct look *look)
{
	enum mce_verdict worst = look_at_all(look);

	if (IS_ENABLED(CONFIG_HEST) && firmware_came_first(place, worst, look)) {
		worst = ghes_judge(&look->used);
		look->used |= look->mcg_status & MCG_WHERE;
	}
	if (was_emptied(worst, look) && look->core_is_vms) {
		worst = MCE_USED_BY_CORE;
		look->used = HOST_LOST_UNKNOWN;
	}
	return worst;
}

static bool can_go_on(enum mc_place place, enum mce_verdict worst, const struct look *look)
{
	if (worst == MCE_FATAL || was_emptied(worst, look))
		return false;
	return worst != MCE_USED || may_end(place, look);
}

/* Whoever has used what is lost learns of it. */
static enum mc_outcome hand_on(struct cpu *cpu, enum mc_place place, enum mce_verdict worst,
			       u64 used)
{
	if (worst == MCE_USED && place == MC_IN_ACCESS) {
		cpu_own(cpu, failed_page) = used & ~(PAGE_SIZE - 1);
		return MC_ACCESS_FAILS;
	}
	if (worst >= MCE_USED)
		cpu->work->fault(cpu->work, HOST_MACHINE_CHECK, used);
	return MC_GOES_ON;
}

enum mc_outcome mce_taken(enum mc_place place)
{
	struct cpu *cpu = this_cpu();
	struct look look = { .taken = true };
	enum mc_outcome outcome;
	enum mce_verdict worst;

	host_rdmsr(MSR_MCG_STATUS, &look.mcg_status);
	look.core_is_vms = place == MC_IN_GUEST && cpu->work->core_is_vms(cpu->work);
	worst = find_worst(place, &look);
	if (!can_go_on(place, worst, &look)) {
		printk_error("machine check: CPU %u cannot go on: MCG_STATUS %#lx", cpu->id,
			     look.mcg_status);
		return MC_STOPS;
	}
	outcome = hand_on(cpu, place, worst, look.used);
	/* From here on another one does not shut the CPU down. */
	host_wrmsr(MSR_MCG_STATUS, 0);
	return outcome;
}

u64 host_failed_page(void)
{
	return cpu_own(this_cpu(), failed_page);
}

u64 host_machine_checks(u64 *lost)
{
	*lost = __atomic_load_n(&uncorrected, __ATOMIC_RELAXED);
	return __atomic_load_n(&corrected, __ATOMIC_RELAXED);
}

void mce_tell_when(bool in_time)
{
	if (in_time)
		corrected_tell();
	else
		printk("machine checks: corrected errors are looked for where a CPU leaves its guest");
}
