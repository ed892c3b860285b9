/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMs that the management VM makes and ends: their files are judged as those of the boot are,
 * and by its rights. One that is destroyed leaves its slot to the next.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/management/private.h"
#include "vmm/config/config_set.h"
#include "vmm/slots/node_events.h"
#include "vmm/node/outcome.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/slots/output_log.h"
#include "vmm/slots/slot_own.h"
#include "vmm/vm.h"

/* Too big for a stack. */
static struct vm_config staged;
static bool staging; /* what it names counts as named */
/* Of the VMs that are there, and of the one in hand behind them. */
static const struct vm_config *others[MONITOR_MAX_VMS + 1];
static const char *names[MONITOR_MAX_VMS + 1];
/* By slot: they stay, for who asks for a name takes no lock. */
static struct vm_config *configs[MONITOR_MAX_VMS];
static unsigned left_at[MONITOR_MAX_VMS]; /* monitor_turn, when its VM was destroyed */

static struct slot *slots_end(void)
{
	return monitor_slots + monitor_nr_slots;
}

u64 vms_disk_bytes(const struct vm_config *c)
{
	u64 sum = 0;

	for (unsigned i = 0; i < c->nr_disks; i++)
		sum += c->disk[i].scratch;
	return sum;
}

static u64 memory_of(const struct vm_config *c)
{
	u64 sum = c->memory;

	for (unsigned i = 0; i < c->nr_memory_nodes; i++)
		sum += c->memory_node[i].size;
	return sum + vms_disk_bytes(c);
}

u64 vms_bytes(void)
{
	u64 sum = 0;

	for (const struct slot *s = monitor_slots; s < slots_end(); s++)
		sum += s->created ? memory_of(s->config) : 0;
	return sum;
}

static bool names_module(const struct vm_config *c, const char *name)
{
	struct vm_config_name named;

	for (unsigned i = 0; vm_config_name(c, i, &named); i++)
		if (!strcmp(named.name, name))
			return true;
	return false;
}

bool vms_wait_for(const char *name)
{
	for (const struct slot *s = monitor_slots; s < slots_end(); s++)
		if (s->config && !s->created && names_module(s->config, name))
			return true;
	return false;
}

bool vms_name_module(const char *name)
{
	for (const struct slot *s = monitor_slots; s < slots_end(); s++)
		if (s->config && names_module(s->config, name))
			return true;
	return staging && names_module(&staged, name);
}

/* ---- create ------------------------------------------------------------------------------- */

static void tell(const char *text)
{
	management_say("%s", text);
}

/* Room within the right, for which images go that nobody names. */
static u64 make_room(const struct vm_config_control *control, u64 wanted)
{
	u64 used;

	do
		used = vms_bytes() + images_bytes();
	while (vms_bytes() + images_kept() + wanted <= control->memory &&
	       used + wanted > control->memory && images_evict());
	return control->memory - MIN(used, control->memory);
}

static int check_name(const struct vm_config *c, struct config_error *err)
{
	if (c->line_name)
		return 0;
	return vm_config_error(err, c->file, 0,
			       "required key 'name' is missing: it is commanded by that");
}

static int check_size(const struct vm_config_control *control, const struct vm_config *c,
		      struct config_error *err)
{
	bool all = !c->memory && !c->nr_memory_nodes;

	for (unsigned i = 0; i < c->nr_memory_nodes; i++)
		all = all || !c->memory_node[i].size;
	if (!all)
		return 0;
	return vm_config_error(err, c->file, c->line_memory,
			       "memory = all: expected a size: control_may has %lu bytes left",
			       make_room(control, 0));
}

/* Last, for images may go for it, but none of its own. */
static int check_memory(const struct vm_config_control *control, const struct vm_config *c,
			struct config_error *err)
{
	u64 left;

	staging = true;
	left = make_room(control, memory_of(c));
	staging = false;
	if (memory_of(c) <= left)
		return 0;
	return vm_config_error(err, c->file, c->line_memory,
			       "memory: %lu bytes with its disks: control_may has %lu left",
			       memory_of(c), left);
}

static int check_modules(const struct vm_config_control *control, const struct vm_config *c,
			 struct config_error *err)
{
	struct vm_config_name named;

