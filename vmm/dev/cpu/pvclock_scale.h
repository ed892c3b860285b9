/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the KVM-compatible paravirtual clock (Linux,
 * Documentation/virt/kvm/x86/msr.rst, MSR_KVM_SYSTEM_TIME_NEW and
 * MSR_KVM_WALL_CLOCK_NEW): memory layouts and the scale arithmetic.
 */
#ifndef VMM_PVCLOCK_SCALE_H
#define VMM_PVCLOCK_SCALE_H

#include <margay/types.h>

#define PVCLOCK_TSC_STABLE BIT(0) /* flags: the same on all vCPUs, readable from user space */
/* flags: the VM was paused; the guest's watchdogs forgive it and clear the bit */
#define PVCLOCK_GUEST_STOPPED BIT(1)
#define PVCLOCK_ENABLE BIT(0)     /* in the system time MSR */

struct pvclock_time {
	u32 version; /* odd while the others change */
	u32 pad0;
	u64 tsc_timestamp; /* guest TSC at ... */
	u64 system_time;   /* ... this many ns */
	/* ns = ((tsc - tsc_timestamp) << shift) * mul >> 32, a negative shift goes right */
	u32 mul;
	s8 shift;
	u8 flags;
	u8 pad[2];
} __packed __aligned(4);
static_assert(sizeof(struct pvclock_time) == 32 && offsetof(struct pvclock_time, mul) == 24,
	      "KVM ABI");

struct pvclock_wall {
	u32 version;
	/* wall clock when system_time was 0 */
	u32 sec;
	u32 nsec;
};
static_assert(sizeof(struct pvclock_wall) == 12, "KVM ABI");

/*
 * mul and shift for a TSC rate in kHz (1 .. 2^31 - 1). The clock is slow by at
 * most 1 / mul: 0.5 ppb up to 2 GHz, 1 ppb up to 4 GHz.
 */
void pvclock_scale(u64 tsc_khz, u32 *mul, s8 *shift);

/* Nanoseconds of a TSC difference, computed as the guest does it. */
u64 pvclock_ns(u64 delta, u32 mul, s8 shift);

#endif
