/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the command line's iommu=. */
#include "kernel/boot/cmdline_words.h"

bool cmdline_iommu(struct span value, struct cmdline *out)
{
	bool off = span_is(value, "off");

	out->iommu_off = off || out->iommu_off;
	return off;
}
