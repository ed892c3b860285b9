/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See dma_windows.h. What Linux makes of the windows: phys_to_dma() and dma_to_phys() in
 * include/linux/dma-direct.h.
 */
#include "vmm/pci/dma_windows.h"

/* Linux never gives a device what lies below: it may be backed by anything. */
#define CPU_ONLY MIB(1)

static bool add_window(struct dma_windows *w, u64 gpa, u64 hpa, u64 length)
{
	if (w->count == MARGAY_DMA_WINDOWS)
		return false;
	w->window[w->count++] = (struct margay_dma_window){ gpa, hpa, length };
	return true;
}

static const char *add_ram(struct dma_windows *w, const struct gpa_region *r)
{
	struct margay_dma_window *last = w->count ? &w->window[w->count - 1] : NULL;

	if (r->gpa + r->size > CPU_ONLY &&
	    ((r->gpa < GPA_HOLE_END) != (r->hpa < GPA_HOLE_END) ||
	     (r->gpa < GPA_HOLE_END) != (r->hpa + r->size <= GPA_HOLE_END)))
		return "memory below 4 GiB is above on the host, or the other way round";
	if (last && last->gpa + last->length == r->gpa && last->hpa + last->length == r->hpa) {
		last->length += r->size;
		return NULL;
	}
	if (last && r->gpa < last->gpa + last->length + PAGE_SIZE)
		return "two windows without a page between them";
	return add_window(w, r->gpa, r->hpa, r->size) ? NULL : "memory in too many pieces";
}

/*
 * What a device asks memory for by its mask is compared with the host's address of the highest that
 * the guest has.
 */
static bool highest_is_highest(const struct dma_windows *w)
{
	for (unsigned i = 0; i + 1 < w->count; i++)
		if (w->window[i].gpa >= CPU_ONLY && w->window[i].hpa > w->window[w->count - 1].hpa)
			return false;
	return true;
}

static const char *add_mmio(struct dma_windows *w, u64 base, u64 end)
{
	struct margay_dma_window *last = &w->window[w->count - 1];

	if (last->gpa == last->hpa && base >= last->gpa && base <= last->gpa + last->length) {
		last->length = MAX(last->length, end - last->gpa);
		return NULL;
	}
	for (unsigned i = 0; i < w->count; i++)
		if (ranges_meet(base, end - base, w->window[i].gpa, w->window[i].length) ||
		    ranges_meet(base, end - base, w->window[i].hpa, w->window[i].length))
			return "registers of a device lie where it has memory";
	return add_window(w, base, base, end - base)
		       ? NULL
		       : "its functions have too many ranges of registers";
}

const char *dma_windows_build(const struct gpa_map *map, const struct dma_mmio *mmio,
			      unsigned nr_mmio, struct dma_windows *out)
{
	const char *why = NULL;
	u64 low = GPA_HOLE_START;

	out->count = 0;
	for (unsigned i = 0; !why && i < map->count; i++)
		why = add_ram(out, &map->region[i]);
	if (!why && !highest_is_highest(out))
		why = "the highest memory is not the highest on the host";
	for (unsigned i = 0; i < nr_mmio; i++)
		low = MIN(low, ALIGN_DOWN(mmio[i].base, PAGE_SIZE));
	if (!why)
		why = add_mmio(out, low, GPA_HOLE_END);
	for (unsigned i = 0; !why && i < nr_mmio; i++)
		if (mmio[i].base >= GPA_HOLE_END)
			why = add_mmio(out, ALIGN_DOWN(mmio[i].base, PAGE_SIZE),
				       ALIGN_UP(mmio[i].base + mmio[i].size, PAGE_SIZE));
	return why;
}
