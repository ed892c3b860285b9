/* SPDX-License-Identifier: GPL-2.0-only */
/* See screen_idle.h. */
#include "kernel/work/screen_idle.h"

#include <margay/host.h>
#include "kernel/console/screen.h"
#include "kernel/percpu.h"

static bool has_work(const struct cpu *cpu)
{
	return __atomic_load_n(&cpu->work, __ATOMIC_SEQ_CST);
}

/* One that gets work at this moment passes it on. */
static void wake(void)
{
	for (unsigned i = 0; i < host_cpu_count(); i++) {
		const struct cpu *cpu = cpu_get(i);

		if (__atomic_load_n(&cpu->looping, __ATOMIC_ACQUIRE) && !has_work(cpu)) {
			host_cpu_kick(i);
			return;
		}
	}
}

static bool wanted(void)
{
	return has_work(this_cpu());
}

void screen_idle_start(void)
{
	screen_by_idle_cpus(wake);
}

bool screen_idle_draw(void)
{
	return screen_idle(wanted);
}
