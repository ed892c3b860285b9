/* SPDX-License-Identifier: GPL-2.0-only */
/* CPU 1 with interrupts on, and nothing else to do. */
#ifndef TINY_LISTEN_H
#define TINY_LISTEN_H

#include "tiny.h"

static volatile bool stop, listening;

static inline void listen(void *)
{
	irq_on();
	listening = true;
	while (!stop)
		cpu_relax();
	irq_off();
	listening = false;
}

static inline void start_listening(void)
{
	stop = false;
	smp_run(1, listen, NULL);
	while (!listening)
		cpu_relax();
}

static inline void stop_listening(void)
{
	stop = true;
	smp_wait(1);
}

#endif
