/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that the machine loses: a page that cannot be touched any more. An access to it is a
 * SIGSEGV, which stands for the #MC of an error that was consumed (SDM vol. 3, 16.9.3.2: precise,
 * EIPV is 1), and goes on as trap_dispatch() does it, by the regions of the program's own mc_table.
 * An access that is in none of them ends the test.
 */
#ifndef TESTS_LOST_MEMORY_H
#define TESTS_LOST_MEMORY_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <margay/mc_access.h>
#include "tests/unit/fake_host.h"

#define LOST_MEMORY_RIP 16 /* REG_RIP of glibc, which not every test has */

static uintptr_t lost_memory_page; /* 0: none */
static unsigned lost_memory_met;   /* accesses to it */

static void lost_memory_taken(int, siginfo_t *info, void *context)
{
	extern const struct mc_region __start_mc_table[], __stop_mc_table[];
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[LOST_MEMORY_RIP];
	uintptr_t page = (uintptr_t)info->si_addr & ~(PAGE_SIZE - 1);

	for (const struct mc_region *r = __start_mc_table;
	     page == lost_memory_page && r < __stop_mc_table; r++) {
		uintptr_t begin = (uintptr_t)&r->begin + (uintptr_t)r->begin,
			  end = (uintptr_t)&r->end + (uintptr_t)r->end;

		if ((uintptr_t)*rip < begin || (uintptr_t)*rip >= end)
			continue;
		*rip = (greg_t)((uintptr_t)&r->resume + (uintptr_t)r->resume);
		fake_host.failed_page = page;
		lost_memory_met++;
		return;
	}
	fprintf(stderr, "an access to %p at %p has no region of mc_table: it would end the node\n",
		info->si_addr, (void *)*rip);
	abort();
}

/* From now on that page is lost, and no other. */
static inline void lose_memory(void *in_page)
{
	struct sigaction action = { .sa_sigaction = lost_memory_taken, .sa_flags = SA_SIGINFO };

	lost_memory_page = (uintptr_t)in_page & ~(PAGE_SIZE - 1);
	lost_memory_met = 0;
	if (sigaction(SIGSEGV, &action, NULL) ||
	    mprotect((void *)lost_memory_page, PAGE_SIZE, PROT_NONE))
		abort();
}

/* It is sound again. */
static inline void mend_memory(void)
{
	if (lost_memory_page &&
	    mprotect((void *)lost_memory_page, PAGE_SIZE, PROT_READ | PROT_WRITE))
		abort();
	lost_memory_page = 0;
}

#endif
