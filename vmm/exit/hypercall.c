/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hypercalls (docs/guest-abi.md): who may ask, and which number is whose. A part that is not in the
 * image knows no number. A new one must be in the range of lean_hypercall(), too.
 */
#include <margay/abi.h>

#include "vmm/emulate/emulate.h"
#include "vmm/exit/exit.h"
#include "vmm/hvm.h"
#include "vmm/pci/pci_dma.h"
#include "vmm/vcpu.h"

static s64 hypercall(struct vcpu *vcpu, u64 number, u64 b, u64 c)
{
	if (number == MARGAY_HC_INFO)
		return dma_info(vcpu, b, c);
	if (number == MARGAY_HC_DMA_CONFIRM)
		return dma_confirm(vcpu, b, c);
	return MARGAY_HC_ENOSYS;
}

void exit_hypercall(struct vcpu *vcpu, const struct vmexit *exit)
{
	u64 *gpr = vcpu->regs.gpr;
	struct segment ss;

	hvm->get_segment(vcpu, SEG_SS, &ss);
	if (ss.attr >> SEG_ATTR_DPL_SHIFT & 3)
		gpr[GPR_RAX] = (u64)MARGAY_HC_EPERM;
	else
		gpr[GPR_RAX] = (u64)hypercall(vcpu, gpr[GPR_RAX], gpr[GPR_RBX], gpr[GPR_RCX]);
	emulate_skip_exit(vcpu, exit);
}
