#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=end: reports the CPU's flags and ends the guest as margay.end=
# says (poweroff or reboot; how a reboot is done is the kernel's reboot=).
. /etc/profile
echo "margay-test: flags: $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "margay-test: done"
"$(sed -n 's/.*margay\.end=\([a-z]*\).*/\1/p' /proc/cmdline)"
