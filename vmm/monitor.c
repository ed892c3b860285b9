/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From boot modules to running VMs, and what happens when one ends: restart,
 * nothing, or the end of the node. One VM's bad configuration, missing module
 * or crash never keeps another from running.
 */
#include "vmm/monitor.h"

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/hvm.h"
#include "vmm/vm.h"

#define MAX_VMS 64
#define FILE_MAX 63
/* A boot module whose name begins so is a VM file. */
#define VM_PREFIX "vm:"

const struct hvm_ops *hvm;
struct hvm_caps hvm_caps;

extern const struct hvm_ops *const __start_hvm_backends[], *const __stop_hvm_backends[];

struct slot {
	char file[FILE_MAX + 1];
	struct vm_config *config; /* one page; NULL when the file was not understood */
	struct vm *vm;            /* NULL: not running */
	enum { WAITING, STARTED, OVER } state;
	const struct slot *after; /* starts when that one is over; NULL: at once */
	enum vm_end last_end;
	u32 last_status;          /* of VM_END_EXIT */
	unsigned starts;
	struct host_work reaper;
};

/* Guards slots and nr_running once CPUs run VMs. */
static struct spinlock lock;
static struct slot slots[MAX_VMS];
static unsigned nr_slots, nr_running;

static bool choose_backend(void)
{
	bool explained = false;

	for (const struct hvm_ops *const *b = __start_hvm_backends; b < __stop_hvm_backends; b++) {
		int err = (*b)->probe(&hvm_caps);

		if (!err) {
			hvm = *b;
			host_log("margay: virtualization: %s", hvm->name);
			return true;
		}
		explained = explained || err != -ENODEV;
	}
	if (!explained)
		host_log("margay: no virtualization: CPUID shows neither VT-x (leaf 1 ECX bit 5) nor SVM (leaf 0x80000001 "
			 "ECX bit 2) that this image supports");
	return false;
}

/* `after = NAME` names the VM of an earlier file, so that no two can wait for each other. */
static int find_after(struct slot *s)
{
	const struct vm_config *c = s->config;
	struct config_error err;

	if (!c->after[0])
		return 0;
	for (const struct slot *t = slots; t < s; t++)
		if (t->config && !strcmp(t->config->name, c->after))
			s->after = t;
	if (s->after)
		return 0;
	vm_config_error(&err, s->file, c->line_after, "after = %s: no earlier VM file is of that name", c->after);
	host_log("margay: %s", err.text);
	return -EINVAL;
}

/* Parses one VM file into a slot of its own; a slot without a configuration counts as failed. */
static void read_config(const struct host_module *m)
{
	struct slot *s = &slots[nr_slots];
	struct config_error err;

	snprintf(s->file, sizeof(s->file), "%s", m->name + strlen(VM_PREFIX));
	static_assert(sizeof(struct vm_config) <= PAGE_SIZE, "one page each");
	s->config = host_pages_alloc(1, -1);
	if (!s->config) {
		host_log("margay: %s: no memory left for the hypervisor itself", s->file);
		nr_slots++;
		return;
	}
	if (vm_config_parse(s->file, m->data, m->size, s->config, &err)) {
		host_log("margay: %s", err.text);
		goto bad;
	}
	if (!s->config->name[0])
		snprintf(s->config->name, sizeof(s->config->name), "vm%u", nr_slots);
	for (unsigned i = 0; i < nr_slots; i++) {
		if (slots[i].config && !strcmp(slots[i].config->name, s->config->name)) {
			host_log("margay: %s: the name %s is taken by %s", s->file, s->config->name, slots[i].file);
			goto bad;
		}
	}
	if (find_after(s))
		goto bad;
	nr_slots++;
	return;
bad:
	host_pages_free(s->config, 1);
	s->config = NULL;
	nr_slots++;
}

static void read_configs(void)
{
	const struct host_module *m;

	for (unsigned i = 0; (m = host_module(i)); i++) {
		if (strncmp(m->name, VM_PREFIX, strlen(VM_PREFIX)) != 0)
			continue;
		if (nr_slots == MAX_VMS)
			host_log("margay: %s: more than %u VM files, this one is left out", m->name, MAX_VMS);
		else
			read_config(m);
	}
	if (!nr_slots)
		host_log("margay: no VM file: none of the boot modules has a name that begins with " VM_PREFIX);
}

