/* SPDX-License-Identifier: GPL-2.0-only */
/* Interrupts that are only counted: by vector, and all. */
#ifndef TINY_VECTORS_H
#define TINY_VECTORS_H

#include "apic.h"
#include "tiny.h"

static volatile unsigned at_vector[256], arrived;

static inline void count_vector(struct trap_frame *f)
{
	at_vector[f->vector]++;
	arrived++;
	apic_write(APIC_EOI, 0);
}

/* Enables APIC and interrupts, and counts those from 0x50 to 0xef. */
static inline void count_vectors(void)
{
	apic_enable();
	for (unsigned v = 0x50; v < 0xf0; v++)
		trap_handlers[v] = count_vector;
	irq_on();
}

/* Waits until there are `want` in all, for so many looks at most. */
static inline void wait_for_vectors(unsigned want, unsigned looks)
{
	for (unsigned i = 0; i < looks && arrived != want; i++)
		cpu_relax();
}

#endif
