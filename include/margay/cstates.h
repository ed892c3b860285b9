/* SPDX-License-Identifier: GPL-2.0-only */
/* C-states of a CPU, as _CST names them (ACPI 6.4, 8.4.2.1). */
#ifndef MARGAY_CSTATES_H
#define MARGAY_CSTATES_H

#include <margay/acpi.h>

#define CSTATES_MAX 8 /* of a CPU; no firmware has more */

struct cstates {
	unsigned count;
	struct cstate {
		struct acpi_gas reg;
		u8 type;     /* 1: C1, 2: C2, 3: C3 */
		u32 latency; /* us, at worst */
		u32 power;   /* mW */
	} state[CSTATES_MAX];
};

#endif
