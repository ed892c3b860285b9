/* SPDX-License-Identifier: GPL-2.0-only */
/* What an NMI was. */
#include "kernel/cpu/nmi.h"

#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/boot/cmdline.h"
#include "kernel/console/console.h"
#include "kernel/errors/mce.h"
#include "kernel/errors/panic.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"

/* NMI status and control of a PC: Intel ICH9 data sheet, 13.7.1. */
#define NMI_SC 0x61
#define NMI_SC_SERR BIT(7)
#define NMI_SC_IOCHK BIT(6)
#define NMI_SC_CLEAR_IOCHK BIT(3)
#define NMI_SC_CLEAR_SERR BIT(2)
#define NMI_SC_KEPT 0x03u /* timer gate and speaker */

/* an NMI was taken that nmi_look() has not yet looked into; the CPU and its NMI handler */
static PERCPU bool noted;
static PERCPU u64 stray;  /* NMIs without a cause that could still be seen */

/* Do NMIs of devices come to it? */
#define has_devices(cpu) \
	((cpu)->id == 0 || (IS_ENABLED(CONFIG_CONSOLE_FOLLOWS) && (cpu)->nmi_devices))

/*
 * By when a kick's NMI has come, however late an SMI or a busy emulator makes it, or has met
 * another one on its way: then the two are one. A device's stays unexplained as long where another
 * CPU has served it.
 */
#define PATIENCE_MS 10000u

/*
 * Did a kick send this NMI? Of kicks that are not settled by time as many NMIs are taken for
 * theirs.
 */
static bool of_kick(struct nmi_kicks *k, u64 now)
{
	u32 sent = __atomic_load_n(&k->sent, __ATOMIC_SEQ_CST);

	for (unsigned i = 0; i < ARRAY_SIZE(k->mark); i++) {
		bool settled = now - k->mark[i].at >= PATIENCE_MS * host_tsc_khz();

		if (settled && (s32)(k->mark[i].sent - k->come) > 0)
			k->come = k->mark[i].sent;
		if (settled || !i) {
			k->mark[i].at = now;
			k->mark[i].sent = sent;
		}
	}
	if (k->come == sent)
		return false;
	k->come++;
	return true;
}

void nmi_taken(void)
{
	struct cpu *cpu = this_cpu();
	bool sent = IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) &&
		    __atomic_exchange_n(&cpu->kick_due, false, __ATOMIC_SEQ_CST);
	bool kicked = __atomic_load_n(&cpu->kick, __ATOMIC_RELAXED);
	bool unclaimed = IS_ENABLED(CONFIG_MACHINE_CHECKS) && !of_kick(&cpu->kicks, rdtsc());

	cpu->nmi_count++;
	if (unclaimed)
		cpu->nmi_unclaimed = true;
	/* Of two kicks at once the second's NMI may come alone: then there is the word of them. */
	if (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && !sent && !kicked)
		cpu->nmi_foreign = true;
	/* The device's NMI may have met a kick's: the word of a CPU that has some says nothing. */
	if (has_devices(cpu) || !kicked || unclaimed) {
		cpu_own(cpu, noted) = true;
		__atomic_store_n(&cpu->kick, 1, __ATOMIC_RELAXED);
	}
}

/* A system error or an I/O channel check is acknowledged, so that the next one is seen too. */
static bool port_61(void)
{
	static struct log_limit limit = { .burst = 1 }; /* a device may send as many as it likes */
	u8 status = inb(NMI_SC), cause = status & (NMI_SC_SERR | NMI_SC_IOCHK);
	u8 clear = (cause & NMI_SC_SERR ? NMI_SC_CLEAR_SERR : 0) |
		   (cause & NMI_SC_IOCHK ? NMI_SC_CLEAR_IOCHK : 0);

	/* All ones: no such register. */
	if (!cause || status == 0xff)
		return false;
	host_log_limited(&limit, "margay",
			 "NMI of the platform: the machine reports a hardware error:%s%s",
			 cause & NMI_SC_SERR ? " system error (SERR#)" : "",
			 cause & NMI_SC_IOCHK ? " I/O channel check" : "");
	outb(NMI_SC, (u8)((status & NMI_SC_KEPT) | clear));
	outb(NMI_SC, status & NMI_SC_KEPT);
	return true;
}

/*
 * The platform's, with a sign (port 0x61, firmware's blocks) or without. It may have come to
 * several CPUs: the first one tells.
 */
static bool platform(const struct cpu *cpu, bool unclaimed)
{
	static struct spinlock lock;
	static u64 told; /* TSC; guarded by the lock */
	const s64 patience = (s64)(PATIENCE_MS * host_tsc_khz());
	u64 expected = __atomic_load_n(&cpu->nmi_expected, __ATOMIC_RELAXED);
	bool tell, alone = !expected || (s64)(rdtsc() - expected) > patience;

	spin_lock(&lock);
	tell = port_61();
	if (tell || unclaimed)
		tell |= ghes_look();
	if (!tell && unclaimed && alone && (!told || (s64)(rdtsc() - told) > patience)) {
		printk_error(
			"NMI of the platform on CPU %u: no device's, no sign at port 0x61: the BMC's, or a button's?",
			cpu->id);
		tell = true;
	}
	if (tell)
		told = rdtsc();
	spin_unlock(&lock);
	if (tell && cmdline_of_boot()->nmi_panic)
		panic("nmi=panic");
	return tell;
}

/* All of this CPU's are asked: one NMI may have been several. */
static bool devices(unsigned cpu)
{
	bool asked = false;

	for (unsigned i = 0; i < NMI_DEVICES; i++) {
		bool (*fn)(void) = __atomic_load_n(&nmi_devices[i], __ATOMIC_ACQUIRE);

		asked |= fn &&
			 (!IS_ENABLED(CONFIG_CONSOLE_FOLLOWS) || console_follow_cpu(fn) == cpu) &&
			 fn();
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
	unclaimed = IS_ENABLED(CONFIG_MACHINE_CHECKS) &&
		    __atomic_exchange_n(&cpu->nmi_unclaimed, false, __ATOMIC_SEQ_CST);
	if (has_devices(cpu) &&
	    (devices(cpu->id) || (!IS_ENABLED(CONFIG_MACHINE_CHECKS) && port_61()))) {
		/* Those that came meanwhile, too. */
		cpu->nmi_foreign &= !IS_ENABLED(CONFIG_DIRECT_INTERRUPTS);
		if (IS_ENABLED(CONFIG_MACHINE_CHECKS)) {
			cpu->nmi_unclaimed = false;
			nmi_expected(cpu->id);
		}
		return;
	}
	if (IS_ENABLED(CONFIG_MACHINE_CHECKS) && (cpu->id == 0 || unclaimed) &&
	    platform(cpu, false)) {
		cpu->nmi_foreign = false;
		return;
	}
	if ((cpu->nmi_foreign || unclaimed) && guest_apic_nmi())
		unclaimed = false;
	if (unclaimed && platform(cpu, true))
		return;
	/*
	 * A kick whose word was seen before its NMI came, a device's when another CPU served it, or
	 * nobody's.
	 */
	cpu_own(cpu, stray)++;
}
