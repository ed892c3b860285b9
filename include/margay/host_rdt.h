/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of the L3 caches and of memory bandwidth that VMs have to themselves. Part of the door, <margay/host.h>. */
#ifndef MARGAY_HOST_RDT_H
#define MARGAY_HOST_RDT_H

#include <margay/types.h>

struct host_rdt_wish {
	unsigned ways, of;  /* so many ways of an L3 cache that has that many; 0: as everybody */
	unsigned bandwidth; /* percent of the memory bandwidth; 0: as everybody */
};

#define HOST_RDT_TEXT 80

/*
 * Sets that part aside in all caches of these CPUs, for `owner`. False, and why in *text, HOST_RDT_TEXT bytes: the CPUs cannot, or
 * others have it. Nothing is done to CPUs yet. Any CPU.
 */
bool host_rdt_take(const void *owner, const struct host_rdt_wish *wish, const u16 *cpu, unsigned nr_cpus, char *text);

/* The calling CPU, one of these, works for the owner from now on; until host_rdt_leave(), once each. Do nothing without a share. */
void host_rdt_enter(const void *owner);
void host_rdt_leave(const void *owner);

/* What no CPU of the owner's has left, since none has entered, is anybody's again. */
void host_rdt_free(const void *owner);

#endif
