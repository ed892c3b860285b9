/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the VT-x backend: its instructions, its vCPU, and what its files call of each other.
 */
#ifndef VMX_VMX_H
#define VMX_VMX_H

#include "vmm/vcpu.h"
#include "vmm/vmx/vmcs.h"

/* Bits of CR0 that are the host's: the guest reads its own from the shadow. */
#define VMX_CR0_MASK (~(CR0_PE | CR0_MP | CR0_EM | CR0_TS | CR0_ET | CR0_WP | CR0_AM | CR0_PG))

struct vmx_vcpu {
	void *vmcs;
	u64 vmcs_pa;
	u8 *io_bitmap; /* two pages: ports 0-0x7fff, 0x8000-0xffff */
	u8 *msr_bitmap;
	bool launched;
	u32 proc_controls;
	/* What the VMCS holds, to write only what changed. */
	u64 rsp;
	u64 rflags;
	u64 interruptibility;
};

/* The controls of this machine, negotiated once by vmx_probe(). */
struct vmx_controls {
	u32 pin;
	u32 proc;
	u32 proc2;
	u32 exit;
	u32 entry;
	u32 revision; /* VMCS revision identifier */
	u64 cr0_fixed0;
	u64 cr4_fixed0;
	u64 cr4_fixed1;
	bool invept_single;
};
extern struct vmx_controls vmx_controls;

static inline struct vmx_vcpu *vmx_vcpu(struct vcpu *vcpu)
{
	return vcpu->hvm;
}

static inline u64 vmread(unsigned long field)
{
	u64 v;

	asm volatile("vmread %1, %0" : "=rm"(v) : "r"(field) : "cc");
	return v;
}

static inline void vmwrite(unsigned long field, u64 v)
{
	asm goto("vmwrite %1, %0\n\tjna %l[failed]" : : "r"(field), "rm"(v) : "cc" : failed);
	return;
failed:
	host_panic("VMWRITE of field %#lx failed: VM-instruction error %lu", field,
		   vmread(VMCS_INSTRUCTION_ERROR));
}

/* Of the VMCS that vmread() has just read of: it cannot fail. */
static inline void vmwrite_rip(u64 rip)
{
	asm volatile("vmwrite %1, %0" : : "r"((u64)VMCS_GUEST_RIP), "rm"(rip) : "cc");
}

/* cpu.c */
int vmx_probe(struct hvm_caps *caps, void (*tell)(const struct hvm_feature *f));
int vmx_cpu_on(void);
void vmx_cpu_off(void);

/* vcpu.c */
int vmx_vcpu_create(struct vcpu *vcpu);
void vmx_vcpu_destroy(struct vcpu *vcpu);
void vmx_vcpu_load(struct vcpu *vcpu);
void vmx_intercept_msr(struct vcpu *vcpu, u32 msr, bool read, bool write);
void vmx_intercept_exceptions(struct vcpu *vcpu, u32 vectors);
void vmx_intercept_io(struct vcpu *vcpu, u16 port, unsigned count, bool on);
void vmx_set_counters(struct vcpu *vcpu, u64 global);
void vmx_set_tsc_offset(struct vcpu *vcpu, s64 offset);
void vmx_flush_stage2(struct vcpu *vcpu);
/* Drops the vCPU's own linear translations on the calling CPU. */
void vmx_flush_linear(struct vcpu *vcpu);

/* state.c */
u64 vmx_get(struct vcpu *vcpu, enum hvm_reg reg);
void vmx_set(struct vcpu *vcpu, enum hvm_reg reg, u64 value);
void vmx_set_pdptes(struct vcpu *vcpu, const u64 pdptes[4]);
void vmx_get_context(struct vcpu *vcpu, struct hvm_context *out);
void vmx_get_segment(struct vcpu *vcpu, enum seg seg, struct segment *out);
void vmx_set_segment(struct vcpu *vcpu, enum seg seg, const struct segment *in);
void vmx_set_desc_table(struct vcpu *vcpu, bool idt, const struct desc_table *in);
void vmx_get_desc_table(struct vcpu *vcpu, bool idt, struct desc_table *out);
void vmx_vcpu_reset(struct vcpu *vcpu);
void vmx_dump(struct vcpu *vcpu);
/* Also what the vCPU knows of it. */
void vmx_set_interruptibility(struct vmx_vcpu *x, u64 value);

/* run.c */
void vmx_run(struct vcpu *vcpu, struct vmexit *exit);
void vmx_request_irq_window(struct vcpu *vcpu, bool on);
void vmx_intercept_dr(struct vcpu *vcpu, bool on);
void vmx_request_nmi_window(struct vcpu *vcpu);

/*
 * run.asm: enters the guest unless *kick is set or an NMI comes first. 0 after an exit, 1 when
 * VMLAUNCH or VMRESUME itself failed, 2 when kicked. 3: the exit, or the last of several, has been
 * dealt with by vmx_lean(). run_clean.asm: the same for vcpu_is_cleaned().
 */
enum { VMX_ENTERED, VMX_ENTRY_FAILED, VMX_ENTRY_KICKED, VMX_ENTRY_DONE };
int vmx_enter(struct guest_regs *regs, bool launched, const u32 *kick);
int vmx_enter_clean(struct guest_regs *regs, bool launched, const u32 *kick);
void vmx_exit_entry(void), vmx_exit_clean(void); /* HOST_RIP, not callable */

/*
 * lean.c, for run.asm: VMX_AGAIN: it is done, enter again; VMX_ENTRY_DONE: leave; VMX_ENTERED:
 * nothing was done.
 */
#define VMX_AGAIN (-1)
int vmx_lean(struct guest_regs *regs);

#if IS_ENABLED(CONFIG_LEAN_EXITS)
/* Is an exit dealt with that vmx_enter() has returned behind? */
static inline bool vmx_is_done(int entry)
{
	return entry == VMX_ENTRY_DONE;
}
#else
static inline bool vmx_is_done(int)
{
	return false;
}
#endif

#endif
