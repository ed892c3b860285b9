/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The narrow interface between the monitor and the two hardware backends
 * (vmm/vmx, vmm/svm), and the vendor-neutral VM exit.
 */
#ifndef VMM_HVM_OPS_H
#define VMM_HVM_OPS_H

#include <margay/types.h>
#include <margay/x86.h>

struct vcpu;
struct stage2;
struct stage2_format;

enum vmexit_reason {
	VMEXIT_EXTINT,      /* a physical interrupt is pending */
	VMEXIT_NMI,         /* a physical NMI was taken, or a machine check */
	VMEXIT_IRQ_WINDOW,  /* the guest can take an interrupt now */
	VMEXIT_NMI_WINDOW,  /* the guest can take an NMI now */
	/* .exception; a machine check never: the backend hands it to the host */
	VMEXIT_EXCEPTION,
	VMEXIT_CPUID,
	VMEXIT_HLT,
	VMEXIT_IO,          /* .io */
	VMEXIT_RDMSR,       /* register RCX names it */
	VMEXIT_WRMSR,
	VMEXIT_CR,          /* .cr */
	VMEXIT_STAGE2,      /* .stage2: no or insufficient second-level mapping */
	VMEXIT_HYPERCALL,   /* VMCALL or VMMCALL */
	VMEXIT_XSETBV,
	VMEXIT_WBINVD,      /* WBINVD or INVD */
	/* an instruction of VMX or SVM itself, or another that is hidden: #UD */
	VMEXIT_VIRT_INSN,
	VMEXIT_MWAIT,       /* MONITOR or MWAIT, hidden from the guest: #UD */
	VMEXIT_RDPMC,       /* the guest has no performance counters: #GP */
	VMEXIT_TASK_SWITCH,
	VMEXIT_TRIPLE_FAULT,
	VMEXIT_DR,          /* MOV to or from a debug register: decode it */
	VMEXIT_INIT,        /* a physical INIT arrived */
	VMEXIT_ENTRY_FAILED, /* .raw: the CPU refused the guest state */
	VMEXIT_UNKNOWN,     /* .raw: a reason that this version does not know */
	VMEXIT_BUS_LOCK,    /* the bus was locked, or (SVM) would be: vcpu->bus_locked */
	VMEXIT_KICKED,      /* no exit: a kick came before the entry, which was left out */
	VMEXIT_REASONS,
	VMEXITS = VMEXIT_KICKED, /* those before it are exits */
	/* the backend has dealt with it by itself (lean.h), and counted it */
	VMEXIT_DONE = VMEXIT_REASONS
};

struct vmexit {
	enum vmexit_reason reason;
	u8 insn_len; /* bytes of the exiting instruction; 0: not known, decode it */
	u64 raw;     /* the vendor's own exit code, for dumps */
	union {
		struct {
			u8 vector;
			bool has_error;
			u32 error;
			/* #PF: CR2; #DB: new DR6 bits (VMX, on SVM they are in DR6), else 0 */
			u64 qualification;
		} exception;
		struct {
			u16 port;
			u8 size; /* 1, 2, 4 */
			bool in;
			bool string; /* INS/OUTS: decode for the operands */
			bool rep;
		} io;
		struct {
			u8 cr;      /* 0, 3, 4, 8 */
			bool write;
			/*
			 * gpr is valid; else decode the instruction (SVM, but for MOV with decode
			 * assists)
			 */
			bool decoded;
			u8 gpr;
			enum { CR_MOV, CR_CLTS, CR_LMSW } kind;
			u16 lmsw;
		} cr;
		struct {
			gpa_t gpa;
			bool write;
			bool exec;
			bool walk; /* while the CPU walked the guest's page tables */
		} stage2;
	};
};

#if IS_ENABLED(CONFIG_LEAN_EXITS)
/* Has the backend dealt with it by itself? */
static inline bool vmexit_is_done(const struct vmexit *exit)
{
	return exit->reason == VMEXIT_DONE;
}
#else
static inline bool vmexit_is_done(const struct vmexit *)
{
	return false;
}
#endif

enum hvm_event_type { HVM_EVENT_NONE, HVM_EVENT_INTR, HVM_EVENT_NMI, HVM_EVENT_EXCEPTION };

/*
 * An event to deliver at the next entry. Also holds one whose delivery an exit
 * cut short, but for INT n, INT3, INTO and INT1: RIP still stands on those,
 * they simply run again.
 */
