/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is counted on the node, for who watches it over the years: how VMs end, what their devices
 * do, what goes wrong.
 */
#include <margay/errno.h>
#include <margay/host.h>

#include "vmm/management/private.h"
#include "vmm/monitor.h"
#include "vmm/node/outcome.h"
#include "vmm/slots/slot.h"
#include "vmm/vm.h"
#include "vmm/vm/devices.h"

static const char *counted; /* the VM whose devices say something */

static void say_device(const char *text)
{
	management_say("vm=%s\t%s", counted, text);
}

static void say_vm(unsigned i)
{
	const char *kind;
	struct vm *vm;
	u64 n;

	counted = monitor_vm_name(i);
	for (unsigned k = 0; (kind = outcome_kind(k)); k++) {
		n = outcome_count(&monitor_slots[i], k);
		if (n)
			management_say("vm=%s\tended=%s\tcount=%lu", counted, kind, n);
		else
			management_skip();
	}
	vm = monitor_vm_hold(i);
	if (vm)
		vm_device_counts(vm, say_device);
	monitor_vm_release();
}

static void say_blocked(unsigned i, const struct pci_info *f)
{
	struct host_iommu_state s = { 0 };

	if (!host_iommu_state(i, &s) || !(s.dma || s.interrupts)) {
		management_skip();
		return;
	}
	management_say("function=" PCI_FULL_FORMAT "\tblocked_dma=%lu\tblocked_interrupts=%lu",
		       PCI_FULL_FORMAT_ARGS(f->address), s.dma, s.interrupts);
}

int management_counts(const struct vm_config_control *, unsigned, struct span)
{
	u64 corrected, uncorrected;
	struct pci_info f;

	if (IS_ENABLED(CONFIG_MACHINE_CHECKS)) {
		corrected = host_machine_checks(&uncorrected);
		management_say("corrected=%lu\tuncorrected=%lu", corrected, uncorrected);
	}
	if (IS_ENABLED(CONFIG_IOMMU))
		for (unsigned i = 0; host_pci_info(i, &f); i++)
			say_blocked(i, &f);
	for (unsigned i = 0; i < monitor_vm_count(); i++)
		if (monitor_vm_name(i)[0])
			say_vm(i);
	return 0;
}
