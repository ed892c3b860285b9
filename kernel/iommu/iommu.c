/* SPDX-License-Identifier: GPL-2.0-only */
/* See iommu.h: which functions units have, and what these reach. How units start: iommu_start.c. */
#include "kernel/iommu/iommu.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_platform.h"

#define MESSAGE_END 0xfeefffffu
#define DOMAINS 64
#define CACHE_LINE 64

#define DOMAIN_PAGES (unsigned)(ALIGN_UP(sizeof(struct host_iommu), PAGE_SIZE) / PAGE_SIZE)

const struct iommu_ops *iommu_ops; /* NULL: the node has none that is used */
const struct dmar_info *iommu_table;
struct iommu_unit iommu_units[DMAR_MAX_UNITS]; /* by the DMAR's index */
/* guards the units, their entries and faults, domains_used and domain_of[] */
struct spinlock iommu_lock;
/* 0 is none, and what units in caching mode keep of functions without (VT-d 4.0, 6.1) */
static u64 domains_used = 1;
static struct host_iommu *domain_of[HOST_PCI_FUNCTIONS]; /* NULL: blocked */

/* ---- functions ------------------------------------------------------------------------------ */

struct iommu_unit *iommu_unit_of(const struct pci_function *f)
{
	int i = dmar_unit_of(iommu_table, f);

	return i < 0 ? NULL : &iommu_units[i];
}

bool host_iommu_on(void)
{
	return iommu_ops;
}

/*
 * How many of these of the firmware's table name it: does the firmware want memory of its own for
 * it (RMRR)?
 */
unsigned iommu_named(const struct pci_function *f, enum acpi_dmar_type by)
{
	const struct dmar_info *d = iommu_table;
	unsigned n = 0;

	for (unsigned i = 0; i < d->nr_units; i++)
		n += d->unit[i].type == by && dmar_names(d, &d->unit[i], f);
	return n;
}

const char *host_iommu_unfit(unsigned index)
{
	const struct pci_function *f = pci_get(index);
	const struct iommu_unit *u;

	if (!iommu_ops)
		return NULL;
	u = iommu_unit_of(f);
	if (!u || u->broken)
		return u ? "its IOMMU does not work" : "the firmware names no IOMMU for it";
	/* Only one of them is before memory, and which is not said. */
	if (iommu_named(f, ACPI_DMAR_DRHD) > 1)
		return "the firmware names two IOMMUs for it";
	if (pci_conventional(f))
		return "behind a bridge to conventional PCI, where an IOMMU cannot tell who sends";
	if (dmar_shares(iommu_table, f))
		return "it sends by another's requester ID, or an I/O APIC by its";
	if (dmar_settings(iommu_table, f))
		return "the firmware has it send INIT, NMI or the like past its IOMMU, as the platform's own (IVHD)";
	if (iommu_named(f, ACPI_DMAR_SATC))
		return "it does not work without address translation of its own (SATC), which no VM has";
	return iommu_named(f, ACPI_DMAR_RMRR)
		       ? "the firmware uses it too, by memory reserved for it (RMRR, IVMD)"
		       : NULL;
}

/* ---- domains -------------------------------------------------------------------------------- */

/* What all units that work can do, for a VM's functions may be below several. */
static void common(struct iommu_unit *out)
{
	*out = (struct iommu_unit){ .max_leaf = LEAF_1G,
				    .bits = 48,
				    .domains = DOMAINS,
				    .coherent = true,
				    .snoops = true };
	for (unsigned i = 0; i < ARRAY_SIZE(iommu_units); i++) {
		if (!iommu_units[i].base || iommu_units[i].broken)
			continue;
		out->max_leaf = MIN(out->max_leaf, iommu_units[i].max_leaf);
		out->bits = MIN(out->bits, iommu_units[i].bits);
		out->domains = MIN(out->domains, iommu_units[i].domains);
		out->coherent = out->coherent && iommu_units[i].coherent;
		out->snoops = out->snoops && iommu_units[i].snoops;
	}
}

/* To memory, for units that read nothing but that. */
static void write_back(const void *from, size_t size)
{
	for (size_t at = 0; at < size; at += CACHE_LINE)
		cpu_clflush((const u8 *)from + at);
}

