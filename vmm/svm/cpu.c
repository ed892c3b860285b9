/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SVM on a CPU: detection (APM vol. 2, 15.4), EFER.SVME, the host save area,
 * and address-space IDs (15.16).
 */
#include <margay/errno.h>

#include "arch/x86_64/cpu/insn.h"
#include "vmm/svm/svm.h"

#define CPUID_SVM_EXT 0x80000001
#define CPUID_SVM 0x8000000a
#define CPUID_SVM_ECX BIT(2)
#define CPUID_1G_EDX BIT(26)
#define CPUID_RDTSCP_EDX BIT(27)
#define SVM_EDX_NP BIT(0)
#define SVM_EDX_NRIPS BIT(3)
#define SVM_EDX_DECODE_ASSISTS BIT(7)
#define SVM_EDX_BUS_LOCK BIT(29)
#define VM_CR_LOCK BIT(3)
#define VM_CR_SVMDIS BIT(4)

struct svm_features svm_features;

/* One host CPU. The pages stay for the life of the node. */
struct svm_cpu {
	void *hsave;      /* VM_HSAVE_PA */
	void *host_vmcb;  /* the LWK's FS, GS, TR, LDTR for VMLOAD */
	u32 next_asid;
};
static struct svm_cpu *cpus;

static bool has_svm(void)
{
	struct cpuid_regs r;

	cpuid(0x80000000, 0, &r);
	if (r.eax < CPUID_SVM)
		return false;
	cpuid(CPUID_SVM_EXT, 0, &r);
	return r.ecx & CPUID_SVM_ECX;
}

static void read_caps(struct hvm_caps *caps, const struct cpuid_regs *svm)
{
	struct cpuid_regs ext, l7, l1, ld, size;

	cpuid(CPUID_SVM_EXT, 0, &ext);
	cpuid(0x80000008, 0, &size);
	cpuid(1, 0, &l1);
	cpuid(7, 0, &l7);
	cpuid(0xd, 1, &ld);
	svm_features = (struct svm_features){
		.nr_asids = svm->ebx,
		.nrips = svm->edx & SVM_EDX_NRIPS,
		.decode_assists = svm->edx & SVM_EDX_DECODE_ASSISTS,
		.bus_lock = IS_ENABLED(CONFIG_MITIGATIONS) && svm->edx & SVM_EDX_BUS_LOCK,
	};
	*caps = (struct hvm_caps){
		.stage2_1g = ext.edx & CPUID_1G_EDX,
		.phys_bits = (u8)MIN(size.eax & 0xff, 48),
		.insn_len = svm_features.nrips,
		.counters = true,
		.rdtscp = ext.edx & CPUID_RDTSCP_EDX,
		.invpcid = l7.ebx & BIT(10),
		.xsaves = l1.ecx & BIT(26) && ld.eax & BIT(3),
		.pcid = l1.ecx & BIT(17),
		.cr4_allowed = ~0ull, /* SVM limits none: CPUID decides */
	};
}

/* Returns whether it is there. */
static bool found(void (*tell)(const struct hvm_feature *f), bool there, bool required,
		  const char *name, const char *where)
{
	tell(&(struct hvm_feature){ "SVM", name, where, there, required });
	return there;
}

int svm_probe(struct hvm_caps *caps, void (*tell)(const struct hvm_feature *f))
{
	unsigned pages =
		(unsigned)(ALIGN_UP(host_cpu_count() * sizeof(*cpus), PAGE_SIZE) / PAGE_SIZE);
	struct cpuid_regs svm, ext;
	bool ok;
	u64 vm_cr;

	if (!has_svm())
		return -ENODEV;
	/*
	 * Where a hypervisor below hides the register, it reads as 0; what it may forbid,
	 * svm_cpu_on() sees.
	 */
	(void)host_rdmsr(MSR_AMD_VM_CR, &vm_cr);
	cpuid(CPUID_SVM, 0, &svm);

	ok = found(
		tell, !(vm_cr & VM_CR_SVMDIS), true, "leave of the firmware",
		IS_ENABLED(CONFIG_HWCHECK) && vm_cr & VM_CR_LOCK
			? "MSR VM_CR (0xc0010114) bit 4 (SVMDIS) is set and locked by bit 3: enable SVM in the setup"
			: "MSR VM_CR (0xc0010114) bit 4 (SVMDIS): enable SVM in the setup");
	ok &= found(tell, svm.edx & SVM_EDX_NP, true, "nested paging",
		    "CPUID 0x8000000a EDX bit 0 (NP)");
	ok &= found(tell, svm.ebx >= 2, true, "address-space IDs", "CPUID 0x8000000a EBX");
	if (IS_ENABLED(CONFIG_HWCHECK)) {
		cpuid(CPUID_SVM_EXT, 0, &ext);
		found(tell, ext.edx & CPUID_1G_EDX, false, "1 GiB pages",
		      "CPUID 0x80000001 EDX bit 26");
		found(tell, svm.edx & SVM_EDX_NRIPS, false, "next RIP saved",
		      "CPUID 0x8000000a EDX bit 3 (NRIPS): each exit decodes an instruction");
	}
	if (!ok)
		return -EPERM;
	if (!cpus)
		cpus = host_pages_alloc(pages, -1);
	if (!cpus) {
		host_no_memory("SVM");
		return -EPERM;
	}
	read_caps(caps, &svm);
	return 0;
}

int svm_cpu_on(void)
{
	struct svm_cpu *c = &cpus[host_cpu_this()];
	int node = host_cpu_info(host_cpu_this())->node;

	if (!c->hsave)
		c->hsave = host_pages_alloc(1, node);
	if (!c->host_vmcb)
		c->host_vmcb = host_pages_alloc(1, node);
	if (!c->hsave || !c->host_vmcb)
		return host_no_memory("SVM");
	/*
	 * Bit 4 of VM_CR makes the bit one that must be 0 (APM vol. 2, 15.4), on each CPU for
	 * itself.
	 */
	if (host_wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SVME)) {
		host_log("margay: CPU %u: no EFER.SVME", host_cpu_this());
		return -EPERM;
	}
	wrmsr(MSR_AMD_VM_HSAVE_PA, host_virt_to_hpa(c->hsave).v);
	svm_vmsave(host_virt_to_hpa(c->host_vmcb).v);
	/*
	 * The first ID taken flushes all: the TLB may hold an earlier VM's, whose memory has
	 * another owner now.
	 */
	c->next_asid = svm_features.nr_asids - 1;
	return 0;
}

void svm_cpu_off(void)
{
	wrmsr(MSR_AMD_VM_HSAVE_PA, 0);
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) & ~EFER_SVME);
}

u64 svm_host_vmcb(void)
{
	return host_virt_to_hpa(cpus[host_cpu_this()].host_vmcb).v;
}

/* ASID 0 is the host's. When they run out the whole TLB is flushed and they start again. */
void svm_new_asid(struct vmcb *vmcb)
{
	struct svm_cpu *c = &cpus[host_cpu_this()];

	/* run() turns the flush off again: a second new ID before the entry must not. */
	if (++c->next_asid >= svm_features.nr_asids) {
		c->next_asid = 1;
		vmcb->tlb_control = SVM_TLB_FLUSH_ALL;
	}
	vmcb->asid = c->next_asid;
}
