/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See release.h. DMAR: VT-d 4.0, chapter 8; IVRS: AMD IOMMU 3.07, 5.2. Of these tables it reads no
 * more than where units are, so that an image without IOMMUs has no more of them, and one wrong
 * entry does not hide the units before it.
 */
#include "kernel/iommu/release.h"

#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/iommu/release.h"
#include "kernel/acpi/acpi.h"
#include "kernel/log/printk.h"

extern const struct iommu_releaser *const __start_iommu_releasers[],
	*const __stop_iommu_releasers[];

static unsigned found; /* enum iommu_left, of all units */

static void put_words(unsigned left, char text[IOMMU_LEFT_TEXT])
{
	static const struct {
		enum iommu_left bit;
		const char *word;
	} all[] = {
		{ IOMMU_LEFT_DMA, "DMA translation" },
		{ IOMMU_LEFT_PROTECTED, "protected memory" },
		{ IOMMU_LEFT_INTERRUPTS, "interrupt remapping" },
	};
	int n = 0;

	text[0] = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		if (left & all[i].bit)
			n += snprintf(text + n, (size_t)(IOMMU_LEFT_TEXT - n), "%s%s",
				      n ? ", " : "", all[i].word);
}

/* A table that has registers in memory lies: what is written there is lost. */
static void release(u64 base, const struct iommu_releaser *by)
{
	char text[IOMMU_LEFT_TEXT];
	volatile u8 *regs;
	unsigned left;

	if (bootinfo_is_usable(bootinfo_of_boot(), base, base + by->size))
		return;
	regs = mmio_map(base, by->size);
	left = regs ? by->off(regs) : 0;
	if (!left)
		return;
	found |= left;
	put_words(left, text);
	if (left & IOMMU_LEFT_STUCK)
		printk_error(
			"iommu: firmware left %s on in the unit at %#lx, which does not go off: devices may be silent",
			text, base);
	else
		printk("iommu: firmware left %s on in the unit at %#lx: off now", text, base);
}

static const char *read_dmar(const u8 *entry, size_t size, void *by)
{
	struct acpi_dmar_drhd unit = { 0 };

	memcpy(&unit, entry, MIN(size, sizeof(unit)));
	if (unit.sub.type == ACPI_DMAR_DRHD && unit.base)
		release(unit.base, by);
	return NULL;
}

/* One unit may be described by several: the second finds nothing on. */
static const char *read_ivrs(const u8 *entry, size_t size, void *by)
{
	struct acpi_ivhd unit = { 0 };
	u8 type = entry[0];

	memcpy(&unit, entry, MIN(size, sizeof(unit)));
	if ((type == ACPI_IVHD_10H || type == ACPI_IVHD_11H || type == ACPI_IVHD_40H) && unit.base)
		release(unit.base, by);
	return NULL;
}

static void release_all(const struct iommu_releaser *by)
{
	const struct acpi_sdt *t = acpi_table(by->ivrs ? "IVRS" : "DMAR", 0);

	if (!t)
		return;
	if (by->ivrs)
		acpi_read_entries(t, sizeof(struct acpi_ivrs), t->length,
				  sizeof(struct acpi_ivrs_sub), read_ivrs, (void *)by);
	else
		acpi_read_entries(t, sizeof(struct acpi_dmar), t->length,
				  sizeof(struct acpi_dmar_sub), read_dmar, (void *)by);
}

void iommu_release(void)
{
	for (const struct iommu_releaser *const *by = __start_iommu_releasers;
	     by < __stop_iommu_releasers; by++)
		release_all(*by);
}

bool iommu_released(char text[IOMMU_LEFT_TEXT])
{
	put_words(found, text);
	return !(found & IOMMU_LEFT_STUCK);
}
