/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hardware backend behind vmm/hvm_ops.h that runs no guest: guest state in a
 * struct, the checks of a VM entry (SDM vol. 3, 27.2 and 27.3; APM vol. 2,
 * 15.5.1) as CHECK()s, and a callback in place of guest mode, which plays what
 * a guest does until its next exit.
 */
#ifndef TESTS_FAKE_HVM_H
#define TESTS_FAKE_HVM_H

#include "vmm/vcpu.h"

struct fake_vcpu {
	u64 reg[HVM_REGS];
	struct segment seg[SEG_COUNT];
	struct desc_table table[2];
	u64 pdptes[4];           /* as loaded with CR0, CR3 or CR4 under PAE paging */
	bool irq_window;
	bool nmi_window;
	struct hvm_event entered; /* what the last entry delivered */
	u64 disturb_from;        /* vcpu->disturb_after that comes before the next entry */
};

struct fake_hvm {
	struct hvm_caps caps;
	int probe_error;         /* what probe() returns */
	bool cpu_on_fails;
	unsigned cpus_on;
	const struct stage2_format *format;
	/*
	 * Guest mode: changes the guest's registers and memory as a guest can without an exit, then
	 * fills *exit.
	 */
	void (*guest)(struct vcpu *vcpu, struct fake_vcpu *f, struct vmexit *exit);
	struct vcpu *vcpu[64]; /* by CPU, from vcpu_load() to vcpu_destroy() */
};

extern struct fake_hvm fake_hvm;

/*
 * The guest loads CR3: false where PAE paging's directory pointers would raise #GP, and then
 * nothing has changed.
 */
bool fake_hvm_load_cr3(struct vcpu *vcpu, struct fake_vcpu *f, u64 cr3);
/* In 64-bit mode? */
bool fake_hvm_64bit(const struct fake_vcpu *f);

#endif
