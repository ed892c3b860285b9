/* SPDX-License-Identifier: GPL-2.0-only */
/* Out of 64-bit mode and back. */
#include "runtime.h"

u32 legacy_enter(void (*fn)(void));

u32 legacy_call(void (*fn)(void))
{
	struct cpu *c = this_cpu();
	u32 result = legacy_enter(fn);

	cpu_init(c);
	return result;
}
