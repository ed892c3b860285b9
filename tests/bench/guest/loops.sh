#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Every loop in the order of bench.py's LOOPS, then a second of detours; under -icount a TSC tick is a nanosecond.
for loop in fork switch fault mmap compute memory; do
	loops $loop || poweroff -f
done
detours 1 1000000 && echo "margay-test: done"
poweroff -f
