/* SPDX-License-Identifier: GPL-2.0-only */
/* What an operator asks of the VMs, and what a panic says of them (monitor.h). */
#include <margay/errno.h>

#include "vmm/hvm.h"
#include "vmm/monitor.h"
#include "vmm/node/pause.h"
#include "vmm/plan/place.h"
#include "vmm/slots/slot.h"
#include "vmm/stage.h"
#include "vmm/vm/service.h"

#define NO_CPU "no CPU is free"

static u64 orders; /* the last slot's; guarded by monitor_lock */

unsigned monitor_vm_count(void)
{
	return monitor_nr_slots;
}

const char *monitor_vm_name(unsigned i)
{
	/* Whoever commands may destroy it meanwhile: its name stays readable. */
	const struct vm_config *c =
		__atomic_load_n(&monitor_slots[i % MONITOR_MAX_VMS].config, __ATOMIC_ACQUIRE);

	if (i >= monitor_nr_slots)
		return NULL;
	return c ? c->name : monitor_slots[i].file;
}

/* 0: all that is free, of one node at least. */
static u64 wanted_memory(const struct vm_config *c)
{
	u64 sum = c->memory;

	for (unsigned i = 0; i < c->nr_memory_nodes; i++) {
		if (!c->memory_node[i].size)
			return 0;
		sum += c->memory_node[i].size;
	}
	return sum;
}

static void get_size(const struct slot *s, struct monitor_vm *out)
{
	const struct vm *vm = s->vm;

	out->cpus = vm ? vm->nr_host_cpus : s->config->cpus;
	out->memory = vm ? 0 : wanted_memory(s->config);
	out->up = vm ? host_tsc() - vm->started_at : 0;
	if (vm)
		for (unsigned i = 0; i < vm->nr_extents; i++)
			out->memory += vm->extent[i].size;
}

static void get_info(const struct slot *s, struct monitor_vm *out)
{
	*out = (struct monitor_vm){
		.file = s->file, .config = s->config, .last_end = s->last_end, .starts = s->starts
	};
	if (s->config)
		get_size(s, out);
	if (!s->config)
		out->state = MONITOR_VM_BAD;
	else if (s->state == WAITING)
		out->state = MONITOR_VM_WAITING;
	else if (s->state == OVER)
		out->state = MONITOR_VM_OVER;
	else if (!s->vm || s->vm->end != VM_RUNNING)
		out->state = MONITOR_VM_CHANGING;
	else
		out->state = vm_paused(s->vm) ? MONITOR_VM_PAUSED : MONITOR_VM_RUNNING;
}

void monitor_vm_info(unsigned i, struct monitor_vm *out)
{
	spin_lock(&monitor_lock);
	get_info(&monitor_slots[i], out);
	spin_unlock(&monitor_lock);
}

const char *monitor_end_name(enum vm_end end)
{
	/* A kernel that cannot even say so any more has panicked, too. */
	return vm_end_name(IS_ENABLED(CONFIG_VM_FOLLOW_UP) && end == VM_END_TRIPLE_FAULT
				   ? VM_END_PANICKED
				   : end);
}

const char *monitor_state_name(const struct monitor_vm *info)
{
	static const char *const names[] = {
		[MONITOR_VM_BAD] = "bad-file",     [MONITOR_VM_WAITING] = "waiting",
		[MONITOR_VM_OVER] = "not-started", [MONITOR_VM_CHANGING] = "changing",
		[MONITOR_VM_RUNNING] = "running",  [MONITOR_VM_PAUSED] = "paused",
	};

	return info->state == MONITOR_VM_OVER && info->starts ? monitor_end_name(info->last_end)
							      : names[info->state];
}

/* One line per VM for a panic: without the lock, whose holder has stopped. */
static void report(void)
{
	struct monitor_vm info;

	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		get_info(&monitor_slots[i], &info);
		host_log("%s: state=%s starts=%u", monitor_vm_name(i), monitor_state_name(&info),
			 info.starts);
	}
}

static void control_start(void)
{
	host_panic_report(report);
}
MONITOR_SERVICE(control_start);

struct vm *monitor_vm_hold(unsigned i)
{
	const struct slot *s = &monitor_slots[i];

	spin_lock(&monitor_lock);
	return s->vm && s->vm->end == VM_RUNNING ? s->vm : NULL;
}

