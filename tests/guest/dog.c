/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: end=watchdog
 *
 * The watchdog at its ports: it runs, is fed, stops; and bites a guest that
 * has stopped with interrupts off. Bochs' VT-x lets no external interrupt end
 * a guest that it has entered with IF = 0 before this has changed IF: there it
 * does so, without ever taking one.
 */
#include "tiny.h"

#define RUN 0x610
#define FEED 0x611
#define COUNT 0x612 /* ticks of 100 ms */
#define LEFT 0x614
#define STATUS 0x616

void test_main(void)
{
	if (!check(inb(RUN) == 0 && inw(COUNT) == 0xffff && inw(LEFT) == 0 && inb(STATUS) == 0,
		   "it stands still at first"))
		return;
	outw(COUNT, 2000);
	outb(RUN, 1);
	check(inb(RUN) == 1, "it runs");
	check(inw(LEFT) > 1900 && inw(LEFT) <= 2000, "%u ticks are left", inw(LEFT));
	while (inw(LEFT) > 1998)
		;
	outb(FEED, 1);
	check(inw(LEFT) >= 1998, "it was fed, %u ticks are left", inw(LEFT));
	outb(RUN, 0);
	check(inb(RUN) == 0 && inw(LEFT) == 0, "it stops");
	result();
	outw(COUNT, 2);
	outb(RUN, 1);
	if (on_bochs())
		asm volatile("1:\tsti\n\tcli\n\tjmp 1b");
	asm volatile("cli\n1:\tjmp 1b");
}
