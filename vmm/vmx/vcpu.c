/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VT-x vCPU: its VMCS with controls and host state (SDM vol. 3, 25.5-25.8),
 * its bitmaps (25.6.4, 25.6.9), and cached translations (29.4).
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "arch/x86_64/cpu/desc.h"
#include "arch/x86_64/cpu/insn.h"
#include "vmm/vm_parts.h"
#include "vmm/vmx/vmx.h"

#define IO_BITMAP_PAGES 2
#define EPTP_WB 6u
#define EPTP_WALK4 (3u << 3)

/* SDM vol. 3, 31.3: operands of INVEPT and INVVPID. */
enum { INVEPT_SINGLE = 1, INVEPT_ALL = 2, INVVPID_SINGLE = 1 };
struct inv_descriptor {
	u64 first;
	u64 second;
};

int vmx_vcpu_create(struct vcpu *vcpu)
{
	int node = host_cpu_info(vcpu->cpu)->node;
	struct vmx_vcpu *x = host_pages_alloc(1, node);

	static_assert(sizeof(struct vmx_vcpu) <= PAGE_SIZE, "one page");
	if (!x)
		return -ENOMEM;
	vcpu->hvm = x;
	x->vmcs = host_pages_alloc(1, node);
	x->io_bitmap = host_pages_alloc(IO_BITMAP_PAGES, node);
	x->msr_bitmap = host_pages_alloc(1, node);
	if (!x->vmcs || !x->io_bitmap || !x->msr_bitmap)
		goto nomem;
	x->vmcs_pa = host_virt_to_hpa(x->vmcs).v;
	*(u32 *)x->vmcs = vmx_controls.revision;
	memset(x->io_bitmap, 0xff, IO_BITMAP_PAGES * PAGE_SIZE);
	memset(x->msr_bitmap, 0xff, PAGE_SIZE);
	asm goto("vmclear %0\n\tjna %l[failed]" : : "m"(x->vmcs_pa) : "cc", "memory" : failed);
	return 0;
failed:
	host_panic("VMCLEAR of a new VMCS at %#lx failed", x->vmcs_pa);
nomem:
	vmx_vcpu_destroy(vcpu);
	return -ENOMEM;
}

void vmx_vcpu_destroy(struct vcpu *vcpu)
{
	struct vmx_vcpu *x = vmx_vcpu(vcpu);

	if (x->vmcs) {
		/* Nothing of it may stay in the CPU when the page gets another use. */
		if (x->vmcs_pa)
			asm volatile("vmclear %0" : : "m"(x->vmcs_pa) : "cc", "memory");
		host_pages_free(x->vmcs, 1);
	}
	if (x->io_bitmap)
		host_pages_free(x->io_bitmap, IO_BITMAP_PAGES);
	if (x->msr_bitmap)
		host_pages_free(x->msr_bitmap, 1);
	host_pages_free(x, 1);
	vcpu->hvm = NULL;
}

void vmx_intercept_exceptions(struct vcpu *, u32 vectors)
{
	vmwrite(VMCS_EXCEPTION_BITMAP, vectors | BIT(VEC_DB) | BIT(VEC_AC) | BIT(VEC_MC));
}

static u64 eptp(struct vcpu *vcpu)
{
	return stage2_root(&vm_parts(vcpu->vm)->stage2) | EPTP_WB | EPTP_WALK4;
}

