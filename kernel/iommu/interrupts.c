/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts where the node's IOMMUs remap them: whether they do, the entries of the units' tables,
 * and what messages and inputs of I/O APICs name them. VT-d 4.0, 5.1 and 8.3.1 (scopes of I/O
 * APICs); what is said of tables holds for both vendors.
 */
#include "kernel/iommu/iommu.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/string.h>
#include "kernel/acpi/acpi.h"
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_remapping.h"
#include "kernel/percpu.h"

#define ENTRIES_MIN 256u
#define ENTRIES_MAX 32768u
#define INPUTS 128u    /* entries kept for an I/O APIC, which has 120 inputs at most */
/* bits of a word of `taken`: as many entries are kept for a function, or a multiple */
#define WORD 64u
#define WORDS (ENTRIES_MAX / WORD)
#define PLATFORM 1     /* as an owner: the I/O APICs' */
#define FUNCTION 2     /* as an owner: of some function */
#define HIGHEST_ID 254 /* with IDs of 8 bits; 255 is the broadcast */
#define RTE_HOW 0x87ffu /* level, delivery mode and vector */
#define RTE_MODE 0x700u
#define RTE_NMI 0x400u

static const struct interrupt_remapping ours;
static bool on, wide;
static char why[100];
/* Of the entries of a unit's table. */
struct entries {
	u64 taken[WORDS];
	u8 owner[WORDS]; /* of a word's entries; 0: nobody */
};
static struct {
	unsigned entries;
	struct entries *use; /* NULL: each requester ID has a table of its own */
} tables[DMAR_MAX_UNITS];    /* by the DMAR's index; the lock guards `use` */
static struct {
	unsigned unit;
	u16 source;
	unsigned first; /* entry of its input 0 */
} ioapic[MADT_MAX_IOAPICS]; /* by the MADT's index */
/* where iommu_ops->take() gives entries: that of an input, + 1; 0: none */
static u16 ioapic_own[MADT_MAX_IOAPICS][INPUTS];

bool host_iommu_wide(void)
{
	return on && wide;
}

/* ---- boot ------------------------------------------------------------------------------- */

static bool able(const struct iommu_unit *u)
{
	return u && u->base && !u->broken && u->remaps;
}

/*
 * Messages that a function may send; those that are given up stay for a while beside the new ones.
 */
static unsigned messages(const struct pci_function *f)
{
	u16 msix = pci_find_cap(f, PCI_CAP_MSIX);
	unsigned count =
		msix ? (pci_read(f->address, msix + PCI_MSIX_CONTROL, 2) & PCI_MSIX_SIZE) + 1u : 0;

	return ALIGN_UP(2 * MAX(count, PCI_MSI_MAX), WORD);
}

/*
 * The function, and those that it can have. What these will send nobody knows before they are
 * there: no more than it does.
 */
static unsigned messages_with_vfs(const struct pci_function *f)
{
	return MIN(messages(f) * (1 + pci_vfs_at_most(f)), ENTRIES_MAX);
}

/* Who sends what by which unit, and how many entries that wants. False: `why`. */
static bool find_sources(const struct dmar_info *d, const struct madt_info *madt)
{
	const struct pci_function *f;

	for (unsigned i = 0; i < madt->nr_ioapics; i++) {
		int n = dmar_unit_of_ioapic(d, madt->ioapic[i].id, &ioapic[i].source);

		snprintf(why, sizeof(why), "no unit remaps those of I/O APIC %u",
			 madt->ioapic[i].id);
		if (n < 0 || !able(&iommu_units[n]))
			return false;
		ioapic[i].unit = (unsigned)n;
		ioapic[i].first = tables[n].entries;
		tables[n].entries += INPUTS;
	}
	for (unsigned i = 0; (f = pci_get(i)); i++) {
		struct iommu_unit *u = iommu_unit_of(f);

		/* An IVRS leaves out what no unit is above; no VM gets it. */
		if (!u && iommu_ops->take)
			continue;
		snprintf(why, sizeof(why), "no unit remaps those of " PCI_FORMAT,
			 PCI_FORMAT_ARGS(f->address));
		if (!able(u))
			return false;
		tables[u - iommu_units].entries += messages_with_vfs(f);
	}
	return true;
}

static const char *remap(unsigned i)
{
	unsigned count = ENTRIES_MIN;

	while (count < tables[i].entries && count < ENTRIES_MAX)
		count *= 2;
	tables[i].entries = count;
	tables[i].use =
		iommu_ops->take
			? NULL
			: host_pages_alloc(ALIGN_UP(sizeof(struct entries), PAGE_SIZE) / PAGE_SIZE,
					   -1);
	return tables[i].use || iommu_ops->take ? iommu_ops->remap(&iommu_units[i], count, wide)
						: "finds no memory for a list of its interrupts";
}

