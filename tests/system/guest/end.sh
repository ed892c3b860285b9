#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=end: reports the CPUs, their flags and the memory, shows what of the kernel's log has one of margay.log=WORD|WORD,
# and ends the guest as margay.end= says (poweroff or reboot; how a reboot is done is the kernel's reboot=).
. /etc/profile
echo "margay-test: cpus: $(grep -c ^processor /proc/cpuinfo)"
echo "margay-test: memtotal-kib: $(awk '/^MemTotal/ { print $2 }' /proc/meminfo)"
echo "margay-test: nodes: $(ls -d /sys/devices/system/node/node[0-9]* | wc -l)"
echo "margay-test: flags: $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1)"
words=$(sed -n 's/.*margay\.log=\([^ ]*\).*/\1/p' /proc/cmdline)
[ -z "$words" ] || dmesg | grep -E "$words"
echo "margay-test: done"
"$(sed -n 's/.*margay\.end=\([a-z]*\).*/\1/p' /proc/cmdline)"