static void write_controls(struct vcpu *vcpu, struct vmx_vcpu *x)
{
	x->proc_controls = vmx_controls.proc &
			   ~(vm_direct(vcpu->vm) ? (u32)(PROC_HLT_EXITING | PROC_CR8_EXITING) : 0u);
	if (vm_mwait(vcpu->vm))
		x->proc_controls &= ~(u32)(PROC_MWAIT_EXITING | PROC_MONITOR_EXITING);
	vmwrite(VMCS_PIN_CONTROLS,
		vmx_controls.pin & ~(vm_direct(vcpu->vm) ? PIN_EXTINT_EXITING : 0u));
	vmwrite(VMCS_PROC_CONTROLS, x->proc_controls);
	vmwrite(VMCS_PROC_CONTROLS2, IS_ENABLED(CONFIG_MITIGATIONS) && vcpu->vm->config->trusted
					     ? vmx_controls.proc2 & ~(u32)PROC2_BUS_LOCK
					     : vmx_controls.proc2);
	vmwrite(VMCS_EXIT_CONTROLS, vmx_controls.exit);
	vmwrite(VMCS_ENTRY_CONTROLS, vmx_controls.entry);
	vmx_intercept_exceptions(vcpu, 0);
	vmwrite(VMCS_PF_ERROR_MASK, 0);
	vmwrite(VMCS_PF_ERROR_MATCH, 0);
	vmwrite(VMCS_CR3_TARGET_COUNT, 0);
	vmwrite(VMCS_EXIT_MSR_STORE_COUNT, 0);
	vmwrite(VMCS_EXIT_MSR_LOAD_COUNT, 0);
	vmwrite(VMCS_ENTRY_MSR_LOAD_COUNT, 0);
	vmwrite(VMCS_ENTRY_INTR_INFO, 0);
	vmwrite(VMCS_IO_BITMAP_A, host_virt_to_hpa(x->io_bitmap).v);
	vmwrite(VMCS_IO_BITMAP_B, host_virt_to_hpa(x->io_bitmap).v + PAGE_SIZE);
	vmwrite(VMCS_MSR_BITMAP, host_virt_to_hpa(x->msr_bitmap).v);
	vmwrite(VMCS_EPTP, eptp(vcpu));
	if (vmx_controls.proc2 & PROC2_VPID)
		vmwrite(VMCS_VPID, 1); /* a CPU runs one vCPU; VPID 0 is the host's */
	if (vmx_controls.proc2 & PROC2_XSAVES)
		vmwrite(VMCS_XSS_EXITING_BITMAP, 0);
	vmwrite(VMCS_LINK_POINTER, ~0ull);
	vmwrite(VMCS_CR0_MASK, VMX_CR0_MASK);
	vmwrite(VMCS_CR4_MASK, ~vm_parts(vcpu->vm)->cpuid.cr4_allowed | CR4_VMXE | CR4_MCE);
}

static void write_host_state(const struct vcpu *vcpu)
{
	vmwrite(VMCS_HOST_CR0, read_cr0());
	vmwrite(VMCS_HOST_CR3, read_cr3());
	vmwrite(VMCS_HOST_CR4, read_cr4());
	vmwrite(VMCS_HOST_EFER, rdmsr(MSR_EFER));
	vmwrite(VMCS_HOST_PAT, rdmsr(MSR_PAT));
	vmwrite(VMCS_HOST_CS_SELECTOR, SEL_CODE);
	vmwrite(VMCS_HOST_SS_SELECTOR, SEL_DATA);
	vmwrite(VMCS_HOST_DS_SELECTOR, SEL_DATA);
	vmwrite(VMCS_HOST_ES_SELECTOR, SEL_DATA);
	vmwrite(VMCS_HOST_FS_SELECTOR, 0);
	vmwrite(VMCS_HOST_GS_SELECTOR, 0);
	vmwrite(VMCS_HOST_TR_SELECTOR, SEL_TSS);
	vmwrite(VMCS_HOST_FS_BASE, 0);
	vmwrite(VMCS_HOST_GS_BASE, rdmsr(MSR_GS_BASE));
	vmwrite(VMCS_HOST_TR_BASE, desc_tss_base());
	vmwrite(VMCS_HOST_GDTR_BASE, desc_gdt_base());
	vmwrite(VMCS_HOST_IDTR_BASE, desc_idt_base());
	vmwrite(VMCS_HOST_SYSENTER_CS, 0);
	vmwrite(VMCS_HOST_SYSENTER_ESP, 0);
	vmwrite(VMCS_HOST_SYSENTER_EIP, 0);
	vmwrite(VMCS_HOST_RIP,
		(u64)(uintptr_t)(vcpu_is_cleaned(vcpu) ? vmx_exit_clean : vmx_exit_entry));
}

