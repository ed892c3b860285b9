/* SPDX-License-Identifier: GPL-2.0-only */
/* See iommu.h. DMAR: VT-d 4.0, chapter 8; what is said of units holds for both vendors. */
#include "kernel/iommu/iommu.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/acpi/acpi.h"
#include "kernel/boot/cmdline.h"
#include "kernel/console/printk.h"
#include "kernel/nmi.h"
#include "kernel/pci/pci_function.h"
#include "kernel/percpu.h"

#define RESERVED_MAX GIB(1) /* nobody's graphics memory is larger */
#define MESSAGE_ADDRESS 0xfee00000u
#define MESSAGE_END 0xfeefffffu
#define MESSAGE_NMI 0x400u /* delivery mode of its data */
#define HIGHEST_ID 254     /* without interrupt remapping */
#define AT_ONCE 256        /* faults that are looked at in one window */
#define DOMAINS 64

/* What the functions of a VM reach, or those of the firmware's RMRRs. */
struct host_iommu {
	struct stage2 tables;
	const char *owner;
	unsigned id;
};
#define DOMAIN_PAGES (unsigned)(ALIGN_UP(sizeof(struct host_iommu), PAGE_SIZE) / PAGE_SIZE)

static const struct iommu_ops *ops; /* NULL: the node has none that is used */
static struct iommu_unit units[DMAR_MAX_UNITS]; /* by the DMAR's index */
static struct spinlock lock; /* guards the units, domains_used and domain_of[] */
static u64 domains_used = 1; /* 0 is none, and what units in caching mode keep of functions without (VT-d 4.0, 6.1) */
static struct host_iommu *domain_of[HOST_PCI_FUNCTIONS]; /* NULL: blocked */
static struct host_iommu *reserved;

/* ---- functions ------------------------------------------------------------------------------ */

static struct iommu_unit *unit_of(const struct pci_function *f)
{
	int i = dmar_unit_of(acpi_dmar(), f);

	return i < 0 ? NULL : &units[i];
}

static u16 bdf_of(const struct pci_function *f)
{
	return (u16)(f->address.bus << 8 | f->address.devfn);
}

bool host_iommu_on(void)
{
	return ops;
}

/* Does the firmware want memory of its own for it? */
static bool has_reserved(const struct pci_function *f)
{
	const struct dmar_info *d = acpi_dmar();

	for (unsigned i = 0; i < d->nr_units; i++)
		if (d->unit[i].type == ACPI_DMAR_RMRR && dmar_names(d, &d->unit[i], f))
			return true;
	return false;
}

const char *host_iommu_unfit(unsigned index)
{
	const struct pci_function *f = pci_get(index);
	const struct iommu_unit *u;

	if (!ops)
		return NULL;
	u = unit_of(f);
	if (!u || u->broken)
		return u ? "its IOMMU does not work" : "the firmware names no IOMMU for it";
	if (pci_conventional(f))
		return "behind a bridge to conventional PCI, where an IOMMU cannot tell who sends";
	return has_reserved(f) ? "the firmware uses it too, by memory reserved for it (RMRR)" : NULL;
}

/* ---- domains -------------------------------------------------------------------------------- */

static void *table_alloc(void)
{
	return host_pages_alloc(1, -1);
}

static void table_free(void *page)
{
	host_pages_free(page, 1);
}

static u64 table_to_hpa(const void *page)
{
	return host_virt_to_hpa(page).v;
}

static void *table_to_virt(u64 pa)
{
	return host_hpa_to_virt(hpa(pa));
}

static const struct stage2_mem table_mem = { table_alloc, table_free, table_to_hpa, table_to_virt };

/* What all units that work can do, for a VM's functions may be below several. */
static void common(struct iommu_unit *out)
{
	*out = (struct iommu_unit){ .max_leaf = LEAF_1G, .bits = 48, .domains = DOMAINS, .coherent = true };
	for (unsigned i = 0; i < ARRAY_SIZE(units); i++) {
		if (!units[i].base || units[i].broken)
			continue;
		out->max_leaf = MIN(out->max_leaf, units[i].max_leaf);
		out->bits = MIN(out->bits, units[i].bits);
		out->domains = MIN(out->domains, units[i].domains);
		out->coherent = out->coherent && units[i].coherent;
	}
}

