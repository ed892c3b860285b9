/* SPDX-License-Identifier: GPL-2.0-only */
/* The per-CPU work loop, kicks and sleep. */
#include <margay/errno.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/idle.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/percpu.h"
#include "kernel/timer.h"
#include "kernel/work.h"

int work_assign(unsigned id, struct work *work)
{
	struct cpu *cpu = cpu_get(id);
	struct work *none = NULL;

	if (!cpu || !__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE))
		return -ENODEV;
	/* The running item names its successor: nobody else can take the CPU in between. */
	if (cpu == this_cpu() && cpu->work && !cpu->next_work) {
		cpu->next_work = work;
		return 0;
	}
	if (!__atomic_compare_exchange_n(&cpu->work, &none, work, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return -EBUSY;
	cpu_kick(id);
	return 0;
}

void cpu_kick(unsigned id)
{
	struct cpu *cpu = cpu_get(id);

	if (!cpu || !__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE))
		return;
	/* The NMI is sent even when the word was set: a CPU in guest mode clears it only when it sleeps. */
	__atomic_store_n(&cpu->kick, 1, __ATOMIC_SEQ_CST);
	if (cpu != this_cpu())
		apic_send_nmi(cpu->apic_id);
}

void cpu_interrupt_window(void)
{
	trap_window();
	timer_run_due();
}

void cpu_wait(bool deep)
{
	struct cpu *cpu = this_cpu();

	if (deep && cpu_features.mwait && cpu_features.arat)
		idle_mwait(&cpu->kick, cpu_features.mwait_hint);
	else
		idle_hlt(&cpu->kick);
	/* Cleared before the caller looks again: a kick from here on makes the next wait return. */
	__atomic_exchange_n(&cpu->kick, 0, __ATOMIC_SEQ_CST);
	timer_run_due();
}

void work_loop(void)
{
	struct cpu *cpu = this_cpu();

	for (;;) {
		struct work *work = __atomic_load_n(&cpu->work, __ATOMIC_ACQUIRE);

		if (!work) {
			cpu_wait(true);
			continue;
		}
		work->run(work);
		work = cpu->next_work;
		cpu->next_work = NULL;
		__atomic_store_n(&cpu->work, work, __ATOMIC_RELEASE);
	}
}
