/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices whose interrupts are NMIs: who they are, and on which CPU one of them may still come.
 * What an NMI was: kernel/work/nmi.c.
 */
#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/cpu/irq.h"
#include "kernel/cpu/nmi.h"
#include "kernel/percpu.h"

bool (*nmi_devices[NMI_DEVICES])(void);

int nmi_request(unsigned irq, bool (*fn)(void))
{
	unsigned i = 0;
	int err;

	while (nmi_devices[i])
		if (++i == NMI_DEVICES)
			return -ENOSPC;
	__atomic_store_n(&nmi_devices[i], fn, __ATOMIC_RELEASE);
	err = NMI_DEVICES > 2 && irq == NMI_MESSAGE ? 0 : irq_route_nmi(irq, 0);
	if (err)
		__atomic_store_n(&nmi_devices[i], NULL, __ATOMIC_RELEASE);
	return err;
}

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
void nmi_expected(unsigned cpu)
{
	__atomic_store_n(&cpu_get(cpu)->nmi_expected, rdtsc(), __ATOMIC_RELAXED);
}
#endif
