/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: the command line's x2apic=. */
#include "kernel/boot/cmdline_words.h"

bool cmdline_x2apic(struct span value, struct cmdline *out)
{
	bool on = span_is(value, "on");

	if (!on && !span_is(value, "off"))
		return false;
	out->x2apic = on ? CMDLINE_X2APIC_ON : CMDLINE_X2APIC_OFF;
	return true;
}
