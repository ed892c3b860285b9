/* SPDX-License-Identifier: GPL-2.0-only */
/* The decision of mitigation.h, as a function of what the CPU says of itself. */
#include "arch/x86_64/vmx/mitigation.h"

/* CPUID.7.0:EDX */
#define CPUID_MD_CLEAR BIT(10)
#define CPUID_L1D_FLUSH BIT(28)

/* IA32_ARCH_CAPABILITIES */
#define RDCL_NO BIT(0)
#define SKIP_L1DFL_VMENTRY BIT(3)
#define MDS_NO BIT(5)
#define TAA_NO BIT(8)
#define SBDR_SSDP_NO BIT(13)
#define FBSDP_NO BIT(14)
#define PSDP_NO BIT(15)
#define FB_CLEAR BIT(17)
#define RFDS_CLEAR BIT(28)

struct vmx_mitigation vmx_mitigation(u32 cpuid7_edx, u64 caps)
{
	const u64 buffers_safe = MDS_NO | TAA_NO | SBDR_SSDP_NO | FBSDP_NO | PSDP_NO;
	bool l1tf = !(caps & (RDCL_NO | SKIP_L1DFL_VMENTRY));
	bool verw_clears = cpuid7_edx & CPUID_MD_CLEAR || caps & (FB_CLEAR | RFDS_CLEAR);

	return (struct vmx_mitigation){
		.flush_l1d = l1tf && cpuid7_edx & CPUID_L1D_FLUSH,
		.l1tf_open = l1tf && !(cpuid7_edx & CPUID_L1D_FLUSH),
		.mds_open = !(caps & MDS_NO) && !(cpuid7_edx & CPUID_MD_CLEAR),
		/* A CPU that says RFDS_CLEAR is affected by that one, whatever else it is safe from. */
		.verw = verw_clears && ((caps & buffers_safe) != buffers_safe || caps & RFDS_CLEAR),
	};
}