struct hvm_event {
	enum hvm_event_type type;
	u8 vector;
	bool has_error;
	u32 error;
};

/* Guest registers that run() keeps current in memory around every exit. */
struct guest_regs {
	u64 rip;
	u64 rflags;
	u64 shadow; /* not 0 while STI or MOV SS blocks interrupts; 0 stored ends it */
	u64 gpr[GPR_COUNT]; /* by encoding; the entry stubs index this array */
};
static_assert(offsetof(struct guest_regs, gpr) == 24, "entry stubs (run.asm)");

/* Everything else is read and written through get()/set(). */
enum hvm_reg {
	/* as the guest sees them */
	HVM_CR0,
	HVM_CR2,
	HVM_CR3,
	HVM_CR4,
	HVM_EFER,
	HVM_PAT,
	HVM_DR6,
	HVM_DR7,
	/* consecutive */
	HVM_DR0,
	HVM_DR1,
	HVM_DR2,
	HVM_DR3,
	HVM_SYSENTER_CS,
	HVM_SYSENTER_ESP,
	HVM_SYSENTER_EIP,
	HVM_FS_BASE,
	HVM_GS_BASE,
	HVM_KERNEL_GS_BASE,
	HVM_STAR,
	HVM_LSTAR,
	HVM_CSTAR,
	HVM_SFMASK,
	HVM_TSC_AUX,
	HVM_NMI_BLOCKED, /* 1 from an NMI's delivery to the IRET */
	HVM_REGS
};

/*
 * What decides how the guest's code and linear addresses are read, as get() and get_segment() tell
 * it.
 */
struct hvm_context {
	u64 cr0;
	u64 cr3;
	u64 cr4;
	u64 efer;
	u64 cs_base;
	u32 cs_attr;
	u8 cpl;
};

/* What the backend found on this machine; filled in by probe(). */
struct hvm_caps {
	bool stage2_1g; /* 1 GiB leaves */
	u8 phys_bits; /* GPA width that stage 2 can map */
	bool insn_len; /* exits carry the instruction length */
	/* usable in the guest: CPUID policy */
	bool rdtscp;
	bool invpcid;
	bool xsaves;
	bool waitpkg;
	bool pcid; /* CR4.PCIDE may be set by the guest */
	bool counters; /* performance counters can count for the guest alone */
	u64 cr4_allowed; /* CR4 bits that hardware lets a guest set */
};

/* Something that probe() looked for. */
struct hvm_feature {
	const char *backend; /* "VT-x", "SVM" */
	const char *name;
	/* the register and bit that say so, and what to do about it; valid during the call only */
	const char *where;
	bool there;
	bool required;
};

struct hvm_ops {
	const char *name; /* "VT-x/EPT", "SVM/NPT" */
	const struct stage2_format *stage2_format;

	/*
	 * Is this machine able? Reads CPUID and capability MSRs only. 0 and *caps;
	 * -ENODEV when the CPU is another vendor's or lacks the feature silently;
	 * -EPERM when firmware disabled it or a required control is missing. tell()
	 * is called for each feature that it needs or can use, there or not.
	 */
	int (*probe)(struct hvm_caps *caps, void (*tell)(const struct hvm_feature *f));

	/* Turns the calling CPU's virtualization on or off. 0 or -errno, printed. */
	int (*cpu_on)(void);
	void (*cpu_off)(void);

	/*
	 * Backend state of a vCPU, on the CPU that will run it. 0 or -ENOMEM. vcpu->hvm is the
	 * backend's.
	 */
	int (*vcpu_create)(struct vcpu *vcpu);
	void (*vcpu_destroy)(struct vcpu *vcpu);
	/*
	 * What the backend keeps of the guest beside all that get() and set() reach becomes as
	 * after power-on (power_on.h).
	 */
	void (*vcpu_reset)(struct vcpu *vcpu);
	/* Binds the vCPU to the calling CPU before its first run() there. */
	void (*vcpu_load)(struct vcpu *vcpu);

	/*
	 * One entry into the guest, or several: exits that it deals with by itself
	 * (lean.h) bring it back only when the vCPU shall look or is kicked.
	 * Interrupts off on entry and return. Consumes vcpu->event; when the exit
	 * cut an event's delivery, vcpu->event holds it again. vcpu->regs is
	 * current on return.
	 */
	void (*run)(struct vcpu *vcpu, struct vmexit *exit);

