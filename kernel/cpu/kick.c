/* SPDX-License-Identifier: GPL-2.0-only */
/* Kicks: what makes a CPU leave its guest or its sleep. */
#include <margay/host.h>
#include "arch/x86_64/cpu/apic.h"
#include "kernel/cpu/kick.h"

void host_cpu_kick(unsigned id)
{
	struct cpu *cpu = cpu_get(id);

	if (!cpu || !__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE))
		return;
	/*
	 * The NMI is sent even when the word was set: its setter may not have come
	 * as far, and the CPU may be in guest mode, where it sees NMIs only.
	 */
	__atomic_store_n(&cpu->kick, 1, __ATOMIC_SEQ_CST);
	if (cpu == this_cpu())
		return;
	kick_announce(cpu);
	kick_count(cpu);
	apic_send_nmi(cpu->apic_id);
}

bool host_cpu_kicked(void)
{
	u32 *kick = &this_cpu()->kick;

	/*
	 * The exchange orders what the caller reads next behind it, and costs nothing while nobody
	 * kicks.
	 */
	return __atomic_load_n(kick, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(kick, 0, __ATOMIC_SEQ_CST);
}

const u32 *host_cpu_kick_word(void)
{
	return &this_cpu()->kick;
}
