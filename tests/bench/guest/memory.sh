#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# How much RAM this kernel found, in KiB.
echo "margay-test: present: $(dmesg | sed -n 's/.*Memory: [0-9]*K\/\([0-9]*\)K available.*/\1/p')"
echo "margay-test: done"
poweroff -f
