/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading and writing one vector register, for the monitor: the LWK uses none, so that they hold
 * the guest's values. The instruction names the register; without indirect branches that takes one
 * place for each.
 */
#include <margay/host.h>

struct xmm {
	u8 bytes[16];
};
struct ymm {
	u8 bytes[32];
};

struct zmm {
	u8 bytes[64];
};

#define EACH(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define EACH_MORE(X) \
	X(16) \
	X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)

void host_vector_read(unsigned reg, unsigned size, void *bytes)
{
	struct xmm *xmm = bytes;
	struct ymm *ymm = bytes;

#define READ(n) \
	case n: \
		if (size == 32) \
			asm volatile("vmovdqu %%ymm" #n ", %0" : "=m"(*ymm)); \
		else \
			asm volatile("movdqu %%xmm" #n ", %0" : "=m"(*xmm)); \
		break;

	switch (reg) {
		EACH(READ)
	}
}

void host_vector_write(unsigned reg, unsigned size, bool vex, const void *bytes)
{
	const struct xmm *xmm = bytes;
	const struct ymm *ymm = bytes;

#define WRITE(n) \
	case n: \
		if (size == 32) \
			asm volatile("vmovdqu %0, %%ymm" #n : : "m"(*ymm)); \
		else if (vex) \
			asm volatile("vmovdqu %0, %%xmm" #n : : "m"(*xmm)); \
		else \
			asm volatile("movdqu %0, %%xmm" #n : : "m"(*xmm)); \
		break;

	switch (reg) {
		EACH(WRITE)
	}
}

void host_vector_read_zmm(unsigned reg, void *bytes)
{
	struct zmm *zmm = bytes;

#define READ_ZMM(n) \
	case n: asm volatile("vmovdqu64 %%zmm" #n ", %0" : "=m"(*zmm)); break;

	switch (reg) {
		EACH(READ_ZMM)
		EACH_MORE(READ_ZMM)
	}
}

void host_vector_write_zmm(unsigned reg, const void *bytes)
{
	const struct zmm *zmm = bytes;

#define WRITE_ZMM(n) \
	case n: asm volatile("vmovdqu64 %0, %%zmm" #n : : "m"(*zmm)); break;

	switch (reg) {
		EACH(WRITE_ZMM)
		EACH_MORE(WRITE_ZMM)
	}
}