int host_iommu_create(const char *owner, struct host_iommu **out)
{
	struct host_iommu *d = host_pages_alloc(DOMAIN_PAGES, -1);
	struct iommu_unit all;
	unsigned id = 1;

	if (!d)
		return -ENOMEM;
	common(&all);
	if (stage2_init(&d->tables, ops->format, &table_mem, all.max_leaf)) {
		host_pages_free(d, DOMAIN_PAGES);
		return -ENOMEM;
	}
	d->owner = owner;
	spin_lock(&lock);
	while (id < all.domains && domains_used & BIT(id))
		id++;
	if (id < all.domains) {
		domains_used |= BIT(id);
		d->id = id;
	}
	spin_unlock(&lock);
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
	spin_lock(&lock);
	domains_used &= ~(d->id ? BIT(d->id) : 0);
	spin_unlock(&lock);
	stage2_destroy(&d->tables);
	host_pages_free(d, DOMAIN_PAGES);
}

int host_iommu_map(struct host_iommu *d, u64 at, hpa_t pa, u64 size)
{
	struct iommu_unit all;

	common(&all);
	/* Writes there are interrupts, whatever tables say (VT-d 4.0, 3.14). */
	if (at <= MESSAGE_END && at + size > MESSAGE_ADDRESS)
		return -EINVAL;
	if (at + size > BIT(all.bits))
		return -ERANGE;
	return stage2_map(&d->tables, at, pa.v, size, STAGE2_R | STAGE2_W, MEMTYPE_WB);
}

/* To memory, for units that read nothing but that. */
static void write_back(const struct stage2 *s, const u64 *table, unsigned level)
{
	for (unsigned i = 0; i < PAGE_SIZE / 8; i++) {
		if (!(i % 8))
			cpu_clflush(&table[i]);
		if (level && s->fmt->present(table[i]) && !(table[i] & PTE_PS))
			write_back(s, table_to_virt(table[i] & PTE_ADDR), level - 1);
	}
}

/* Under the lock, but at boot. */
static int set(unsigned index, struct host_iommu *d)
{
	const struct pci_function *f = pci_get(index);
	struct iommu_unit *u = unit_of(f);
	int err;

	if (!u || u->broken)
		return -EIO;
	if (d && !u->coherent)
		write_back(&d->tables, d->tables.root, STAGE2_LEVELS - 1);
	err = ops->set(u, bdf_of(f), d ? d->id : 0, d ? stage2_root(&d->tables) : 0);
	if (err == -EIO)
		printk_error("iommu: the unit at %#lx does not answer any more: its functions are given to no VM", u->base);
	if (!err)
		domain_of[index] = d;
	return err;
}

int host_iommu_attach(struct host_iommu *d, unsigned index)
{
	int err;

	spin_lock(&lock);
	err = set(index, d);
	spin_unlock(&lock);
	return err;
}

int host_iommu_detach(unsigned index)
{
	return host_iommu_attach(NULL, index);
}

/* ---- faults ----------------------------------------------------------------------------------- */

static void report(const struct iommu_fault *f)
{
	const char *owner = NULL, *more = "";
	const struct pci_function *p;

	for (unsigned i = 0; (p = pci_get(i)) && !owner; i++)
		if (!p->address.segment && bdf_of(p) == f->bdf && domain_of[i])
			owner = domain_of[i]->owner;
	if (f->count == IOMMU_REPORTS)
		more = "; more of it is not reported";
	if (f->count <= IOMMU_REPORTS)
		printk_error("iommu: %02x:%02x.%u, %s%s: DMA blocked: %s %#lx, reason %u%s", f->bdf >> 8, PCI_DEVICE(f->bdf & 0xff),
			     PCI_FUNCTION(f->bdf), owner ? "of " : "", owner ? owner : "nobody's", f->write ? "writes to" :
			     "reads from", f->address, f->reason, more);
}

