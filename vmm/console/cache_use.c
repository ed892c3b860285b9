/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a VM uses of each cache and of memory bandwidth, for the command stats. Only a CPU that has
 * the cache can read its counters: one of the VM's reads them twice, and its guest goes on in
 * between.
 */
#include <margay/host.h>
#include <margay/host_rdt.h>
#include <margay/string.h>

#include "vmm/console/monitor_console.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

#define CACHES 64
#define INTERVAL_MS 100

static struct sample {
	struct host_timer timer;
	const struct vm *vm; /* whose; it may have ended when the timer comes */
	struct vcpu *vcpu;   /* that reads */
	char name[VM_NAME_MAX + 1];
	unsigned cpu;
	u32 cache;
	u64 tsc;
	struct host_rdt_use use;
} samples[CACHES];
static unsigned nr, awaited; /* samples, and those that have not been said yet; atomic */

static void done(void)
{
	if (__atomic_sub_fetch(&awaited, 1, __ATOMIC_ACQ_REL) == 0)
		console_answered();
}

/* " TEXT N UNIT", or that it is not known. */
static size_t put(char *line, size_t size, const char *text, u64 value, u64 divisor,
		  const char *unit)
{
	if (value == HOST_RDT_UNKNOWN)
		return (size_t)snprintf(line, size, "%s unknown", text);
	return (size_t)snprintf(line, size, "%s %lu %s", text, value / divisor, unit);
}

static void second(struct host_timer *timer)
{
	struct sample *s = container_of(timer, struct sample, timer);
	u64 ms = MAX((host_tsc() - s->tsc) / host_tsc_khz(), 1);
	struct host_rdt_use use;
	char line[128];
	size_t n;

	if (host_rdt_use(s->vm, &s->use, &use)) {
		n = put(line, sizeof(line), "held", use.held, 1024, "KiB");
		/* A byte in a millisecond is a kilobyte in a second. */
		n += put(line + n, sizeof(line) - n, ", memory traffic", use.traffic, ms * 1000,
			 "MB/s");
		put(line + n, sizeof(line) - n, ", of it with this node's", use.local, ms * 1000,
		    "MB/s");
		console_say("%s: cache of CPU %u: %s", s->name, s->cpu, line);
	}
	done();
}

static void first(struct vcpu *vcpu)
{
	for (unsigned i = 0; i < nr; i++) {
		struct sample *s = &samples[i];

		if (s->vcpu != vcpu)
			continue;
		s->tsc = host_tsc();
		if (host_rdt_use(s->vm, NULL, &s->use))
			host_timer_arm(&s->timer, s->tsc + INTERVAL_MS * host_tsc_khz());
		else
			done();
	}
}

static void add(const struct vm *vm, struct vcpu *vcpu)
{
	u32 cache = host_rdt_cache(vcpu->cpu);
	struct sample *s = &samples[nr];

	for (unsigned i = 0; i < nr; i++)
		if (samples[i].cache == cache)
			return;
	if (nr == CACHES)
		return;
	*s = (struct sample){
		.timer.fn = second, .vm = vm, .vcpu = vcpu, .cpu = vcpu->cpu, .cache = cache
	};
	memcpy(s->name, vm->name, sizeof(s->name));
	nr++;
}

void console_say_cache_use(struct vm *vm)
{
	struct host_rdt_use use;

	/*
	 * Another answer is under way, of a console that was called again; or nothing is counted.
	 */
	if (__atomic_load_n(&awaited, __ATOMIC_ACQUIRE) || !host_rdt_use(vm, NULL, &use))
		return;
	nr = 0;
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		add(vm, vm->vcpus[i]);
	/* One is this function's own. */
	__atomic_store_n(&awaited, nr + 1, __ATOMIC_RELEASE);
	console_answer_later(true);
	for (unsigned i = 0; i < nr; i++)
		if (vcpu_call(samples[i].vcpu, first))
			done();
	if (__atomic_sub_fetch(&awaited, 1, __ATOMIC_ACQ_REL) == 0)
		console_answer_later(false);
}
