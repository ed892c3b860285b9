/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: finds a CPU's update in a file of the vendors': one or more of Intel's updates (SDM
 * vol. 3, 10.11.1), or of AMD's containers, each a table of equivalent CPUs and their patches. The
 * file may be anything. microcode_revision() is not pure.
 */
#ifndef ARCH_CPU_MICROCODE_H
#define ARCH_CPU_MICROCODE_H

#include "arch/x86_64/cpu/features.h"

struct microcode_cpu {
	enum cpu_vendor vendor;
	u32 signature; /* CPUID 1 EAX */
	u32 platform;  /* Intel: BIT(IA32_PLATFORM_ID[52:50]) */
};

struct microcode {
	/* Intel: of the update, header and all; AMD: of the patch; NULL: none for this CPU */
	const u8 *start;
	size_t size;
	u32 revision;
};

#define MICROCODE_HEADER 48 /* Intel: what the update's address is behind its start */

/*
 * The newest update for this CPU. NULL, or what is wrong with the file: none of it is to be used
 * then.
 */
const char *microcode_find(const u8 *file, size_t size, const struct microcode_cpu *cpu,
			   struct microcode *out);

/* Is a newer than b? Intel's revisions are signed, of test updates below 0. */
bool microcode_newer(const struct microcode_cpu *cpu, u32 a, u32 b);

/* The calling CPU's revision; 0: it does not say. */
u32 microcode_revision(enum cpu_vendor vendor);

#endif
