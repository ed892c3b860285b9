/* SPDX-License-Identifier: GPL-2.0-only */
/* A virtual CPU: its state, and what the monitor and the devices may ask of it. */
#ifndef VMM_VCPU_H
#define VMM_VCPU_H

#include <margay/host.h>
#include <margay/mitigations.h>
#include <margay/types.h>
#include "vmm/emulate/decode.h"
#include "vmm/hvm_ops.h"
#include "vmm/report/telemetry.h"
#include "vmm/vm/debugger.h"
#include "vmm/vm_end.h"

struct lapic;
struct vm;

/* The guest page that a vCPU fetched code from last (guest_fetch()). */
struct guest_path {
	struct hvm_context context;
	u64 gva;
	const u8 *page; /* NULL: none */
	u8 levels;
	u8 entry_size;
	const void *entry[4]; /* in guest RAM */
	u64 value[4];
};

/*
 * An instruction that was decoded before, by what the decoder has seen: 15 bytes, and the mode, of
 * which 0 is none. Whoever stands on the same bytes again need not decode them.
 */
#define INSNS_DECODED 8 /* by address */
struct decoded {
	union insn_key {
		struct {
			u8 bytes[INSN_MAX];
			u8 mode; /* enum insn_mode + 1 */
		};
		u64 word[2];
	} key;
	struct insn insn;
	enum { PLAIN_UNKNOWN, PLAIN_NOT, PLAIN_MOV } plain; /* vmm/emulate/lean_mmio.c's */
};

/* What a stage-2 exit says of the access of an instruction with one operand in memory. */
struct exit_access {
	bool valid;
	bool write;
	gpa_t gpa;
};

/* Its bank of machine checks: vmm/dev/cpu/machine_check.c. */
struct vcpu_mce {
	u64 mcg_status;
	u64 mcg_ext_ctl;
	u64 ctl;
	u64 status;
	u64 address;
};

struct vcpu {
	/* What is used most comes first: a short displacement reaches it. */
	struct vm *vm;
	void *hvm;                /* backend state */
	struct lapic *lapic;      /* vmm/dev/apic/lapic.c's */
	struct hvm_event event;   /* to inject at the next entry */
	unsigned id;              /* 0-based within the VM */
	/* enum vcpu_startup (startup.h), atomic: INIT and SIPI from other vCPUs */
	u32 startup;
	bool look;                /* vcpu_look(); atomic */
	/* MIT_: what its exits and entries do; 0 where its VM is trusted */
	u32 mitigations __aligned(16);
	u32 spec_ctrl;            /* IA32_SPEC_CTRL in root mode, beside MIT_SPEC_CTRL; */
	u32 guest_spec_ctrl;      /* the guest's, outside of it */
	struct guest_regs regs;
	u32 apic_id;
	/* MSR IA32_APIC_BASE, vmm/dev/apic/lapic.c's; CPUID shows its bit EN */
	u64 apic_base;
	unsigned cpu;             /* host CPU that runs it */
	/* that CPU's kick word (host_cpu_kick_word()), from before the first entry */
	const u32 *kick;
	/* vmm/memory/shootdown.c: the vm->stage2_count that it has flushed for; atomic */
	u64 stage2_seen;
	/*
	 * What keeps it from its guest (stage.h: struct vcpu_look); together it is one word, which
	 * is 0 nearly always.
	 */
	union {
		struct {
			bool lost_pages; /* of its VM there may be some: lost_memory.c; atomic */
			/*
			 * for a PCI function: pci_wait_go_on(). Only its CPU touches it, like the
			 * next two
			 */
			bool pci_waits;
			bool mce_due; /* #MC, at the next entry */
			bool bus_locked; /* not to be entered before exit_may_disturb() */
			/*
			 * virtual PCI functions with work left, bits by index, atomic:
			 * pci_virtual_again()
			 */
			u32 unfinished;
		};
		u64 reasons;
	};
	bool halted; /* in HLT: waits for an event */
	bool nmi_pending;
	/* breakpoints that the instruction in hand has met: emulate_watch() */
	u8 watched;
	u32 retries; /* emulate_again() */
	u64 xcr0; /* guest XCR0, live in hardware while it runs */
	u64 xss;
	u64 debugctl; /* virtual IA32_DEBUGCTL: read back, without effect */
	bool irq_window; /* requested of the backend */
	s64 tsc_offset; /* the VM's, as in force for this vCPU */
	u64 tsc_adjust; /* virtual IA32_TSC_ADJUST */
	u64 disturb_after; /* exit_may_disturb(): host TSC */
	u64 kvm_system_time; /* MSR 0x4b564d01 as written */
	u32 kvm_time_version; /* of what it points to */
	bool poll_off; /* MSR 0x4b564d05 as written, the other way round */
	struct vcpu_mce mce;
	struct guest_path fetched;
	struct decoded decoded[INSNS_DECODED];
	struct exit_access access; /* valid while that instruction is carried out */
	struct vcpu_debug debug;
	/* its CPU is the VM's: from its assignment until it has left; atomic */
	bool live;
	bool in_guest; /* between its entry and what each exit does first; atomic */
	/* host TSC: when it had a machine check for lost memory; 0: never; atomic */
	u64 lost_used;
	bool died; /* it could not go on: vcpu_die(), and the watchdog */
	/* what vcpu_call() wants, or a mark that the vCPU is not in its loop; atomic */
	void (*call)(struct vcpu *vcpu);
	struct vcpu_stats stats;
	struct host_work work;
};
static_assert(offsetof(struct vcpu, unfinished) + sizeof(u32) - offsetof(struct vcpu, reasons) ==
		      sizeof(u64),
	      "none is left out");