	u64 (*get)(struct vcpu *vcpu, enum hvm_reg reg);
	void (*set)(struct vcpu *vcpu, enum hvm_reg reg, u64 value); /* value already validated */
	/*
	 * The four page-directory pointers of PAE paging, already validated. NULL where the CPU
	 * reads memory for them (SVM).
	 */
	void (*set_pdptes)(struct vcpu *vcpu, const u64 pdptes[4]);
	void (*get_segment)(struct vcpu *vcpu, enum seg seg, struct segment *out);
	void (*get_context)(struct vcpu *vcpu, struct hvm_context *out);
	void (*set_segment)(struct vcpu *vcpu, enum seg seg, const struct segment *in);
	void (*set_desc_table)(struct vcpu *vcpu, bool idt, const struct desc_table *in);
	void (*get_desc_table)(struct vcpu *vcpu, bool idt, struct desc_table *out);

	/*
	 * Exit with VMEXIT_IRQ_WINDOW as soon as the guest can take an interrupt; off again. Never
	 * on while one is injected.
	 */
	void (*request_irq_window)(struct vcpu *vcpu, bool on);
	/* The same for VMEXIT_NMI_WINDOW; ends by itself with that exit. */
	void (*request_nmi_window)(struct vcpu *vcpu);
	/* Whether a guest access to the MSR exits. All do after vcpu_create(). */
	void (*intercept_msr)(struct vcpu *vcpu, u32 msr, bool read, bool write);
	/* Whether guest accesses to `count` ports from `port` exit. All do after vcpu_create(). */
	void (*intercept_io)(struct vcpu *vcpu, u16 port, unsigned count, bool on);
	/* Which exceptions (bits) exit, beside those that always do. None after vcpu_load(). */
	void (*intercept_exceptions)(struct vcpu *vcpu, u32 vectors);
	/* Whether the guest's MOV to and from debug registers exits. Not after vcpu_load(). */
	void (*intercept_dr)(struct vcpu *vcpu, bool on);
	/*
	 * The guest may read counters by RDPMC, and, on VT-x, those in `global`
	 * (IA32_PERF_GLOBAL_CTRL; SDM vol. 3, 20.2.2) count while it runs. Neither after
	 * vcpu_load(). Where caps.counters.
	 */
	void (*set_counters)(struct vcpu *vcpu, u64 global);
	/* Guest TSC = host TSC + offset. */
	void (*set_tsc_offset)(struct vcpu *vcpu, s64 offset);
	/* Drops cached stage-2 translations of the vCPU's VM on the calling CPU. */
	void (*flush_stage2)(struct vcpu *vcpu);
	/* Prints the control block but for the segments, for a failed entry or a crash. */
	void (*dump)(struct vcpu *vcpu);
};

/* Of these, what is never called but in images with an option. */
#define HVM_INTERCEPT_DR(fn) (IS_ENABLED(CONFIG_GDB) ? (fn) : NULL)
#define HVM_SET_COUNTERS(fn) (IS_ENABLED(CONFIG_VM_COUNTERS) ? (fn) : NULL)
#define HVM_DUMP(fn) (IS_ENABLED(CONFIG_DUMPS) ? (fn) : NULL)

/*
 * Writes that change one of these load the directory pointers of PAE paging, others do not (SDM
 * vol. 3, 4.4.1).
 */
#define CR0_LOADS_PDPTES (CR0_PG | CR0_CD | CR0_NW)
#define CR4_LOADS_PDPTES (CR4_PAE | CR4_PGE | CR4_PSE | CR4_SMEP)

/*
 * The four PAE page-directory pointers that the guest's CR3 names (SDM vol. 3, 4.4.1), zeros where
 * they are not RAM.
 */
void vcpu_read_pdptes(struct vcpu *vcpu, u64 cr3, u64 pdptes[4]);

/* For the backends: intercept_io() in a map with a bit for each port, the same on both. */
static inline void hvm_set_ports(u8 *map, u16 port, unsigned count, bool on)
{
	for (unsigned p = port; p < port + count && p < 0x10000; p++) {
		if (on)
			map[p / 8] |= (u8)(1u << p % 8);
		else
			map[p / 8] &= (u8) ~(1u << p % 8);
	}
}

/* The backends that are compiled in register themselves here (linker section). */
#define HVM_BACKEND(ops) \
	static const struct hvm_ops *const ops##_entry __used __section("hvm_backends") = &(ops)

#endif
