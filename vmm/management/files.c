/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of VM files: of the boot's as modules have it, of those made at run time as long as
 * their VM is there.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/management/private.h"
#include "vmm/monitor.h"
#include "vmm/slots/slot.h"

#define ROOM (MANAGEMENT_MAX - 256u) /* behind the answer's head and first line */

/* By slot. */
static struct span kept[MONITOR_MAX_VMS];

static unsigned pages_of(struct span text)
{
	return (unsigned)(ALIGN_UP(text.n, PAGE_SIZE) / PAGE_SIZE);
}

bool files_keep(unsigned slot, struct span text)
{
	char *copy = host_pages_alloc(pages_of(text), -1);

	if (!copy)
		return false;
	memcpy(copy, text.p, text.n);
	kept[slot] = (struct span){ copy, text.n };
	return true;
}

void files_forget(unsigned slot)
{
	if (kept[slot].p)
		host_pages_free((void *)(uintptr_t)kept[slot].p, pages_of(kept[slot]));
	kept[slot] = (struct span){ NULL, 0 };
}

static struct span text_of(unsigned slot)
{
	const struct host_module *m;

	if (monitor_slots[slot].created)
		return kept[slot];
	for (unsigned i = 0; (m = host_module(i)); i++) {
		struct span name = span_of(m->name);

		if (span_skip(&name, MONITOR_VM_PREFIX) && span_is(name, monitor_slots[slot].file))
			return (struct span){ m->data, m->size };
	}
	return (struct span){ NULL, 0 };
}

/*
 * VM OFFSET: its file from there on, behind a line that says from where to where, and how long it
 * is.
 */
int management_file(const struct vm_config_control *, unsigned, struct span text)
{
	bool found;
	struct span name = span_part(&text, ' ', &found), file;
	int slot = vms_look(name);
	u64 at;

	if (slot < 0)
		return slot;
	if (!span_number(&text, 10, &at) || text.n)
		return management_refuse(EINVAL, "expected a VM and an offset");
	file = text_of((unsigned)slot);
	if (!file.p)
		return management_refuse(ENOENT, "%s: its file is not kept",
					 monitor_vm_name((unsigned)slot));
	at = MIN(at, (u64)file.n);
	management_say("offset=%lu\tnext=%lu\tsize=%zu", at, at + MIN(file.n - at, (u64)ROOM),
		       file.n);
	management_put(file.p + at, (u32)MIN(file.n - at, (u64)ROOM));
	return 0;
}
