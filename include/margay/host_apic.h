/* SPDX-License-Identifier: GPL-2.0-only */
/* Part of host.h: a CPU whose local APIC is a guest's, in images with DIRECT_INTERRUPTS. */
#ifndef MARGAY_HOST_APIC_H
#define MARGAY_HOST_APIC_H

#include <margay/types.h>

/* MWAIT sleeps here, in a state in which the APIC timer goes on. */
bool host_mwait(void);

#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/* No CPU may be put into x2APIC mode, as the firmware or the command line wants it. */
bool host_x2apic_off(void);
#else
static inline bool host_x2apic_off(void)
{
	return false;
}
#endif

/*
 * The calling CPU's local APIC becomes the guest's that will run here, in
 * x2APIC mode, as after a reset; then the LWK's again. Between the two timers
 * fire here only where there is host_alarm(), host_interrupt_window() takes no interrupts and
 * host_cpu_wait() ends by kicks and NMIs only. LINT0, the thermal and the
 * performance entry stay as they are, LINT1 while SVR has the APIC on. Interrupts off.
 */
void host_apic_give(void);
void host_apic_take_back(void);
#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/* Has the node a timer for such CPUs? The same from the first VM on. */
bool host_alarm(void);
#else
static inline bool host_alarm(void)
{
	return false;
}
#endif
/* Between the two: writes SVR. 0, or -EFAULT where the CPU raises #GP. */
int host_apic_svr(u64 value);
/* Between the two: as after a reset once more, with nothing pending. */
void host_apic_reset(void);
/*
 * Sends a fixed interrupt to a CPU, itself or another, that is a guest's now: what is sent too late
 * comes to the LWK.
 */
void host_apic_interrupt(unsigned cpu, u8 vector);

/*
 * From now on the overflow of a performance counter of the calling CPU comes at a vector of it
 * (host_msi_alloc()); 0: not at all. To be said again after each: the APIC of some CPUs masks it
 * then. In images with VM_COUNTERS.
 */
void host_counter_interrupt(u8 vector);

#endif
