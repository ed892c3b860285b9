#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# The NAS Parallel Benchmarks (bench.py --npb), each between markers 1 and 2,
# and every line in which it speaks of verifying its own result.
cd /tmp
for program in /npb/*; do
	mark run "$program" > out
	echo "margay-test: npb: ${program##*/}"
	grep -i verif out
done
echo "margay-test: done"
poweroff -f
