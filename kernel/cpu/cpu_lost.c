/* SPDX-License-Identifier: GPL-2.0-only */
/* A CPU that answers no kick: host.h. */
#include <margay/host.h>

#include "kernel/percpu.h"

void host_cpu_lost(unsigned id)
{
	__atomic_store_n(&cpu_get(id)->online, false, __ATOMIC_RELEASE);
}
