/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VT-x on a CPU: detection, negotiation of the controls from the TRUE
 * capability MSRs (SDM vol. 3, appendix A), VMXON and VMXOFF (24.6-24.8).
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "arch/x86_64/cpu/insn.h"
#include "vmm/vmx/vmx.h"

#define CPUID_1_ECX_VMX BIT(5)
#define FEATURE_CONTROL_LOCK BIT(0)
#define FEATURE_CONTROL_VMXON BIT(2) /* outside SMX */
#define VMX_BASIC_TRUE BIT(55)
#define EPT_CAP_WALK4 BIT(6)
#define EPT_CAP_WB BIT(14)
#define EPT_CAP_2M BIT(16)
#define EPT_CAP_1G BIT(17)
#define EPT_CAP_INVEPT BIT(20)
#define EPT_CAP_INVEPT_SINGLE BIT(25)
#define VPID_CAP_INVVPID BIT(32)
#define VPID_CAP_SINGLE BIT(41)

struct vmx_controls vmx_controls;

/* VMXON regions by CPU; they stay for the life of the node. */
static void **vmxon_page;

struct control {
	u32 bit;
	enum { REQUIRED, OPTIONAL, FORBIDDEN } want;
#if IS_ENABLED(CONFIG_HWCHECK)
	const char *name; /* the SDM's */
#endif
};

/* Without the hardware check a control is named by its bit. */
#if IS_ENABLED(CONFIG_HWCHECK)
#define NAME(text) , .name = text
#define name_of(control, bit) ((control)->name)
#else
#define NAME(text)
#define name_of(control, bit) (bit)
#endif

static const struct control pin[] = {
	{ PIN_EXTINT_EXITING, REQUIRED NAME("external-interrupt exiting") },
	{ PIN_NMI_EXITING, REQUIRED NAME("NMI exiting") },
	{ PIN_VIRTUAL_NMIS, REQUIRED NAME("virtual NMIs") },
};
static const struct control proc[] = {
	{ PROC_TSC_OFFSETTING, REQUIRED NAME("use TSC offsetting") },
	{ PROC_HLT_EXITING, REQUIRED NAME("HLT exiting") },
	{ PROC_MWAIT_EXITING, REQUIRED NAME("MWAIT exiting") },
	{ PROC_MONITOR_EXITING, REQUIRED NAME("MONITOR exiting") },
	{ PROC_RDPMC_EXITING, REQUIRED NAME("RDPMC exiting") },
	{ PROC_CR8_LOAD_EXITING, REQUIRED NAME("CR8-load exiting") },
	{ PROC_CR8_STORE_EXITING, REQUIRED NAME("CR8-store exiting") },
	{ PROC_IO_BITMAPS, REQUIRED NAME("use I/O bitmaps") },
	{ PROC_MSR_BITMAPS, REQUIRED NAME("use MSR bitmaps") },
	{ PROC_SECONDARY, REQUIRED NAME("activate secondary controls") },
	{ PROC_CR3_LOAD_EXITING, FORBIDDEN NAME("CR3-load exiting") },
	{ PROC_CR3_STORE_EXITING, FORBIDDEN NAME("CR3-store exiting") },
};
static const struct control proc2[] = {
	{ PROC2_EPT, REQUIRED NAME("enable EPT") },
	{ PROC2_UNRESTRICTED_GUEST, REQUIRED NAME("unrestricted guest") },
	{ PROC2_WBINVD_EXITING, REQUIRED NAME("WBINVD exiting") },
	{ PROC2_VPID, OPTIONAL NAME("enable VPID") },
	{ PROC2_RDTSCP, OPTIONAL NAME("enable RDTSCP") },
	{ PROC2_INVPCID, OPTIONAL NAME("enable INVPCID") },
	{ PROC2_XSAVES, OPTIONAL NAME("enable XSAVES/XRSTORS") },
	{ PROC2_USER_WAIT, OPTIONAL NAME("enable user wait and pause") },
#if IS_ENABLED(CONFIG_MITIGATIONS)
	{ PROC2_BUS_LOCK, OPTIONAL NAME("VMM bus-lock detection") },
#endif
};
static const struct control exit_controls[] = {
	{ EXIT_SAVE_DEBUG, REQUIRED NAME("save debug controls") },
	{ EXIT_HOST_64, REQUIRED NAME("host address-space size") },
	{ EXIT_SAVE_PAT, REQUIRED NAME("save IA32_PAT") },
	{ EXIT_LOAD_PAT, REQUIRED NAME("load IA32_PAT (exit)") },
	{ EXIT_SAVE_EFER, REQUIRED NAME("save IA32_EFER") },
	{ EXIT_LOAD_EFER, REQUIRED NAME("load IA32_EFER (exit)") },
};
static const struct control entry_controls[] = {
	{ ENTRY_LOAD_DEBUG, REQUIRED NAME("load debug controls") },
	{ ENTRY_LOAD_PAT, REQUIRED NAME("load IA32_PAT (entry)") },
	{ ENTRY_LOAD_EFER, REQUIRED NAME("load IA32_EFER (entry)") },
};

