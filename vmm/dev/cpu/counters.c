/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The performance counters of a VM's own CPUs (counters = yes): Intel's by version 2 of the
 * architecture (SDM vol. 3, 20.2), AMD's six of a core (APM vol. 2, 13.2). The guest reads all
 * registers, and writes counters, without an exit; what it selects is filtered here. The CPU itself
 * does not count for the host: VT-x loads IA32_PERF_GLOBAL_CTRL at entries and exits, AMD's
 * selectors have a bit for guests only. An overflow interrupts the host, which tells the guest's
 * local APIC.
 */
#include <margay/errno.h>

#include "vmm/cpuid/counters.h"
#include "vmm/dev/apic/lapic.h"
#include "vmm/hvm.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define MSR_PMC0 0xc1u
#define MSR_FIXED0 0x309u
#define MSR_FIXED_CONTROL 0x38du
#define MSR_GLOBAL_CONTROL 0x38fu
#define MSR_GLOBAL_OVERFLOW 0x390u
#define AMD_COUNTERS 6u

/* Neither the pins (19) nor the core's other thread (21). */
#define SELECT_BITS 0xffd7ffffull
#define AMD_SELECT_BITS (SELECT_BITS | 0xfull << 32)
#define AMD_GUEST_ONLY BIT(40)
/* For each counter: where it counts, and its interrupt; not the core's other thread. */
#define FIXED_BITS 0xbbbull

/* Of a vCPU. */
struct own {
	struct vcpu *vcpu;
	struct host_msi interrupt;
};

static struct counters find(void)
{
	struct counters c;
	struct cpuid_regs max, leaf;

	host_cpuid(0, 0, &max);
	host_cpuid(0xa, 0, &leaf);
	c = max.eax < 0xa ? (struct counters){ 0 } : counters_told(&leaf);
	host_cpuid(7, 0, &leaf);
	if (max.eax >= 7 && leaf.edx & BIT(15)) /* hybrid: not the same on all CPUs */
		c = (struct counters){ 0 };
	host_cpuid(0x80000001, 0, &leaf);
	c.amd = leaf.ecx & BIT(23) ? AMD_COUNTERS : 0;
	return c;
}

/* As bits of the three global MSRs. */
static u64 all(const struct counters *c)
{
	return (BIT(c->fixed) - 1) << 32 | (BIT(c->general) - 1);
}

/* Every read is the CPU's own. */
static int no_read(void *, struct vcpu *, u32, u64 *)
{
	return -EFAULT;
}

static int write_select(void *, struct vcpu *, u32 msr, u64 value)
{
	return value & ~SELECT_BITS ? -EFAULT : host_wrmsr(msr, value);
}

static int write_global(void *, struct vcpu *vcpu, u32 msr, u64 value)
{
	const struct counters c = find();

	if (msr == MSR_FIXED_CONTROL)
		return value & ~(FIXED_BITS & (BIT(4 * c.fixed) - 1)) ? -EFAULT
								      : host_wrmsr(msr, value);
	if (msr != MSR_GLOBAL_CONTROL || value & ~all(&c))
		return -EFAULT;
	hvm->set_counters(vcpu, value);
	return 0;
}

/* The even ones select. */
static int write_amd(void *, struct vcpu *, u32 msr, u64 value)
{
	return value & ~AMD_SELECT_BITS ? -EFAULT : host_wrmsr(msr, value | AMD_GUEST_ONLY);
}

static const struct msr_ops select_ops = { no_read, write_select },
			    global_ops = { no_read, write_global },
			    amd_ops = { no_read, write_amd };

/* Of the guest's LVT entry; a CPU of Intel masks it then. */
static void overflow(void *arg, unsigned)
{
	struct own *of = arg;
	struct lapic *l = of->vcpu->lapic;
	u32 *entry = &l->lvt[LAPIC_LVT(LAPIC_LVT_PERF)];

	host_counter_interrupt(of->interrupt.first);
	lapic_lvt_deliver(l, LAPIC_LVT_PERF);
	if (!find().amd)
		*entry |= LAPIC_LVT_MASKED;
}

