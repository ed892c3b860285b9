/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DMA by QEMU's device for teaching, edu (its docs/specs/edu.rst), which takes 100 ms for one; and
 * its end.
 */
#ifndef TINY_EDU_H
#define TINY_EDU_H

#include "pci.h"
#include "tiny.h"

/* between looks at the device, which cost an emulator more than instructions */
#define EDU_PATIENCE 10000u
#define EDU_WAITS 100000u

static volatile u8 *edu; /* its registers */

/* Starts one of 4 KiB between its buffer (EDU_BUFFER) and RAM; command: 0 or EDU_DMA_TO_RAM. */
static inline void edu_dma(u64 from, u64 to, u32 command)
{
	*(volatile u64 *)(edu + EDU_DMA_FROM) = from;
	*(volatile u64 *)(edu + EDU_DMA_TO) = to;
	*(volatile u64 *)(edu + EDU_DMA_COUNT) = 4096;
	*(volatile u64 *)(edu + EDU_DMA_COMMAND) = command | EDU_DMA_START;
}

static inline bool edu_under_way(void)
{
	return *(volatile u64 *)(edu + EDU_DMA_COMMAND) & EDU_DMA_START;
}

static inline void edu_wait(void)
{
	for (unsigned n = 0; n < EDU_WAITS && edu_under_way(); n++)
		for (unsigned i = 0; i < EDU_PATIENCE; i++)
			asm volatile("" : : : "memory");
	check(!edu_under_way(), "the device does not end");
}

#endif