static const char disabled[] =
	"MSR IA32_FEATURE_CONTROL (0x3a) bit 2 is 0 and locked by bit 0: enable VT-x in the setup";

static void (*tell)(const struct hvm_feature *f); /* during vmx_probe() */

/* Returns whether it is there. */
static bool found(bool there, bool required, const char *name, const char *where)
{
	tell(&(struct hvm_feature){ "VT-x", name, where, there, required });
	return there;
}

/* Low half of the MSR: bits that must be 1; high half: bits that may be (SDM vol. 3, A.3). */
static u32 negotiate(u32 msr, const struct control *c, unsigned count, bool *ok)
{
	u64 cap = rdmsr(msr);
	u32 must = (u32)cap, may = (u32)(cap >> 32), value = must;

	for (; count--; c++) {
		bool can = c->want == FORBIDDEN ? !(must & c->bit) : may & c->bit;
		char where[64], bit[16];

		snprintf(bit, sizeof(bit), "bit %#x", c->bit);
		snprintf(where, sizeof(where), "cannot be turned %s: capability MSR %#x",
			 c->want == FORBIDDEN ? "off" : "on", msr);
		if (found(can, c->want != OPTIONAL, name_of(c, bit), where))
			value |= c->want == FORBIDDEN ? 0 : c->bit;
		else if (c->want != OPTIONAL)
			*ok = false;
	}
	return value;
}

static bool negotiate_controls(void)
{
	struct vmx_controls *v = &vmx_controls;
	bool ok = true, true_msrs = rdmsr(MSR_VMX_BASIC) & VMX_BASIC_TRUE;

	v->pin = negotiate(true_msrs ? MSR_VMX_TRUE_PINBASED_CTLS : MSR_VMX_PINBASED_CTLS, pin,
			   ARRAY_SIZE(pin), &ok);
	v->proc = negotiate(true_msrs ? MSR_VMX_TRUE_PROCBASED_CTLS : MSR_VMX_PROCBASED_CTLS, proc,
			    ARRAY_SIZE(proc), &ok);
	if (v->proc & PROC_SECONDARY)
		v->proc2 = negotiate(MSR_VMX_PROCBASED_CTLS2, proc2, ARRAY_SIZE(proc2), &ok);
	v->exit = negotiate(true_msrs ? MSR_VMX_TRUE_EXIT_CTLS : MSR_VMX_EXIT_CTLS, exit_controls,
			    ARRAY_SIZE(exit_controls), &ok);
	v->entry = negotiate(true_msrs ? MSR_VMX_TRUE_ENTRY_CTLS : MSR_VMX_ENTRY_CTLS,
			     entry_controls, ARRAY_SIZE(entry_controls), &ok);
	return ok;
}

static bool check_ept(u64 cap)
{
	static const struct {
		u64 bits;
		const char *name;
		bool optional;
	} features[] = {
		{ EPT_CAP_WALK4, "4-level EPT", false },
		{ EPT_CAP_WB, "write-back EPT structures", false },
		{ EPT_CAP_2M, "2 MiB EPT pages", false },
		{ EPT_CAP_INVEPT, "INVEPT", false },
		{ EPT_CAP_1G, "1 GiB EPT pages", true },
		{ EPT_CAP_INVEPT_SINGLE, "single-context INVEPT", true },
		{ VPID_CAP_INVVPID | VPID_CAP_SINGLE, "single-context INVVPID", true },
	};
	bool ok = true;

	for (unsigned i = 0; i < ARRAY_SIZE(features); i++)
		if (!found((cap & features[i].bits) == features[i].bits, !features[i].optional,
			   features[i].name, "MSR IA32_VMX_EPT_VPID_CAP, 0x48c"))
			ok = ok && features[i].optional;
	return ok;
}

