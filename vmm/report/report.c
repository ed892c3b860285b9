/* SPDX-License-Identifier: GPL-2.0-only */
/* See report.h. */
#include "vmm/report/report.h"

#include <margay/host.h>
#include <margay/string.h>

#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_fitness.h"
#include "vmm/pci/pci_report.h"
#include "vmm/plan/place.h"
#include "vmm/slots/slot.h"

/*
 * It adds up, in MiB: each VM's part, what is free, and the rest, which is the hypervisor's and
 * that of the boot modules. A VM that another CPU makes or unmakes meanwhile may be in none or in
 * two of these.
 */
static void report_memory(report_say say, unsigned node)
{
	u64 total = host_node_memory(node) >> 20, largest,
	    free = host_mem_free((int)node, &largest), taken = 0, used;
	char name[VM_NAME_MAX + 1];

	for (unsigned i = 0; host_cpu_info(i); i++)
		taken += place_memory(i, node, name) >> 20;
	used = total - MIN(free >> 20, total);
	say("node %u: %luM for guests, free %luM (%lu bytes), largest piece %luM", node, total,
	    free >> 20, free, largest >> 20);
	/*
	 * The hardware check's report is compared by tools/margay-replay, which knows of no module.
	 */
	if (used && monitor_booted)
		say("    %luM taken, %luM kept", taken, used - MIN(taken, used));
	if (!taken)
		return;
	for (unsigned i = 0; host_cpu_info(i); i++) {
		u64 size = place_memory(i, node, name);

		if (size)
			say("    %luM %s", size >> 20, name);
	}
}

void report_node(report_say say)
{
	const struct host_cpu_info *cpu;
	u64 own, used, corrected, lost;

	say("Margay %s, image %s", host_version(), host_image());
	for (unsigned i = 0; (cpu = host_cpu_info(i)); i++) {
		char owner[VM_NAME_MAX + 1];

		say("cpu %-3u APIC ID %-4u node %d  %-8s %s", i, cpu->apic_id, cpu->node,
		    cpu->online ? "online" : "OFFLINE", place_owner(i, owner) ? owner : "free");
	}
	for (unsigned n = 0; n < host_node_count(); n++)
		report_memory(say, n);
	corrected = host_machine_checks(&lost);
	if (corrected || lost)
		say("machine checks: %lu corrected, %lu not", corrected, lost);
	own = host_own_bytes(&used);
	say("hypervisor: %luK held in all, %luK of these in use", own >> 10, used >> 10);
}

static void report_function(report_say say, unsigned i, const struct pci_info *f)
{
	char text[PCI_REPORT_TEXT], why[PCI_FITNESS_TEXT], owner[VM_NAME_MAX + 1];
	enum pci_fitness fitness = pci_fitness(f, why);
	char node[12] = "unknown";

	say(PCI_FULL_FORMAT "  %04x:%04x  class %06x  %s", PCI_FULL_FORMAT_ARGS(f->address),
	    f->id.vendor, f->id.device, f->id.class_code, pci_class_name(f->id.class_code));
	pci_report_bars(f, text);
	say("    BARs: %s", text);
	pci_report_caps(f, text);
	say("    capabilities: %s", text);
	if (f->has_node || host_node_count() == 1)
		snprintf(node, sizeof(node), "%u", f->node);
	say("    NUMA node %s; group " PCI_FORMAT "; %s%s%s", node, PCI_FORMAT_ARGS(f->group),
	    fitness == PCI_UNFIT ? "unfit for a VM" : "fit for a VM", why[0] ? ": " : "", why);
	if (pci_iommu_text(i, text, sizeof(text)))
		say("    IOMMU: %s", text);
	if (host_sriov_text(i, text, sizeof(text)))
		say("    SR-IOV: %s", text);
	if (vm_pci_owner(i, owner))
		say("    given to %s", owner);
}

void report_pci(report_say say)
{
	struct pci_info f;
	unsigned i;

	for (i = 0; host_pci_info(i, &f); i++)
		report_function(say, i, &f);
	if (!i)
		say("no PCI function is known");
}