/* Do all units know APIC IDs of 32 bits, which the CPUs have? */
static bool all_remap_wide(const struct dmar_info *d)
{
	bool all = host_is_x2apic() && !(d->flags & ACPI_DMAR_X2APIC_OPT_OUT);

	for (unsigned i = 0; i < DMAR_MAX_UNITS; i++)
		all = all && (!able(&iommu_units[i]) || iommu_units[i].remaps_wide);
	return all;
}

/* False: one does not, and `why`. */
static bool remap_all(void)
{
	for (unsigned i = 0; i < DMAR_MAX_UNITS; i++) {
		const char *says = able(&iommu_units[i]) ? remap(i) : NULL;

		if (says) {
			snprintf(why, sizeof(why), "the unit at %#lx %s", iommu_units[i].base,
				 says);
			return false;
		}
	}
	return true;
}

static void remap_none(void)
{
	for (unsigned i = 0; i < DMAR_MAX_UNITS; i++)
		if (iommu_units[i].base && iommu_units[i].remaps)
			iommu_ops->remap(&iommu_units[i], 0, false);
}

static void keep_for_ioapics(const struct madt_info *madt)
{
	for (unsigned i = 0; i < madt->nr_ioapics; i++)
		memset(&tables[ioapic[i].unit].use->owner[ioapic[i].first / WORD], PLATFORM,
		       INPUTS / WORD);
}

const char *iommu_remap(void)
{
	const struct dmar_info *d = iommu_table;
	const struct madt_info *madt = acpi.madt;

	if (!madt || !(d->flags & ACPI_DMAR_INTR_REMAP))
		return "the firmware's tables do not want it";
	if (!find_sources(d, madt))
		return why;
	wide = all_remap_wide(d);
	/* All or none: messages of a VM's functions are of one kind. */
	if (!remap_all()) {
		remap_none();
		return why;
	}
	if (!iommu_ops->take)
		keep_for_ioapics(madt);
	on = true;
	interrupt_remapping = &ours;
	return NULL;
}

/* ---- what is kept for functions --------------------------------------------------------- */

static u16 source_of(const struct pci_function *f)
{
	return (u16)(f->address.bus << 8 | f->address.devfn);
}

/* So many words that are nobody's, in a row; the first one's number, or -ENOSPC. */
static int find_words(unsigned unit, unsigned words)
{
	const u8 *owner = tables[unit].use->owner;
	unsigned row = 0;

	for (unsigned n = 0; n < tables[unit].entries / WORD; n++) {
		row = owner[n] ? 0 : row + 1;
		if (row == words)
			return (int)(n + 1 - words);
	}
	return -ENOSPC;
}

int host_iommu_reserve(unsigned index, unsigned count, struct host_messages *out)
{
	const struct pci_function *f = pci_get(index);
	struct iommu_unit *u = on ? iommu_unit_of(f) : NULL;
	unsigned unit = u ? (unsigned)(u - iommu_units) : 0, words = (count + WORD - 1) / WORD;
	int first = -ENOSPC;

	*out = (struct host_messages){ .unit = (u16)unit };
	if (!u)
		return 0;
	spin_lock(&iommu_lock);
	if (iommu_ops->take) {
		first = iommu_ops->take(u, source_of(f), 1, 0);
	} else {
		while (words) {
			first = find_words(unit, words);
			if (first >= 0)
				break;
			words--;
		}
		if (first >= 0)
			memset(&tables[unit].use->owner[first], FUNCTION, words);
	}
	spin_unlock(&iommu_lock);
	if (first < 0)
		return first;
	out->first = iommu_ops->take ? 0 : (u16)((unsigned)first * WORD);
	out->count = (u16)(iommu_ops->take ? u->entries : words * WORD);
	return 0;
}

void host_iommu_release(struct host_messages *kept)
{
	if (kept->count && !iommu_ops->take) {
		spin_lock(&iommu_lock);
		memset(&tables[kept->unit].use->owner[kept->first / WORD], 0, kept->count / WORD);
		spin_unlock(&iommu_lock);
	}
	kept->count = 0;
}

/* ---- messages --------------------------------------------------------------------------- */

