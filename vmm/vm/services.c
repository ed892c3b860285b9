/* SPDX-License-Identifier: GPL-2.0-only */
/* See service.h. */
#include "vmm/vm/service.h"

extern void (*const __start_monitor_services[])(void), (*const __stop_monitor_services[])(void);

void services_start(void)
{
	for (void (*const *service)(void) = __start_monitor_services;
	     service < __stop_monitor_services; service++)
		(*service)();
}
