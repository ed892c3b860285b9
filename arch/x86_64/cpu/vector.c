/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading and writing one vector register, for the monitor: the LWK uses none, so that they hold the guest's values. The
 * instruction names the register; without indirect branches that takes one place for each.
 */
#include <margay/host.h>

struct half {
	u8 bytes[16];
};
struct whole {
	u8 bytes[32];
};

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

void host_vector_read(unsigned reg, unsigned size, void *bytes)
{
	struct half *xmm = bytes;
	struct whole *ymm = bytes;

#define READ(n)                                                                     \
	case n:                                                                     \
		if (size == 32)                                                     \
			asm volatile("vmovdqu %%ymm" #n ", %0" : "=m"(*ymm));       \
		else                                                                \
			asm volatile("movdqu %%xmm" #n ", %0" : "=m"(*xmm));        \
		break;

	switch (reg) {
		EACH(READ)
	}
}

void host_vector_write(unsigned reg, unsigned size, bool vex, const void *bytes)
{
	const struct half *xmm = bytes;
	const struct whole *ymm = bytes;

#define WRITE(n)                                                                    \
	case n:                                                                     \
		if (size == 32)                                                     \
			asm volatile("vmovdqu %0, %%ymm" #n : : "m"(*ymm));         \
		else if (vex)                                                       \
			asm volatile("vmovdqu %0, %%xmm" #n : : "m"(*xmm));         \
		else                                                                \
			asm volatile("movdqu %0, %%xmm" #n : : "m"(*xmm));          \
		break;

	switch (reg) {
		EACH(WRITE)
	}
}
