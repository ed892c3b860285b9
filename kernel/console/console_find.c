/* SPDX-License-Identifier: GPL-2.0-only */
/* See console_find.h. */
#include "kernel/console/console_find.h"

#include "kernel/console/console.h"

/* Ports of the ISA bus have these. */
static s32 irq_by_habit(const struct cmdline *c)
{
	if (c->console != CMDLINE_CONSOLE_PORT)
		return CMDLINE_IRQ_NONE;
	switch (c->console_address) {
	case 0x3f8:
	case 0x3e8: return 4;
	case 0x2f8:
	case 0x2e8: return 3;
	default: return CMDLINE_IRQ_NONE;
	}
}

void console_find(struct cmdline *c)
{
	if (c->console == CMDLINE_CONSOLE_NONE)
		return;
	console_ask_tables(c);
	if (c->console_irq == CMDLINE_IRQ_UNKNOWN)
		c->console_irq = irq_by_habit(c);
	/* Of a port that the operator has named that has been said. */
	if (!console_works() && !c->console_named)
		(void)console_init(c);
}
