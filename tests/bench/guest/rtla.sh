#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# What the kernel's own tracers say, which rtla asks, of a CPU that is kept busy but for a twentieth of each second, and of timers.
export PATH=$PATH:/usr/bin
# What the boot has left to do, as memory that RCU is to free, would be noise natively and not in a guest, or the other way round.
sleep 10
mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null
for tracer in "osnoise top -r 950000 -T 1" "timerlat top -n"; do
	mark 1
	rtla $tracer -q -d 3s > /tmp/rtla 2>&1 || { cat /tmp/rtla; poweroff -f; }
	mark 2
	sed "s/^/margay-test: ${tracer%% *}: /" /tmp/rtla
done
echo "margay-test: done"
poweroff -f
