/* SPDX-License-Identifier: GPL-2.0-only */
/* The one thing the host does with the FPU, whose state is otherwise the guest's: giving it to the next owner clean. */
#ifndef ARCH_CPU_FPU_H
#define ARCH_CPU_FPU_H

#include <margay/types.h>

/*
 * Puts x87, SSE and every extended state component of `xcr0` (a legal value of
 * XCR0 on this CPU) into its initial configuration; leaves XCR0 = 1 where
 * there is XSAVE. SDM vol. 1, 13.6 and 13.8.
 */
void fpu_reset(u64 xcr0);

#endif
