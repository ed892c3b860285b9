/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to vmm/dev: the software local APIC (SDM vol. 3, chapter 11) and
 * its doors to the I/O APIC. IRR, TMR and the pending error bits are changed
 * from any CPU, atomically; everything else by the vCPU's own CPU only.
 * Delivery reads another APIC's mode, LDR, DFR, SVR and TPR without a lock, as
 * a bus message would race with their change.
 */
#ifndef VMM_DEV_LAPIC_H
#define VMM_DEV_LAPIC_H

#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/x86.h>

#include "vmm/vcpu.h"

/* Register numbers: MMIO offset / 16, and x2APIC MSR - 0x800 (tables 11-1 and 11-6). */
enum lapic_reg {
	LAPIC_ID = 0x02,
	LAPIC_VERSION = 0x03,
	LAPIC_TPR = 0x08,
	LAPIC_APR = 0x09,
	LAPIC_PPR = 0x0a,
	LAPIC_EOI = 0x0b,
	LAPIC_RRD = 0x0c,
	LAPIC_LDR = 0x0d,
	LAPIC_DFR = 0x0e,
	LAPIC_SVR = 0x0f,
	LAPIC_ISR = 0x10,
	LAPIC_TMR = 0x18,
	LAPIC_IRR = 0x20,
	LAPIC_ESR = 0x28,
	LAPIC_ICR = 0x30,
	LAPIC_ICR_HIGH = 0x31,
	LAPIC_LVT_TIMER = 0x32,
	LAPIC_LVT_THERMAL = 0x33,
	LAPIC_LVT_PERF = 0x34,
	LAPIC_LVT_LINT0 = 0x35,
	LAPIC_LVT_LINT1 = 0x36,
	LAPIC_LVT_ERROR = 0x37,
	LAPIC_TIMER_INITIAL = 0x38,
	LAPIC_TIMER_CURRENT = 0x39,
	LAPIC_TIMER_DIVIDE = 0x3e,
	LAPIC_SELF_IPI = 0x3f,
};
#define LAPIC_LVT_COUNT 6
/* Version 14H; six LVT entries; no directed EOI (SDM vol. 3, 11.4.8). */
#define LAPIC_VERSION_VALUE (0x14u | (LAPIC_LVT_COUNT - 1) << 16)
#define LAPIC_LVT(reg) ((reg) - LAPIC_LVT_TIMER)

#define LAPIC_SVR_ENABLE BIT(8)
#define LAPIC_LVT_MASKED BIT(16)
#define LAPIC_FIRST_VECTOR 16 /* 0-15 are illegal in an interrupt message */

/* ESR bits (figure 11-9). */
#define LAPIC_ESR_SEND_ILLEGAL BIT(5)
#define LAPIC_ESR_RECEIVE_ILLEGAL BIT(6)
#define LAPIC_ESR_ILLEGAL_REGISTER BIT(7)

/* Delivery modes of ICR, LVT, RTE and MSI. */
enum apic_delivery {
	APIC_FIXED = 0,
	APIC_LOWEST = 1,
	APIC_SMI = 2,
	APIC_NMI = 4,
	APIC_INIT = 5,
	APIC_SIPI = 6,
	APIC_EXTINT = 7,
};

enum apic_shorthand { APIC_DEST_FIELD = 0, APIC_SELF = 1, APIC_ALL = 2, APIC_ALL_BUT_SELF = 3 };

/* One interrupt message. */
struct apic_msg {
	u32 dest;
	bool wide;    /* dest is an x2APIC ICR's 32 bits, else 8 bits */
	bool logical;
	bool level;   /* trigger mode: EOI is broadcast to the I/O APIC */
	u8 vector;
	enum apic_delivery delivery;
	enum apic_shorthand shorthand; /* relative to the sender; a device uses APIC_DEST_FIELD */
};

struct lapic {
	struct vcpu *vcpu;
	/* atomic */
	u64 irr[4];
	u64 tmr[4];

	u64 isr[4];
	u32 tpr;
	u32 ldr;
	u32 dfr;
	u32 svr;
	u32 version;
	u32 esr;         /* what the guest reads */
	u32 esr_pending; /* atomic: errors since its last ESR write */
	u64 icr;
	u32 lvt[LAPIC_LVT_COUNT];
	u32 initial_count;
	u32 divide;
	u64 timer_start;  /* host TSC at which the count began, or the period last began anew */
	u64 timer_period; /* initial count in TSC cycles; 0: stopped */
	u64 deadline;     /* guest TSC; 0: disarmed */
	struct host_timer timer;
	bool timer_frozen; /* was armed when the VM was paused */
	struct spinlock door; /* guards `open` */
	bool open;         /* its CPU's APIC is the guest's: lapic_direct_send() may send to it */
	bool icr_open;     /* ... and so is its ICR, counted in icrs_open; its own CPU's */
	/*
	 * by SVR, at some time since the VM's start: whoever starts now is another kernel (kexec)
	 */
	bool was_on;
};

static inline bool lapic_enabled(const struct lapic *l)
{
	return l->vcpu->apic_base & APIC_BASE_EN;
}

