/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting the other CPUs: INIT, startup IPI, and a dialogue in which the new
 * CPU tells that it is there and what its TSC says. SDM vol. 3, 9.4.4.1.
 */
#include "kernel/cpu/power.h"
#include "kernel/smp.h"

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/errata.h"
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/trampoline.h"
#include "arch/x86_64/cpu/tsc_sync.h"
#include "kernel/cpu/microcode.h"
#include "kernel/cpu/mitigations.h"
#include "kernel/errors/mce.h"
#include "kernel/log/printk.h"
#include "kernel/memory/pmem.h"
#include "kernel/percpu.h"
#include "kernel/time/clock.h"
#include "kernel/work/work.h"

#define INIT_DELAY_US 10000 /* both of SDM vol. 3, 9.4.4.1 */
#define STARTUP_DELAY_US 200
/* far more than any CPU needs: an emulator shares its host's CPUs */
#define ANSWER_TIMEOUT_US 2000000
#define TSC_EXCHANGES 16
#define TSC_CORRECTIONS 4

/*
 * The dialogue, one CPU at a time. The new CPU makes the turn odd, the boot
 * CPU even: 1 is "I am here", every later odd one the answer to the even one
 * before. After the answer to QUESTION_LAST the new CPU is on its own.
 * The rest belongs to the turn that follows its store.
 */
static u32 turn;
static enum { QUESTION_TSC, QUESTION_ADJUST, QUESTION_LAST } question;
static u64 tsc_add;    /* QUESTION_ADJUST: to be added to TSC_ADJUST */
static u64 tsc_answer; /* the TSC; for QUESTION_ADJUST the TSC_ADJUST before */

/* Waits until the turn is `want`; false when it does not come in time. */
static bool wait_turn(u32 want, u64 timeout_us)
{
	u64 start = rdtsc(), ticks = timeout_us * host_tsc_khz() / 1000;

	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != want) {
		if (rdtsc() - start > ticks)
			return false;
		cpu_pause();
	}
	return true;
}

static void delay(u64 us)
{
	u64 start = rdtsc(), ticks = us * host_tsc_khz() / 1000;

	while (rdtsc() - start < ticks)
		cpu_pause();
}

/*
 * The new CPU's half of the dialogue. It has no way to time out: a boot CPU that loses patience
 * sends it INIT.
 */
static void answer_boot_cpu(void)
{
	u32 t = 1;

	if (CONFIG_DEBUG_CLOCK_SKEW)
		wrmsr(MSR_TSC, rdtsc() + CONFIG_DEBUG_CLOCK_SKEW);
	do {
		__atomic_store_n(&turn, t, __ATOMIC_RELEASE);
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != t + 1)
			cpu_pause();
		if (question == QUESTION_ADJUST) {
			tsc_answer = rdmsr(MSR_TSC_ADJUST);
			wrmsr(MSR_TSC_ADJUST, tsc_answer + tsc_add);
		} else {
			tsc_answer = rdtsc_ordered();
		}
		t += 2;
	} while (question != QUESTION_LAST);
	__atomic_store_n(&turn, t, __ATOMIC_RELEASE);
}

/*
 * A new CPU's way to its work loop. Takes no lock before its last answer: INIT may end it until
 * then.
 */
static void ap_main(void *arg) __attribute__((noreturn));
static void ap_main(void *arg)
{
	trampoline_leave();
	cpu_load(arg);
	microcode_init_cpu();
	features_setup_cpu();
	errata_init_cpu();
	mitigations_init_cpu();
	power_init_cpu();
	apic_init_cpu();
	apic_timer_init_cpu();
	answer_boot_cpu();
	mce_init_cpu();
	work_loop();
}

/*
 * The CPU has taken an INIT, and so have those given up before, which may have read and written
 * these until then.
 */
static bool wake(struct cpu *cpu)
{
	__atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
	trampoline_aim(cpu->stack[0].top, ap_main, cpu);
	apic_send_startup(cpu->apic_id, trampoline_page());
	if (wait_turn(1, STARTUP_DELAY_US))
		return true;
	/* A CPU that the first one has started ignores the second. */
	apic_send_startup(cpu->apic_id, trampoline_page());
	return wait_turn(1, ANSWER_TIMEOUT_US);
}

/* One question and its answer; false when the CPU falls silent. */
static bool ask(struct tsc_exchange *e)
{
	u32 t = turn + 1;

	e->asked = rdtsc_ordered();
	__atomic_store_n(&turn, t, __ATOMIC_RELEASE);
	if (!wait_turn(t + 1, ANSWER_TIMEOUT_US))
		return false;
	e->answered = rdtsc_ordered();
	e->there = tsc_answer;
	return true;
}

