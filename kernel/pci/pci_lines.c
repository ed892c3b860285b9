/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Line interrupts for devices of VMs: inputs of the I/O APICs, level-triggered,
 * each taken by one user. An input is masked from an interrupt on until its
 * user opens it again, so that a line that stays asserted interrupts once; or
 * it leads to the CPUs' own APICs, whose EOI ends it.
 * 82093AA data sheet, 3.2.4.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/ioapic.h"
#include "kernel/pci/pci_remapping.h"
#include "kernel/percpu.h"

#define MAX_LINES 64

static struct line {
	bool taken;
	u32 gsi;
	void (*fn)(void *arg, unsigned n);
	void *arg;
	struct host_msi vector;
} lines[MAX_LINES];
static struct spinlock lock; /* guards which of lines[] are taken, not what a taken one holds */

static void interrupt(void *arg, unsigned n)
{
	const struct line *l = arg;

	ioapic_mask(l->gsi, true);
	l->fn(l->arg, n);
}

static struct line *find_line(u32 gsi)
{
	for (unsigned i = 0; i < MAX_LINES; i++)
		if (lines[i].taken && lines[i].gsi == gsi)
			return &lines[i];
	return NULL;
}

static struct line *claim(u32 gsi, int *err)
{
	struct line *l = NULL;

	spin_lock(&lock);
	*err = find_line(gsi) ? -EBUSY : -ENOSPC;
	for (unsigned i = 0; *err == -ENOSPC && i < MAX_LINES; i++) {
		if (lines[i].taken)
			continue;
		l = &lines[i];
		*l = (struct line){ .taken = true, .gsi = gsi };
		*err = 0;
	}
	spin_unlock(&lock);
	return l;
}

int host_intx_take(const struct host_intx *line, unsigned cpu, void (*fn)(void *arg, unsigned n),
		   void *arg)
{
	int err;
	struct line *l = claim(line->gsi, &err);

	if (!l)
		return err;
	l->fn = fn;
	l->arg = arg;
	if (fn)
		err = host_msi_alloc(cpu, 1, interrupt, l, &l->vector);
	if (!err)
		err = ioapic_route_level(line->gsi, cpu_get(cpu)->apic_id, (u8)l->vector.data,
					 line->active_low);
	if (err) {
		host_msi_free(&l->vector);
		l->taken = false;
	}
	return err;
}

void host_intx_open(u32 gsi)
{
	/*
	 * AMD-Vi: what the CPU ended has another vector than the I/O APIC waits for, or came as an
	 * edge.
	 */
	if (IS_ENABLED(CONFIG_AMD_VI))
		ioapic_in_service(gsi, true);
	ioapic_mask(gsi, false);
}

void host_intx_lead(const struct host_intx *line, u32 apic_id, u8 vector)
{
	ioapic_mask(line->gsi, true);
	if (vector && !ioapic_route_level(line->gsi, apic_id, vector, line->active_low))
		ioapic_mask(line->gsi, false);
}

bool host_intx_in_service(u32 gsi, bool end)
{
	return ioapic_in_service(gsi, end);
}

void host_intx_release(u32 gsi)
{
	struct line *l;

	/* Another's may be half claimed, with the number of who had it before. */
	spin_lock(&lock);
	l = find_line(gsi);
	spin_unlock(&lock);
	if (!l)
		return;
	ioapic_mask(gsi, true);
	if (interrupts_are_remapped)
		interrupt_remapping->close(gsi);
	host_msi_free(&l->vector);
	__atomic_store_n(&l->taken, false, __ATOMIC_RELEASE);
}
