/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMs that the VM that commands makes and ends: their files are judged as those of the boot are, and by its rights. One that is
 * destroyed leaves its slot to the next.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/commander/private.h"
#include "vmm/config/config_set.h"
#include "vmm/monitor.h"
#include "vmm/output_log.h"
#include "vmm/pause.h"
#include "vmm/slot.h"

#define CONSOLE_LOG 64u /* KiB, the parser's default: the memory stays with the slot */

/* Too big for a stack. */
static struct vm_config staged;
/* Of the VMs that are there, and of the one in hand behind them. */
static const struct vm_config *others[MONITOR_MAX_VMS + 1];
static const char *names[MONITOR_MAX_VMS + 1];
/* By slot: they stay, for who asks for a name takes no lock. */
static struct vm_config *configs[MONITOR_MAX_VMS];

static struct slot *slots_end(void)
{
	return monitor_slots + monitor_nr_slots;
}

static u64 memory_of(const struct vm_config *c)
{
	u64 sum = c->memory;

	for (unsigned i = 0; i < c->nr_memory_nodes; i++)
		sum += c->memory_node[i].size;
	for (unsigned i = 0; i < c->nr_disks; i++)
		sum += c->disk[i].scratch;
	return sum;
}

u64 vms_bytes(void)
{
	u64 sum = 0;

	for (const struct slot *s = monitor_slots; s < slots_end(); s++)
		sum += s->created ? memory_of(s->config) : 0;
	return sum;
}

bool vms_name_module(const char *name)
{
	struct vm_config_name named;

	for (const struct slot *s = monitor_slots; s < slots_end(); s++)
		for (unsigned i = 0; s->config && vm_config_name(s->config, i, &named); i++)
			if (!strcmp(named.name, name))
				return true;
	return false;
}

bool commander_lets_have(const struct vm_config *config, unsigned cpu)
{
	for (const struct slot *s = monitor_slots; config->created && s < slots_end(); s++)
		if (s->config && s->config->control.commands)
			return s->config->control.cpus[cpu / 8] & BIT(cpu % 8);
	return !config->created;
}

/* ---- create ------------------------------------------------------------------------------- */

static void tell(const char *text)
{
	commander_say("%s", text);
}

static bool has_function(const struct vm_config_control *control, const struct vm_config_pci *pci)
{
	for (unsigned i = 0; i < control->nr_pci; i++)
		if ((pci->by == VM_PCI_ADDRESS || pci->by == VM_PCI_VF) && pci_same_address(&pci->address, &control->pci[i]))
			return true;
	return false;
}

