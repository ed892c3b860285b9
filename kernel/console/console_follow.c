/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The serial line's interrupt goes to the CPU whose VM prints: one NMI for each FIFO that the UART
 * has sent, and one for each key, are not the cost of a VM that happens to have the boot CPU.
 * Through the I/O APIC's entry, and the remapping one behind it.
 */
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/ioapic.h"
#include "kernel/console/console.h"
#include "kernel/console/serial.h"
#include "kernel/cpu/irq.h"
#include "kernel/cpu/nmi.h"
#include "kernel/percpu.h"

/* Between two moves: VMs that print by turns pay for each other then, and for nobody else. */
#define MOVE_MS 100u

static struct spinlock lock;
static unsigned home; /* atomic */
static u64 next_move; /* TSC; guarded by the lock */

unsigned console_follow_cpu(bool (*fn)(void))
{
	return fn == console_follow_interrupt ? __atomic_load_n(&home, __ATOMIC_ACQUIRE) : 0;
}

static void move(unsigned irq, unsigned from, unsigned to)
{
	bool locked;

	/*
	 * An NMI to the CPU that loses it may be on its way; the one that gets it looks from before
	 * the first.
	 */
	nmi_expected(from);
	__atomic_store_n(&cpu_get(to)->nmi_devices, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&home, to, __ATOMIC_RELEASE);
	ioapic_mask(irq_gsi(irq), true);
	/* An APIC ID that no entry can hold: the boot CPU has it for good. */
	if (irq_route_nmi(irq, to)) {
		next_move = ~0ull;
		__atomic_store_n(&home, 0, __ATOMIC_RELEASE);
		irq_route_nmi(irq, 0);
	}
	cpu_get(to)->nmi_devices = to == home;
	cpu_get(from)->nmi_devices = from == home;
	/*
	 * What rose while the line led nowhere, or to the other CPU, rises anew with the output
	 * that follows.
	 */
	locked = serial_lock();
	serial_interrupts_off();
	serial_unlock(locked);
}

void console_follow(bool vm)
{
	unsigned from = __atomic_load_n(&home, __ATOMIC_ACQUIRE), to = this_cpu()->id;
	bool lost = !__atomic_load_n(&cpu_get(from)->online, __ATOMIC_ACQUIRE);

	if (likely(from == to || !(vm || lost)) || serial_mode() != SERIAL_INTERRUPT)
		return;
	/* A debugger's line may be the same input. */
	if (host_debug_name() || !spin_trylock(&lock))
		return;
	if (from == home && (lost || rdtsc() >= next_move)) {
		next_move = rdtsc() + host_tsc_khz() * MOVE_MS;
		move((unsigned)serial_irq(), from, to);
	}
	spin_unlock(&lock);
}

bool console_follow_interrupt(void)
{
	static u8 asks; /* 0: nobody; 1: a CPU; 2: it shall once more */
	bool asked = false;
	u8 once;

	/* One that has just lost the interrupt may be at it still. */
	if (__atomic_exchange_n(&asks, 2, __ATOMIC_SEQ_CST))
		return true;
	do {
		once = 1;
		__atomic_store_n(&asks, once, __ATOMIC_SEQ_CST);
		asked |= console_interrupt();
	} while (!__atomic_compare_exchange_n(&asks, &once, 0, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	return asked;
}
