/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: processors in static AML, by Processor or a device of ACPI0007,
 * and their C-states (ACPI 6.4, 8.4 and 8.4.2.1), where _CST is a constant, or
 * what a method returns that does nothing else.
 */
#ifndef KERNEL_ACPI_AML_CST_H
#define KERNEL_ACPI_AML_CST_H

#include <margay/cstates.h>
#include "kernel/acpi/aml.h"

struct aml_processor {
	struct aml_name path;
	u32 uid; /* as in the MADT */
	/* all that firmware names; none: it has none, or they are no constant */
	struct cstates states;
};

/* Fills out[] with the first `max` of them, without C-states; returns how many there are. */
unsigned aml_processors(const struct aml_tables *t, struct aml_processor *out, unsigned max);
/* Their C-states, of each by its first _CST that is there for certain. */
void aml_cstates(const struct aml_tables *t, struct aml_processor *processor, unsigned count);

#endif
