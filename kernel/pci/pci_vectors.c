/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Vectors of message-signalled interrupts. Each CPU has VECTOR_FIRST to
 * VECTOR_LAST to itself: a message names CPU and vector (SDM vol. 3, 11.11).
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/trap.h"
#include "kernel/acpi/tables.h"
#include "kernel/memory/pmem.h"
#include "kernel/pci/pci_remapping.h"
#include "kernel/percpu.h"

#define VECTORS (VECTOR_LAST - VECTOR_FIRST + 1)
#define MESSAGE_ADDRESS 0xfee00000u
#define HIGHEST_ID 254 /* 255 is the broadcast */

const struct interrupt_remapping *interrupt_remapping;

struct slot {
	void (*fn)(void *arg, unsigned n);
	void *arg;
	unsigned n;
};

/* Of one CPU, made when it first needs one and kept. */
struct table {
	struct spinlock lock; /* guards the slots; held while a handler runs */
	struct slot slot[VECTORS];
};
#define TABLE_PAGES (unsigned)(ALIGN_UP(sizeof(struct table), PAGE_SIZE) / PAGE_SIZE)

static struct spinlock tables_lock; /* guards the making of tables */
static struct table *tables[MADT_MAX_CPUS];

static void interrupt(void *arg)
{
	struct table *t = __atomic_load_n(&tables[this_cpu()->id], __ATOMIC_ACQUIRE);
	const struct slot *s;

	if (!t)
		return;
	spin_lock(&t->lock);
	s = &t->slot[(uintptr_t)arg];
	if (s->fn)
		s->fn(s->arg, s->n);
	spin_unlock(&t->lock);
}

static struct table *table_of(unsigned cpu)
{
	struct table *t;

	spin_lock(&tables_lock);
	t = tables[cpu];
	if (!t) {
		for (uintptr_t i = 0; i < VECTORS; i++)
			trap_set_handler((u8)(VECTOR_FIRST + i), interrupt, (void *)i);
		t = pmem_pages_alloc(TABLE_PAGES, cpu_get(cpu)->node);
		__atomic_store_n(&tables[cpu], t, __ATOMIC_RELEASE);
	}
	spin_unlock(&tables_lock);
	return t;
}

static bool all_free(const struct slot *s, unsigned count)
{
	while (count--)
		if (s[count].fn)
			return false;
	return true;
}

int host_msi_alloc(unsigned cpu, unsigned count, void (*fn)(void *arg, unsigned n), void *arg,
		   struct host_msi *out)
{
	const struct cpu *c = cpu_get(cpu);
	struct table *t;
	int err = -ENOSPC;

	if (!c ||
	    (c->apic_id > HIGHEST_ID && !(interrupts_are_remapped && interrupt_remapping->wide())))
		return -ERANGE;
	t = table_of(cpu);
	if (!t)
		return -ENOMEM;
	spin_lock(&t->lock);
	for (unsigned v = (unsigned)ALIGN_UP(VECTOR_FIRST, count);
	     err && v + count - 1 <= VECTOR_LAST; v += count) {
		if (!all_free(&t->slot[v - VECTOR_FIRST], count))
			continue;
		for (unsigned n = 0; n < count; n++)
			t->slot[v - VECTOR_FIRST + n] = (struct slot){ fn, arg, n };
		*out = (struct host_msi){
			.cpu = (u16)cpu, .first = (u8)v, .count = (u8)count, .data = v
		};
		out->address = MESSAGE_ADDRESS | c->apic_id << 12;
		err = 0;
	}
	spin_unlock(&t->lock);
	return err;
}

void host_msi_free(struct host_msi *v)
{
	struct table *t = v->count ? tables[v->cpu] : NULL;

	if (interrupts_are_remapped)
		interrupt_remapping->forget(v);
	if (!t)
		return;
	spin_lock(&t->lock);
	for (unsigned n = 0; n < v->count; n++)
		t->slot[v->first - VECTOR_FIRST + n].fn = NULL;
	spin_unlock(&t->lock);
	v->count = 0;
}