void monitor_vm_release(void)
{
	spin_unlock(&monitor_lock);
}

/* Was another one told to start before this one, and has not had its choice of the memory yet? */
static bool comes_later(const struct slot *s)
{
	u64 order, own = __atomic_load_n(&s->order, __ATOMIC_RELAXED);

	for (const struct slot *o = monitor_slots; o < monitor_slots + monitor_nr_slots; o++) {
		order = __atomic_load_n(&o->order, __ATOMIC_ACQUIRE);
		if (order && order < own)
			return true;
	}
	return false;
}

/*
 * Where memory is scarce who was told first has it: those before have a CPU of their own for that,
 * and need a moment.
 */
static void start_item(struct host_work *work)
{
	struct slot *s = container_of(work, struct slot, starter);

	while (comes_later(s))
		__builtin_ia32_pause();
	monitor_start_slot(s);
	__atomic_store_n(&s->order, 0, __ATOMIC_RELEASE);
	monitor_put_running();
	monitor_not_busy();
}

/*
 * Zeroing memory and unpacking a kernel takes its time: on a CPU that no VM owns. The boot CPU,
 * which the operator interrupts, would not come to it before it has given a CPU to each VM of the
 * boot, and one of these may want its own.
 */
static bool hand_out(struct host_work *work)
{
	char owner[VM_NAME_MAX + 1];

	for (unsigned cpu = 0; cpu < host_cpu_count(); cpu++)
		if ((monitor_booted || cpu != host_cpu_this()) && !place_owner(cpu, owner) &&
		    !host_cpu_assign(cpu, work))
			return true;
	return false;
}

/* Of those that no CPU was free for. monitor_lock held. */
static struct slot *first_queued(void)
{
	struct slot *first = NULL;

	for (struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++)
		if (s->queued && (!first || s->order < first->order))
			first = s;
	return first;
}

/* For want of a CPU. monitor_lock held. */
static void not_started(struct slot *s)
{
	s->state = OVER;
	__atomic_store_n(&s->order, 0, __ATOMIC_RELEASE);
	stages_slot(s, SLOT_NOT_STARTED, NO_CPU);
}

void monitor_not_busy(void)
{
	struct slot *s;
	unsigned lost = 0;

	spin_lock(&monitor_lock);
	monitor_busy--;
	while ((s = first_queued()) && hand_out(&s->starter)) {
		monitor_busy++;
		s->queued = false;
	}
	while (!monitor_busy && (s = first_queued())) {
		host_log("%s: not started: " NO_CPU, s->config->name);
		not_started(s);
		s->queued = false;
		lost++;
	}
	spin_unlock(&monitor_lock);
	while (lost--)
		monitor_put_running();
}

static void (*operator_gone)(const char *name); /* NULL: there is no operator */

void monitor_operator(void (*gone)(const char *name))
{
	operator_gone = gone;
}

bool monitor_has_operator(void)
{
	return operator_gone;
}

/*
 * The name of the VM by slot, which stays readable, if the line led to it as it ended; NULL: it
 * did not, or the operator knows. Atomic: a VM that starts again may end before all is done for its
 * end before.
 */
static const char *left[MONITOR_MAX_VMS];

static void note_foreground(const struct slot *s, const char *)
{
	const struct vm *vm = s->vm;
	bool led = vm && vm->console && host_console_get_foreground() == vm->console;

	/* Without one it was stopped before it ran again: the end before that counts. */
	if (vm)
		__atomic_store_n(&left[s - monitor_slots], led ? s->config->name : NULL,
				 __ATOMIC_RELEASE);
}

static void tell_operator(const struct slot *s, const char *)
{
	const char *name;

	if (s->state != OVER)
		return;
	name = __atomic_exchange_n(&left[s - monitor_slots], NULL, __ATOMIC_ACQ_REL);
	if (name && operator_gone)
		operator_gone(name);
}

static const struct slot_stage operator_stage = {
	.at = SLOT_OPERATOR,
	.on = { [SLOT_ENDED] = note_foreground, [SLOT_DONE] = tell_operator },
};
SLOT_STAGE(operator_stage);

bool monitor_asked_again(struct slot *s)
{
	bool wanted;

	spin_lock(&monitor_lock);
	wanted = s->again;
	s->again = false;
	spin_unlock(&monitor_lock);
	return wanted;
}

