/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * NOT ON qemu: test_direct.py starts it, with interrupts = direct
 * NOT ON bochs: the same
 *
 * Messages by the ICR, which is the CPU's own with ipi = direct, from both CPUs
 * to each other and to themselves: interrupts, to and fro, as many as ipis=
 * says, and NMIs, each of which comes once. No INIT: QEMU's CPUs start again
 * with that, and Bochs' exit for ever.
 */
#include "apic.h"
#include "listen.h"

#define PING 0x51
#define PONG 0x61
#define OWN 0x71
#define PATIENCE 100000000

static volatile u32 pings, pongs, own, nmis[MAX_CPUS];

/* Nothing but the register: apic.h's looks at the mode, which is an exit. */
static void send(u32 dest, u32 icr)
{
	wrmsr(0x830, (u64)dest << 32 | icr);
}

static void on_ping(struct trap_frame *)
{
	pings++;
	wrmsr(0x80b, 0);
	send(0, PONG | ICR_ASSERT);
}

static void on_pong(struct trap_frame *)
{
	pongs++;
	wrmsr(0x80b, 0);
}

static void on_own(struct trap_frame *)
{
	own++;
	wrmsr(0x80b, 0);
}

static void on_nmi(struct trap_frame *)
{
	nmis[this_cpu()->id]++;
}

/* NMIs as they shall be. */
static bool right(void)
{
	return nmis[0] > 0 && nmis[0] <= 50 && nmis[1] == 50;
}

static void to_and_fro(u32 count)
{
	u32 ping = pings, pong = pongs;

	start_listening();
	irq_on();
	for (u32 i = 1; i <= count; i++) {
		send(1, PING | ICR_ASSERT);
		if (!reaches(&pongs, pong + i, PATIENCE))
			break;
	}
	stop_listening();
	irq_off();
	check(pings == ping + count && pongs == pong + count,
	      "%u interrupts there and %u back, of %u", pings - ping, pongs - pong, count);
}

static void to_itself(u32 count)
{
	irq_on();
	for (u32 i = 1; i <= count; i++) {
		send(0, OWN | ICR_SELF | ICR_ASSERT);
		if (!reaches(&own, i, PATIENCE))
			break;
	}
	irq_off();
	check(own == count, "%u interrupts to itself", own);
}

/* To CPU `to`, from the other one. */
static void send_nmis(void *to)
{
	unsigned cpu = (unsigned)(u64)to;
	/* One to the boot CPU that meets the console's is lost. */
	unsigned patience = cpu ? PATIENCE : PATIENCE / 1000;

	for (u32 i = 0; i < 50; i++) {
		u32 want = nmis[cpu] + 1;

		send(cpu, ICR_NMI | ICR_ASSERT);
		for (unsigned k = 0; k < patience && nmis[cpu] != want; k++)
			cpu_relax();
	}
}

static void non_maskable(void)
{
	send_nmis((void *)1);
	smp_run(1, send_nmis, (void *)0);
	smp_wait(1);
	check(right(), "NMIs: %u and %u", nmis[0], nmis[1]);
}

void test_main(void)
{
	trap_handlers[PING] = on_ping;
	trap_handlers[PONG] = on_pong;
	trap_handlers[OWN] = on_own;
	trap_handlers[VEC_NMI] = on_nmi;
	smp_start();
	to_and_fro((u32)option_number("ipis", 1000));
	to_itself((u32)option_number("ipis", 1000));
	non_maskable();
	to_and_fro(10);
	check(right(), "no NMI more: %u and %u", nmis[0], nmis[1]);
}
