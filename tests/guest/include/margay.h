/* SPDX-License-Identifier: GPL-2.0-only */
/* The hypercalls of include/margay/abi.h. */
#ifndef TINY_MARGAY_H
#define TINY_MARGAY_H

#include "cpu.h"

#include "include/margay/abi.h"

static inline s64 hypercall(u64 number, u64 b, u64 c)
{
	u64 a = number;

	if (is_amd())
		asm volatile("vmmcall" : "+a"(a) : "b"(b), "c"(c) : "memory");
	else
		asm volatile("vmcall" : "+a"(a) : "b"(b), "c"(c) : "memory");
	return (s64)a;
}

#endif
