/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Non-maskable interrupts: kicks (kernel/cpu/kick.c), devices whose lines are
 * routed as NMI so that no guest can hold them off, and what the platform
 * reports. The handler only takes note; nmi_look() finds out in the CPU's next
 * interrupt window.
 */
#ifndef KERNEL_NMI_H
#define KERNEL_NMI_H

#include <margay/types.h>

struct cpu;

/* no line: who asks sees to it that the NMI comes; with CONFIG_IOMMU or _DIRECT_INTERRUPTS */
#define NMI_MESSAGE (~0u)

/* ---- kernel/cpu/nmi_devices.c ----------------------------------------------------------- */

#define NMI_DEVICES (2 + IS_ENABLED(CONFIG_IOMMU) + IS_ENABLED(CONFIG_DIRECT_INTERRUPTS))
/* Their functions, as nmi_request() has them; NULL: none; atomic. */
extern bool (*nmi_devices[NMI_DEVICES])(void);

/*
 * Routes an interrupt (irq_route_nmi()) as NMI to the boot CPU; two devices at most can have that,
 * and those of NMI_MESSAGE. fn runs in this CPU's interrupt windows after any NMI, or in those of
 * the CPU that console_follow_cpu() names; it leaves the line low, and says whether its device had
 * asked. 0 or -errno (logged).
 */
int nmi_request(unsigned irq, bool (*fn)(void));

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
/*
 * An NMI that the CPU takes in the next ten seconds may be one whose sender has been served, or of
 * whom there is no other sign. Any CPU.
 */
void nmi_expected(unsigned cpu);
#else
static inline void nmi_expected(unsigned) { }
#endif

/* ---- the platform's --------------------------------------------------------------------- */

/*
 * kernel/work/port_61.c: does it say so? Tells of it, and acknowledges it, so that the next is
 * seen.
 */
bool nmi_port_61(void);

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
/*
 * kernel/work/nmi_platform.c: with a sign (port 0x61, firmware's blocks) or, unclaimed, without. It
 * may have come to several CPUs: the first one tells. Was it one?
 */
bool nmi_platform(const struct cpu *cpu, bool unclaimed);

/* Who asks that need not ask port 0x61 by itself. */
static inline bool nmi_of_board(void)
{
	return false;
}
#else
/* Of the others nothing is known. */
static inline bool nmi_platform(const struct cpu *, bool)
{
	return false;
}

static inline bool nmi_of_board(void)
{
	return nmi_port_61();
}
#endif

/* ---- kernel/work/nmi.c ------------------------------------------------------------------ */

/* In the NMI handler: takes note and makes the CPU come to a window. Takes no lock. */
void nmi_taken(void);

/* In a window: what the NMIs since the last one were. Interrupts off. */
void nmi_look(void);

#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/*
 * guest_apic.c: the work item of a CPU whose local APIC is a guest's gets an NMI that no kick has
 * sent. In a window. False: its guest cannot have sent it.
 */
bool guest_apic_nmi(void);
#else
static inline bool guest_apic_nmi(void)
{
	return false;
}
#endif

#endif
