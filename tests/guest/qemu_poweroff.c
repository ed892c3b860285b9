/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: end=poweroff
 *
 * A kernel without ACPI that was written for QEMU powers off by a word to port 0x604, PM1_CNT of
 * QEMU's machines (ACPI 6.4, 4.8.3.2.1), and ends here, too. What has no SLP_EN, or another type of
 * sleep, does nothing.
 */
#include "tiny.h"

#define PORT 0x604
#define SLP_EN BIT(13)
#define SLP_TYP(n) ((n) << 10)

void test_main(void)
{
	outw(PORT, 0);
	outw(PORT, SLP_TYP(7u));
	outw(PORT, SLP_EN | SLP_TYP(1u));
	outb(PORT + 1, SLP_EN >> 8);
	check(inw(PORT) == 0xffff, "port %x reads as ones", PORT);
	result();
	outw(PORT, SLP_EN);
}
