/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the two halves of the monitor's fuzz target share: the world around the VMs, and the guests
 * in them.
 */
#ifndef TESTS_FUZZ_VMM_H
#define TESTS_FUZZ_VMM_H

#include <setjmp.h>

#include "tests/fuzz/fake_hvm.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake_host.h"

struct world {
	struct fuzz_in in;
	unsigned machine; /* whose CPUID it has */
	bool finished; /* the input is used up: all VMs are told to end */
	bool off; /* the node was powered off */
	bool scheduling;
	unsigned naps; /* times that all CPUs slept until a timer */
	jmp_buf boot;
};

/*
 * Where the function's BARs are; WORLD_BAR has its MSI-X table at 0x2000, its pending bits at
 * 0x3000.
 */
#define WORLD_BAR 0xe0000000ull
#define WORLD_BAR_SIZE 0x4000u
#define WORLD_SMALL_BAR 0xe0010f00ull
#define WORLD_SMALL_BAR_SIZE 0x100u

extern struct world world;

/* Ends every VM, for good. */
void world_finish(void);
/* Lets other CPUs run. */
void world_yield(void);

/* Guest mode (fake_hvm.h): the input says what the guest does. */
void vmm_guest(struct vcpu *vcpu, struct fake_vcpu *f, struct vmexit *exit);

#endif
