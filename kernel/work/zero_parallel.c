/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Zeroing by work items of CPUs, which share one job and take its memory in steps: all end at about
 * the same time.
 */
#include "kernel/work/zero_parallel.h"

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/percpu.h"

/* A CPU that is lent comes back after one: within 10 ms with 1 GB/s, which is a slow one. */
#define STEP MIB(8)
/*
 * A CPU may still be on the last instructions of the work item before, or lent for another VM's
 * memory.
 */
#define PATIENCE_MS 100

struct job {
	/*
	 * Each for any number of CPUs: its own, and those that are nobody's, given back as soon as
	 * they are somebody's.
	 */
	struct host_work own;
	struct host_work lent;
	const struct host_extent *extent;
	unsigned count;
	u64 next[HOST_ZERO_MAX]; /* bytes of each extent that somebody does or has done; atomic */
	u64 nodes; /* with a CPU in this job; bit by number */
	bool (*unowned)(unsigned cpu);
	unsigned busy; /* CPUs that have not ended; atomic */
};

/* Takes part in every extent that is this CPU's to do, or in all. */
static void take_part(struct job *job, bool all, bool lent)
{
	unsigned node = (unsigned)this_cpu()->node;

	for (unsigned i = 0; i < job->count; i++) {
		const struct host_extent *e = &job->extent[i];
		u64 at;

		if (e->zero || (!all && e->node != (int)node && job->nodes & BIT(e->node)))
			continue;
		while ((at = __atomic_fetch_add(&job->next[i], STEP, __ATOMIC_RELAXED)) < e->size) {
			zero_memory(e->base.v + at, e->base.v + MIN(at + STEP, e->size));
			host_interrupt_window();
			if (lent && !job->unowned(this_cpu()->id))
				return;
		}
	}
}

static void run(struct job *job, bool lent)
{
	take_part(job, false, lent);
	__atomic_sub_fetch(&job->busy, 1, __ATOMIC_RELEASE);
}

static void run_own(struct host_work *work)
{
	run(container_of(work, struct job, own), false);
}

static void run_lent(struct host_work *work)
{
	run(container_of(work, struct job, lent), true);
}

/* 0 or host_cpu_assign()'s error. */
static int hand_out(struct job *job, struct host_work *work, unsigned cpu)
{
	int err;

	__atomic_add_fetch(&job->busy, 1, __ATOMIC_RELAXED);
	err = host_cpu_assign(cpu, work);
	if (err)
		__atomic_sub_fetch(&job->busy, 1, __ATOMIC_RELAXED);
	return err;
}

/*
 * The boot code is no work item: what it or another CPU gave its CPU would wait behind it, and keep
 * a VM off that CPU which the boot code starts there.
 */
static bool can_lend(const struct job *job, const struct cpu *cpu)
{
	return cpu != this_cpu() && job->unowned(cpu->id) &&
	       __atomic_load_n(&cpu->looping, __ATOMIC_ACQUIRE);
}

/* All that nobody owns, on the nodes where there is something to do. */
static void borrow(struct job *job)
{
	u64 wanted = 0;

	for (unsigned i = 0; i < job->count; i++)
		if (!job->extent[i].zero)
			wanted |= BIT(job->extent[i].node);
	/* The job says who does what before anybody begins. */
	for (int begin = 0; begin < 2; begin++)
		for (unsigned i = 0; i < host_cpu_count(); i++) {
			const struct cpu *cpu = cpu_get(i);

			if (!(wanted & BIT(cpu->node)) || !can_lend(job, cpu))
				continue;
			job->nodes |= BIT(cpu->node);
			if (begin)
				hand_out(job, &job->lent, i);
		}
}

void zero_parallel(const struct host_extent *e, unsigned count, const u16 *cpu, unsigned nr_cpus,
		   bool (*unowned)(unsigned cpu))
{
	struct job job = {
		.own = { .name = "zero", .run = run_own },
		.lent = { .name = "zero", .run = run_lent },
		.extent = e,
		.count = count,
		.unowned = unowned,
	};
	u64 patience = rdtsc() + PATIENCE_MS * host_tsc_khz();
	bool own = false;

	for (unsigned i = 0; i < nr_cpus; i++)
		job.nodes |= BIT(cpu_get(cpu[i])->node);
	borrow(&job);
	for (unsigned i = 0; i < nr_cpus; i++) {
		if (cpu[i] == this_cpu()->id)
			own = true;
		else
			while (hand_out(&job, &job.own, cpu[i]) == -EBUSY && rdtsc() < patience)
				cpu_pause();
	}
	if (own)
		take_part(&job, false, false);
	while (__atomic_load_n(&job.busy, __ATOMIC_ACQUIRE))
		host_interrupt_window();
	take_part(&job, true, false);
}
