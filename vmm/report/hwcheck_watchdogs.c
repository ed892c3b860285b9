/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see hwcheck_watchdogs.h. */
#include "vmm/report/hwcheck_watchdogs.h"

#include <margay/host.h>
#include <margay/string.h>

static void say_runs(const struct host_watchdog *w, char *text, size_t size)
{
	bool bmc = !strcmp(w->name, "BMC");
	char left[32] = "";

	if (w->timed)
		snprintf(left, sizeof(left), ", %u s left", w->seconds);
	snprintf(
		text, size,
		"it runs%s, then %s: neither Margay nor a VM feeds it; switch it off in the setup (%s)%s",
		left, w->what, bmc ? "OS watchdog, FRB-2" : "watchdog, TCO",
		bmc ? ", or from elsewhere: ipmitool -H BMC mc watchdog off" : "");
}

void hwcheck_watchdog(const struct host_watchdog *w, char *text, size_t size)
{
	switch (w->state) {
	case HOST_WATCHDOG_OFF: snprintf(text, size, "off"); break;
	case HOST_WATCHDOG_HARMLESS: snprintf(text, size, "it runs, but %s", w->what); break;
	case HOST_WATCHDOG_RUNS: say_runs(w, text, size); break;
	default:
		snprintf(text, size, "%s: look into the setup, should the node restart by itself",
			 w->what);
	}
}
