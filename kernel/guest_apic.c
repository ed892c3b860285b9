/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs whose local APIC is a guest's (interrupts = direct): as long as it is,
 * the LWK has no timer there and takes no interrupt, and only NMIs wake it.
 */
#include <margay/host.h>

#include "arch/x86_64/cpu/apic.h"
#include "kernel/percpu.h"
#include "kernel/time/timer.h"

#define ICR_ASSERT BIT(14) /* as in apic.c; delivery mode 0 is fixed */

void host_apic_give(void)
{
	host_interrupt_window();
	this_cpu()->closed = true;
	apic_give(host_tsc_khz());
}

void host_apic_reset(void)
{
	apic_give(host_tsc_khz());
}

void host_apic_take_back(void)
{
	struct cpu *cpu = this_cpu();

	apic_give(host_tsc_khz());
	apic_init_cpu();
	apic_timer_init_cpu();
	cpu->closed = false;
	/* What somebody has armed meanwhile. */
	cpu->timer_programmed = 0;
	timer_run_due();
}

void host_apic_interrupt(unsigned id, u8 vector)
{
	apic_send(cpu_get(id)->apic_id, ICR_ASSERT | vector);
}