int host_iommu_create(const struct host_iommu_user *user, struct host_iommu **out)
{
	struct host_iommu *d = host_pages_alloc(DOMAIN_PAGES, -1);
	const struct stage2_format *format;
	struct iommu_unit all;
	unsigned id = 1;

	if (!d)
		return -ENOMEM;
	common(&all);
	format = all.snoops && iommu_ops->snooped ? iommu_ops->snooped : iommu_ops->format;
	if (stage2_init(&d->tables, format, &stage2_host_pages, all.max_leaf, user->node)) {
		host_pages_free(d, DOMAIN_PAGES);
		return -ENOMEM;
	}
	d->user = user;
	if (!all.coherent) {
		d->tables.written = write_back;
		write_back(d->tables.root, PAGE_SIZE);
	}
	spin_lock(&iommu_lock);
	while (id < all.domains && domains_used & BIT(id))
		id++;
	if (id < all.domains) {
		domains_used |= BIT(id);
		d->id = id;
	}
	spin_unlock(&iommu_lock);
	*out = d->id ? d : NULL;
	if (d->id)
		return 0;
	host_iommu_destroy(d);
	return -ENOSPC;
}

void host_iommu_destroy(struct host_iommu *d)
{
	if (!d)
		return;
	spin_lock(&iommu_lock);
	domains_used &= ~(d->id ? BIT(d->id) : 0);
	spin_unlock(&iommu_lock);
	stage2_destroy(&d->tables);
	host_pages_free(d, DOMAIN_PAGES);
}

void host_iommu_abandon(struct host_iommu *d)
{
	static const struct host_iommu_user nobody = {
		.name = "a VM that has ended",
		.mode = "kept by an IOMMU that does not answer",
	};

	spin_lock(&iommu_lock);
	d->user = &nobody;
	spin_unlock(&iommu_lock);
}

void iommu_tell_broken(const struct iommu_unit *u)
{
	printk_error(
		"iommu: the unit at %#lx does not answer any more: its functions are given to no VM",
		u->base);
}

/*
 * All units that have functions of the domain drop what they keep of its tables; only_absent: those
 * that keep what was not there. False: one does not answer.
 */
static bool flush(struct host_iommu *d, bool only_absent)
{
	bool works = true;

	spin_lock(&iommu_lock);
	for (u64 left = d->units; left; left &= left - 1) {
		struct iommu_unit *u = &iommu_units[__builtin_ctzll(left)];

		if (only_absent && !u->keeps_absent)
			continue;
		if (!u->broken && !iommu_ops->flush(u, d->id))
			iommu_tell_broken(u);
		works = works && !u->broken;
	}
	spin_unlock(&iommu_lock);
	return works;
}

int host_iommu_map(struct host_iommu *d, u64 at, hpa_t pa, u64 size)
{
	struct iommu_unit all;
	int err;

	common(&all);
	/* Writes there are interrupts, whatever tables say (VT-d 4.0, 3.14). */
	if (at <= MESSAGE_END && at + size > IOMMU_MESSAGES)
		return -EINVAL;
	if (at + size > BIT(all.bits))
		return -ERANGE;
	if (pci_platform_registers(pa.v, size))
		return -EPERM;
	err = stage2_map(&d->tables, at, pa.v, size, STAGE2_R | STAGE2_W, MEMTYPE_WB);
	return err || flush(d, true) ? err : -EIO;
}

int host_iommu_unmap(struct host_iommu *d, u64 at, u64 size)
{
	int err = stage2_unmap(&d->tables, at, size);

	/* One that does not answer may go on looking at the tables that were taken out. */
	if (!flush(d, false))
		return -EIO;
	stage2_reap(&d->tables);
	return err;
}

/* Under the lock, but at boot. */
static int set(unsigned index, struct host_iommu *d)
{
	const struct pci_function *f = pci_get(index);
	struct iommu_unit *u = iommu_unit_of(f);
	int err;

	if (!u || u->broken)
		return -EIO;
	if (d)
		d->units |= BIT(u - iommu_units);
	else
		iommu_faults_take();
	err = iommu_ops->set(u, iommu_bdf(f), d ? d->id : 0, d ? stage2_root(&d->tables) : 0);
	if (err == -EIO)
		iommu_tell_broken(u);
	if (err)
		return err;
	domain_of[index] = d;
	/* What the last one did stays to be seen until there is a next. */
	if (d)
		iommu_faults_forget(index);
	return 0;
}

struct host_iommu *iommu_domain_of(unsigned index)
{
	return domain_of[index];
}

int host_iommu_attach(struct host_iommu *d, unsigned index)
{
	int err;

	spin_lock(&iommu_lock);
	err = set(index, d);
	spin_unlock(&iommu_lock);
	return err;
}

int host_iommu_detach(unsigned index)
{
	return host_iommu_attach(NULL, index);
}