#if IS_ENABLED(CONFIG_VM_COUNTERS)
/* Does that entry of the LVT deliver an NMI? Only the counters' may. */
static inline bool lapic_lvt_is_nmi(enum lapic_reg lvt, u32 entry)
{
	return lvt == LAPIC_LVT_PERF && (entry >> 8 & 7) == APIC_NMI;
}
#else
static inline bool lapic_lvt_is_nmi(enum lapic_reg, u32)
{
	return false;
}
#endif

static inline bool lapic_x2apic(const struct lapic *l)
{
	return (l->vcpu->apic_base & (APIC_BASE_EN | APIC_BASE_EXTD)) ==
	       (APIC_BASE_EN | APIC_BASE_EXTD);
}

/* lapic.c */
/* Sets the vector in IRR, with its trigger mode, and makes the vCPU look. Any CPU. */
void lapic_set_irr(struct lapic *l, u8 vector, bool level);
/* Records errors and raises the error LVT for the first new one. Any CPU. */
void lapic_error(struct lapic *l, u32 esr_bits);
/* Delivers an LVT's interrupt unless it is masked. */
void lapic_lvt_deliver(struct lapic *l, enum lapic_reg lvt);
/* Power-up state of all registers but APIC_BASE and the ID; stops the timer. Own CPU. */
void lapic_reset(struct vcpu *vcpu);
/* Processor priority (11.8.3.1). */
u8 lapic_ppr(const struct lapic *l);
/* End of interrupt: retires the highest in-service vector. */
void lapic_eoi(struct lapic *l);

/* lapic_regs.c: the two register interfaces. */
extern const struct mmio_ops lapic_mmio_ops;
extern const struct msr_ops lapic_x2apic_ops;

/* lapic_timer.c: all on the vCPU's own CPU. */
extern const struct msr_ops lapic_deadline_ops;
void lapic_timer_init(struct lapic *l);
void lapic_timer_stop(struct lapic *l);
void lapic_timer_set_initial(struct lapic *l, u32 count);
void lapic_timer_set_divide(struct lapic *l, u32 divide);
void lapic_timer_set_lvt(struct lapic *l, u32 lvt);
/* struct vdev's vcpu_pause(): where the guest's TSC stands still, the timer does. */
void lapic_timer_pause(struct vcpu *vcpu, void *instance, bool paused);
u32 lapic_timer_current(const struct lapic *l);

/* lapic_direct.c: of a VM that owns its CPUs' local APICs (vm_direct()). */
/*
 * struct vdev's vcpu_start(), for any VM, and vcpu_stop(), for these: the CPU's APIC becomes the
 * guest's, then the LWK's again.
 */
#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
void lapic_direct_start(struct vcpu *vcpu, void *instance);
#else
#define lapic_direct_start NULL
#endif
void lapic_direct_stop(struct vcpu *vcpu);
/*
 * A value that the guest may write to a register: gives it to the CPU, too, where that has it. 0;
 * -EFAULT where it raises #GP.
 */
int lapic_direct_write(struct vcpu *vcpu, u32 reg, u64 value);
#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/*
 * May its guest send by itself, as the VM file says? Any VM, once it has its CPUs. 0, or -EINVAL
 * (printed).
 */
int lapic_direct_check(const struct vm *vm);
/* struct intc_ops' init(), for any VM. */
void lapic_direct_init(struct vcpu *vcpu);
#else
static inline int lapic_direct_check(const struct vm *)
{
	return 0;
}

/* An INIT is a reset then. */
#define lapic_direct_init lapic_reset
#endif

/* Sends the vector to the vCPU's own APIC. Any CPU. */
void lapic_direct_send(struct lapic *l, u8 vector);

/* lapic_ipi.c */
/* Does the message's destination name this APIC? (11.6.2; shorthands not looked at) */
bool lapic_match(const struct lapic *l, const struct apic_msg *msg);
/*
 * Delivers a message; src: the sending APIC or NULL for a device. True when some APIC took it. Any
 * CPU.
 */
bool lapic_deliver(struct vm *vm, struct lapic *src, const struct apic_msg *msg);
/* An NMI for the vCPU. Any CPU. */
void lapic_nmi(struct lapic *l);
/* Sends what an ICR value says (11.6.1). */
void lapic_send_icr(struct lapic *l, u64 icr);
/* Sends to itself by the self-IPI register (11.12.11). */
void lapic_self_ipi(struct lapic *l, u8 vector);
/*
 * The destination in an RTE or MSI: bits 7:0, and 14:8 where the guest is told
 * of them (KVM_FEATURE_MSI_EXT_DEST_ID; Linux, Documentation/virt/kvm/x86/cpuid.rst).
 */
u32 lapic_destination(const struct vm *vm, u32 low, u32 high);
/* A message-signalled interrupt (11.11). Any CPU. */
void lapic_msi(struct vm *vm, u64 address, u32 data);
/* struct intc_ops' msi_vcpu(). Any CPU. */
const struct vcpu *lapic_msi_vcpu(struct vm *vm, u64 address, u32 data);

/* ioapic.c: does nothing in a VM without one. Any CPU. */
#if IS_ENABLED(CONFIG_VM_IOAPIC)
void ioapic_eoi(struct vm *vm, u8 vector);
void ioapic_line(struct vm *vm, unsigned gsi, bool level);
#else
static inline void ioapic_eoi(struct vm *, u8) { }

static inline void ioapic_line(struct vm *, unsigned, bool) { }
#endif

#endif
