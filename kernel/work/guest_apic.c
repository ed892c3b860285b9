/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs whose local APIC is a guest's (interrupts = direct): as long as it is,
 * the LWK takes no interrupt there, and only NMIs wake it, the alarm's, too.
 */
#include <margay/host.h>

#include "arch/x86_64/cpu/apic.h"
#include "kernel/cpu/nmi.h"
#include "kernel/percpu.h"
#include "kernel/time/timer.h"

/* x2APIC registers (SDM vol. 3, table 11-6). */
enum { SVR = 0x0f, LVT_THERMAL = 0x33, LVT_LINT0 = 0x35 };
#define ICR_ASSERT BIT(14) /* as in apic.c; delivery mode 0 is fixed */

static PERCPU u32 lint[2]; /* of a closed CPU: these entries of the LVT as the LWK had them */

bool guest_apic_nmi(void)
{
	struct cpu *cpu = this_cpu();
	struct host_work *work = __atomic_load_n(&cpu->work, __ATOMIC_ACQUIRE);

	cpu->nmi_foreign = false;
	/* One that stays closed when its VM has ended has no work. */
	return cpu->closed && work && work->nmi && work->nmi(work);
}

void host_apic_give(void)
{
	struct cpu *cpu = this_cpu();

	host_interrupt_window();
	cpu->closed = true;
	cpu->nmi_foreign = cpu->nmi_unclaimed = false;
	apic_give(cpu_own(cpu, lint));
	/* What somebody has armed before. */
	timer_run_due();
}

void host_apic_reset(void)
{
	u32 unused[2];

	apic_give(unused);
}

/*
 * An APIC that is off has masked all entries of its LVT, and keeps them so when it is on again (SDM
 * vol. 3, 11.4.7.2).
 */
static void restore_lvt(void)
{
	for (unsigned i = 0; i < 2; i++)
		host_wrmsr(MSR_X2APIC_FIRST + LVT_LINT0 + i, cpu_own(this_cpu(), lint)[i]);
	if (apic_thermal)
		host_wrmsr(MSR_X2APIC_FIRST + LVT_THERMAL, apic_thermal);
}

int host_apic_svr(u64 value)
{
	int err = host_wrmsr(MSR_X2APIC_FIRST + SVR, value);

	restore_lvt();
	return err;
}

void host_apic_take_back(void)
{
	struct cpu *cpu = this_cpu();

	host_apic_reset();
	apic_init_cpu();
	restore_lvt();
	apic_timer_init_cpu();
	alarm_set(0);
	cpu->closed = false;
	/* One that its guest has sent may just be on its way. */
	nmi_expected(cpu->id);
	/* What somebody has armed meanwhile. */
	cpu->timer_programmed = 0;
	timer_run_due();
}

void host_apic_interrupt(unsigned id, u8 vector)
{
	apic_send(cpu_get(id)->apic_id, ICR_ASSERT | vector);
}