/* Has its VM ended, and is being taken down? monitor_lock held. */
static bool is_ending(const struct slot *s)
{
	return s->state == ENDING || s->state == ENDED ||
	       (s->state == STARTED && s->vm && s->vm->end != VM_RUNNING);
}

/* Was it to start again, as soon as it can? monitor_lock held. */
static bool waits_to_restart(const struct slot *s)
{
	return SLOTS_WAIT && s->state == WAITING && s->starts;
}

/* 0: it may, at once or when it has ended. monitor_lock held. */
static int may_not_start(const struct slot *s)
{
	if (!s->config)
		return -EINVAL;
	if (!hvm)
		return -ENODEV;
	return s->state == STARTED && !is_ending(s) ? -EBUSY : 0;
}

/*
 * The slot's VM is to start: at once, or again when it has ended. by_word: by somebody's word,
 * which is none of the restarts that count. monitor_lock held.
 */
static void note_word(struct slot *s, bool by_word)
{
	s->again = is_ending(s);
	if (by_word) {
		s->restarts = (struct restarts){ 0 };
		s->stopped = false;
	}
}

/* Gives the slot, which is STARTED, to a CPU that starts its VM, or to the queue for one. */
static int order_start(struct slot *s)
{
	int err = 0;

	s->starter = (struct host_work){ .name = "starter", .run = start_item };
	spin_lock(&monitor_lock);
	s->order = ++orders;
	/*
	 * All CPUs may be lent for the memory of a VM that starts or ends. Nobody overtakes who
	 * waits for one.
	 */
	if (!first_queued() && hand_out(&s->starter)) {
		monitor_busy++;
	} else if (monitor_busy) {
		s->queued = true;
	} else {
		not_started(s);
		err = -ENOSPC;
	}
	spin_unlock(&monitor_lock);
	if (err)
		monitor_put_running();
	return err;
}

/* by_word: else it is the end of what it has waited for. */
static int start(unsigned i, bool by_word)
{
	struct slot *s = &monitor_slots[i];
	bool now, paced;
	int err;

	spin_lock(&monitor_lock);
	/* The operator may have stopped it meanwhile. */
	if (!by_word && s->state != WAITING) {
		spin_unlock(&monitor_lock);
		return -EBUSY;
	}
	err = may_not_start(s);
	if (!err)
		note_word(s, by_word);
	/* What it waits for is its own of before: it starts when that has been reset. */
	now = !err && !is_ending(s) && !(waits_to_restart(s) && !monitor_has_functions(s));
	if (now)
		s->state = STARTED;
	paced = RESTARTS_PACED && restart_pace_forget(s);
	spin_unlock(&monitor_lock);
	if (now) {
		if (!paced)
			monitor_get_running();
		return order_start(s);
	}
	if (paced)
		monitor_put_running();
	return err;
}

int monitor_vm_start(unsigned i)
{
	return start(i, true);
}

int monitor_start_waiting(unsigned i)
{
	return start(i, false);
}

/*
 * Is there no vCPU to stop, but will there be? One that ends and is restarted all the time has
 * seldom one, or has just ended by itself. monitor_lock held.
 */
static bool will_run(const struct slot *s, const struct vm *vm)
{
	bool starts = s->again || s->state == STARTED || s->state == ENDING;

	return starts && (!vm || vm->end != VM_END_STOPPED);
}

int monitor_vm_stop(unsigned i, bool again)
{
	struct vm *vm = monitor_vm_hold(i);
	struct slot *s = &monitor_slots[i];
	bool starts, waits = !again && waits_to_restart(s);
	bool paced = RESTARTS_PACED && waits && restart_pace_forget(s);

	if (waits)
		s->state = OVER;
	if (vm)
		vm_end(vm, VM_END_STOPPED);
	else
		vm_stop_again(s, hand_out);
	starts = !again && will_run(s, vm);
	s->stopped = s->stopped || starts;
	if (vm || !again)
		s->again = again;
	monitor_vm_release();
	if (paced)
		monitor_put_running();
	return vm || starts || waits ? 0 : -ENODEV;
}

void monitor_node_end(bool reboot)
{
	char text[MONITOR_SUM];

	if (reboot)
		host_node_reboot();
	monitor_sum_up(text);
	host_node_poweroff(text);
}