static bool ended_well(const struct slot *s)
{
	switch (s->last_end) {
	case VM_END_POWEROFF:
	case VM_END_RESET_ACPI:
	case VM_END_RESET_KBD:
	case VM_END_RESET_CF9:
		return true;
	case VM_END_EXIT:
		return s->last_status == 0;
	default:
		return false;
	}
}

/* Nothing runs any more: the last machine-readable line, and power off if any VM that ran asked for it. */
static void node_end(void)
{
	bool poweroff = false;
	unsigned failed = 0;

	for (unsigned i = 0; i < nr_slots; i++) {
		const struct slot *s = &slots[i];

		failed += !s->config || !ended_well(s);
		poweroff = poweroff || (s->starts && s->config->on_end == ON_END_POWEROFF_NODE);
	}
	if (poweroff)
		host_node_poweroff(nr_slots, failed);
	host_log("margay: node: end=idle vms=%u failed=%u", nr_slots, failed);
}

/* One running VM less, or one less who holds off the node's end. The last one ends the node. */
static void put_running(void)
{
	bool last;

	spin_lock(&lock);
	last = --nr_running == 0;
	spin_unlock(&lock);
	if (last)
		node_end();
}

static void get_running(void)
{
	spin_lock(&lock);
	nr_running++;
	spin_unlock(&lock);
}

static void set_over(struct slot *s)
{
	spin_lock(&lock);
	s->state = OVER;
	spin_unlock(&lock);
}

/* The caller holds one of nr_running, so that a failure here never ends the node before the others have started. */
static void start(struct slot *s)
{
	int err = vm_create(s->config, (unsigned)(s - slots), &s->vm);

	if (!err) {
		get_running();
		s->starts++;
		err = vm_start(s->vm);
		if (!err)
			return;
		vm_destroy(s->vm);
		put_running();
	}
	s->vm = NULL;
	s->last_end = VM_END_CRASH;
	host_log("%s: not started", s->config->name);
	set_over(s);
}

/* One pass finds all: a VM waits only for earlier ones, and one that fails to start is over at once. */
static void start_ready(void)
{
	for (struct slot *s = slots; s < slots + nr_slots; s++) {
		bool ready;

		spin_lock(&lock);
		ready = s->config && s->state == WAITING && (!s->after || s->after->state == OVER);
		if (ready)
			s->state = STARTED;
		spin_unlock(&lock);
		if (ready)
			start(s);
	}
}

/*
 * Runs on the CPU of the VM's last vCPU, after that has left its work item,
 * so nothing uses the VM any more.
 */
static void reap(struct host_work *work)
{
	struct slot *s = container_of(work, struct slot, reaper);

	s->last_end = s->vm->end;
	s->last_status = (u32)s->vm->exit_status;
	if (s->last_end == VM_END_EXIT)
		host_log("%s: end=%s status=%u", s->config->name, vm_end_name(s->last_end), s->last_status);
	else
		host_log("%s: end=%s", s->config->name, vm_end_name(s->last_end));
	vm_destroy(s->vm);
	s->vm = NULL;
	if (s->config->on_end == ON_END_RESTART) {
		host_log("%s: restart %u", s->config->name, s->starts);
		start(s);
	} else {
		set_over(s);
	}
	start_ready();
	put_running();
}

void monitor_vm_ended(struct vm *vm)
{
	struct slot *s = &slots[vm->id];

	s->reaper = (struct host_work){ .name = "reaper", .run = reap };
	if (host_cpu_assign(host_cpu_this(), &s->reaper))
		host_panic("%s: its CPU took another work item while it ran", vm->name);
}

/* Will a VM be made of the modules later? */
static bool modules_needed(void)
{
	for (unsigned i = 0; i < nr_slots; i++)
		if (slots[i].config && (slots[i].after || slots[i].config->on_end == ON_END_RESTART))
			return true;
	return false;
}

void monitor_start(void)
{
	bool able = choose_backend();

	/* A VM may end on another CPU before the next one here has started. */
	get_running();
	read_configs();
	if (able)
		start_ready();
	if (!modules_needed())
		host_modules_release();
	put_running();
}
