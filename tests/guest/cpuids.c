/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * As many CPUIDs as its command line says (cpuids=N), for who counts the exits
 * that they make: tests/system/test_exit_counts.py.
 */
#include "tiny.h"

void test_main(void)
{
	u64 n = option_number("cpuids", 10), done;

	for (done = 0; done < n; done++)
		cpuid(0, 0);
	check(done == n, "%lu CPUIDs", done);
}
