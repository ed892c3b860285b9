/* SPDX-License-Identifier: GPL-2.0-only */
/* Which NMIs are kicks: what is noted before one is sent, and when one has come. */
#ifndef KERNEL_KICK_H
#define KERNEL_KICK_H

#include "arch/x86_64/cpu/insn.h"
#include "kernel/percpu.h"

#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/* One is under way. Any CPU. */
static inline void kick_announce(struct cpu *cpu)
{
	__atomic_store_n(&cpu->kick_due, true, __ATOMIC_SEQ_CST);
}

/* Was one? Else this NMI may be the guest's that has the CPU's local APIC. In the NMI handler. */
static inline bool kick_was_announced(struct cpu *cpu)
{
	return __atomic_exchange_n(&cpu->kick_due, false, __ATOMIC_SEQ_CST);
}

/* NMIs that came until now are nobody's guest's. */
static inline void kick_forget_foreign(struct cpu *cpu)
{
	cpu->nmi_foreign = false;
}
#else
static inline void kick_announce(struct cpu *) { }

/* No guest sends any. */
static inline bool kick_was_announced(struct cpu *)
{
	return true;
}

static inline void kick_forget_foreign(struct cpu *) { }
#endif

/*
 * By when a kick's NMI has come, however late an SMI or a busy emulator makes it, or has met
 * another one on its way: then the two are one. A device's stays unexplained as long where another
 * CPU has served it.
 */
#define KICK_PATIENCE_MS 10000u

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
/* Before it is sent. Any CPU. */
static inline void kick_count(struct cpu *cpu)
{
	__atomic_fetch_add(&cpu->kicks.sent, 1, __ATOMIC_SEQ_CST);
}

/*
 * Did a kick send this NMI? Of kicks that are not settled by time as many NMIs are taken for
 * theirs.
 */
static inline bool kick_sent(struct cpu *cpu)
{
	struct nmi_kicks *k = &cpu->kicks;
	u64 now = rdtsc();
	u32 sent = __atomic_load_n(&k->sent, __ATOMIC_SEQ_CST);

	for (unsigned i = 0; i < ARRAY_SIZE(k->mark); i++) {
		bool settled = now - k->mark[i].at >= KICK_PATIENCE_MS * host_tsc_khz();

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

/* Was there one that none had sent? Forgets it. On this CPU. */
static inline bool kick_take_unclaimed(struct cpu *cpu)
{
	return __atomic_exchange_n(&cpu->nmi_unclaimed, false, __ATOMIC_SEQ_CST);
}

/* Those that came until now are a device's. */
static inline void kick_forget_unclaimed(struct cpu *cpu)
{
	cpu->nmi_unclaimed = false;
}
#else
static inline void kick_count(struct cpu *) { }

/* Nobody looks for the platform's without a sign. */
static inline bool kick_sent(struct cpu *)
{
	return true;
}

static inline bool kick_take_unclaimed(struct cpu *)
{
	return false;
}

static inline void kick_forget_unclaimed(struct cpu *) { }
#endif

#endif