static_assert(offsetof(struct vcpu, regs) - offsetof(struct vcpu, mitigations) == 16 &&
		      offsetof(struct vcpu, regs) - offsetof(struct vcpu, guest_spec_ctrl) == 8,
	      "cpu/clean.inc");

/* Are its exits and entries those of run_clean.asm? */
static inline bool vcpu_is_cleaned(const struct vcpu *vcpu)
{
	return IS_ENABLED(CONFIG_MITIGATIONS) && vcpu->mitigations & MIT_SWITCH;
}

#if IS_ENABLED(CONFIG_MITIGATIONS)
/*
 * vcpu_mitigations.c. IA32_SPEC_CTRL before the first entry: it is root mode's where exits and
 * entries switch it, or VMRUN does and it keeps its bits on in the guest, too. Else it is the
 * guest's from then on.
 */
u32 vcpu_first_spec_ctrl(const struct vcpu *vcpu);
#else
static inline u32 vcpu_first_spec_ctrl(const struct vcpu *)
{
	return 0;
}
#endif

/* Has the debugger its debug registers? Does it step it? */
#define vcpu_is_debugged(vcpu) (IS_ENABLED(CONFIG_GDB) && (vcpu)->debug.own)
#define vcpu_is_stepped(vcpu) (IS_ENABLED(CONFIG_GDB) && (vcpu)->debug.step != STEP_NONE)

/* Ends the VM because this vCPU cannot go on, which its last report explains. On its CPU. */
static inline void vcpu_die(struct vcpu *vcpu, enum vm_end why)
{
	vcpu->died = true;
	vm_end(vcpu->vm, why);
}

/*
 * Has fn called on the vCPU's CPU, out of the guest, soon and once, though the
 * VM be paused or about to end. From any CPU; the caller sees to it that the
 * VM stays during the call of this. 0, -EBUSY when another is under way,
 * -ENODEV when the vCPU runs no more or not yet.
 */
int vcpu_call(struct vcpu *vcpu, void (*fn)(struct vcpu *vcpu));
/*
 * From now on it serves calls, or none; what was asked before is done. On its CPU, or before it has
 * one.
 */
void vcpu_open_calls(struct vcpu *vcpu, bool may);

