/* SPDX-License-Identifier: GPL-2.0-only */
/* Zeroing by work items of CPUs, which share one job and take its memory in steps: all end at about the same time. */
#include "kernel/memory/zero_parallel.h"

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/percpu.h"

/* A CPU that is lent comes back after one: within 10 ms with 1 GB/s, which is a slow one. */
#define STEP MIB(8)
/* A CPU may still be on the last instructions of the work item before, or lent for another VM's memory. */
#define PATIENCE_MS 100
#define CPUS 64

struct job {
	const struct host_extent *extent;
	unsigned count;
	u64 next[HOST_ZERO_MAX]; /* bytes of each extent that somebody does or has done; atomic */
	u64 nodes;         /* with a CPU in this job; bit by number */
	bool (*unowned)(unsigned cpu);
	unsigned busy;     /* items that have not ended; atomic */
};

struct item {
	struct host_work work;
	struct job *job;
	bool lent; /* the CPU is nobody's, and is given back as soon as it is somebody's */
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

static void zero_run(struct host_work *work)
{
	struct item *item = container_of(work, struct item, work);
	struct job *job = item->job;

	take_part(job, false, item->lent);
	__atomic_sub_fetch(&job->busy, 1, __ATOMIC_RELEASE);
}

/* 0 or host_cpu_assign()'s error. */
static int hand_out(struct job *job, struct item *item, unsigned cpu, bool lent)
{
	int err;

	*item = (struct item){ .work = { .name = "zero", .run = zero_run }, .job = job, .lent = lent };
	__atomic_add_fetch(&job->busy, 1, __ATOMIC_RELAXED);
	err = host_cpu_assign(cpu, &item->work);
	if (err)
		__atomic_sub_fetch(&job->busy, 1, __ATOMIC_RELAXED);
	return err;
}

/* Those that nobody owns, on the nodes where there is something to do; each node has the same part of the n items. */
static void borrow(struct job *job, struct item *item, unsigned n)
{
	u64 wanted = 0;
	unsigned nodes = 0;

	/* Where many of the caller's own take part their node needs no more. */
	for (unsigned i = 0; i < job->count; i++) {
		u64 node = BIT(job->extent[i].node);

		if (job->extent[i].zero || wanted & node || (n < CPUS / 2 && job->nodes & node))
			continue;
		wanted |= node;
		nodes++;
	}
	/* The job says who does what before anybody begins. */
	for (int begin = 0; begin < 2; begin++) {
		unsigned taken = 0;

		for (u64 rest = wanted; rest; rest &= rest - 1) {
			unsigned end = taken + n / nodes;

			for (unsigned i = 0; taken < end && i < host_cpu_count(); i++) {
				const struct cpu *cpu = cpu_get(i);

				/*
				 * The boot code is no work item: what it or another CPU gave its CPU would wait behind it, and
				 * keep a VM off that CPU which the boot code starts there.
				 */
				if (cpu->node != __builtin_ctzll(rest) || cpu == this_cpu() || !job->unowned(i) ||
				    !__atomic_load_n(&cpu->looping, __ATOMIC_ACQUIRE))
					continue;
				job->nodes |= BIT(cpu->node);
				if (begin)
					hand_out(job, &item[taken], i, true);
				taken++;
			}
		}
	}
}

void zero_parallel(const struct host_extent *e, unsigned count, const u16 *cpu, unsigned nr_cpus, bool (*unowned)(unsigned cpu))
{
	struct job job = { .extent = e, .count = count, .unowned = unowned };
	struct item item[CPUS];
	u16 chosen[CPUS];
	u64 patience = rdtsc() + PATIENCE_MS * host_tsc_khz();
	const unsigned all = nr_cpus;
	bool own = false;

	nr_cpus = MIN(all, CPUS);
	/* Of more than that some of each node. */
	for (unsigned i = 0; i < nr_cpus; i++) {
		chosen[i] = cpu[i * all / nr_cpus];
		job.nodes |= BIT(cpu_get(chosen[i])->node);
	}
	borrow(&job, item + nr_cpus, CPUS - nr_cpus);
	for (unsigned i = 0; i < nr_cpus; i++) {
		if (chosen[i] == this_cpu()->id)
			own = true;
		else
			while (hand_out(&job, &item[i], chosen[i], false) == -EBUSY && rdtsc() < patience)
				cpu_pause();
	}
	if (own)
		take_part(&job, false, false);
	while (__atomic_load_n(&job.busy, __ATOMIC_ACQUIRE))
		host_interrupt_window();
	take_part(&job, true, false);
}
