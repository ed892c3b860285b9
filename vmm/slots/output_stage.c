/* SPDX-License-Identifier: GPL-2.0-only */
/* What a VM file's runs are to its output_log: memory at the first, last words of a bad end. */
#include "vmm/slots/follow_up.h"
#include "vmm/slots/output_log.h"
#include "vmm/slots/slot.h"
#include "vmm/stage.h"

/* lines of a guest that ended badly: a panic of Linux has some 35 to 50, the reason first */
#define LAST_WORDS 60

static void begin(const struct slot *s, const char *)
{
	output_log_start((unsigned)(s - monitor_slots), s->config);
}

static void say_last_words(const struct slot *s, const char *)
{
	if (!vm_ended_well(s->last_end, s->last_status))
		output_log_last((unsigned)(s - monitor_slots), LAST_WORDS, NULL);
}

static const struct slot_stage output_stage = {
	.at = SLOT_OUTPUT,
	.on = { [SLOT_BEGINS] = begin, [SLOT_TOLD] = say_last_words },
};
SLOT_STAGE(output_stage);