	for (unsigned i = 0; vm_config_name(c, i, &named); i++)
		if (!images_have(named.name) &&
		    !(control->may & MAY_MODULES && vm_find_module(named.name)))
			return vm_config_error(err, c->file, named.line,
					       "%s = %s: there is no such image", named.key,
					       named.name);
	return 0;
}

static int bind_all(struct vm_config *c)
{
	int e = images_bind(c->kernel);

	if (!e)
		e = images_bind(c->initrd);
	for (unsigned i = 0; !e && i < vm_config_modules(c); i++)
		e = images_bind(c->module[i].name);
	for (unsigned i = 0; !e && i < c->nr_disks; i++)
		if (!c->disk[i].scratch)
			e = images_bind(c->disk[i].name);
	return e;
}

/* To what its images' names are now; what else it needs has been found. */
static int bind_modules(struct vm_config *c, struct config_error *err)
{
	switch (bind_all(c)) {
	case 0: return 0;
	case -EEXIST:
		return vm_config_error(
			err, c->file, 0,
			"the SHA-256 of an image begins as that of another of its name, which VMs have: give it another name");
	default: return vm_config_error(err, c->file, 0, "there are too many images that VMs have");
	}
}

/* As vmm/node/together.c does with those of the boot. */
static int check_beside(const struct vm_config *c, struct config_error *err)
{
	unsigned n = 0, after;

	for (const struct slot *s = monitor_slots; s < slots_end(); s++)
		if (s->config) {
			others[n] = s->config;
			names[n++] = s->config->name;
		}
	others[n] = c;
	names[n] = c->name;
	if (vm_config_check_earlier(others, names, n, &after, err))
		return -EINVAL;
	for (unsigned i = 0; i <= n; i++)
		if (vm_config_check_trusted(others, n + 1, i, err))
			return -EINVAL;
	if (vm_config_check_vfs(others, n + 1, n, err))
		return -EINVAL;
	return vm_config_check_net(others, n, err);
}

/*
 * Has a command that the monitor console has since before the slot was left its number? It would
 * meet the next VM of it.
 */
static bool carried(unsigned i)
{
	return left_at[i] & 1 && left_at[i] == __atomic_load_n(&monitor_turn, __ATOMIC_SEQ_CST);
}

static struct slot *free_slot(void)
{
	for (struct slot *s = monitor_slots; s < monitor_slots + MONITOR_MAX_VMS; s++)
		if (s >= slots_end() ||
		    (!s->config && !s->file[0] && !carried((unsigned)(s - monitor_slots))))
			return s;
	return NULL;
}

/* The name of the file, which stands before what is in it. False: it is none. */
static bool take_name(struct span *text, char file[MONITOR_FILE_MAX + 1])
{
	bool good;
	struct span name = span_part(text, '\n', &good);

	for (size_t i = 0; i < name.n; i++)
		good = good && name.p[i] > ' ' && name.p[i] <= '~';
	if (!good || !name.n || name.n > MONITOR_FILE_MAX)
		return false;
	snprintf(file, MONITOR_FILE_MAX + 1, "%.*s", (int)name.n, name.p);
	return true;
}

/* Makes `staged` of a file that may be a VM, and binds images to it. */
static int stage(const struct vm_config_control *control, const char *file, struct span text)
{
	struct config_error err;

	if (vm_config_parse(file, text.p, text.n, &staged, &err, tell) ||
	    check_name(&staged, &err) || check_size(control, &staged, &err) ||
	    rights_check(control, &staged, &err) || check_modules(control, &staged, &err) ||
	    check_beside(&staged, &err) || bind_modules(&staged, &err) ||
	    check_memory(control, &staged, &err))
		return management_refuse(EINVAL, "%s", err.text);
	return 0;
}

/* What is staged, and its text, stay with the slot. False: there is no memory for it. */
static bool keep_staged(unsigned slot, struct span text)
{
	if (!configs[slot])
		configs[slot] = host_pages_alloc(SLOT_CONFIG_PAGES, -1);
	if (!configs[slot] || !files_keep(slot, text))
		return false;
	*configs[slot] = staged;
	return true;
}

