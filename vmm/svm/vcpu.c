/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An SVM vCPU: its control block, permission maps (APM vol. 2, 15.10, 15.11), TSC offset and
 * address space.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "arch/x86_64/cpu/features.h"
#include "vmm/svm/svm.h"
#include "vmm/vm_parts.h"

static const u32 misc1 = SVM_INTERCEPT_INTR | SVM_INTERCEPT_NMI | SVM_INTERCEPT_INIT |
			 SVM_INTERCEPT_RDPMC | SVM_INTERCEPT_CPUID | SVM_INTERCEPT_INVD |
			 SVM_INTERCEPT_HLT | SVM_INTERCEPT_INVLPGA | SVM_INTERCEPT_IOIO |
			 SVM_INTERCEPT_MSR | SVM_INTERCEPT_SHUTDOWN;

static const u32 misc2 = SVM_INTERCEPT_VMRUN | SVM_INTERCEPT_VMMCALL | SVM_INTERCEPT_VMLOAD |
			 SVM_INTERCEPT_VMSAVE | SVM_INTERCEPT_STGI | SVM_INTERCEPT_CLGI |
			 SVM_INTERCEPT_SKINIT | SVM_INTERCEPT_WBINVD | SVM_INTERCEPT_MONITOR |
			 SVM_INTERCEPT_MWAIT | SVM_INTERCEPT_XSETBV | SVM_INTERCEPT_RDPRU;

int svm_vcpu_create(struct vcpu *vcpu)
{
	int node = host_cpu_info(vcpu->cpu)->node;
	struct svm_vcpu *s = host_pages_alloc(1, node);

	static_assert(sizeof(struct svm_vcpu) <= PAGE_SIZE, "one page");
	if (!s)
		return -ENOMEM;
	vcpu->hvm = s;
	s->vmcb = host_pages_alloc(1, node);
	s->msrpm = host_pages_alloc(SVM_MSRPM_PAGES, node);
	s->iopm = host_pages_alloc(SVM_IOPM_PAGES, node);
	if (!s->vmcb || !s->msrpm || !s->iopm) {
		svm_vcpu_destroy(vcpu);
		return -ENOMEM;
	}
	s->vmcb_pa = host_virt_to_hpa(s->vmcb).v;
	memset(s->msrpm, 0xff, SVM_MSRPM_PAGES * PAGE_SIZE);
	memset(s->iopm, 0xff, SVM_IOPM_PAGES * PAGE_SIZE);
	return 0;
}

void svm_vcpu_destroy(struct vcpu *vcpu)
{
	struct svm_vcpu *s = svm_vcpu(vcpu);

	if (s->iopm)
		host_pages_free(s->iopm, SVM_IOPM_PAGES);
	if (s->msrpm)
		host_pages_free(s->msrpm, SVM_MSRPM_PAGES);
	if (s->vmcb)
		host_pages_free(s->vmcb, 1);
	host_pages_free(s, 1);
	vcpu->hvm = NULL;
}

void svm_vcpu_load(struct vcpu *vcpu)
{
	struct svm_vcpu *s = svm_vcpu(vcpu);
	struct vmcb *v = s->vmcb;

	s->host_vmcb_pa = svm_host_vmcb();
	v->intercept_cr_write = BIT(0) | BIT(4) | (vm_direct(vcpu->vm) ? 0 : BIT(8));
	svm_intercept_exceptions(vcpu, 0);
	svm_intercept_dr(vcpu, false);
	v->intercept_misc1 =
		vm_direct(vcpu->vm) ? misc1 & ~(SVM_INTERCEPT_INTR | SVM_INTERCEPT_HLT) : misc1;
	v->intercept_misc2 = misc2;
	if (vm_mwait(vcpu->vm)) /* MONITORX and MWAITX, too */
		v->intercept_misc2 &= ~(u32)(SVM_INTERCEPT_MONITOR | SVM_INTERCEPT_MWAIT);
	if (IS_ENABLED(CONFIG_MITIGATIONS) && svm_features.bus_lock && !vcpu->vm->config->trusted)
		v->intercept_misc3 = SVM_INTERCEPT_BUS_LOCK;
	v->iopm_base = host_virt_to_hpa(s->iopm).v;
	v->msrpm_base = host_virt_to_hpa(s->msrpm).v;
	v->v_intr = vm_direct(vcpu->vm) ? 0 : SVM_V_INTR_MASKING;
	v->np_control = SVM_NP_ENABLE;
	v->n_cr3 = stage2_root(&vm_parts(vcpu->vm)->stage2);
	svm_new_asid(v);
}

/* Two bits per MSR, read then write, in three ranges of 0x2000 MSRs (APM vol. 2, 15.11). */
void svm_intercept_msr(struct vcpu *vcpu, u32 msr, bool read, bool write)
{
	static const u32 range[] = { 0x00000000, 0xc0000000, 0xc0010000 };
	u8 *map = svm_vcpu(vcpu)->msrpm;

	for (unsigned i = 0; i < ARRAY_SIZE(range); i++) {
		u32 index = msr - range[i];
		u8 *byte = map + i * 0x800 + index / 4;
		unsigned shift = index % 4 * 2;

		if (index >= 0x2000)
			continue;
		*byte = (u8)((*byte & ~(3u << shift)) | (unsigned)(read | write << 1) << shift);
		return;
	}
}

void svm_intercept_io(struct vcpu *vcpu, u16 port, unsigned count, bool on)
{
	hvm_set_ports(svm_vcpu(vcpu)->iopm, port, count, on);
}

void svm_intercept_exceptions(struct vcpu *vcpu, u32 vectors)
{
	struct vmcb *v = svm_vcpu(vcpu)->vmcb;

	v->intercept_exceptions =
		(vectors & ~(u32)BIT(VEC_NMI)) | BIT(VEC_DB) | BIT(VEC_AC) | BIT(VEC_MC);
	/* TCG takes INT3 for INT n. */
	if (IS_ENABLED(CONFIG_GDB) && cpu_features.tcg && vectors & BIT(VEC_BP))
		v->intercept_misc1 |= SVM_INTERCEPT_SWINT;
	else
		v->intercept_misc1 &= ~SVM_INTERCEPT_SWINT;
}

void svm_intercept_dr(struct vcpu *vcpu, bool on)
{
	struct vmcb *v = svm_vcpu(vcpu)->vmcb;

	v->intercept_dr_read = v->intercept_dr_write = on ? 0xffff : 0;
}

void svm_set_counters(struct vcpu *vcpu, u64)
{
	svm_vcpu(vcpu)->vmcb->intercept_misc1 &= ~SVM_INTERCEPT_RDPMC;
}

void svm_set_tsc_offset(struct vcpu *vcpu, s64 offset)
{
	svm_vcpu(vcpu)->vmcb->tsc_offset = (u64)offset;
}

void svm_flush_stage2(struct vcpu *vcpu)
{
	svm_new_asid(svm_vcpu(vcpu)->vmcb);
}
