/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's NMI button, by which an operator has a kernel that hangs tell where: pin LINT1 of all
 * local APICs, of which a kernel lets NMIs through at one (Linux: at that of the boot CPU), and
 * port 0x61, where it looks for what an NMI is of. There is none of what that tells of (ICH9 data
 * sheet, 13.7.1: SERR#, I/O channel check), so that Linux takes it for the button
 * (kernel.unknown_nmi_panic), and not for a PCI error.
 */
#include <margay/errno.h>

#include "vmm/dev/apic/lapic.h"
#include "vmm/vm.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/vdev.h"

#define NMI_STATUS_PORT 0x61
#define NMI_STATUS_CAUSES 0xc0u

static int nmi_button_press(struct vm *vm, void *, enum vm_button button)
{
	int err = -ENXIO;

	if (button != VM_BUTTON_NMI)
		return -ENOSYS;
	if (__atomic_load_n(&vm->kept, __ATOMIC_ACQUIRE))
		return -EPERM;
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		struct lapic *l = vm->vcpus[i]->lapic;
		u32 entry = __atomic_load_n(&l->lvt[LAPIC_LVT(LAPIC_LVT_LINT1)], __ATOMIC_RELAXED);

		if (entry & LAPIC_LVT_MASKED || (entry >> 8 & 7) != APIC_NMI)
			continue;
		lapic_nmi(l);
		err = 0;
	}
	return err;
}

/*
 * All else is as where there is no such port: who waits for timer 2 there, which is none, goes on
 * at once.
 */
static u32 status_read(void *, struct vcpu *, u16, unsigned)
{
	return 0xff & ~NMI_STATUS_CAUSES;
}

static void status_write(void *, struct vcpu *, u16, unsigned, u32) { }

static const struct pio_ops status_ops = { .sizes = 1, .read = status_read, .write = status_write };

static int nmi_button_create(struct vm *vm, void **)
{
	return vm_register_pio(vm, NMI_STATUS_PORT, 1, &status_ops, NULL);
}

static const struct vdev_calls nmi_button_calls = { .press = nmi_button_press };
static const struct vdev nmi_button_vdev = { .create = nmi_button_create,
					     .calls = &nmi_button_calls };
VDEV(nmi_button_vdev);
