/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See nmi_try.h. No NMI of these tells whose it is, and one may come late: unexpected they would be
 * the platform's.
 */
#include "kernel/work/nmi_try.h"

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/cpu/nmi.h"
#include "kernel/percpu.h"

#define TRIES 3
#define TRY_MS 250u /* far more than an interrupt takes, on a slow emulator, too */

bool nmi_comes(void (*ask)(bool on))
{
	const struct cpu *cpu = this_cpu();
	bool came = true;

	for (unsigned i = 0; i < TRIES && came; i++) {
		u64 before, patience = rdtsc() + host_tsc_khz() * TRY_MS;

		/* Another device of this input that still asks would keep the line from rising. */
		nmi_look();
		nmi_expected(cpu->id);
		before = __atomic_load_n(&cpu->nmi_count, __ATOMIC_RELAXED);
		ask(true);
		came = cpu_had_nmi(cpu, before);
		while (!came && rdtsc() < patience) {
			cpu_pause();
			came = cpu_had_nmi(cpu, before);
		}
		ask(false);
	}
	/* Now: the next window may be far. */
	nmi_look();
	return came;
}
