/* SPDX-License-Identifier: GPL-2.0-only */
/* What a VM's CPUID shows of this node and of what the VM has got (vmm/cpuid/cpuid_policy.h). */
#include "vmm/vm/devices.h"
#include "vmm/hvm.h"
#include "vmm/stage.h"
#include "vmm/vm_parts.h"

static int cpuid_vm_create(struct vm *vm)
{
	u64 ignored;
	struct cpuid_input in = {
		.host = host_cpuid_for,
		.caps = &hvm_caps,
		.nr_vcpus = vm->nr_vcpus,
		.flat = vm->config->flat,
		.direct = vm_direct(vm),
		.mwait = vm_mwait(vm),
		.ext_dest_id = vm->wide_ids,
		.tsc_khz = host_tsc_khz(),
		.tsc_stable = host_tsc_stable(),
		.tsc_freezes = vm_config_freezes(vm->config),
		.pvclock = msr_find(vm, MSR_KVM_SYSTEM_TIME),
		.machine_checks = vm_config_injects(vm->config),
		.counters = vm_has_counters(vm),
		.arch_capabilities_ok = host_rdmsr(MSR_ARCH_CAPABILITIES, &ignored) == 0,
	};

	return cpuid_policy_build(&in, &vm_parts(vm)->cpuid);
}

static const struct vm_stage cpuid_stage = { .at = STAGE_CPUID, .create = cpuid_vm_create };
VM_STAGE(cpuid_stage);