/* On the boot CPU, after an NMI. What is left of a storm is silent until the next one: no unit tells a fault behind another. */
static bool look(void)
{
	struct iommu_fault f;
	bool any = false;

	spin_lock(&lock);
	for (unsigned i = 0; i < ARRAY_SIZE(units); i++)
		for (unsigned n = 0; units[i].base && !units[i].broken && n < AT_ONCE && ops->fault(&units[i], &f); n++) {
			report(&f);
			any = true;
		}
	spin_unlock(&lock);
	return any;
}

/* ---- boot -------------------------------------------------------------------------------------- */

static bool is_memory(u64 from, u64 to)
{
	const struct bootinfo *bi = bootinfo_of_boot();

	for (unsigned i = 0; i < bi->nr_ranges; i++)
		if (bi->range[i].type == BOOT_MEMORY_USABLE && bi->range[i].start < to && from < bi->range[i].end)
			return true;
	return false;
}

/* Maps an RMRR for the firmware's functions; two may overlap. */
static int reserve(u64 from, u64 to)
{
	int err = 0;

	for (u64 at = from; !err && at < to; at += PAGE_SIZE) {
		err = host_iommu_map(reserved, at, hpa(at), PAGE_SIZE);
		err = err == -EEXIST ? 0 : err;
	}
	return err;
}

/* Controllers that serve the firmware go on doing so: keyboards on USB, management controllers, graphics. */
static void keep_reserved(const struct dmar_info *d)
{
	const struct pci_function *f;

	for (unsigned i = 0; i < d->nr_units; i++) {
		u64 from = ALIGN_DOWN(d->unit[i].base, PAGE_SIZE), to = ALIGN_UP(d->unit[i].limit + 1, PAGE_SIZE);

		if (d->unit[i].type != ACPI_DMAR_RMRR)
			continue;
		if (!reserved && host_iommu_create("the firmware", &reserved))
			return;
		if (to <= from || to - from > RESERVED_MAX || is_memory(from, to) || reserve(from, to))
			printk_error("iommu: DMAR: memory reserved at %#lx-%#lx cannot be right: ignored", d->unit[i].base,
				     d->unit[i].limit);
	}
	for (unsigned i = 0; (f = pci_get(i)); i++)
		if (reserved && has_reserved(f))
			set(i, reserved);
}

/* A unit that lies is out of use, with a line. */
static void start(struct iommu_unit *u, u64 base, bool off)
{
	u->base = base;
	if (is_memory(base, base + PAGE_SIZE))
		u->broken = "has its registers in memory";
	else if (off)
		ops->off(u);
	else
		u->broken = ops->start(u);
}

static bool enable(struct iommu_unit *u)
{
	/* As the console's interrupt: no guest can hold it off. */
	u32 id = cpu_get(0)->apic_id;

	if (!u->broken)
		u->broken = ops->enable(u, id <= HIGHEST_ID ? MESSAGE_ADDRESS | id << 12 : 0, MESSAGE_NMI);
	if (u->broken)
		printk_error("iommu: the unit at %#lx %s: its functions are given to no VM", u->base, u->broken);
	return !u->broken;
}

void iommu_init(void)
{
	const struct dmar_info *d = acpi_dmar();
	const struct cmdline *c = cmdline_of_boot();
	unsigned count = 0, good = 0;

	if (acpi_ivrs())
		printk("iommu: AMD-Vi is not used: DMA is not contained");
	/* A check only looks. */
	if (!d || c->check)
		return;
	ops = &vtd_ops;
	for (unsigned i = 0; i < d->nr_units; i++) {
		if (d->unit[i].type != ACPI_DMAR_DRHD)
			continue;
		start(&units[i], d->unit[i].base, c->iommu_off);
		count++;
	}
	if (!count || c->iommu_off) {
		ops = NULL;
		printk("iommu: %s: DMA is not contained", count ? "off by the command line" : "the DMAR names no unit");
		return;
	}
	for (unsigned i = 0; pci_get(i); i++)
		pci_isolate(pci_get(i));
	keep_reserved(d);
	for (unsigned i = 0; i < d->nr_units; i++)
		good += units[i].base && enable(&units[i]);
	if (good && !nmi_request_isa(NMI_MESSAGE, look))
		printk("iommu: %s, %u of %u units in use: DMA contained, interrupts not", ops->name, good, count);
}
