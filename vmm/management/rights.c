/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the file of a VM may say that the management VM makes: what is within its rights, and
 * what only a file on the medium of the boot may say.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

#include "vmm/management/private.h"

#define CONSOLE_LOG 64u /* KiB, the parser's default: the memory stays with the slot */

static bool has_function(const struct vm_config_control *control, const struct vm_config_pci *pci)
{
	for (unsigned i = 0; i < control->nr_pci; i++)
		if ((pci->by == VM_PCI_ADDRESS || pci->by == VM_PCI_VF) &&
		    pci_same_address(&pci->address, &control->pci[i]))
			return true;
	return false;
}

static bool has_segment(const struct vm_config_control *control, const struct vm_config_net *net)
{
	for (unsigned i = 0; i < control->nr_nets; i++)
		if (!strcmp(net->segment, control->net[i]))
			return !net->mirror && !net->bridge;
	return false;
}

static bool ends_node(const struct vm_config *c)
{
	for (unsigned i = 0; i < VM_ENDINGS; i++)
		if (c->then[i] == THEN_POWEROFF_NODE || c->then[i] == THEN_REBOOT_NODE)
			return true;
	return false;
}

/* CPUs, functions and segments of the node. */
static int check_parts(const struct vm_config_control *control, const struct vm_config *c,
		       struct config_error *err)
{
	if (c->pinned)
		for (unsigned i = 0; i < c->cpus; i++)
			if (!(control->cpus[c->cpu[i] / 8] & BIT(c->cpu[i] % 8)))
				return vm_config_error(err, c->file, c->line_cpus,
						       "cpus: control_may does not have CPU %u",
						       c->cpu[i]);
	for (unsigned i = 0; i < c->nr_pci; i++)
		if (!has_function(control, &c->pci[i]))
			return vm_config_error(err, c->file, c->line_pci,
					       "pci: control_may has not all of these, by address");
	for (unsigned i = 0; i < c->nr_nets; i++)
		if (!has_segment(control, &c->net[i]))
			return vm_config_error(err, c->file, c->net[i].line,
					       "net = %s%s%s: control_may does not have it",
					       c->net[i].segment, c->net[i].bridge ? " bridge" : "",
					       c->net[i].mirror ? " mirror" : "");
	return 0;
}

/* What is said of the node, or had of all of it. */
static int check_node(const struct vm_config *c, struct config_error *err)
{
	unsigned line = c->line_counters;

	if (!c->line_facts && !c->line_rdt && !c->dmi_node && !c->counters)
		return 0;
	if (c->line_facts)
		line = c->line_facts;
	else if (c->line_rdt)
		line = c->line_rdt;
	return vm_config_error(
		err, c->file, line,
		"pci_irq, pci_node, cache, bandwidth, counters, dmi = node: only a VM of the boot has it");
}

/* What control_may has words for, which let a VM do more than use its parts. */
static int check_words(const struct vm_config_control *control, const struct vm_config *c,
		       struct config_error *err)
{
	/* As pci_sriov_take() has it of VFs. */
	if (c->nr_pci && !host_iommu_on() && !(control->may & MAY_IDENTITY))
		return vm_config_error(
			err, c->file, c->line_pci,
			"pci: without an IOMMU who has a function reaches all of the "
			"node: control_may does not have dma:identity");
	if (c->trusted && !(control->may & MAY_TRUSTED))
		return vm_config_error(err, c->file, c->line_trusted,
				       "trusted: control_may does not have it");
	if (c->ipi_direct && !(control->may & MAY_IPI))
		return vm_config_error(err, c->file, c->line_ipi,
				       "ipi = direct: control_may does not have ipi:direct");
	if (c->dma == VM_DMA_IDENTITY && !(control->may & MAY_IDENTITY))
		return vm_config_error(err, c->file, c->line_dma,
				       "dma = identity: control_may does not have dma:identity");
	return 0;
}

/* What a VM has that begins with the node. */
static int check_boot(const struct vm_config *c, struct config_error *err)
{
	if (c->control.commands)
		return vm_config_error(err, c->file, c->line_control,
				       "control: only a VM of the boot commands");
	if (c->after[0])
		return vm_config_error(err, c->file, c->line_after,
				       "after: who makes it starts it");
	if (c->console_log != CONSOLE_LOG)
		return vm_config_error(err, c->file, 0,
				       "console_log: a VM that is made at run time keeps %u KiB",
				       CONSOLE_LOG);
	return 0;
}

static int check_ends(const struct vm_config_control *control, const struct vm_config *c,
		      struct config_error *err)
{
	if (c->then[ENDING_CRASH] == THEN_DUMP && !(control->may & MAY_DUMP))
		return vm_config_error(err, c->file, c->line_on_one,
				       "on_crash = dump: control_may does not have dump");
	if (ends_node(c))
		return vm_config_error(err, c->file, 0, "only a VM of the boot ends the node");
	return 0;
}

int rights_check(const struct vm_config_control *control, const struct vm_config *c,
		 struct config_error *err)
{
	if (check_parts(control, c, err) || check_node(c, err) || check_words(control, c, err) ||
	    check_boot(c, err))
		return -EINVAL;
	return check_ends(control, c, err);
}
