/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Part of host.h: the CPUs, their work, what makes them leave it, and their instructions as the
 * fake host replaces them.
 */
#ifndef MARGAY_HOST_CPU_H
#define MARGAY_HOST_CPU_H

#include <margay/types.h>
#include <margay/x86.h>

struct host_cpu_info {
	u32 apic_id;
	int node;
	bool online;
};

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
/*
 * Errors of the machine (machine checks) that were told since boot: corrected ones, and *lost, the
 * others.
 */
u64 host_machine_checks(u64 *lost);
#else
static inline u64 host_machine_checks(u64 *lost)
{
	*lost = 0;
	return 0;
}
#endif

/* CPUs that run, numbered densely from 0: each can be given work, but host_cpu_lost(). */
unsigned host_cpu_count(void);
unsigned host_cpu_this(void);
/*
 * NULL when there is no such CPU; one that did not start has a number above the others and is not
 * online.
 */
const struct host_cpu_info *host_cpu_info(unsigned cpu);

/*
 * In images with LOST_CPUS: the CPU does not answer. It gets neither work nor kicks any more and
 * counts as one that did not start, but keeps its number. Any CPU.
 */
void host_cpu_lost(unsigned cpu);

/*
 * One piece of work that owns a CPU until run() returns; a vCPU is one kind.
 * run() is entered with interrupts off, on the CPU's own stack, and returns so.
 */
enum host_fault {
	HOST_NO_DEVICE, /* device registers that are not there */
	HOST_MACHINE_CHECK, /* the guest has used memory that the machine has lost */
};
/* which page it was; else its address, with MCG_STATUS' RIPV and EIPV in bits 0 and 1 */
#define HOST_LOST_UNKNOWN (~0ull)

struct host_work {
	const char *name;
	void (*run)(struct host_work *work);
	/* a closed CPU had one that nobody here has sent: its guest's? May be NULL */
	bool (*nmi)(struct host_work *work);
	/* run() has met that, and goes on; NULL: panic. lost: of HOST_MACHINE_CHECK. */
	void (*fault)(struct host_work *work, enum host_fault why, u64 lost);
	/*
	 * In a machine check that an exit has brought: are all threads of this CPU's core in guest
	 * mode for the same VM, or were they until then? In images with MACHINE_CHECKS, of whoever
	 * runs guests.
	 */
	bool (*core_is_vms)(struct host_work *work);
};

/*
 * Hands a CPU its next work item. 0, -EBUSY when it has one, -ENODEV when it
 * is not online. Any CPU. A running item may name its own CPU's next one, once:
 * that runs right after it.
 */
int host_cpu_assign(unsigned cpu, struct host_work *work);

/*
 * The same behind the item that the CPU has, if it has one: -EBUSY when there is another behind
 * that.
 */
int host_cpu_assign_behind(unsigned cpu, struct host_work *work);

/*
 * In images with PASSTHROUGH and MONITOR_CONSOLE: work for CPUs that have none. step() is called
 * again and again, by one of them at a time, while one is idle; it waits for nothing. False: it is
 * over, and its record may be gone. Begun by any CPU.
 */
struct host_idle_work {
	bool (*step)(struct host_idle_work *work);
	struct host_idle_work *next; /* the kernel's */
};
void host_idle_work(struct host_idle_work *work);

/*
 * Makes CPU `cpu` leave guest mode or host_cpu_wait() soon. The caller has
 * already stored, with release order, what that CPU shall find. Sets its kick
 * word, then sends an NMI: a CPU that tested the word too early meets the NMI.
 * Callable from any CPU; a kick of the own CPU is remembered, never lost.
 */
void host_cpu_kick(unsigned cpu);

/*
 * Called with interrupts off: opens a window in which pending physical
 * interrupts are taken by the kernel (timers, console), and closes it again;
 * runs due timers.
 */
void host_interrupt_window(void);

/*
 * Called with interrupts off: sleeps until a physical interrupt or a kick has
 * been taken since the caller's last check, returns with interrupts off. The
 * check and the sleep are atomic with respect to interrupts and kicks.
 */
void host_cpu_wait(void);

/*
 * True when the calling CPU was kicked since this was asked or host_cpu_wait()
 * returned last, and forgets it. Asked before each look at what other CPUs may
 * have stored: what is stored after the look comes with another kick.
 */
bool host_cpu_kicked(void);

/*
 * The calling CPU's kick word: not 0 while there is a kick that neither
 * host_cpu_kicked() nor host_cpu_wait() has taken note of. The entry path
 * tests it last of all, and does not enter the guest when it is set: on SVM
 * with GIF = 0, where an NMI then stays pending until VMRUN; on VT-x in a
 * region of arch/x86_64/cpu/nmi_table.h that begins with the test and ends
 * behind VMLAUNCH and VMRESUME. A CPU in guest mode gets the kick's NMI.
 */
const u32 *host_cpu_kick_word(void);

/* ---- CPU instructions that the fake host replaces --------------------- */

/* Without what an erratum makes useless. */
void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out);
/* The same, for what reads some machine's CPUID by a function with a context (cpuid_host_fn). */
static inline void host_cpuid_for(void *, u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	host_cpuid(leaf, subleaf, out);
}

u64 host_tsc(void);
/* 0, or -EFAULT where the CPU raises #GP; *value is 0 then. */
int host_rdmsr(u32 msr, u64 *value);
int host_wrmsr(u32 msr, u64 value);
/* 0, or -EFAULT where the CPU raises #GP or #UD. */
int host_xsetbv(u32 xcr, u64 value);
/*
 * Puts x87, SSE, and every extended state component of `xcr0` (a legal value on
 * this CPU) into its reset state, for their next owner; leaves XCR0 = 1 where
 * there is XSAVE. SDM vol. 1, 13.6 and 13.8.
 */
void host_fpu_reset(u64 xcr0);
/*
 * A vector register, 0 to 15, which holds the guest's value all the time: 16 bytes of it (XMM) or
 * 32 (YMM, with SSE and AVX on in XCR0). By VEX a write clears what lies above (which takes these
 * two bits, too), else it stays.
 */
void host_vector_read(unsigned reg, unsigned size, void *bytes);
void host_vector_write(unsigned reg, unsigned size, bool vex, const void *bytes);
/*
 * The same of a whole ZMM register, 0 to 31, of 64 bytes, with all three of AVX-512's bits on in
 * XCR0, too.
 */
void host_vector_read_zmm(unsigned reg, void *bytes);
void host_vector_write_zmm(unsigned reg, const void *bytes);
void host_wbinvd(void);

#endif
