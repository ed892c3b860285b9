/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one file alone, as a device's, keeps of a VM file beyond its VM's end: a variable for each
 * slot, by vm->id. It is 0 when a VM file comes into the slot.
 */
#ifndef VMM_SLOT_OWN_H
#define VMM_SLOT_OWN_H

#include "vmm/slots/slot.h"

struct slot_own {
	void *first; /* of MONITOR_MAX_VMS */
	size_t size; /* of each */
};

#define SLOT_OWN(type, name) \
	static type name[MONITOR_MAX_VMS]; \
	static const struct slot_own name##_own = { .first = name, .size = sizeof(type) }; \
	static const struct slot_own *const name##_entry __used __section("slot_owns") = &name##_own

/* Another VM file comes into the slot: nothing of it runs, or ever has. */
void slot_own_clear(unsigned slot);

#endif
