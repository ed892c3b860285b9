/* SPDX-License-Identifier: GPL-2.0-only */
/* What an NMI was. */
#include "kernel/cpu/nmi.h"

#include "kernel/console/console.h"
#include "kernel/cpu/kick.h"

/* an NMI was taken that nmi_look() has not yet looked into; the CPU and its NMI handler */
static PERCPU bool noted;
static PERCPU u64 stray;  /* NMIs without a cause that could still be seen */

void nmi_taken(void)
{
	struct cpu *cpu = this_cpu();
	bool sent = kick_was_announced(cpu);
	bool kicked = __atomic_load_n(&cpu->kick, __ATOMIC_RELAXED);
	bool unclaimed = !kick_sent(cpu);

	cpu->nmi_count++;
	if (unclaimed)
		cpu->nmi_unclaimed = true;
	/* Of two kicks at once the second's NMI may come alone: then there is the word of them. */
	if (!sent && !kicked)
		cpu->nmi_foreign = true;
	/* The device's NMI may have met a kick's: the word of a CPU that has some says nothing. */
	if (cpu_has_devices(cpu) || !kicked || unclaimed) {
		cpu_own(cpu, noted) = true;
		__atomic_store_n(&cpu->kick, 1, __ATOMIC_RELAXED);
	}
}

/* All of this CPU's are asked: one NMI may have been several. */
static bool devices(unsigned cpu)
{
	bool asked = false;

	for (unsigned i = 0; i < NMI_DEVICES; i++) {
		bool (*fn)(void) = __atomic_load_n(&nmi_devices[i], __ATOMIC_ACQUIRE);

		asked |= fn && console_comes_to(fn, cpu) && fn();
	}
	return asked;
}

void nmi_look(void)
{
	struct cpu *cpu = this_cpu();
	bool unclaimed;

	if (likely(!cpu_own(cpu, noted)))
		return;
	/* An NMI from here on is noted again. */
	__atomic_store_n(&cpu_own(cpu, noted), false, __ATOMIC_SEQ_CST);
	unclaimed = kick_take_unclaimed(cpu);
	if (cpu_has_devices(cpu) && (devices(cpu->id) || nmi_of_board())) {
		/* Those that came meanwhile, too. */
		kick_forget_foreign(cpu);
		kick_forget_unclaimed(cpu);
		nmi_expected(cpu->id);
		return;
	}
	if ((cpu->id == 0 || unclaimed) && nmi_platform(cpu, false)) {
		kick_forget_foreign(cpu);
		return;
	}
	if ((cpu->nmi_foreign || unclaimed) && guest_apic_nmi())
		unclaimed = false;
	if (unclaimed && nmi_platform(cpu, true))
		return;
	/*
	 * A kick whose word was seen before its NMI came, a device's when another CPU served it, or
	 * nobody's.
	 */
	cpu_own(cpu, stray)++;
}
