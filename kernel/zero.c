/* SPDX-License-Identifier: GPL-2.0-only */
/* See zero.h. The CPUs share one job and take its memory in steps, so that all end at about the same time. */
#include "kernel/zero.h"

#include <margay/errno.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/clock.h"
#include "kernel/percpu.h"
#include "kernel/work.h"

#define STEP MIB(32)
#define EXTENTS 16
/* A CPU may still be on the last instructions of the work item before. */
#define PATIENCE_MS 10
#define CPUS 64

struct job {
	const struct pmem_extent *extent;
	unsigned count;
	u64 next[EXTENTS]; /* bytes of each extent that somebody does or has done; atomic */
	u64 nodes;         /* with a CPU in this job; bit by number */
	unsigned busy;     /* items that have not ended; atomic */
};

struct item {
	struct work work;
	struct job *job;
};

/* Takes part in every extent that is this CPU's to do, or in all. */
static void take_part(struct job *job, bool all)
{
	unsigned node = (unsigned)this_cpu()->node;

	for (unsigned i = 0; i < job->count; i++) {
		const struct pmem_extent *e = &job->extent[i];
		u64 at;

		if (!all && e->node != (int)node && job->nodes & BIT(e->node))
			continue;
		while ((at = __atomic_fetch_add(&job->next[i], STEP, __ATOMIC_RELAXED)) < e->size) {
			memset(phys_to_virt(e->base + at), 0, MIN(STEP, e->size - at));
			cpu_interrupt_window();
		}
	}
}

static void run(struct work *work)
{
	struct job *job = container_of(work, struct item, work)->job;

	take_part(job, false);
	__atomic_sub_fetch(&job->busy, 1, __ATOMIC_RELEASE);
}

void zero_extents(const struct pmem_extent *e, unsigned count, const u16 *cpu, unsigned nr_cpus)
{
	struct job job = { .extent = e, .count = MIN(count, EXTENTS) };
	struct item item[CPUS];
	u64 patience = rdtsc() + PATIENCE_MS * clock_tsc_khz();
	bool own = false;
	int err;

	nr_cpus = MIN(nr_cpus, CPUS);
	for (unsigned i = 0; i < nr_cpus; i++)
		job.nodes |= BIT(cpu_get(cpu[i])->node);
	for (unsigned i = 0; i < nr_cpus; i++) {
		if (cpu[i] == this_cpu()->id) {
			own = true;
			continue;
		}
		item[i] = (struct item){ .work = { .name = "zero", .run = run }, .job = &job };
		__atomic_add_fetch(&job.busy, 1, __ATOMIC_RELAXED);
		while ((err = work_assign(cpu[i], &item[i].work)) == -EBUSY && rdtsc() < patience)
			cpu_pause();
		if (err)
			__atomic_sub_fetch(&job.busy, 1, __ATOMIC_RELAXED);
	}
	if (own)
		take_part(&job, false);
	while (__atomic_load_n(&job.busy, __ATOMIC_ACQUIRE))
		cpu_interrupt_window();
	take_part(&job, true);
}
