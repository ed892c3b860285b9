/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See without_kvm.h. The other sign is a PIT: Linux looks for one, which there is not, where it has
 * no clock of KVM's (arch/x86/ kernel/tsc.c: quick_pit_calibrate()). It does so for the CPU's rate
 * when its TSC's was told, too, but once; again only if it does not know that word, and then for
 * ever.
 */
#include "vmm/dev/apic/without_kvm.h"

#include "vmm/dev/apic/lapic.h"
#include "vmm/slots/slot.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define PIT_MODE_PORT 0x43
/* counter 2, which interrupts nobody, by two bytes, in mode 0 (Intel 8254 data sheet) */
#define PIT_MEASURES 0xb0u

static VM_OWN bool seeks_pit; /* it has looked for one, its TSC's rate told */

/* The Linux that was loaded, before it takes interrupts. */
static bool begins(const struct vcpu *vcpu)
{
	return vcpu->vm->is_linux && !vcpu->id && !vcpu->lapic->was_on;
}

/* False: it has shown that before. */
static bool start_anew(struct vm *vm, unsigned without, const char *sign)
{
	struct slot *s = &monitor_slots[vm->id];

	if (!(without & ~s->without))
		return false;
	s->without |= (u8)without;
	if (vm_end(vm, VM_END_ANEW))
		vm_tell(vm, "the kernel %s: it starts again%s%s", sign,
			without & LINUX_NO_X2APIC ? " with interrupts: emulated" : "",
			without & LINUX_NO_CLOCK ? ", told the rate of its TSC" : "");
	return true;
}

bool without_kvm_leaves_x2apic(struct vcpu *vcpu)
{
	return begins(vcpu) &&
	       start_anew(vcpu->vm, LINUX_NO_X2APIC | (vcpu->kvm_system_time ? 0 : LINUX_NO_CLOCK),
			  "takes no x2APIC mode");
}

static u32 pit_read(void *, struct vcpu *, u16, unsigned)
{
	return 0xff;
}

static void pit_write(void *, struct vcpu *vcpu, u16, unsigned, u32 value)
{
	struct vm *vm = vcpu->vm;
	unsigned x2apic = vm->config->interrupts == VM_INTERRUPTS_DIRECT ? 0 : LINUX_NO_X2APIC;

	if (value != PIT_MEASURES || !begins(vcpu) || vcpu->kvm_system_time)
		return;
	if (!vm->told_rate)
		start_anew(vm, LINUX_NO_CLOCK | x2apic, "looks for a PIT, and not for KVM's clock");
	else if (vm_own(vm, seeks_pit) && vm_end(vm, VM_END_CRASH))
		vm_tell(vm,
			"the kernel does not know tsc_early_khz=, as Linux from 5.8 on does, and there is no PIT");
	vm_own(vm, seeks_pit) = true;
}

static const struct pio_ops pit_ops = { .sizes = 1, .read = pit_read, .write = pit_write };

static int without_kvm_create(struct vm *vm, void **)
{
	return vm_register_pio(vm, PIT_MODE_PORT, 1, &pit_ops, NULL);
}

static const struct vdev without_kvm_vdev = { .create = without_kvm_create };
VDEV(without_kvm_vdev);