/* From here on others see the VM, which nobody has started. */
static void fill_slot(struct slot *s, const char file[MONITOR_FILE_MAX + 1], const u8 *let_cpus)
{
	unsigned i = (unsigned)(s - monitor_slots);

	spin_lock(&monitor_lock);
	*s = (struct slot){ .state = OVER, .created = true, .config = configs[i] };
	slot_own_clear(i);
	memcpy(s->file, file, MONITOR_FILE_MAX + 1);
	s->config->file = s->file;
	s->config->created = true;
	s->config->let_cpus = let_cpus;
	if (s == slots_end())
		__atomic_store_n(&monitor_nr_slots, monitor_nr_slots + 1, __ATOMIC_RELEASE);
	spin_unlock(&monitor_lock);
}

/* FILE, a newline, and what is in it. */
int management_create(const struct vm_config_control *control, unsigned, struct span text)
{
	const struct event_command command = { .what = "create",
					       .by = BY_MANAGEMENT,
					       .user = management_user() };
	struct slot *s = free_slot();
	/* zeros to its end: who reads it meanwhile finds one */
	char file[MONITOR_FILE_MAX + 1] = "";
	int err;

	if (!take_name(&text, file))
		return management_refuse(
			EINVAL,
			"expected the name of a file, 1 to %u characters without blanks, and what is in it",
			MONITOR_FILE_MAX);
	if (!s)
		return management_refuse(ENOSPC, "%s: this image runs %u VMs: destroy one", file,
					 MONITOR_MAX_VMS);
	err = stage(control, file, text);
	if (!err && !keep_staged((unsigned)(s - monitor_slots), text))
		err = management_refuse(ENOMEM, "%s: no memory of the hypervisor's own is left",
					file);
	if (err) {
		images_unbind();
		return err;
	}
	fill_slot(s, file, control->cpus);
	host_log("management: %s: made of %s", s->config->name, s->file);
	event_command((unsigned)(s - monitor_slots), s->config->name, &command);
	return 0;
}

/* ---- those that are there ------------------------------------------------------------------ */

struct slot *vms_find(const struct vm_config_control *control, struct span name)
{
	for (struct slot *s = monitor_slots; s < slots_end(); s++) {
		if (!s->config || !span_is(name, s->config->name))
			continue;
		if (s->created || (control->may & MAY_BOOT && !s->config->control.commands))
			return s;
		management_refuse(EPERM, "%s is of the boot: control_may does not have it",
				  s->config->name);
		return NULL;
	}
	management_refuse(ENOENT, "%.*s: there is no such VM",
			  (int)MIN(name.n, (size_t)VM_NAME_MAX), name.p);
	return NULL;
}

/* Of its VM, which is over: a CPU, memory, or a function that did not stop. */
static bool lives_on(const struct slot *s)
{
	return s->stays || vm_pci_holds(s->config);
}

int management_destroy(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);
	bool over, stays, paced = false;

	if (!s)
		return -ENOENT;
	if (!s->created)
		return management_refuse(EPERM, "%s is of the boot: it can be stopped",
					 s->config->name);
	spin_lock(&monitor_lock);
	over = (s->state == OVER || s->state == WAITING) && !s->vm && !s->queued;
	stays = over && lives_on(s);
	if (over && !stays) {
		host_log("management: %s: destroyed", s->config->name);
		paced = RESTARTS_PACED && restart_pace_forget(s);
		s->config = NULL;
		s->file[0] = 0;
		s->created = false;
		s->starts = 0;
	}
	spin_unlock(&monitor_lock);
	if (paced)
		monitor_put_running();
	if (stays)
		return management_refuse(
			EBUSY,
			"%s: a CPU or a function of it has not stopped: where it does not in a minute, "
			"it stays until the node restarts",
			s->config->name);
	if (!over)
		return management_refuse(EBUSY, "%s is not over: stop it first", s->config->name);
	/* Its name has gone before this is read: a command that comes now does not find it. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	left_at[s - monitor_slots] = __atomic_load_n(&monitor_turn, __ATOMIC_SEQ_CST);
	output_log_forget((unsigned)(s - monitor_slots));
	files_forget((unsigned)(s - monitor_slots));
	images_unbind();
	outcome_forget(s);
	return 0;
}
