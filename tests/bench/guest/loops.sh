#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Every loop in the order of bench.py's LOOPS.
for loop in fork switch fault mmap compute memory; do
	loops $loop || poweroff -f
done
echo "margay-test: done"
poweroff -f
