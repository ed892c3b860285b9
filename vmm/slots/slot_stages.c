/* SPDX-License-Identifier: GPL-2.0-only */
/* Who has something to do as a VM file's VM starts and ends, one after the other (stage.h). */
#include "vmm/stage.h"

extern const struct slot_stage *const __start_slot_stages[], *const __stop_slot_stages[];

void stages_slot(const struct slot *s, enum slot_event event, const char *why)
{
	for (unsigned at = 0; at < SLOT_STAGE_ORDERS; at++)
		for (const struct slot_stage *const *t = __start_slot_stages;
		     t < __stop_slot_stages; t++)
			if ((*t)->at == at && (*t)->on[event])
				(*t)->on[event](s, why);
}
