/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The C-states that firmware names of the machine's CPUs. Part of the door, <margay/host.h>. In
 * images with VM_CST.
 */
#ifndef MARGAY_HOST_CST_H
#define MARGAY_HOST_CST_H

#include <margay/cstates.h>

#if IS_ENABLED(CONFIG_VM_CST)
/*
 * Those of a CPU that MWAIT or HLT enters, and no port; C3 is told as C2. NULL: none is known, as
 * firmware's _CST is code, or has none that this CPU's leaf 5 knows. Whoever asks first reads
 * firmware's tables, which takes long on a large machine, and says in a line what they have. After
 * boot's PCI, whose tables of AML they are; any CPU.
 */
const struct cstates *host_cstates(unsigned cpu);
#else
static inline const struct cstates *host_cstates(unsigned)
{
	return NULL;
}
#endif

#endif
