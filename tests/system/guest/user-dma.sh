#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=user-dma: the function at margay.function=, by a driver in user space.
. /etc/profile
user_dma "$(sed -n 's/.*margay\.function=\([0-9a-f:.]*\).*/\1/p' /proc/cmdline)"
echo "margay-test: done"
poweroff
