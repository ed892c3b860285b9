/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=1
 *
 * The control of all others: a check that does not hold must be seen.
 */
#include "tiny.h"

void test_main(void)
{
	check(TRY("nop", , ) == NO_TRAP, "NOP raises nothing");
	check(TRY("nop", , ) == VEC_UD, "this must be reported as failed");
}
