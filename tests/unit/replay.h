/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine that `check=dump` has recorded, for the image's own files: replay_machine.c has what
 * was recorded, the others put a file of the image over it.
 */
#ifndef TESTS_REPLAY_H
#define TESTS_REPLAY_H

#include <margay/host.h>
#include <margay/pci.h>

#define REPLAY_CPUS 1024

/*
 * The CPU that "runs", and what it says. An MSR that it has not ends the replay: on the machine it
 * would be a panic.
 */
extern unsigned replay_cpu;
void replay_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out);
u64 replay_rdmsr(u32 msr);
bool replay_has_msr(u32 msr, u64 *value);

/* Recorded memory, as firmware gave it; NULL: none of `size` bytes there. */
const void *replay_memory(u64 pa, u64 size);

/* Configuration space, of whatever function; 1, 2 or 4 bytes. */
u32 replay_config_read(struct pci_address a, u16 offset, unsigned size);
void replay_config_write(struct pci_address a, u16 offset, unsigned size, u32 value);

#endif