static inline void vcpu_calls(struct vcpu *vcpu, bool may)
{
	if (IS_ENABLED(CONFIG_VCPU_CALLS))
		vcpu_open_calls(vcpu, may);
}

/*
 * Does what vcpu_call() and the debugger want: wherever the vCPU stays out of the guest. On its
 * CPU.
 */
void vcpu_serve_call(struct vcpu *vcpu);

#if IS_ENABLED(CONFIG_VCPU_CALLS)
/* Is there something of that? */
static inline bool vcpu_is_called(const struct vcpu *vcpu)
{
	return __atomic_load_n(&vcpu->call, __ATOMIC_ACQUIRE) ||
	       (debugger_on() && __atomic_load_n(&vcpu->debug.wanted, __ATOMIC_ACQUIRE));
}
#else
static inline bool vcpu_is_called(const struct vcpu *)
{
	return false;
}
#endif

/*
 * The vCPU's loop looks only when told to at what may keep it from the guest: its own state, its
 * interrupt controller's and its VM's. What it shall see is stored before. vcpu_look() is for those
 * who run on its CPU; vcpu_kick() is for all, and brings a CPU that is in the guest out of it.
 */
static inline void vcpu_look(struct vcpu *vcpu)
{
	__atomic_store_n(&vcpu->look, true, __ATOMIC_RELEASE);
}

void vcpu_kick(struct vcpu *vcpu);

/*
 * Queues an exception for the guest at its next entry, merging with one whose
 * delivery was cut (SDM vol. 3, table 6-5: double fault, triple fault).
 */
void vcpu_raise(struct vcpu *vcpu, u8 vector);
void vcpu_raise_error(struct vcpu *vcpu, u8 vector, u32 error);
/* An interrupt or NMI that waits for the next entry goes back to where it came from. */
void vcpu_put_back_event(struct vcpu *vcpu);
/* #PF with CR2. */
void vcpu_raise_page_fault(struct vcpu *vcpu, u64 cr2, u32 error);

/*
 * Before an entry: queues the highest pending event into vcpu->event if the
 * guest can take it, else asks for a window. While one more waits, the next
 * exit makes the loop look again. On the vCPU's CPU.
 */
void vcpu_queue_events(struct vcpu *vcpu);

/* direct_messages.c, struct host_work's nmi(): one that the guest has sent, if it could. */
bool vcpu_nmi(struct host_work *work);

/* ---- lost_memory.c, in images with MACHINE_CHECKS ---- */

/* For vcpu_core_is_vms(), around each entry. */
static inline void vcpu_note_in_guest(struct vcpu *vcpu, bool in_guest)
{
	if (IS_ENABLED(CONFIG_MACHINE_CHECKS))
		__atomic_store_n(&vcpu->in_guest, in_guest, __ATOMIC_RELAXED);
}

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
/* Of struct host_work: by vcpu->in_guest and lost_used. */
bool vcpu_core_is_vms(struct host_work *work);
/* Of its fault(): is that memory that the machine has lost? It is dealt with then. */
bool vcpu_fault_is_lost(struct vcpu *vcpu, enum host_fault why, u64 lost);
#else
#define vcpu_core_is_vms NULL
static inline bool vcpu_fault_is_lost(struct vcpu *, enum host_fault, u64)
{
	return false;
}
#endif
/* Is this the first time that the guest is told of that page? */
bool vm_tells_lost(struct vm *vm, u64 page);
/* The guest has used memory that is lost: it is told, or ends. page: as above. On its CPU. */
void vcpu_lost_memory(struct vcpu *vcpu, u64 page);
/*
 * The same of an access that an exit has kept from it, or that the hypervisor was to make in its
 * stead: guest_is_lost().
 */
void vcpu_lost_access(struct vcpu *vcpu, gpa_t addr);

/* Is there an event that ends HLT? On the vCPU's CPU. */
bool vcpu_wakes(struct vcpu *vcpu);

#endif