/*
 * Opens a vCPU's MSRs to its guest; or, for none, resets the calling CPU's: what one owner leaves
 * is none of the next one's.
 */
static void each_msr(struct vcpu *vcpu)
{
	const struct counters c = find();
	const struct {
		u32 first;
		u32 count;
		bool write;
	} range[] = {
		/* with global status and control */
		{ MSR_FIXED_CONTROL, c.general ? 3 : 0, false },
		{ MSR_PERF_SELECT0, c.general, false },
		{ MSR_PMC0, c.general, true },
		{ MSR_FIXED0, c.fixed, true },
		{ MSR_GLOBAL_OVERFLOW, c.general ? 1 : 0, true },
		{ MSR_AMD_CORE_SELECT0, c.amd * 2u, false },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(range); i++)
		for (u32 msr = range[i].first; msr < range[i].first + range[i].count; msr++) {
			if (vcpu)
				hvm->intercept_msr(vcpu, msr, false,
						   !(range[i].write || (c.amd && msr & 1)));
			else
				(void)host_wrmsr(msr, msr == MSR_GLOBAL_OVERFLOW ? all(&c) : 0);
		}
}

static void counters_start(struct vcpu *vcpu, void *instance)
{
	struct own *own = instance;

	if (!own)
		return;
	each_msr(NULL);
	each_msr(vcpu);
	hvm->set_counters(vcpu, 0);
	host_counter_interrupt(own[vcpu->id].interrupt.first);
}

static void counters_stop(struct vcpu *, void *instance)
{
	if (!instance)
		return;
	host_counter_interrupt(0);
	each_msr(NULL);
}

static unsigned pages(const struct vm *vm)
{
	return (unsigned)(ALIGN_UP(vm->nr_vcpus * sizeof(struct own), PAGE_SIZE) / PAGE_SIZE);
}

static void counters_destroy(struct vm *vm, void *instance)
{
	struct own *own = instance;

	for (unsigned i = 0; own && i < vm->nr_vcpus; i++)
		host_msi_free(&own[i].interrupt);
	host_pages_free(own, pages(vm));
}

static int register_msrs(struct vm *vm, const struct counters *c)
{
	int err;

	if (c->amd)
		return vm_register_msr(vm, MSR_AMD_CORE_SELECT0,
				       MSR_AMD_CORE_SELECT0 + 2 * AMD_COUNTERS - 1, &amd_ops, NULL);
	err = vm_register_msr(vm, MSR_PERF_SELECT0, MSR_PERF_SELECT0 + c->general - 1, &select_ops,
			      NULL);
	if (err)
		return err;
	return vm_register_msr(vm, MSR_FIXED_CONTROL, MSR_GLOBAL_CONTROL, &global_ops, NULL);
}

static int counters_create(struct vm *vm, void **instance)
{
	struct counters c;
	struct own *own;
	u32 first;
	u64 told;
	int err = 0;

	if (!vm->config->counters)
		return 0;
	c = find();
	first = c.amd ? MSR_AMD_CORE_SELECT0 : MSR_GLOBAL_CONTROL;
	/* A CPU below another hypervisor, or Bochs', may tell of registers that it has not. */
	if (!hvm_caps.counters || !(c.general || c.amd) || host_rdmsr(first, &told)) {
		vm_tell(vm, "counters = yes: the CPUs have none that a guest can own: it has none");
		return 0;
	}
	own = *instance = host_pages_alloc(pages(vm), -1);
	if (!own)
		return host_no_memory(vm->name);
	for (unsigned i = 0; i < vm->nr_vcpus && !err; i++) {
		own[i].vcpu = vm->vcpus[i];
		err = host_msi_alloc(vm->vcpus[i]->cpu, 1, overflow, &own[i], &own[i].interrupt);
	}
	if (err)
		vm_tell(vm, "counters = yes: no vector for their interrupts (error %d)", -err);
	return err ? err : register_msrs(vm, &c);
}

static const struct vdev counters_vdev = {
	.create = counters_create,
	.destroy = counters_destroy,
	.vcpu_start = counters_start,
	.vcpu_stop = counters_stop,
};
VDEV(counters_vdev);
