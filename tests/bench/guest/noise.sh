#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# What disturbs a computing program: by our loops, and by rt-tests' cyclictest
# and oslat. Under -icount a TSC tick is a nanosecond.
export PATH=$PATH:/usr/bin
# What the boot has left to do, as memory that RCU is to free, would be noise natively and not in a guest, or the other way round.
sleep 10
detours 1 1000000 || poweroff -f
mark 1
cyclictest --quiet --mlockall --nsecs -p 80 -i 1000 -l 1000 > /tmp/cyclictest
mark 2
echo "margay-test: cyclictest: $(grep '^T:' /tmp/cyclictest)"
oslat -D 1 -b 100 -z -c 0 -C 0 | sed -n 's/^ *0*\([0-9]*\) (us):[[:space:]]*\([0-9]*\).*/margay-test: oslat: \1 \2/p'
echo "margay-test: done"
poweroff -f
