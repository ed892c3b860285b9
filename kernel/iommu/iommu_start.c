/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See iommu.h: the units that firmware's table names are taken over at boot. DMAR: VT-d 4.0,
 * chapter 8, by which an IVRS is read, too (ivrs_units.c).
 */
#include <margay/host.h>

#include "kernel/acpi/acpi.h"
#include "kernel/boot/cmdline.h"
#include "kernel/iommu/iommu.h"
#include "kernel/log/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_platform.h"
#include "kernel/percpu.h"

#define MESSAGE_NMI 0x400u /* delivery mode of its data */
#define HIGHEST_ID 254     /* without interrupt remapping */

/* Two drivers of one unit would be worse than none. */
static bool is_twice(const struct iommu_unit *u)
{
	for (const struct iommu_unit *o = iommu_units; o < u; o++)
		if (o->base == u->base)
			return true;
	return false;
}

/* Is the I/O APIC below it whose inputs the host's own devices have? */
static bool sends_nmis(const struct iommu_unit *u)
{
	const struct madt_info *madt = acpi.madt;
	u16 source;

	if (!madt)
		return false;
	for (unsigned i = 0; i < madt->nr_ioapics; i++)
		if (!madt->ioapic[i].gsi_base &&
		    dmar_unit_of_ioapic(iommu_table, madt->ioapic[i].id, &source) ==
			    u - iommu_units)
			return true;
	return false;
}

/*
 * What firmware has devices of the platform send past it: the FCH's NMI, INIT and system management
 * messages.
 */
static void allow(struct iommu_unit *u, const struct dmar_unit *says)
{
	if (says->settings)
		iommu_ops->allow(u, 0, 0xffff, says->settings);
	for (unsigned i = 0; i < says->nr_scopes; i++) {
		const struct dmar_scope *s = &iommu_table->scope[says->first_scope + i];

		if (s->settings)
			iommu_ops->allow(u, s->first, s->last, s->settings);
	}
}

/* A unit that lies is out of use, with a line. */
static void start(struct iommu_unit *u, const struct dmar_unit *says)
{
	const struct pci_function *f;

	u->base = says->base;
	u->function = -1;
	u->hints = says->hints;
	u->nmis = sends_nmis(u);
	u->node = numa_node_of_proximity(says->domain);
	for (unsigned i = 0; (f = pci_get(i)); i++)
		if (iommu_bdf(f) == says->function && f->address.segment == says->segment)
			u->function = (int)i;
	if (bootinfo_is_usable(bootinfo_of_boot(), u->base, u->base + PAGE_SIZE))
		u->broken = "has its registers in memory";
	else if (is_twice(u))
		u->broken = "is named twice";
	else if (!says->nr_scopes && !(says->flags & ACPI_DMAR_PCI_ALL))
		u->broken = "has no function by the firmware's table";
	else
		u->broken = iommu_ops->start(u);
	if (!u->broken)
		allow(u, says);
}

/* As the console's interrupt: no guest can hold it off. 0: no message reaches the boot CPU. */
static u32 message_address(void)
{
	u32 id = cpu_get(0)->apic_id;

	return id <= HIGHEST_ID ? IOMMU_MESSAGES | id << 12 : 0;
}

static bool enable(struct iommu_unit *u)
{
	if (!u->broken)
		u->broken = iommu_ops->enable(u, message_address(), MESSAGE_NMI);
	if (u->broken)
		printk_error("iommu: the unit at %#lx %s: its functions are given to no VM",
			     u->base, u->broken);
	return !u->broken;
}

static unsigned count_units(const struct dmar_info *d)
{
	unsigned count = 0;

	for (unsigned i = 0; i < d->nr_units; i++)
		count += d->unit[i].type == ACPI_DMAR_DRHD;
	return count;
}

static void start_all(const struct dmar_info *d)
{
	for (unsigned i = 0; i < d->nr_units; i++)
		if (d->unit[i].type == ACPI_DMAR_DRHD)
			start(&iommu_units[i], &d->unit[i]);
	if (d->lost)
		printk_error(
			"iommu: the DMAR has %u units that do not fit in %u, with %u functions and bridges by name: what is "
			"not named by one of the others is given to no VM",
			d->lost, DMAR_MAX_UNITS, DMAR_MAX_SCOPES);
}

/* How many work. */
static unsigned enable_all(void)
{
	unsigned good = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(iommu_units); i++)
		good += iommu_units[i].base && enable(&iommu_units[i]);
	return good;
}

void iommu_init(void)
{
	const struct dmar_info *d = iommu_find_table();
	const struct cmdline *c = cmdline_of_boot();
	unsigned count, good;
	const char *why;

	/* A check only looks. */
	if (!d || c->check)
		return;
	count = count_units(d);
	if (!count || c->iommu_off) {
		printk("iommu: %s: DMA is not contained",
		       count ? "off by the command line" : "the firmware's table names no unit");
		return;
	}
	iommu_ops = iommu_find_backend(d);
	iommu_table = d;
	start_all(d);
	for (unsigned i = 0; pci_get(i); i++)
		pci_isolate(pci_get(i));
	iommu_keep_reserved(d);
	good = enable_all();
	if (!good || iommu_faults_init(message_address()))
		return;
	why = iommu_remap();
	printk("iommu: %s, %u of %u units in use: DMA %s%s", iommu_ops->name, good, count,
	       why ? "contained, interrupts not: " : "and interrupts contained", why ? why : "");
}
