/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: what a name stands for in static AML, on a machine that uses the
 * APIC: a constant, also by way of other names, or what a method returns that
 * does nothing but choose one by what \_PIC (1) has stored.
 */
#ifndef KERNEL_ACPI_AML_VALUE_H
#define KERNEL_ACPI_AML_VALUE_H

#include "kernel/acpi/aml.h"

/*
 * `seg` in `scope`, and the scope *in which names in the constant are to be looked for. 0; -EINVAL:
 * it is there, or may be, and is no constant; -ENOENT: not seen; -ENODEV: there is none.
 */
int aml_constant(const struct aml_tables *t, const struct aml_name *scope, u32 seg,
		 struct aml_span *value, struct aml_name *in);
/*
 * From a Name or Method at a path to the constant that it stands for; the path is then the scope in
 * which that stands.
 */
bool aml_settle(const struct aml_tables *t, struct aml_name *path, u16 op, struct aml_span *value);
int aml_integer(const struct aml_tables *t, const struct aml_name *scope, u32 seg, u64 *value);

#endif