static bool compare_tsc(struct tsc_exchange *e)
{
	question = QUESTION_TSC;
	for (unsigned i = 0; i < TSC_EXCHANGES; i++)
		if (!ask(&e[i]))
			return false;
	return true;
}

/*
 * Makes the CPU's TSC the boot CPU's, where it is not and the CPU has
 * TSC_ADJUST (SDM vol. 3, 18.17.3): by the boot CPU's value of that, which is
 * exact where firmware has written to the TSC or to it, else by what was measured.
 */
static bool correct_tsc(struct tsc_exchange *e)
{
	if (!cpu_features.tsc_adjust)
		return true;
	for (unsigned i = 0; i < TSC_CORRECTIONS && tsc_difference(e, TSC_EXCHANGES); i++) {
		struct tsc_exchange adjust;

		question = QUESTION_ADJUST;
		tsc_add = 0;
		if (!ask(&adjust))
			return false;
		tsc_add = rdmsr(MSR_TSC_ADJUST) - adjust.there;
		if (!tsc_add)
			tsc_add = -(u64)tsc_middle(e, TSC_EXCHANGES);
		if (!ask(&adjust) || !compare_tsc(e))
			return false;
	}
	return true;
}

/* The boot CPU's half of the dialogue after the CPU has come; false when it falls silent. */
static bool talk_to(struct cpu *cpu)
{
	struct tsc_exchange e[TSC_EXCHANGES];
	s64 before, after;

	if (!compare_tsc(e))
		return false;
	before = tsc_difference(e, TSC_EXCHANGES);
	if (!correct_tsc(e))
		return false;
	after = tsc_difference(e, TSC_EXCHANGES);
	cpu->tsc_ahead = after ? tsc_middle(e, TSC_EXCHANGES) : 0;
	if (after && clock_tsc_differs())
		printk_error(
			"CPU with APIC ID %u: its TSC is %ld ticks or more %s the boot CPU's: not taken as one clock",
			cpu->apic_id, after > 0 ? after : -after,
			after > 0 ? "ahead of" : "behind");
	else if (before && !after)
		printk("CPU with APIC ID %u: its TSC was %ld ticks or more %s the boot CPU's: corrected by TSC_ADJUST",
		       cpu->apic_id, before > 0 ? before : -before,
		       before > 0 ? "ahead of" : "behind");
	question = QUESTION_LAST;
	return ask(e);
}

static int leave_out(const struct cpu *cpu, const char *why)
{
	printk_error("CPU with APIC ID %u: left out: %s", cpu->apic_id, why);
	return -EIO;
}

static int start_cpu(struct cpu *cpu)
{
	if (!apic_can_reach(cpu->apic_id))
		return leave_out(cpu, "without x2APIC mode the boot CPU reaches IDs up to 254");
	if (cpu_alloc_stacks(cpu))
		return leave_out(cpu, "no memory for its stacks");
	if (!wake(cpu) || !talk_to(cpu)) {
		/*
		 * Whatever it is doing, it waits for a startup IPI from now on and no longer uses
		 * the trampoline.
		 */
		apic_send_init(cpu->apic_id);
		delay(INIT_DELAY_US);
		return leave_out(cpu, "it does not answer INIT and two startup IPIs");
	}
	__atomic_store_n(&cpu->online, true, __ATOMIC_RELEASE);
	return 0;
}

static void start_all(void)
{
	unsigned end = cpu_count();

	/* One wait for all: it would be half a minute with 3,000 CPUs. */
	for (unsigned id = 1; id < end; id++)
		if (apic_can_reach(cpu_get(id)->apic_id))
			apic_send_init(cpu_get(id)->apic_id);
	delay(INIT_DELAY_US);
	for (unsigned id = 1; id < end;) {
		if (start_cpu(cpu_get(id))) {
			cpu_put_last(id);
			end--;
		} else {
			id++;
		}
	}
}

void smp_start(void)
{
	struct host_extent_request low = {
		.size = TRAMPOLINE_TABLES * PAGE_SIZE,
		.align = PAGE_SIZE,
		.node = -1,
		.max_addr = GIB(4),
	};
	struct host_extent tables;

	if (cpu_count() > 1) {
		bool page = pmem_low_page();

		if (!page || host_extent_alloc(&low, &tables)) {
			printk_error("CPUs: the others cannot start: no memory %s",
				     page ? "below 4 GiB for their first page tables"
					  : "between 64 KiB and 640 KiB");
		} else {
			trampoline_init(pmem_low_page(), tables.base.v);
			start_all();
			host_extent_free(&tables);
		}
	}
	printk("CPUs: %u online of %u", host_cpu_count(), cpu_count());
}
