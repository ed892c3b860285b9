/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command stats: what the exits of a VM or vCPU were, what they cost, and which interrupts it
 * got.
 */
#include <margay/string.h>

#include "vmm/console/monitor_console.h"
#include "vmm/monitor.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

#define VECTORS 256

/* The sum over the vCPUs asked for. */
static struct {
	struct exit_stat exit[VMEXITS];
	u64 vector[VECTORS];
	u64 injected;
	u64 unknown_msrs;
} sum;

/* What was shown last: rates are counted from there when the same is asked again. */
static struct {
	unsigned vm;
	unsigned vcpu;
	unsigned starts;
	u64 tsc;
	u64 count[VMEXITS];
} shown = { .vm = ~0u };

static void add_stats(const struct vcpu_stats *s)
{
	for (unsigned r = 0; r < VMEXITS; r++) {
		const struct exit_stat *e = &s->exit[r];
		struct exit_stat *to = &sum.exit[r];

		to->count += e->count;
		if (!e->timed)
			continue;
		to->min = to->timed ? MIN(to->min, e->min) : e->min;
		to->max = MAX(to->max, e->max);
		to->ticks += e->ticks;
		to->timed += e->timed;
	}
	for (unsigned v = 0; v < VECTORS; v++)
		sum.vector[v] += s->vector[v];
	sum.injected += s->injected;
	sum.unknown_msrs += s->unknown_msrs;
}

static u64 ns(u64 ticks)
{
	u64 khz = host_tsc_khz();

	/* In two parts: the product must not overflow. */
	return ticks / khz * 1000000 + ticks % khz * 1000000 / khz;
}

/* count per second over `ticks`, in tenths. */
static u64 rate10(u64 count, u64 ticks)
{
	u64 ms = ticks / host_tsc_khz();

	return ms ? count * 10000 / ms : 0;
}

/* What one exit of a reason took that has been timed, in ticks. */
static u64 mean(const struct exit_stat *e)
{
	return e->timed ? e->ticks / e->timed : 0;
}

static void say_exits(u64 ticks)
{
	u64 total = 0, spent = 0;

	for (unsigned r = 0; r < VMEXITS; r++) {
		total += sum.exit[r].count;
		spent += mean(&sum.exit[r]) * sum.exit[r].count;
	}
	console_say("%-12s %12s %6s %12s %10s %10s %10s", "exits", "count", "share", "per second",
		    "min ns", "mean ns", "max ns");
	for (unsigned r = 0; r < VMEXITS; r++) {
		const struct exit_stat *e = &sum.exit[r];
		u64 share = total ? e->count * 1000 / total : 0,
		    rate = rate10(e->count - shown.count[r], ticks);

		char times[64];

		shown.count[r] = e->count;
		if (!e->count)
			continue;
		if (e->timed)
			snprintf(times, sizeof(times), "%10lu %10lu %10lu", ns(e->min), ns(mean(e)),
				 ns(e->max));
		else
			snprintf(times, sizeof(times), "%10s %10s %10s", "-", "-", "-");
		console_say("%-12s %12lu %4lu.%lu%% %10lu.%lu %s", vmexit_name(r), e->count,
			    share / 10, share % 10, rate / 10, rate % 10, times);
	}
	console_say("%-12s %12lu; %lu ms were spent on them", "all", total, (ns(spent) / 1000000));
}

static void say_interrupts(void)
{
	char line[128];
	size_t n = 0;

	console_say("interrupts %lu, unknown MSRs %lu; by vector:", sum.injected, sum.unknown_msrs);
	for (unsigned v = 0; v < VECTORS; v++) {
		if (!sum.vector[v])
			continue;
		n += (size_t)snprintf(line + n, sizeof(line) - n, "  %#x: %lu", v, sum.vector[v]);
		if (n > 60) {
			console_say("%s", line);
			n = 0;
		}
	}
	if (n)
		console_say("%s", line);
}

static void say_vm(const struct vm *vm, unsigned vcpu, unsigned starts)
{
	u64 now = host_tsc(), up = now - vm->started_at;
	bool again = shown.vm == vm->id && shown.vcpu == vcpu && shown.starts == starts;
	u64 ticks = again ? now - shown.tsc : up;

	memset(&sum, 0, sizeof(sum));
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		if (vcpu == ~0u || vcpu == i)
			add_stats(&vm->vcpus[i]->stats);
	if (!again)
		memset(&shown, 0, sizeof(shown));
	shown.vm = vm->id;
	shown.vcpu = vcpu;
	shown.starts = starts;
	shown.tsc = now;
	console_say("%s: %s, %u vCPUs, up %lu s; rates over the last %lu ms", vm->name,
		    vcpu == ~0u ? "all vCPUs" : "one vCPU", vm->nr_vcpus, (ns(up) / 1000000000),
		    (ns(ticks) / 1000000));
	say_exits(ticks);
	say_interrupts();
}

void command_stats(const struct command_args *args)
{
	bool any = false;

	for (unsigned i = 0; i < monitor_vm_count(); i++) {
		struct monitor_vm info;
		struct vm *vm;

		if (args->has_vm && i != args->vm)
			continue;
		monitor_vm_info(i, &info);
		vm = monitor_vm_hold(i);
		if (vm && args->has_number && args->number >= vm->nr_vcpus)
			console_say("%s has vCPUs 0-%u", vm->name, vm->nr_vcpus - 1);
		else if (vm)
			say_vm(vm, args->has_number ? args->number : ~0u, info.starts);
		if (vm && args->has_vm && !args->has_number)
			console_say_cache_use(vm);
		any = any || vm;
		monitor_vm_release();
	}
	if (!any)
		console_say(args->has_vm ? "%s does not run" : "no VM runs",
			    monitor_vm_name(args->vm));
}
