/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs draw the screen (kernel/console/screen.h): those without work, the boot CPU first. */
#ifndef KERNEL_SCREEN_IDLE_H
#define KERNEL_SCREEN_IDLE_H

#include <margay/types.h>

#if IS_ENABLED(CONFIG_SCREEN)
/* From now on they do. On the boot CPU, when all is ready but its work loop. */
void screen_idle_start(void);

/* By a CPU without work: draws, until it is given some. False: nothing to draw. */
bool screen_idle_draw(void);

#else
static inline void screen_idle_start(void) { }

static inline bool screen_idle_draw(void)
{
	return false;
}
#endif

#endif
