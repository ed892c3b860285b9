/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resetting the FPU and the extended states: the one thing that the host does with them, which are
 * otherwise the guest's. SDM vol. 1, 10.5.1 (FXSAVE area), 13.4 and 13.8 (XRSTOR).
 */
#include <margay/host.h>
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/upcall.h"

/*
 * FXSAVE area and XSAVE header; XSTATE_BV = 0 makes XRSTOR take the initial configuration of every
 * component.
 */
struct xsave_area {
	u16 fcw;
	u8 unused[22];
	u32 mxcsr;
	u8 rest[484];
	u64 xstate_bv;
	u64 xcomp_bv;
	u8 reserved[48];
} __aligned(64);
static_assert(sizeof(struct xsave_area) == 576, "SDM vol. 1, 13.4");
static_assert(offsetof(struct xsave_area, mxcsr) == 24, "SDM vol. 1, table 10-2");

/* Cleared memory but for two fields, which every CPU sets alike: no bytes of the image. */
static struct xsave_area initial;

void host_fpu_reset(u64 xcr0)
{
	initial.fcw = 0x37f;
	initial.mxcsr = 0x1f80;
	/*
	 * Not all CPUs load the x87 error pointers when no exception is pending (APM vol. 2,
	 * 11.4.4): FNINIT clears them.
	 */
	asm volatile("fninit");
	asm volatile("fxrstor64 %0" : : "m"(initial));
	if (!cpu_features.xsave)
		return;
	if (host_xsetbv(0, xcr0))
		upcall_panic("fpu_reset: the CPU refuses XCR0 = %#lx", xcr0);
	asm volatile("xrstor64 %0" : : "m"(initial), "a"(0xffffffff), "d"(0xffffffff));
	host_xsetbv(0, 1);
}
