/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Vectors of message-signalled interrupts. Each CPU has VECTOR_FIRST to
 * VECTOR_LAST to itself: a message names CPU and vector (SDM vol. 3, 11.11).
 */
#ifndef KERNEL_MSI_H
#define KERNEL_MSI_H

#include <margay/types.h>

struct msi_vectors {
	u16 cpu;
	u8 first, count; /* count 0: none */
	u32 address, data; /* what a device writes for the first; for the others the data goes up by one each */
};

/*
 * Takes `count` (a power of two up to 32) vectors, aligned to it, on a CPU.
 * fn(arg, n) runs there for each interrupt at the n-th, interrupts off; it must
 * not take or give vectors. 0; -ENOSPC; -ENOMEM; -ERANGE: no message reaches a
 * CPU of this APIC ID without interrupt remapping.
 */
int msi_alloc(unsigned cpu, unsigned count, void (*fn)(void *arg, unsigned n), void *arg, struct msi_vectors *out);
/* Gives them back; fn does not run any more. What comes late is dropped. Nothing where count is 0. */
void msi_free(struct msi_vectors *v);

#endif
