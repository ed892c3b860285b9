/* SPDX-License-Identifier: GPL-2.0-only */
/* What boot keeps for the hardware check's dump (host_dump() of <margay/host.h>). */
#ifndef KERNEL_HWDUMP_H
#define KERNEL_HWDUMP_H

#include <margay/types.h>

/*
 * A piece of what the firmware says, whatever its checksum: first the root pointer, then RSDT or XSDT, then the tables. In
 * the direct map or the image, and there it stays. Boot only.
 */
#if IS_ENABLED(CONFIG_HWCHECK)
void hwdump_note(const void *p, size_t size);
#else
static inline void hwdump_note(const void *, size_t)
{
}
#endif

#endif
