/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-CPU data. Each CPU's GS base holds the address of its struct cpu; the
 * guest's GS base is switched by the backends. KERNEL_GS_BASE is never used:
 * it holds the guest's value.
 *
 * In struct cpu is what several files know of a CPU. What one file alone keeps
 * of each is a variable of that file:
 *
 *	static PERCPU u64 looked;
 *	cpu_own(cpu, looked) = now;
 *
 * They are 0 when the CPU's record is made, the boot CPU's with the image. No
 * memory is behind their names: margay.lds gives them addresses from CPU_OWN_AT
 * on, which are where they lie in a struct cpu. So an access is what one to a
 * member is, a load or a store with a constant displacement.
 */
#ifndef KERNEL_PERCPU_H
#define KERNEL_PERCPU_H

#include <margay/host.h>
#include "arch/x86_64/cpu/desc.h"

#define CPU_STACK_SIZE KIB(32)
#define CPU_IST_SIZE KIB(8)
#define CPU_STACKS (1 + IST_COUNT)

/* A stack's bounds; 0 while it does not exist. */
struct cpu_stack {
	u64 bottom;
	u64 top;
};

#define CPU_OWN_AT 512   /* as in margay.lds, which also sees to it that all fit */
#define CPU_OWN_SIZE 512

struct cpu {
	struct cpu *self;        /* at GS:0 */
	unsigned id;             /* index of cpu_get() */
	u32 apic_id;
	int node;                /* NUMA node, dense */
	bool online;             /* running the work loop or about to */
	bool looping; /* past its boot code: what it is given begins by itself; atomic */
	/* its local APIC is a guest's: IF stays 0, only NMIs wake it; only this CPU touches it */
	bool closed;
	/* not 0: somebody wants this CPU to look; set by any, cleared by this CPU; atomic */
	u32 kick;
	/* current or next work item; atomic, owned by the CPU until it is NULL again */
	struct host_work *work;
	bool working; /* inside an item's run(); only this CPU touches it */
	/* of the boot CPU's TSC, as measured when it started; 0 where they are one clock */
	s64 tsc_ahead;
	struct host_timer *timers; /* sorted by deadline; only this CPU touches it */
	u64 timer_programmed; /* deadline that the APIC timer is set to; 0: none */
	/* with CONSOLE_FOLLOWS: a device's NMIs come here, though it is not the boot CPU; atomic */
	bool nmi_devices;
	/* a kick's NMI is under way; set by any, cleared by the NMI handler; atomic */
	bool kick_due;
	/* an NMI was taken that no kick had sent; this CPU and its NMI handler */
	bool nmi_foreign;
	/* the same, by the count of kicks, with MACHINE_CHECKS; this CPU and its NMI handler */
	bool nmi_unclaimed;
	u64 nmi_expected; /* TSC: nmi_expected(); atomic */
	struct nmi_kicks {
		u32 sent; /* before each kick's NMI; set by any; atomic */
		/* of these, or that will come no more; the NMI handler's, as the rest */
		u32 come;
		/* how many were sent then: at the NMI before, and some time before */
		struct {
			u64 at;
			u32 sent;
		} mark[2];
	} kicks;
	u64 nmi_count; /* NMIs taken in root mode or reflected to it */
	struct cpu_stack stack[CPU_STACKS]; /* the CPU's own, then by enum ist */
	u8 own[CPU_OWN_SIZE] __attribute__((aligned(CPU_OWN_AT))); /* of cpu_own() */
};
static_assert(offsetof(struct cpu, own) == CPU_OWN_AT,
	      "margay.lds puts the variables of PERCPU there");

/*
 * Before the type: a variable of each CPU. It has no value of its own, so there is nothing to set
 * it to.
 */
#define PERCPU __section("percpu,\"aw\",@nobits#")

#if __STDC_HOSTED__
/* In a program of the build host it has an address like any other. */
extern u8 __start_percpu[];
#define CPU_OWN_PLACE(variable) ((uintptr_t)&(variable) - (uintptr_t)__start_percpu + CPU_OWN_AT)
#else
#define CPU_OWN_PLACE(variable) ((uintptr_t)&(variable))
#endif

/* A CPU's variable of this file. */
#define cpu_own(cpu, variable) (*(typeof(variable) *)((uintptr_t)(cpu) + CPU_OWN_PLACE(variable)))

/* The calling CPU. */
static inline struct cpu *this_cpu(void)
{
	struct cpu *c;

	asm volatile("mov %%gs:0, %0" : "=r"(c));
	return c;
}

/* Is the local APIC of this CPU a guest's? */
#define cpu_closed(cpu) (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && (cpu)->closed)

#if IS_ENABLED(CONFIG_CONSOLE_FOLLOWS)
/* Do NMIs of devices come to it? */
static inline bool cpu_has_devices(const struct cpu *cpu)
{
	return cpu->id == 0 || cpu->nmi_devices;
}
#else
static inline bool cpu_has_devices(const struct cpu *cpu)
{
	return cpu->id == 0;
}
#endif

/* Has an NMI come to it since its nmi_count was that? */
static inline bool cpu_had_nmi(const struct cpu *cpu, u64 before)
{
	return __atomic_load_n(&cpu->nmi_count, __ATOMIC_RELAXED) != before;
}

/* Gives the boot CPU its per-CPU data and descriptor tables: the first thing that runs in C. */
void cpu_init_boot(void);

/* Gives the calling CPU its descriptor tables and this_cpu(). Its IST stacks exist. */
void cpu_load(struct cpu *cpu);

/*
 * Makes one struct cpu for each enabled processor of the MADT, the boot CPU first; only that one is
 * online. After ACPI and apic_init(). 0; -ENOMEM: for the next of the cpu_count() that there are by
 * then.
 */
int cpu_init_all(void);

/* Says in which CPUs SRAT and MADT differ. After cpu_init_all(). */
void cpu_report_srat(void);

/*
 * Makes a CPU that is not online the last one; those after it move down by one. Before any of them
 * is online.
 */
void cpu_put_last(unsigned id);

/* Guarded stacks for a CPU that has none yet. 0 or -ENOMEM. */
int cpu_alloc_stacks(struct cpu *cpu);

/* CPUs of the machine, started or not. */
unsigned cpu_count(void);
/*
 * CPU by index, the online ones, of which there are host_cpu_count(), first; NULL when there is no
 * such one.
 */
struct cpu *cpu_get(unsigned id);

#endif