static const struct host_module *find_module(const char *name)
{
	const struct host_module *m;

	for (unsigned i = 0; (m = host_module(i)); i++)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

static bool ends_node(const struct vm_config *c)
{
	for (unsigned i = 0; i < VM_ENDINGS; i++)
		if (c->then[i] == THEN_POWEROFF_NODE || c->then[i] == THEN_REBOOT_NODE)
			return true;
	return false;
}

/* What only the medium of the boot may say, or a right. */
static int check_rights(const struct vm_config_control *control, const struct vm_config *c, struct config_error *err)
{
	u64 used = vms_bytes() + images_bytes(), left = control->memory - MIN(used, control->memory);
	bool all = !c->memory && !c->nr_memory_nodes;

	for (unsigned i = 0; i < c->nr_memory_nodes; i++)
		all = all || !c->memory_node[i].size;
	if (!c->line_name)
		return vm_config_error(err, c->file, 0, "required key 'name' is missing: it is commanded by that");
	if (all)
		return vm_config_error(err, c->file, c->line_memory,
				       "memory = all: expected a size: control_may has %lu bytes left", left);
	if (memory_of(c) > left)
		return vm_config_error(err, c->file, c->line_memory, "memory: %lu bytes with its disks: control_may has %lu left",
				       memory_of(c), left);
	for (unsigned i = 0; c->pinned && i < c->cpus; i++)
		if (!(control->cpus[c->cpu[i] / 8] & BIT(c->cpu[i] % 8)))
			return vm_config_error(err, c->file, c->line_cpus, "cpus: control_may does not have CPU %u", c->cpu[i]);
	for (unsigned i = 0; i < c->nr_pci; i++)
		if (!has_function(control, &c->pci[i]))
			return vm_config_error(err, c->file, c->line_pci, "pci: control_may has not all of these, by address");
	if (c->trusted && !(control->may & MAY_TRUSTED))
		return vm_config_error(err, c->file, c->line_trusted, "trusted: control_may does not have it");
	if (c->ipi_direct && !(control->may & MAY_IPI))
		return vm_config_error(err, c->file, c->line_ipi, "ipi = direct: control_may does not have ipi:direct");
	if (c->dma == VM_DMA_IDENTITY && !(control->may & MAY_IDENTITY))
		return vm_config_error(err, c->file, c->line_dma, "dma = identity: control_may does not have dma:identity");
	if (c->control.commands)
		return vm_config_error(err, c->file, c->line_control, "control: only a VM of the boot commands");
	if (c->after[0])
		return vm_config_error(err, c->file, c->line_after, "after: who makes it starts it");
	if (c->console_log != CONSOLE_LOG)
		return vm_config_error(err, c->file, 0, "console_log: a VM that is made at run time keeps %u KiB", CONSOLE_LOG);
	if (ends_node(c))
		return vm_config_error(err, c->file, 0, "only a VM of the boot ends the node");
	return 0;
}

static int check_modules(const struct vm_config *c, struct config_error *err)
{
	struct vm_config_name named;

	for (unsigned i = 0; vm_config_name(c, i, &named); i++)
		if (!find_module(named.name))
			return vm_config_error(err, c->file, named.line, "%s = %s: there is no such image", named.key, named.name);
	return 0;
}

/* As vmm/together.c does with those of the boot. */
static int check_beside(const struct vm_config *c, struct config_error *err)
{
	unsigned n = 0, after;
	int e;

	for (const struct slot *s = monitor_slots; s < slots_end(); s++)
		if (s->config) {
			others[n] = s->config;
			names[n++] = s->config->name;
		}
	others[n] = c;
	names[n] = c->name;
	e = vm_config_check_earlier(others, names, n, &after, err);
	if (IS_ENABLED(CONFIG_MITIGATIONS))
		for (unsigned i = 0; !e && i <= n; i++)
			e = vm_config_check_trusted(others, n + 1, i, err);
	if (IS_ENABLED(CONFIG_SRIOV))
		e = e ? e : vm_config_check_vfs(others, n + 1, n, err);
	if (IS_ENABLED(CONFIG_VIRTIO_NET))
		e = e ? e : vm_config_check_net(others, n, err);
	return e;
}

static struct slot *free_slot(void)
{
	for (struct slot *s = monitor_slots; s < monitor_slots + MONITOR_MAX_VMS; s++)
		if (s >= slots_end() || (!s->config && !s->file[0]))
			return s;
	return NULL;
}

/* FILE, a newline, and what is in it. */
int commander_create(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = free_slot();
	struct config_error err;
	char file[MONITOR_FILE_MAX + 1];
	struct span name;
	unsigned i;
	bool found;

	name = span_part(&text, '\n', &found);
	for (size_t k = 0; k < name.n; k++)
		found = found && name.p[k] > ' ' && name.p[k] <= '~';
	if (!found || !name.n || name.n > MONITOR_FILE_MAX)
		return commander_refuse(EINVAL, "expected the name of a file, 1 to %u characters without blanks, and what is in it",
					MONITOR_FILE_MAX);
	snprintf(file, sizeof(file), "%.*s", (int)name.n, name.p);
	if (!s)
		return commander_refuse(ENOSPC, "%s: this image runs %u VMs: destroy one", file, MONITOR_MAX_VMS);
	i = (unsigned)(s - monitor_slots);
	if (vm_config_parse(file, text.p, text.n, &staged, &err, tell) || check_rights(control, &staged, &err) ||
	    check_modules(&staged, &err) || check_beside(&staged, &err))
		return commander_refuse(EINVAL, "%s", err.text);
	if (!configs[i])
		configs[i] = host_pages_alloc(SLOT_CONFIG_PAGES, -1);
	if (!configs[i])
		return commander_refuse(ENOMEM, "%s: no memory of the hypervisor's own is left", file);
	*configs[i] = staged;
	spin_lock(&monitor_lock);
	*s = (struct slot){ .state = OVER, .created = true, .config = configs[i] };
	memcpy(s->file, file, sizeof(file));
	s->config->file = s->file;
	s->config->created = true;
	if (s == slots_end())
		__atomic_store_n(&monitor_nr_slots, monitor_nr_slots + 1, __ATOMIC_RELEASE);
	spin_unlock(&monitor_lock);
	host_log("commander: %s: made of %s", s->config->name, s->file);
	return 0;
}

/* ---- those that are there ------------------------------------------------------------------ */

/* The VM of that name, that this right lets it command; NULL, refused: it does not, or there is none. */
static struct slot *find(const struct vm_config_control *control, struct span name)
{
	for (struct slot *s = monitor_slots; s < slots_end(); s++) {
		if (!s->config || !span_is(name, s->config->name))
			continue;
		if (s->created || (control->may & MAY_BOOT && !s->config->control.commands))
			return s;
		commander_refuse(EPERM, "%s is of the boot: control_may does not have it", s->config->name);
		return NULL;
	}
	commander_refuse(ENOENT, "%.*s: there is no such VM", (int)MIN(name.n, (size_t)VM_NAME_MAX), name.p);
	return NULL;
}

int commander_destroy(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = find(control, text);
	bool over;

	if (!s)
		return -ENOENT;
	if (!s->created)
		return commander_refuse(EPERM, "%s is of the boot: it can be stopped", s->config->name);
	spin_lock(&monitor_lock);
	over = (s->state == OVER || s->state == WAITING) && !s->vm && !s->queued;
	if (over) {
		host_log("commander: %s: destroyed", s->config->name);
		s->config = NULL;
		s->file[0] = 0;
		s->created = false;
		s->starts = 0;
		while (monitor_nr_slots && !slots_end()[-1].config && !slots_end()[-1].file[0])
			__atomic_store_n(&monitor_nr_slots, monitor_nr_slots - 1, __ATOMIC_RELEASE);
	}
	spin_unlock(&monitor_lock);
	if (!over)
		return commander_refuse(EBUSY, "%s is not over: stop it first", s->config->name);
	output_log_forget((unsigned)(s - monitor_slots));
	return 0;
}

static int result(const struct slot *s, int err)
{
	const char *name = s->config->name;

	if (!err)
		return 0;
	if (err == -ENODEV)
		return commander_refuse(ENODEV, "%s does not run", name);
	if (err == -EBUSY)
		return commander_refuse(EBUSY, "%s runs or starts", name);
	if (err == -EALREADY)
		return commander_refuse(EALREADY, "%s is in that state already", name);
	if (err == -ENOSPC)
		return commander_refuse(ENOSPC, "%s: no CPU is free to start it", name);
	return commander_refuse(-err, "%s: error %d", name, -err);
}

static unsigned index_of(const struct slot *s)
{
	return (unsigned)(s - monitor_slots);
}

int commander_start(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = find(control, text);

	return s ? result(s, monitor_vm_start(index_of(s))) : -ENOENT;
}

int commander_stop(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = find(control, text);

	return s ? result(s, monitor_vm_stop(index_of(s), false)) : -ENOENT;
}

int commander_restart(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = find(control, text);
	int err;

	if (!s)
		return -ENOENT;
	err = monitor_vm_stop(index_of(s), true);
	return result(s, err == -ENODEV ? monitor_vm_start(index_of(s)) : err);
}

static int with_vm(struct slot *s, int (*fn)(struct vm *vm))
{
	struct vm *vm = monitor_vm_hold(index_of(s));
	int err = vm ? fn(vm) : -ENODEV;

	monitor_vm_release();
	return result(s, err);
}

int commander_pause(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = find(control, text);

	return s ? with_vm(s, vm_pause) : -ENOENT;
}

int commander_resume(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = find(control, text);

	return s ? with_vm(s, vm_resume) : -ENOENT;
}

/* ---- consoles -------------------------------------------------------------------------------- */

/* NAME OFFSET: its output from there on, or the oldest that is kept, behind a line that says from where to where. */
int commander_read(const struct vm_config_control *control, unsigned, struct span text)
{
	bool found;
	struct span name = span_part(&text, ' ', &found);
	struct slot *s = find(control, name);
	u8 piece[512];
	u64 at, next;
	u32 n;

	if (!s)
		return -ENOENT;
	if (!span_number(&text, 10, &at) || text.n)
		return commander_refuse(EINVAL, "expected a VM and an offset");
	/* The line has always the same length, for what follows it is not known yet. */
	next = output_log_range(index_of(s), &at);
	next = MIN(next, at + COMMANDER_MAX - 128);
	commander_say("offset=%lu\tnext=%lu", at, next);
	for (; at < next; at += n) {
		n = (u32)MIN(next - at, sizeof(piece));
		output_log_copy(index_of(s), at, piece, n);
		commander_put(piece, n);
	}
	return 0;
}

/* NAME, a newline, and what is typed there. */
int commander_write(const struct vm_config_control *control, unsigned, struct span text)
{
	bool found;
	struct span name = span_part(&text, '\n', &found);
	struct slot *s = find(control, name);
	struct host_console *con;
	struct vm *vm;

	if (!s)
		return -ENOENT;
	vm = monitor_vm_hold(index_of(s));
	con = vm ? vm->console : NULL;
	for (size_t i = 0; con && i < text.n; i++)
		con->rx(con, (u8)text.p[i]);
	monitor_vm_release();
	return con ? 0 : result(s, -ENODEV);
}
