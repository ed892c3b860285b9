/* SPDX-License-Identifier: GPL-2.0-only */
/* Private to the SVM backend: its vCPU, and what its files call of each other. */
#ifndef SVM_SVM_H
#define SVM_SVM_H

#include "vmm/svm/vmcb.h"
#include "vmm/vcpu.h"

#define SVM_MSRPM_PAGES 2
#define SVM_IOPM_PAGES 3

struct svm_vcpu {
	struct vmcb *vmcb;
	u64 vmcb_pa;
	u64 host_vmcb_pa;    /* of the CPU that it is loaded on */
	u8 *msrpm;
	u8 *iopm;
	/* What the guest sees where the VMCB holds something else; reads exit while they differ. */
	u64 cr0_cache; /* its CR0.CD and NW: caches stay on */
	/* its CR4.MCE: on, or a machine check would shut the CPU down unseen */
	u64 cr4_mce;
	/*
	 * NMIs without vNMI: blocked from the injection to the end of the IRET,
	 * which is intercepted and then single-stepped.
	 */
	bool nmi_blocked;
	bool stepping; /* RFLAGS.TF is ours */
	bool guest_tf; /* what it was */
	bool posted; /* V_IRQ is an interrupt of the guest, not the request of a window */
	/* the last entry took something along, which is to be forgotten after the exit */
	bool unsettled;
	u64 next_rip; /* of the instruction that exited, while svm_lean() deals with it */
};

/* What the host CPU offers; set by svm_probe(). */
struct svm_features {
	u32 nr_asids;
	bool nrips;
	bool decode_assists;
	bool bus_lock;
};
extern struct svm_features svm_features;

static inline struct svm_vcpu *svm_vcpu(struct vcpu *vcpu)
{
	return vcpu->hvm;
}

/* cpu.c */
int svm_probe(struct hvm_caps *caps, void (*tell)(const struct hvm_feature *f));
int svm_cpu_on(void);
void svm_cpu_off(void);
/* Host state area of the calling CPU, for VMLOAD after an exit. */
u64 svm_host_vmcb(void);
/* An address-space ID that no cached translation of the calling CPU uses. */
void svm_new_asid(struct vmcb *vmcb);

/* state.c */
u64 svm_get(struct vcpu *vcpu, enum hvm_reg reg);
void svm_set(struct vcpu *vcpu, enum hvm_reg reg, u64 value);
void svm_get_context(struct vcpu *vcpu, struct hvm_context *out);
void svm_get_segment(struct vcpu *vcpu, enum seg seg, struct segment *out);
void svm_set_segment(struct vcpu *vcpu, enum seg seg, const struct segment *in);
void svm_set_desc_table(struct vcpu *vcpu, bool idt, const struct desc_table *in);
void svm_get_desc_table(struct vcpu *vcpu, bool idt, struct desc_table *out);
void svm_vcpu_reset(struct vcpu *vcpu);
void svm_dump(struct vcpu *vcpu);

/* vcpu.c */
int svm_vcpu_create(struct vcpu *vcpu);
void svm_vcpu_destroy(struct vcpu *vcpu);
void svm_vcpu_load(struct vcpu *vcpu);
void svm_intercept_msr(struct vcpu *vcpu, u32 msr, bool read, bool write);
void svm_intercept_io(struct vcpu *vcpu, u16 port, unsigned count, bool on);
void svm_intercept_exceptions(struct vcpu *vcpu, u32 vectors);
void svm_intercept_dr(struct vcpu *vcpu, bool on);
void svm_set_counters(struct vcpu *vcpu, u64 global);
void svm_set_tsc_offset(struct vcpu *vcpu, s64 offset);
void svm_flush_stage2(struct vcpu *vcpu);

/* run.c */
void svm_run(struct vcpu *vcpu, struct vmexit *exit);
void svm_request_irq_window(struct vcpu *vcpu, bool on);
void svm_request_nmi_window(struct vcpu *vcpu);

/*
 * run.asm. svm_enter() is called with GIF = 0 and returns with GIF = 1.
 * SVM_DONE: the exit, or the last of several, has been dealt with by lean.c.
 * run_clean.asm: the same for vcpu_is_cleaned().
 */
enum { SVM_AGAIN = -1, SVM_ENTERED = 0, SVM_HOST = 1, SVM_DONE = 1 };
int svm_enter(struct guest_regs *regs, u64 vmcb_pa, u64 host_vmcb_pa, const u32 *kick);
int svm_enter_clean(struct guest_regs *regs, u64 vmcb_pa, u64 host_vmcb_pa, const u32 *kick);
void svm_vmsave(u64 vmcb_pa);

/*
 * lean.c, for run.asm: SVM_AGAIN: it is done, enter again; SVM_ENTERED: nothing was done. The first
 * runs with GIF = 0 and the guest's FS, GS, TR and LDTR in the CPU, and may return SVM_HOST, to be
 * gone on with by the second once these are the host's and GIF is 1; that may return SVM_DONE:
 * leave.
 */
int svm_lean(struct guest_regs *regs);
int svm_lean_host(struct guest_regs *regs);

#if IS_ENABLED(CONFIG_LEAN_EXITS)
/* Is an exit dealt with that svm_enter() has returned behind? */
static inline bool svm_is_done(int entered)
{
	return entered == SVM_DONE;
}

/* Before an entry: what lean.c is to know of it. */
static inline void svm_prepare_lean(struct svm_vcpu *s, struct vmcb *v)
{
	v->clean = 0;
	s->unsettled = s->stepping || s->posted || v->tlb_control || v->event_inj;
}
#else
static inline bool svm_is_done(int)
{
	return false;
}

static inline void svm_prepare_lean(struct svm_vcpu *, struct vmcb *) { }
#endif

#endif
