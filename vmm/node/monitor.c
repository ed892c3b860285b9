/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From boot modules to running VMs, and what happens when one ends: restart,
 * nothing, or the end of the node. One VM's bad configuration, missing module
 * or crash never keeps another from running.
 */
#include "vmm/monitor.h"

#include <margay/errno.h>
#include <margay/host_start.h>
#include <margay/string.h>

#include "vmm/hvm.h"
#include "vmm/slots/follow_up.h"
#include "vmm/slots/slot.h"
#include "vmm/stage.h"
#include "vmm/vm.h"
#include "vmm/vm/service.h"

/* A boot says only what keeps it from running VMs. */
static void tell_missing(const struct hvm_feature *f)
{
	if (f->required && !f->there)
		host_log("margay: %s lacks \"%s\": %s", f->backend, f->name, f->where);
}

static bool choose_backend(void)
{
	int err = hvm_find_backend(tell_missing);

	if (!err)
		host_note("margay: virtualization: %s", hvm->name);
	else if (err == -ENODEV)
		host_log("margay: no virtualization: %s that this image supports", HVM_NO_BACKEND);
	return !err;
}

static void tell_error(const char *text)
{
	host_log("margay: %s", text);
}

/* Parses one VM file into a slot of its own; a slot without a configuration counts as failed. */
static void read_config(const struct host_module *m)
{
	struct slot *s = &monitor_slots[monitor_nr_slots];
	struct config_error err;

	snprintf(s->file, sizeof(s->file), "%s", m->name + strlen(MONITOR_VM_PREFIX));
	s->config = host_pages_alloc(SLOT_CONFIG_PAGES, -1);
	if (!s->config) {
		host_no_memory(s->file);
	} else if (vm_config_parse(s->file, m->data, m->size, s->config, &err, tell_error)) {
		tell_error(err.text);
		slot_refuse(s);
	}
	if (s->config && !s->config->name[0])
		snprintf(s->config->name, sizeof(s->config->name), "vm%u", monitor_nr_slots);
	monitor_nr_slots++;
}

static void read_configs(void)
{
	const struct host_module *m;

	for (unsigned i = 0; (m = host_module(i)); i++) {
		if (strncmp(m->name, MONITOR_VM_PREFIX, strlen(MONITOR_VM_PREFIX)) != 0)
			continue;
		if (monitor_nr_slots == MONITOR_MAX_VMS)
			host_log("margay: %s: this image runs %u VM%s, this one is left out",
				 m->name, MONITOR_MAX_VMS, MONITOR_MAX_VMS > 1 ? "s" : "");
		else
			read_config(m);
	}
	if (!monitor_nr_slots)
		host_log("margay: no VM file: no boot module is named " MONITOR_VM_PREFIX "...");
}

static void set_state(struct slot *s, enum slot_state state)
{
	spin_lock(&monitor_lock);
	s->state = state;
	spin_unlock(&monitor_lock);
}

static void set_vm(struct slot *s, struct vm *vm)
{
	spin_lock(&monitor_lock);
	s->vm = vm;
	if (vm && slot_is_stopped(s))
		vm_end(vm, VM_END_STOPPED);
	spin_unlock(&monitor_lock);
}

void monitor_start_slot(struct slot *s)
{
	unsigned id = (unsigned)(s - monitor_slots);
	bool stopped = false;
	struct vm *vm;
	int err;

	stages_slot(s, SLOT_BEGINS, NULL);
	err = vm_create(s->config, id, &vm);
	if (!err) {
		monitor_get_running();
		s->starts++;
		s->last_end = VM_RUNNING;
		set_vm(s, vm);
		stages_slot(s, SLOT_STARTS, NULL);
		err = vm_start(vm);
		if (!err)
			return;
		/* The operator's word may have come first. */
		stopped = vm_is_stopped(vm);
		set_vm(s, NULL);
		vm_destroy(vm);
		if (monitor_asked_again(s)) {
			/* In this order: the node is not idle in between. */
			monitor_start_slot(s);
			monitor_put_running();
			return;
		}
		monitor_put_running();
	}
	s->last_end = stopped ? VM_END_STOPPED : VM_END_CRASH;
	stages_slot(s, stopped ? SLOT_ENDED : SLOT_NOT_STARTED, NULL);
	host_log("%s: %s", s->config->name, stopped ? "end=stopped" : "not started");
	if (stopped || !SLOTS_WAIT || !monitor_wait_for_functions(s))
		set_state(s, OVER);
}

/*
 * One pass finds all: a VM waits only for earlier ones, and one that fails to start is over at
 * once.
 */
static void start_ready(void)
{
	for (struct slot *s = monitor_slots; s < monitor_slots + monitor_nr_slots; s++) {
		bool ready;

		spin_lock(&monitor_lock);
		ready = s->config && s->state == WAITING && !s->restart_at &&
			(!SLOTS_WAIT || monitor_has_functions(s)) && !slot_follows(s);
		if (ready)
			s->state = STARTED;
		spin_unlock(&monitor_lock);
		if (ready)
			monitor_start_slot(s);
	}
}

/*
 * What the slot becomes behind its VM's end: ENDED, STARTED, or WAITING until it can start.
 * monitor_lock held.
 */
static enum slot_state follow_up(struct slot *s)
{
	/*
	 * The operator's start, until here, comes before the limit: it is none of the restarts that
	 * count.
	 */
	bool asked = slot_take_wish(s);
	bool counts = vm_restart_counts(s->last_end);

