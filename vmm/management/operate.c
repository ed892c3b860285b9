/* SPDX-License-Identifier: GPL-2.0-only */
/* What the management VM does with VMs that are there: starts and ends, and their consoles. */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/management/private.h"
#include "vmm/monitor.h"
#include "vmm/node/pause.h"
#include "vmm/slots/output_log.h"
#include "vmm/slots/slot.h"
#include "vmm/vm.h"
#include "vmm/vm/devices.h"

static int result(const struct slot *s, int err)
{
	const char *name = s->config->name;

	if (!err)
		return 0;
	if (err == -ENODEV)
		return management_refuse(ENODEV, "%s does not run", name);
	if (err == -EBUSY)
		return management_refuse(EBUSY, "%s runs or starts", name);
	if (err == -EPERM)
		return management_refuse(EPERM, "%s has crashed: stop or restart it", name);
	if (err == -EALREADY)
		return management_refuse(EALREADY, "%s is in that state already", name);
	if (err == -ENXIO)
		return management_refuse(ENXIO, "%s: its guest takes no NMI, at LINT1 of any vCPU",
					 name);
	if (err == -ENOSYS)
		return management_refuse(ENXIO, "%s has no such button", name);
	if (err == -ENOSPC)
		return management_refuse(ENOSPC, "%s: no CPU is free to start it", name);
	return management_refuse(-err, "%s: error %d", name, -err);
}

static unsigned index_of(const struct slot *s)
{
	return (unsigned)(s - monitor_slots);
}

int management_start(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);

	return s ? result(s, monitor_vm_start(index_of(s))) : -ENOENT;
}

int management_stop(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);

	return s ? result(s, monitor_vm_stop(index_of(s), false)) : -ENOENT;
}

/* Does it still start? It then runs, whoever has stopped it meanwhile. */
static bool goes_on_starting(struct slot *s)
{
	bool starts;

	spin_lock(&monitor_lock);
	starts = s->state == STARTED && !s->vm;
	s->stopped = s->stopped && !starts;
	spin_unlock(&monitor_lock);
	return starts;
}

int management_restart(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);
	int err;

	if (!s)
		return -ENOENT;
	do {
		err = monitor_vm_stop(index_of(s), true);
		err = err == -ENODEV ? monitor_vm_start(index_of(s)) : err;
		/*
		 * It begins to run in between, or it has not yet and comes up as new as it can be.
		 */
	} while (err == -EBUSY && !goes_on_starting(s));
	return result(s, err == -EBUSY ? 0 : err);
}

static int with_vm(struct slot *s, int (*fn)(struct vm *vm))
{
	struct vm *vm = monitor_vm_hold(index_of(s));
	int err = vm ? fn(vm) : -ENODEV;

	monitor_vm_release();
	return result(s, err);
}

int management_pause(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);

	return s ? with_vm(s, vm_pause) : -ENOENT;
}

int management_resume(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);

	return s ? with_vm(s, vm_resume) : -ENOENT;
}

/* Whether the guest heeds it is its own affair. */
static int press(struct vm *vm)
{
	return vm_press(vm, VM_BUTTON_POWER);
}

static int press_nmi(struct vm *vm)
{
	return vm_press(vm, VM_BUTTON_NMI);
}

int management_press(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);

	return s ? with_vm(s, press) : -ENOENT;
}

int management_nmi(const struct vm_config_control *control, unsigned, struct span text)
{
	struct slot *s = vms_find(control, text);

	return s ? with_vm(s, press_nmi) : -ENOENT;
}

/* ---- consoles -------------------------------------------------------------------------------- */

/*
 * NAME OFFSET: its output from there on, or the oldest that is kept, behind a line that says from
 * where to where.
 */
int management_read(const struct vm_config_control *control, unsigned, struct span text)
{
	bool found;
	struct span name = span_part(&text, ' ', &found);
	struct slot *s = vms_find(control, name);
	u8 piece[512];
	u64 at, next;
	u32 n;

	if (!s)
		return -ENOENT;
	if (!span_number(&text, 10, &at) || text.n)
		return management_refuse(EINVAL, "expected a VM and an offset");
	/* Behind the line, for which there is room enough. */
	next = output_log_range(index_of(s), &at);
	next = MIN(next, at + MANAGEMENT_MAX - 128);
	management_say("offset=%lu\tnext=%lu", at, next);
	for (; at < next; at += n) {
		n = (u32)MIN(next - at, sizeof(piece));
		output_log_copy(index_of(s), at, piece, n);
		management_put(piece, n);
	}
	return 0;
}

/* NAME, a newline, and what is typed there. */
int management_write(const struct vm_config_control *control, unsigned, struct span text)
{
	bool found;
	struct span name = span_part(&text, '\n', &found);
	struct slot *s = vms_find(control, name);
	struct host_console *con;
	struct vm *vm;

	if (!s)
		return -ENOENT;
	if (text.n > MANAGEMENT_TYPED)
		return management_refuse(EINVAL, "expected at most %u bytes at once",
					 MANAGEMENT_TYPED);
	vm = monitor_vm_hold(index_of(s));
	con = vm ? vm->console : NULL;
	if (con)
		for (size_t i = 0; i < text.n; i++)
			con->rx(con, (u8)text.p[i]);
	monitor_vm_release();
	return con ? 0 : result(s, -ENODEV);
}
