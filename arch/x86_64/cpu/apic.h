/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's own use of the local APIC: enabling it, EOI, interprocessor interrupts, the one-shot
 * timer; and the 8259s kept masked. SDM vol. 3, chapter 11.
 */
#ifndef ARCH_CPU_APIC_H
#define ARCH_CPU_APIC_H

#include <margay/types.h>

/*
 * Masks the 8259s and enables the calling (boot) CPU's APIC, in x2APIC mode where it can and that
 * is wanted, or firmware has it on, or highest_id, of all CPUs, demands it. 0, or -ENODEV when it
 * has none (logged).
 */
int apic_init(u32 highest_id, bool x2apic);
/* The calling CPU's local interrupt input 0 or 1 is an NMI: the MADT says so. */
void apic_local_nmi(unsigned lint, bool active_low);
/* The thermal entry of all CPUs' LVT: firmware's SMI, or masked. */
extern u32 apic_thermal;
/*
 * Leads an entry of the calling CPU's LVT, by its offset in the xAPIC page, to a vector; 0: masks
 * it.
 */
void apic_lead(u32 lvt, u8 vector);
/* Enables the APIC of another CPU, in the mode that apic_init() chose. */
void apic_init_cpu(void);

/* The calling CPU's APIC ID (32 bits in x2APIC mode, see host_is_x2apic() in <margay/host.h>). */
u32 apic_id(void);
void apic_eoi(void);

/* NMI to one CPU, physical destination. Waits only until the APIC has accepted the command. */
void apic_send_nmi(u32 dest);

/*
 * Sends what the low half of an ICR says to one CPU, physical destination. Waits only until the
 * APIC has accepted the command.
 */
void apic_send(u32 dest, u32 command);

/*
 * In images with DIRECT_INTERRUPTS. The calling CPU's local APIC becomes as after a reset, but for
 * its x2APIC mode and for what is the machine's (apic_give.c): for a guest, or before
 * apic_init_cpu(). Interrupts stay off; nothing is left pending or in service, but what is sent
 * meanwhile. lint: LINT0 and LINT1 as they were: they are masked now, like all of the LVT.
 */
void apic_give(u32 lint[2]);
/* Rate of the TSC, from apic_timer_init() on. */
extern u64 apic_tsc_khz;
#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/* Some CPU is in x2APIC mode though apic_init() did not choose it. */
extern bool apic_mixed;
#else
#define apic_mixed false
#endif

/*
 * False for an APIC ID that physical destinations cannot name in the current mode (SDM vol. 3,
 * 11.6.2.1).
 */
bool apic_can_reach(u32 dest);
/*
 * INIT: the CPU waits for a startup IPI, whose `page` is the number of the 4 KiB page where it
 * begins.
 */
void apic_send_init(u32 dest);
void apic_send_startup(u32 dest, u8 page);

/*
 * Chooses TSC-deadline mode, or measures the one-shot counter against the TSC. After the TSC rate
 * is known.
 */
void apic_timer_init(u64 tsc_khz);
/* Programs the calling CPU's timer vector (VECTOR_TIMER), masked until apic_timer_arm(). */
void apic_timer_init_cpu(void);
/*
 * One interrupt at VECTOR_TIMER not much before the TSC reaches `deadline`; it
 * may come early when the counter is too narrow, so the handler compares and
 * arms again. A deadline in the past fires at once.
 */
void apic_timer_arm(u64 deadline);
void apic_timer_stop(void);
/* "TSC deadline" or "one-shot". */
const char *apic_timer_mode(void);

#endif
