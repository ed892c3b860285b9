/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Finds every register at its power-on value, as leak_b_read.c does, and then
 * fills them as leak_a_fill.c does: restarted, it must find none of it.
 */
#include "tiny.h"

void find_nothing(void);
void fill(void);

#define test_main find_nothing
#include "leak_b_read.c"
#undef test_main
#define test_main fill
#include "leak_a_fill.c"
#undef test_main

void test_main(void)
{
	find_nothing();
	fill();
}