	if (!asked && (vm_follow_up(s->config, s->last_end, s->last_status) != THEN_RESTART ||
		       (counts && !vm_may_restart(&s->restarts, s->config))))
		return ENDED;
	/* Stopped meanwhile: it ends as it starts, and waits for nothing. */
	if (slot_is_stopped(s))
		return STARTED;
	if (RESTARTS_PACED && !asked && counts && !s->config->restart_limit && restart_pace_wait(s))
		return WAITING;
	/* Where its functions are not to be had yet, it is started once they are. */
	return SLOTS_WAIT && !monitor_has_functions(s) ? WAITING : STARTED;
}

static void note_end(struct slot *s, const struct vm *vm)
{
	s->last_end = vm->kept ? vm->kept : vm->end; /* also of one that the operator ended then */
	s->last_status = (u32)vm->exit_status;
}

static void tell_end(const struct slot *s, struct vm *vm)
{
	if (s->last_end == VM_END_EXIT)
		host_log("%s: end=%s status=%u", s->config->name, vm_end_name(s->last_end),
			 s->last_status);
	else
		host_log("%s: end=%s", s->config->name, vm_end_name(s->last_end));
	if (vm->lines.unsaid)
		vm_tell(vm, "%u more lines that its guest has caused are not in the log",
			vm->lines.unsaid);
}

static void take_down(struct slot *s, struct vm *vm)
{
	spin_lock(&monitor_lock);
	s->vm = NULL;
	s->stays = s->stays || vm_is_abandoned(vm);
	s->state = ENDING;
	monitor_busy += IS_ENABLED(CONFIG_MONITOR_CONSOLE);
	spin_unlock(&monitor_lock);
	/* CPUs that were given up may still use, and write to, all that the VM has. */
	if (vm_is_abandoned(vm))
		vm_abandon(vm);
	else
		vm_destroy(vm);
}

/* What follows of the end for this VM; what that is. */
static enum slot_state go_on(struct slot *s, const char *name)
{
	enum slot_state next;
	bool paced;

	if (RESTARTS_PACED)
		monitor_get_running();
	spin_lock(&monitor_lock);
	next = follow_up(s);
	s->state = next;
	paced = RESTARTS_PACED && s->restart_at;
	spin_unlock(&monitor_lock);
	if (next == STARTED) {
		host_log("%s: restart %u", s->config->name, s->starts);
		monitor_start_slot(s);
	}
	if (paced)
		restart_pace_go_on(name);
	else if (RESTARTS_PACED)
		monitor_put_running();
	return next;
}

/* Only now: who sees it over may power the node off, which says that it is idle before. */
static void be_over(struct slot *s, const char *name)
{
	set_state(s, OVER);
	/* Its CPUs may be another's by now. */
	if (monitor_asked_again(s) && monitor_vm_start((unsigned)(s - monitor_slots)))
		host_log("%s: not started", name);
}

/*
 * Runs on the CPU of the VM's last vCPU, after that has left its work item,
 * so nothing uses the VM any more. What others do of it are stages; what follows for the VM and for
 * the node stands here line by line, as each line needs what the one before has decided.
 */
static void reap(struct host_work *work)
{
	struct slot *s = container_of(work, struct slot, reaper);
	const char *name = s->config->name; /* when it is over, whoever commands may destroy it */
	struct vm *vm = s->vm;
	enum slot_state next;

	note_end(s, vm);
	stages_slot(s, SLOT_ENDED, NULL);
	tell_end(s, vm);
	stages_slot(s, SLOT_TOLD, NULL);
	take_down(s, vm);
	next = go_on(s, name);
	start_ready();
	monitor_put_running();
	if (next == ENDED)
		be_over(s, name);
	monitor_not_busy();
	stages_slot(s, SLOT_DONE, NULL);
}

void monitor_vm_ended(struct vm *vm)
{
	struct slot *s = &monitor_slots[vm->id];

	s->reaper = (struct host_work){ .name = "reaper", .run = reap };
	if (host_cpu_assign(host_cpu_this(), &s->reaper))
		host_panic("%s: its CPU took another work item while it ran", vm->name);
}

/* Will a VM be made of the modules later? */
static bool modules_needed(void)
{
	if (!hvm)
		return false;
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		if (monitor_slots[i].config &&
		    (monitor_has_operator() || vm_config_disks(monitor_slots[i].config) ||
		     vm_config_commands(monitor_slots[i].config) ||
		     slot_starts_later(&monitor_slots[i]) ||
		     slot_may_start_anew(&monitor_slots[i]) ||
		     vm_ever_restarts(monitor_slots[i].config)))
			return true;
	return false;
}

/*
 * Chooses the hardware backend, reads the VM files among the boot modules, makes the VMs and hands
 * their vCPUs to CPUs as work, which they begin when this has returned.
 */
static void monitor_start(void)
{
	/* A VM may end on another CPU before the next one here has started. */
	monitor_get_running();
	read_configs();
	monitor_check_together();
	services_start();
	if (choose_backend())
		start_ready();
	monitor_booted = true;
	if (!modules_needed()) {
		u64 freed = host_modules_release();

		host_note("margay: boot modules: %lu KiB freed", freed >> 10);
	}
	monitor_put_running();
	monitor_not_busy();
}
HOST_START(monitor_start);
