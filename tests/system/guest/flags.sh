#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=flags: only the CPU's flags, for the comparison with a kernel
# that runs without Margay.
echo "margay-test: flags: $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "margay-test: clocksource: $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
echo "margay-test: done"
poweroff
