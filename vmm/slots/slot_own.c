/* SPDX-License-Identifier: GPL-2.0-only */
/* See slot_own.h. */
#include "vmm/slots/slot_own.h"

#include <margay/string.h>

extern const struct slot_own *const __start_slot_owns[], *const __stop_slot_owns[];

void slot_own_clear(unsigned slot)
{
	for (const struct slot_own *const *own = __start_slot_owns; own < __stop_slot_owns; own++)
		memset((u8 *)(*own)->first + slot * (*own)->size, 0, (*own)->size);
}
