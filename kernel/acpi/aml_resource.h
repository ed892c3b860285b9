/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: resource descriptors (ACPI 6.4, 6.4), as they stand in the
 * buffers of _CRS and _PRS: what a device uses, or what a host bridge passes on.
 */
#ifndef KERNEL_ACPI_AML_RESOURCE_H
#define KERNEL_ACPI_AML_RESOURCE_H

#include "kernel/acpi/aml.h"

/* Small ones (6.4.2) without their length, large ones (6.4.3) with bit 7. */
enum aml_resource_tag {
	AML_RESOURCE_IRQ = 0x20,
	AML_RESOURCE_END = 0x78,
	AML_RESOURCE_REGISTER = 0x82,
	AML_RESOURCE_DWORD = 0x87,
	AML_RESOURCE_WORD = 0x88,
	AML_RESOURCE_INTERRUPT = 0x89,
	AML_RESOURCE_QWORD = 0x8a,
	AML_RESOURCE_EXTENDED = 0x8b,
};

struct aml_resource {
	u8 tag;
	struct aml_span body; /* behind tag and length */
};

/*
 * Reads the next descriptor. 0; -ENOENT: no more, by the end tag or the end of the bytes; -EINVAL:
 * it is cut off.
 */
int aml_next_resource(struct aml_span *bytes, struct aml_resource *out);

/* An address space descriptor (6.4.3.5): addresses first to last, as the CPU sees them. */
struct aml_window {
	enum aml_window_type { AML_WINDOW_MEMORY = 0, AML_WINDOW_IO = 1, AML_WINDOW_BUS = 2 } type;
	u64 first;
	u64 last;
};

/* False: the descriptor is another one, or has no addresses. */
bool aml_window(const struct aml_resource *r, struct aml_window *out);

#endif