static void read_caps(struct hvm_caps *caps, u64 ept_cap)
{
	struct cpuid_regs l1, l7, ext, size, ld = { 0 };

	cpuid(1, 0, &l1);
	cpuid(7, 0, &l7);
	cpuid(0x80000001, 0, &ext);
	cpuid(0x80000008, 0, &size);
	if (l1.ecx & BIT(26))
		cpuid(0xd, 1, &ld);
	*caps = (struct hvm_caps){
		.stage2_1g = ept_cap & EPT_CAP_1G,
		.phys_bits = (u8)MIN(size.eax & 0xff, 48),
		.insn_len = true,
		.rdtscp = vmx_controls.proc2 & PROC2_RDTSCP && ext.edx & BIT(27),
		.invpcid = vmx_controls.proc2 & PROC2_INVPCID && l7.ebx & BIT(10),
		.xsaves = vmx_controls.proc2 & PROC2_XSAVES && ld.eax & BIT(3),
		.waitpkg = vmx_controls.proc2 & PROC2_USER_WAIT && l7.ecx & BIT(5),
		.pcid = l1.ecx & BIT(17),
		.counters = rdmsr(MSR_VMX_EXIT_CTLS) >> 32 & EXIT_LOAD_COUNTERS &&
			    rdmsr(MSR_VMX_ENTRY_CTLS) >> 32 & ENTRY_LOAD_COUNTERS,
		.cr4_allowed = vmx_controls.cr4_fixed1 & ~CR4_VMXE,
	};
	/* The optional controls of instructions that the CPU does not have stay off. */
	vmx_controls.proc2 &=
		~((caps->rdtscp ? 0u : PROC2_RDTSCP) | (caps->invpcid ? 0u : PROC2_INVPCID) |
		  (caps->xsaves ? 0u : PROC2_XSAVES) | (caps->waitpkg ? 0u : PROC2_USER_WAIT));
}

int vmx_probe(struct hvm_caps *caps, void (*teller)(const struct hvm_feature *f))
{
	unsigned pages =
		(unsigned)(ALIGN_UP(host_cpu_count() * sizeof(void *), PAGE_SIZE) / PAGE_SIZE);
	struct cpuid_regs r;
	u64 ept_cap;

	cpuid(1, 0, &r);
	if (!(r.ecx & CPUID_1_ECX_VMX))
		return -ENODEV;
	tell = teller;
	r.eax = (u32)rdmsr(MSR_FEATURE_CONTROL);
	if (!found(!(r.eax & FEATURE_CONTROL_LOCK) || r.eax & FEATURE_CONTROL_VMXON, true,
		   "leave of the firmware", disabled))
		return -EPERM;
	if (!negotiate_controls())
		return -EPERM;
	ept_cap = rdmsr(MSR_VMX_EPT_VPID_CAP);
	if (!check_ept(ept_cap))
		return -EPERM;
	if ((ept_cap & (VPID_CAP_INVVPID | VPID_CAP_SINGLE)) !=
	    (VPID_CAP_INVVPID | VPID_CAP_SINGLE))
		vmx_controls.proc2 &= ~(u32)PROC2_VPID;
	vmx_controls.invept_single = ept_cap & EPT_CAP_INVEPT_SINGLE;
	vmx_controls.revision = (u32)rdmsr(MSR_VMX_BASIC) & 0x7fffffff;
	vmx_controls.cr0_fixed0 = rdmsr(MSR_VMX_CR0_FIXED0);
	vmx_controls.cr4_fixed0 = rdmsr(MSR_VMX_CR4_FIXED0);
	vmx_controls.cr4_fixed1 = rdmsr(MSR_VMX_CR4_FIXED1);
	read_caps(caps, ept_cap);
	if (vmxon_page)
		return 0;
	vmxon_page = host_pages_alloc(pages, -1);
	if (!vmxon_page) {
		host_no_memory("VT-x");
		return -EPERM;
	}
	return 0;
}

int vmx_cpu_on(void)
{
	unsigned cpu = host_cpu_this();
	u64 control = rdmsr(MSR_FEATURE_CONTROL), pa;

	if (!vmxon_page[cpu])
		vmxon_page[cpu] = host_pages_alloc(1, host_cpu_info(cpu)->node);
	if (!vmxon_page[cpu])
		return host_no_memory("VT-x");
	if (!(control & FEATURE_CONTROL_LOCK))
		wrmsr(MSR_FEATURE_CONTROL, control | FEATURE_CONTROL_LOCK | FEATURE_CONTROL_VMXON);
	else if (!(control & FEATURE_CONTROL_VMXON)) {
		host_log("margay: CPU %u: %s", cpu, disabled);
		return -EPERM;
	}
	write_cr0(read_cr0() | vmx_controls.cr0_fixed0);
	write_cr4(read_cr4() | vmx_controls.cr4_fixed0);
	*(u32 *)vmxon_page[cpu] = vmx_controls.revision;
	pa = host_virt_to_hpa(vmxon_page[cpu]).v;
	asm goto("vmxon %0\n\tjna %l[failed]" : : "m"(pa) : "cc", "memory" : failed);
	return 0;
failed:
	write_cr4(read_cr4() & ~CR4_VMXE);
	host_log("margay: CPU %u: VMXON failed", cpu);
	return -EIO;
}

void vmx_cpu_off(void)
{
	asm volatile("vmxoff" : : : "cc", "memory");
	write_cr4(read_cr4() & ~CR4_VMXE);
}
