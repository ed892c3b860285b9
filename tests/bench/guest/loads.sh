#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Every load in the order of bench.py's LOADS, each once what the one before has left to do is done.
for load in cpuid idle compute fork switch timer console; do
	sleep 1
	loads $load || poweroff -f
done
sleep 1
echo "margay-test: done"
poweroff -f