/* So many entries in a row, a power of two; the first one's number, or negative. */
static int take(const struct host_messages *kept, u16 source, unsigned count)
{
	if (iommu_ops->take)
		return iommu_ops->take(&iommu_units[kept->unit], source, count, 0);
	for (unsigned n = kept->first; n < kept->first + kept->count; n += count) {
		u64 mask = (BIT(count) - 1) << n % WORD,
		    *taken = &tables[kept->unit].use->taken[n / WORD];

		if (*taken & mask)
			continue;
		*taken |= mask;
		return (int)n;
	}
	return -ENOSPC;
}

int host_iommu_message(unsigned index, const struct host_messages *kept, unsigned count,
		       struct host_msi *msi)
{
	const struct pci_function *f = pci_get(index);
	struct iommu_unit *u = on ? iommu_unit_of(f) : NULL;
	u16 source = source_of(f);
	bool works = true;
	u64 message;
	int first;

	if (!u)
		return 0;
	msi->unit = (u16)(u - iommu_units);
	msi->source = source;
	spin_lock(&iommu_lock);
	first = take(kept, source, count);
	if (first >= 0)
		for (unsigned n = 0; works && n < count; n++)
			works = iommu_ops->interrupt(u, (unsigned)first + n, source,
						     cpu_get(msi->cpu)->apic_id, msi->first + n);
	spin_unlock(&iommu_lock);
	if (first < 0 || !works)
		return works ? first : -EIO;
	msi->entry = (u16)first;
	msi->entries = (u16)count;
	message = iommu_ops->message(msi->entry, count > 1);
	msi->address = (u32)message;
	msi->data = (u32)(message >> 32);
	return 0;
}

static void forget(struct host_msi *msi)
{
	if (!msi->entries)
		return;
	spin_lock(&iommu_lock);
	for (unsigned n = 0; n < msi->entries; n++)
		iommu_ops->interrupt(&iommu_units[msi->unit], msi->entry + n, msi->source, 0, 0);
	if (!iommu_ops->take)
		tables[msi->unit].use->taken[msi->entry / WORD] &=
			~((BIT(msi->entries) - 1) << msi->entry % WORD);
	spin_unlock(&iommu_lock);
	msi->entries = 0;
}

/* ---- inputs of I/O APICs ---------------------------------------------------------------- */

/* An input's number at its I/O APIC, which is by the MADT's index. */
static unsigned input_of(u32 gsi, unsigned *at)
{
	const struct madt_info *madt = acpi.madt;
	u32 base = 0;

	*at = 0;
	for (unsigned i = 0; i < madt->nr_ioapics; i++)
		if (madt->ioapic[i].gsi_base <= gsi && madt->ioapic[i].gsi_base >= base) {
			base = madt->ioapic[i].gsi_base;
			*at = i;
		}
	return (gsi - base) % INPUTS;
}

/* The entry that an input goes by from now on; how 0: none. Negative: -ENOSPC; -ENOMEM; -EIO. */
static int lead(u32 gsi, u32 apic_id, u32 how)
{
	unsigned at, input = input_of(gsi, &at);
	struct iommu_unit *u = &iommu_units[ioapic[at].unit];
	int n = (int)(ioapic[at].first + input);
	u16 *own = &ioapic_own[at][input];
	bool works = true;

	spin_lock(&iommu_lock);
	if (iommu_ops->take) {
		if (*own)
			works = iommu_ops->interrupt(u, *own - 1u, ioapic[at].source, 0, 0);
		n = how ? iommu_ops->take(u, ioapic[at].source, 1, how) : 0;
		*own = how && n >= 0 ? (u16)(n + 1) : 0;
	}
	if (n >= 0 && works && (how || !iommu_ops->take))
		works = iommu_ops->interrupt(u, (unsigned)n, ioapic[at].source, apic_id, how);
	spin_unlock(&iommu_lock);
	return works ? n : -EIO;
}

int iommu_route_input(u32 gsi, u32 apic_id, u64 *entry)
{
	int n;

	/* Where each requester ID has a table NMIs pass as they are. */
	if (apic_id > HIGHEST_ID &&
	    (!host_iommu_wide() || (iommu_ops->take && (*entry & RTE_MODE) == RTE_NMI)))
		return -ERANGE;
	if (!on)
		return 0;
	n = lead(gsi, apic_id, *entry & RTE_HOW);
	if (n < 0)
		return n;
	*entry = iommu_ops->input((unsigned)n, *entry);
	return 0;
}

static void close_input(u32 gsi)
{
	lead(gsi, 0, 0);
}

static const struct interrupt_remapping ours = { .wide = host_iommu_wide,
						 .forget = forget,
						 .close = close_input };
