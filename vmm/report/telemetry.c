/* SPDX-License-Identifier: GPL-2.0-only */
/* The telemetry line of a vCPU, and the names of the exit reasons. */
#include <margay/string.h>

#include "vmm/report/telemetry.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"

/* clang-format off */
static const char *const reason_name[VMEXIT_REASONS] = {
	[VMEXIT_EXTINT] = "extint", [VMEXIT_NMI] = "nmi", [VMEXIT_IRQ_WINDOW] = "irq-window",
	[VMEXIT_NMI_WINDOW] = "nmi-window", [VMEXIT_EXCEPTION] = "exception",
	[VMEXIT_CPUID] = "cpuid",
	[VMEXIT_HLT] = "hlt", [VMEXIT_IO] = "io", [VMEXIT_RDMSR] = "rdmsr",
	[VMEXIT_WRMSR] = "wrmsr",
	[VMEXIT_CR] = "cr", [VMEXIT_STAGE2] = "stage2", [VMEXIT_HYPERCALL] = "hypercall",
	[VMEXIT_XSETBV] = "xsetbv",
	[VMEXIT_WBINVD] = "wbinvd", [VMEXIT_VIRT_INSN] = "virt-insn", [VMEXIT_MWAIT] = "mwait",
	[VMEXIT_RDPMC] = "rdpmc", [VMEXIT_TASK_SWITCH] = "task-switch",
	[VMEXIT_TRIPLE_FAULT] = "triple-fault",
	[VMEXIT_DR] = "dr", [VMEXIT_INIT] = "init", [VMEXIT_ENTRY_FAILED] = "entry-failed",
	[VMEXIT_UNKNOWN] = "unknown",
	[VMEXIT_BUS_LOCK] = "bus-lock", [VMEXIT_KICKED] = "kicked",
};
/* clang-format on */

const char *vmexit_name(enum vmexit_reason reason)
{
	return reason_name[reason];
}

void telemetry_print(struct vcpu *vcpu)
{
	const struct vcpu_stats *s = &vcpu->stats;
	char line[512];
	size_t len = 0;
	u64 total = 0;

	for (unsigned i = 0; i < VMEXITS; i++) {
		total += s->exit[i].count;
		if (s->exit[i].count && len < sizeof(line))
			len += (size_t)snprintf(line + len, sizeof(line) - len, " %s=%lu",
						reason_name[i], s->exit[i].count);
	}
	line[MIN(len, sizeof(line) - 1)] = '\0';
	vm_tell(vcpu->vm, "vcpu%u: exits=%lu%s injected=%lu unknown-msrs=%lu kicked=%lu", vcpu->id,
		total, line, s->injected, s->unknown_msrs, s->exit[VMEXIT_KICKED].count);
}

static const struct vcpu_stage telemetry_stage = { .at = VCPU_TELEMETRY,
						   .on = { [VCPU_STOPS] = telemetry_print } };
VCPU_STAGE(telemetry_stage);
