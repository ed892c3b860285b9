/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: finds the \_S5 package in AML bytes without interpreting them
 * (ACPI 7.4.2: _Sx; 20.2: AML grammar).
 */
#ifndef KERNEL_ACPI_S5_H
#define KERNEL_ACPI_S5_H

#include <margay/types.h>

struct s5_info {
	/* 3 bits each */
	u8 slp_typa;
	u8 slp_typb;
};

/* aml: the body of a DSDT or SSDT, without its header. True when a well-formed \_S5 was found. */
bool s5_find(const void *aml, size_t size, struct s5_info *out);

#endif