void vmx_vcpu_load(struct vcpu *vcpu)
{
	struct vmx_vcpu *x = vmx_vcpu(vcpu);

	asm goto("vmptrld %0\n\tjna %l[failed]" : : "m"(x->vmcs_pa) : "cc", "memory" : failed);
	write_controls(vcpu, x);
	write_host_state(vcpu);
	vmx_flush_stage2(vcpu);
	vmx_flush_linear(vcpu);
	return;
failed:
	host_panic("VMPTRLD of %#lx failed", x->vmcs_pa);
}

/* Reads of the low, of the high MSRs, then writes: four areas of 1 KiB (SDM vol. 3, 25.6.9). */
void vmx_intercept_msr(struct vcpu *vcpu, u32 msr, bool read, bool write)
{
	u8 *map = vmx_vcpu(vcpu)->msr_bitmap;
	u32 index = msr & 0x1fff;
	u8 bit = (u8)(1u << index % 8);

	if (msr - 0xc0000000 < 0x2000)
		map += 0x400;
	else if (msr >= 0x2000)
		return;
	map += index / 8;
	map[0] = read ? map[0] | bit : map[0] & (u8)~bit;
	map[0x800] = write ? map[0x800] | bit : map[0x800] & (u8)~bit;
}

void vmx_intercept_io(struct vcpu *vcpu, u16 port, unsigned count, bool on)
{
	hvm_set_ports(vmx_vcpu(vcpu)->io_bitmap, port, count, on);
}

void vmx_set_counters(struct vcpu *vcpu, u64 global)
{
	struct vmx_vcpu *x = vmx_vcpu(vcpu);

	x->proc_controls &= ~(u32)PROC_RDPMC_EXITING;
	vmwrite(VMCS_PROC_CONTROLS, x->proc_controls);
	/*
	 * An exit stores there whether the guest is in IA-32e mode (28.2, A.6), which it may be
	 * since without having made one.
	 */
	vmwrite(VMCS_ENTRY_CONTROLS, vmread(VMCS_ENTRY_CONTROLS) | ENTRY_LOAD_COUNTERS);
	vmwrite(VMCS_EXIT_CONTROLS, vmread(VMCS_EXIT_CONTROLS) | EXIT_LOAD_COUNTERS);
	vmwrite(VMCS_HOST_COUNTERS, 0);
	vmwrite(VMCS_GUEST_COUNTERS, global);
}

void vmx_set_tsc_offset(struct vcpu *, s64 offset)
{
	vmwrite(VMCS_TSC_OFFSET, (u64)offset);
}

void vmx_flush_stage2(struct vcpu *vcpu)
{
	struct inv_descriptor d = { .first = eptp(vcpu) };
	u64 type = vmx_controls.invept_single ? INVEPT_SINGLE : INVEPT_ALL;

	asm goto("invept %0, %1\n\tjna %l[failed]" : : "m"(d), "r"(type) : "cc", "memory" : failed);
	return;
failed:
	host_panic("INVEPT failed");
}

void vmx_flush_linear(struct vcpu *)
{
	struct inv_descriptor d = { .first = 1 };

	/* Without VPID every entry and exit flushes. */
	if (!(vmx_controls.proc2 & PROC2_VPID))
		return;
	asm goto("invvpid %0, %1\n\tjna %l[failed]" : : "m"(d), "r"((u64)INVVPID_SINGLE)
		 : "cc", "memory" : failed);
	return;
failed:
	host_panic("INVVPID failed");
}
